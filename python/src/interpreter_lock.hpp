// interpreter_lock.hpp -- the interpreter's lock, given back and taken again, also while Python ends.
//
// A thread that asks for the lock when the interpreter is being taken down is ended by Python from within, past C++
// functions that may not be left in that way: the process aborts. So from the moment on when Python begins to end, a
// computation in a daemon thread stops at its next checkpoint, and waits there for the process to be over.
#pragma once
#include "bindings.hpp"

namespace carmina::python {

// Without the lock, in a thread that has it.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// With the lock, in a thread that may have it or not.
class Locked {
 public:
  Locked();
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

// Whether Python ends, and this thread is not the one that ends it.
bool must_stop();

// Called by Python when it begins to end.
void bind_interpreter_lock(nb::module_& m);

}  // namespace carmina::python
