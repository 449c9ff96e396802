// core/communicator.hpp -- how the processes that fit one model together talk: sums, broadcasts, gathers, barriers.
//
// Every operation is called by all processes, in the same order. It begins with a short round in which they learn
// whether one of them has failed: an error ends all of them with its sentence, and none waits for another.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace carmina {

// All that a communicator needs of the world. What is sent between two processes arrives in its order. A function that
// throws ends the fit of this process; the others must then end too, by their own functions.
struct CommunicatorFunctions {
  int rank = 0, size = 1;
  std::function<void(int to, const void* data, std::size_t bytes)> send = {};  // `data` may change once it returns
  std::function<void(int from, void* data, std::size_t bytes)> receive = {};
};

// What this process has sent.
struct Traffic {
  std::int64_t messages = 0, bytes = 0;
};

class Communicator {
 public:
  Communicator() = default;  // one process
  explicit Communicator(CommunicatorFunctions functions);

  int rank() const { return functions_.rank; }
  int size() const { return functions_.size; }
  Traffic traffic() const { return traffic_; }

  // In the order of the processes, ((first + second) + third) ...; all have the same bits then.
  void sum(double* values, Index count) const { sum_in_order(values, count, {}, true); }
  void sum(std::int64_t* values, Index count) const;
  // The same of parts that each process has in their order: `total` is what those before the first process's parts add
  // up to, in the first process alone. It becomes total + its parts + those of the second ..., one after the other.
  void sum_in_order(double* total, Index count, const std::vector<const double*>& parts) const {
    sum_in_order(total, count, parts, false);
  }
  void broadcast(void* data, std::size_t bytes, int from = 0) const;
  // What all processes have, in their order; every process may have another number of values.
  template <class V>
  std::vector<V> gather(const std::vector<V>& mine) const {
    static_assert(std::is_trivially_copyable_v<V>);
    const std::vector<std::int64_t> counts = counts_of(static_cast<std::int64_t>(mine.size() * sizeof(V)));
    std::int64_t before = 0, total = 0;
    for (int k = 0; k < size(); ++k) {
      if (k < rank()) before += counts[static_cast<std::size_t>(k)];
      total += counts[static_cast<std::size_t>(k)];
    }
    std::vector<V> all(static_cast<std::size_t>(total) / sizeof(V));
    std::copy(mine.begin(), mine.end(), all.begin() + before / static_cast<std::int64_t>(sizeof(V)));
    gather_in_place(all.data(), counts);
    return all;
  }
  // The same where each process has its bytes in their place already; counts of all processes.
  void gather_in_place(void* all, const std::vector<std::int64_t>& bytes) const;
  // One number of each process.
  std::vector<std::int64_t> counts_of(std::int64_t mine) const;
  void barrier() const { agree(0, 0); }

  // From process to process, between operations that all take part in.
  void send(int to, const void* data, std::size_t bytes) const;
  void receive(int from, void* data, std::size_t bytes) const;

  // Runs the work of this process. Where it throws, all others end their work with its sentence.
  template <class Work>
  auto together(const Work& work) const {
    if (size() == 1 || working_) return work();
    const Working now(*this);
    try {
      auto result = work();
      barrier();
      return result;
    } catch (const std::exception& error) {
      tell(error.what());
      throw;
    } catch (...) {
      tell("it was stopped");
      throw;
    }
  }

 private:
  struct Working {
    const Communicator& of;
    explicit Working(const Communicator& communicator) : of(communicator) {
      of.working_ = true;
      of.known_ = false;
    }
    ~Working() { of.working_ = false; }
  };

  void sum_in_order(double* total, Index count, const std::vector<const double*>& parts, bool plain) const;
  void agree(std::int64_t what, std::int64_t count) const;
  void tell(const std::string& sentence) const;  // unless they know it
  [[noreturn]] void fail_together(const std::string& sentence) const;
  bool status_round(std::int64_t what, std::int64_t count, const std::string* own, std::string& sentence) const;
  void spread(void* data, std::size_t bytes, int from) const;

  CommunicatorFunctions functions_;
  mutable Traffic traffic_;
  mutable bool working_ = false;
  mutable bool known_ = false;  // an error that all processes have, or that cannot be sent to them
};

}  // namespace carmina
