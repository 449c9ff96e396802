// processes.hpp -- several processes that fit one model together: their messages go through functions of Python's.
#pragma once
#include <carmina/core/communicator.hpp>

#include "bindings.hpp"

namespace carmina::python {

// fit(communicator) of what Python passes, which may be None: alone.
inline const Communicator* communicator_of(nb::handle given) {
  return given.is_none() ? nullptr : nb::cast<const Communicator*>(given);
}

}  // namespace carmina::python
