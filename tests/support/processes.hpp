// tests/support/processes.hpp -- processes that are threads of one: messages go through queues.
#pragma once
#include <carmina/core/communicator.hpp>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace carmina::testing {

class Mailboxes {
 public:
  explicit Mailboxes(int size) : size_(size), boxes_(static_cast<std::size_t>(size * size)) {}

  CommunicatorFunctions functions(int rank) {
    return {rank, size_, [this, rank](int to, const void* data, std::size_t bytes) { put(rank, to, data, bytes); },
            [this, rank](int from, void* data, std::size_t bytes) { take(from, rank, data, bytes); }};
  }

 private:
  using Message = std::vector<char>;
  std::deque<Message>& box(int from, int to) { return boxes_[static_cast<std::size_t>(from * size_ + to)]; }

  void put(int from, int to, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const char*>(data);
    const std::lock_guard lock(mutex_);
    box(from, to).emplace_back(first, first + bytes);
    arrived_.notify_all();
  }
  void take(int from, int to, void* data, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    auto& queue = box(from, to);
    // A process that waits in vain is a finding, not a hang.
    if (!arrived_.wait_for(lock, std::chrono::seconds(120), [&] { return !queue.empty(); })) {
      throw std::runtime_error("nothing came");
    }
    if (queue.front().size() != bytes) throw std::runtime_error("a message of another size came");
    std::memcpy(data, queue.front().data(), bytes);
    queue.pop_front();
  }

  int size_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::deque<Message>> boxes_;
};

// What work(communicator) gives in each process, or the message of its error.
template <class Result>
struct Outcome {
  std::optional<Result> result;
  std::string error;
  Traffic traffic;
};

template <class Work>
auto run_processes(int size, const Work& work) {
  using Result = decltype(work(std::declval<const Communicator&>()));
  Mailboxes mail(size);
  std::vector<Outcome<Result>> all(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const Communicator communicator(mail.functions(rank));
      auto& own = all[static_cast<std::size_t>(rank)];
      try {
        own.result.emplace(work(communicator));
      } catch (const std::exception& error) {
        own.error = error.what();
      }
      own.traffic = communicator.traffic();
    });
  }
  for (auto& thread : threads) thread.join();
  return all;
}

}  // namespace carmina::testing
