// core/execution.hpp -- what a computation may use (threads, memory) and how it talks back (progress, cancellation).
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace carmina {

// How far a phase of the work has come, in rows unless there is a word for what is counted; then `total` is the most
// there may be. It is 0 while it is not known.
struct Progress {
  std::string_view phase;
  Index done = 0;
  Index total = 0;
  std::string_view step = {};  // "iteration"
};

struct Execution {
  int threads = 0;                                     // 0: as many as this process may run at once
  std::size_t memory_budget = 0;                       // bytes; 0: no limit but the machine's
  std::function<void(const Progress&)> progress = {};  // called now and then from the calling thread
  std::function<bool()> should_stop = {};              // asked between blocks from the calling thread
  // Where sums over rows are computed: "cpu", "cuda" (the first device), "cuda:1" and so on; "auto": on a device where
  // there is one and the work is worth it.
  std::string device = "auto";
  std::size_t device_memory = 0;    // bytes of it; 0: most of what is free
  std::string device_library = {};  // the folder of libcarmina_cuda.so; empty: beside the program or the library

  int thread_count() const;

  // Between two blocks of work: reports progress, throws Cancelled when asked to stop.
  void checkpoint(const Progress& at) const;
  // The same question inside a task of parallel_for, whose worker 0 is the calling thread.
  void poll(int worker) const {
    if (worker == 0 && should_stop && should_stop()) throw Cancelled();
  }
};

// "1.5 GB"; sizes in messages are powers of ten, as users read them.
std::string format_bytes(double bytes);
// "2G", "512M", "1.5GB", "100000" -> bytes. Throws Error on anything else.
std::size_t parse_bytes(std::string_view text);

// Calls body(task, worker) for every task in [0, tasks), on up to `threads` threads; worker is in [0, threads).
// Tasks are handed out one by one; products inside a task run serially, so a result never depends on `threads`
// as long as tasks write to different places. The first exception thrown by a task is rethrown here.
void parallel_for(Index tasks, int threads, const std::function<void(Index task, int worker)>& body);

}  // namespace carmina
