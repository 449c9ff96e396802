// running.hpp -- computing without the interpreter lock, while Ctrl-C and a progress function still get
// through.
#pragma once
#include <carmina/core/execution.hpp>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "interpreter_lock.hpp"

namespace carmina::python {

// `progress(phase, done, total)` is called a few times a second; None: not at all. Must outlive the
// computation.
Execution make_execution(int threads, std::size_t memory_budget, nb::handle progress);

// The same for a fit, on the device that its options name.
template <class Options>
void take_execution(Options& options, int threads, std::size_t memory_budget, nb::handle progress) {
  std::string device = std::move(options.execution.device);
  options.execution = make_execution(threads, memory_budget, progress);
  options.execution.device = std::move(device);
}

// body(execution) with the lock released. A signal's exception (KeyboardInterrupt) ends it within a block of
// work.
template <class Body>
auto run(const Execution& execution, Body&& body) {
  const Unlocked unlocked;
  return std::forward<Body>(body)(execution);
}

}  // namespace carmina::python
