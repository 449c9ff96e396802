// processes.cpp -- carmina._core.Communicator: bytes as memoryviews, and an error of one process as that of all.
#include "processes.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <string>

#include "interpreter_lock.hpp"

namespace carmina::python {
namespace {

// f(...) of Python's; what it raises is an Error of one line.
template <class Call>
void call_python(const Call& call) {
  const Locked locked;
  try {
    call();
  } catch (nb::python_error& error) {
    throw Error(nb::cast<std::string>(nb::str(error.value())));
  }
}

nb::object view_of(const void* data, std::size_t bytes, int flags) {
  char* start = static_cast<char*>(const_cast<void*>(data));
  return nb::steal(PyMemoryView_FromMemory(start, static_cast<Py_ssize_t>(bytes), flags));
}

// They outlive nobody's interpreter: a communicator is used while Python calls fit.
Communicator make(int rank, int size, nb::object send, nb::object receive) {
  CommunicatorFunctions functions{.rank = rank, .size = size};
  functions.send = [send](int to, const void* data, std::size_t bytes) {
    call_python([&] { send(to, view_of(data, bytes, PyBUF_READ)); });
  };
  functions.receive = [receive](int from, void* data, std::size_t bytes) {
    call_python([&] { receive(from, view_of(data, bytes, PyBUF_WRITE)); });
  };
  return Communicator(std::move(functions));
}

nb::object together(const Communicator& self, nb::callable work) {
  std::exception_ptr raised;
  try {
    return self.together([&]() -> nb::object {
      try {
        return work();
      } catch (nb::python_error& error) {
        raised = std::current_exception();
        throw Error(nb::cast<std::string>(nb::str(error.value())));
      }
    });
  } catch (const Error&) {
    if (raised) std::rethrow_exception(raised);
    throw;
  }
}

}  // namespace

void bind_processes(nb::module_& m) {
  nb::class_<Communicator>(m, "Communicator")
      .def(
          "__init__",
          [](Communicator* self, int rank, int size, nb::object send, nb::object receive) {
            new (self) Communicator(make(rank, size, std::move(send), std::move(receive)));
          },
          nb::arg("rank"), nb::arg("size"), nb::arg("send"), nb::arg("receive"))
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def_prop_ro(
          "traffic",
          [](const Communicator& self) { return nb::make_tuple(self.traffic().messages, self.traffic().bytes); })
      .def("together", &together, nb::arg("work"), "work(); where it raises in one process, it does in all.")
      .def(
          "gather",
          [](const Communicator& self, const nb::bytes& mine) {
            std::vector<char> own(mine.c_str(), mine.c_str() + mine.size()), all;
            std::vector<std::int64_t> counts;
            {
              const Unlocked unlocked;
              counts = self.counts_of(static_cast<std::int64_t>(own.size()));
              all = self.gather(own);
            }
            nb::list parts;
            std::size_t at = 0;
            for (const std::int64_t count : counts) {
              parts.append(nb::bytes(all.data() + at, static_cast<std::size_t>(count)));
              at += static_cast<std::size_t>(count);
            }
            return parts;
          },
          nb::arg("mine"), "The bytes of each process.");
}

}  // namespace carmina::python
