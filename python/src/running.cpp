// running.cpp -- how often a computation looks back at the interpreter.
#include "running.hpp"

#include "bindings.hpp"
#include "core/processors.hpp"
#include "interpreter_lock.hpp"

#include <carmina/core/machine.hpp>

#include <nanobind/stl/string.h>

#include <chrono>
#include <string>

namespace carmina::python {
namespace {

using Clock = std::chrono::steady_clock;

// True at most once per period, and not at once.
class Now {
 public:
  explicit Now(Clock::duration period) : period_(period) {}
  bool operator()() {
    const auto time = Clock::now();
    if (time - last_ < period_) return false;
    last_ = time;
    return true;
  }

 private:
  Clock::duration period_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace

Execution make_execution(int threads, std::size_t memory_budget, nb::handle progress) {
  using namespace std::chrono_literals;
  Execution execution;
  execution.threads = threads;
  execution.memory_budget = memory_budget;
  execution.should_stop = [now = Now(50ms)]() mutable {
    if (must_stop()) return true;
    if (!now()) return false;
    const Locked locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  };
  if (!progress.is_none()) {
    execution.progress = [now = Now(200ms), phase = std::string(), progress](const Progress& at) mutable {
      const bool another_phase = phase != at.phase;
      if (!now() && !another_phase && at.done != at.total) return;
      phase = at.phase;
      const Locked locked;
      progress(phase.c_str(), at.done, at.total);
    };
  }
  return execution;
}

void bind_running(nb::module_& m) {
  m.def("usable_processors", &usable_processors);
  m.def("describe_machine", [] {
    const Machine it = describe_machine();
    nb::dict out;
    out["processor"] = it.processor;
    out["instructions"] = it.instructions;
    out["threads"] = it.threads;
    out["quota"] = it.quota;
    out["float_products"] = it.float_products;
    out["float_limit"] = it.float_limit;
    out["double_products"] = it.double_products;
    out["double_limit"] = it.double_limit;
    return out;
  });
}

}  // namespace carmina::python
