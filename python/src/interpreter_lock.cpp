// interpreter_lock.cpp -- who asks for the lock, and who no longer may.
#include "interpreter_lock.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace carmina::python {
namespace {

using namespace std::chrono_literals;

// Sequentially consistent: a thread either is seen among those who ask, or sees that Python ends.
std::atomic<bool> ending{false};
std::atomic<int> asking{0}, computing{0};  // threads that want the lock; that compute without it
std::thread::id last;                      // who ends Python; set before `ending`

[[noreturn]] void wait_for_the_end() {
  for (;;) std::this_thread::sleep_for(24h);
}

// Around a request for the lock.
class Asking {
 public:
  Asking() {
    ++asking;
    if (!must_stop()) return;
    --asking;
    wait_for_the_end();
  }
  ~Asking() { --asking; }
};

void begin_to_end() {
  last = std::this_thread::get_id();
  ending = true;
  // Those who asked before get the lock once more, and go on in Python. The others have a moment to come to rest: the
  // end of the process takes away what they compute with.
  const auto begin = std::chrono::steady_clock::now();
  while (asking > 0 || (computing > 0 && std::chrono::steady_clock::now() - begin < 2s)) {
    PyThreadState* const state = PyEval_SaveThread();
    std::this_thread::sleep_for(1ms);
    PyEval_RestoreThread(state);
  }
}

}  // namespace

bool must_stop() { return ending && std::this_thread::get_id() != last; }

Unlocked::Unlocked() : state_(PyEval_SaveThread()) { ++computing; }

Unlocked::~Unlocked() {
  --computing;
  const Asking one;
  PyEval_RestoreThread(state_);
}

Locked::Locked() {
  const Asking one;
  state_ = PyGILState_Ensure();
}

void bind_interpreter_lock(nb::module_&) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&begin_to_end));
}

}  // namespace carmina::python
