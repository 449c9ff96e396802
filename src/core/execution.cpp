// core/execution.cpp -- a small pool of worker threads, and the bookkeeping of Execution.
#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>

#include "core/processors.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace carmina {
namespace {

// Workers that sleep between jobs. One job at a time; a second caller runs its job alone, which changes no result.
class Pool {
 public:
  using Body = std::function<void(Index, int)>;

  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  void run(Index tasks, int threads, const Body& body) {
    threads = static_cast<int>(std::min<Index>(threads, tasks));
    thread_local bool inside = false;  // a job of this thread is under way
    std::unique_lock busy(one_job_, std::defer_lock);
    if (threads <= 1 || inside || !busy.try_lock()) {
      for (Index task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(workers_.size()) < threads - 1) {
        const int id = static_cast<int>(workers_.size()) + 1;
        workers_.emplace_back([this, id, seen = generation_] { work(id, seen); });
      }
      body_ = &body;
      tasks_ = tasks;
      next_ = 0;
      error_ = nullptr;
      wanted_ = running_ = threads - 1;
      ++generation_;
    }
    wake_.notify_all();
    inside = true;
    take_tasks(0);
    inside = false;
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work(int id, long seen) {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return closing_ || generation_ != seen; });
        if (closing_) return;
        seen = generation_;
        if (id > wanted_) continue;
      }
      take_tasks(id);
      {
        std::lock_guard lock(mutex_);
        if (--running_ == 0) done_.notify_one();
      }
    }
  }

  void take_tasks(int worker) {
    try {
      for (Index task = next_++; task < tasks_; task = next_++) (*body_)(task, worker);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = tasks_;
    }
  }

  std::mutex one_job_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  const Body* body_ = nullptr;
  Index tasks_ = 0;
  std::atomic<Index> next_ = 0;
  std::exception_ptr error_;
  int wanted_ = 0, running_ = 0;
  long generation_ = 0;
  bool closing_ = false;
};

// A forked child has none of its parent's threads: it gets a pool of its own, and the parent's is left alone.
Pool& pool() {
  static std::mutex mutex;
  static pid_t owner = 0;
  static Pool* current = nullptr;
  std::lock_guard lock(mutex);
  if (owner != getpid()) {
    current = new Pool;  // lives as long as the process: threads must not be joined during static destruction
    owner = getpid();
  }
  return *current;
}

}  // namespace

int Execution::thread_count() const { return threads > 0 ? threads : usable_processors(); }

void Execution::checkpoint(const Progress& at) const {
  if (should_stop && should_stop()) throw Cancelled();
  if (progress) progress(at);
}

void parallel_for(Index tasks, int threads, const std::function<void(Index, int)>& body) {
  if (tasks <= 0) return;
  pool().run(tasks, threads, body);
}

std::string format_bytes(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (bytes >= 999.5 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? format_text("{:.0f} bytes", bytes) : format_text("{:.3g} {}", bytes, units[unit]);
}

std::size_t parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with('B') || unit.ends_with('b')) unit.remove_suffix(1);
  double factor = unit.empty() ? 1 : 0;
  if (unit == "k" || unit == "K") factor = 1e3;
  if (unit == "M") factor = 1e6;
  if (unit == "G") factor = 1e9;
  if (unit == "T") factor = 1e12;
  require(code == std::errc() && factor > 0 && value > 0 && std::isfinite(value * factor),
          "a memory size is a positive number with K, M, G or T after it, like 2G; found '{}'", text);
  return static_cast<std::size_t>(value * factor);
}

}  // namespace carmina
