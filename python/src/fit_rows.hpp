// fit_rows.hpp -- arrays that a fit takes, as rows that the library reads.
#pragma once
#include <carmina/data/device_array.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "running.hpp"

namespace carmina::python {

// Rows that are on a device, of Python's DeviceArray, and what says that X is one.
inline bool is_on_device(nb::handle X) { return nb::hasattr(X, "rows_apart"); }
template <Real T>
DeviceArray<T> device_array(nb::handle X) {
  const auto shape = nb::cast<std::pair<Index, Index>>(X.attr("shape"));
  const auto address = nb::cast<std::uintptr_t>(X.attr("address"));
  return {reinterpret_cast<const T*>(address), shape.first, shape.second, nb::cast<Index>(X.attr("rows_apart"))};
}

// body(rows) without the interpreter lock; X, Y and the weights, or None, in precision T. `what`: who asks.
template <Real T, class Body>
auto with_rows(const std::string& what, nb::handle X, nb::handle Y, nb::handle weights, const Execution& execution,
               const Body& body) {
  const Rows<T> y(Y, (what + ": Y").c_str());
  std::optional<Rows<T>> w;
  if (!weights.is_none()) {
    w.emplace(as_array<T>(weights).attr("reshape")(1, -1), (what + ": sample_weight").c_str());
    require(w->columns() == y.rows(), "{}: sample_weight has {} entries, X has {} rows", what, w->columns(), y.rows());
  }
  const T* const weight = w ? w->view().data() : nullptr;
  if (is_on_device(X)) {
    const auto rows = rows_on_device<T>(device_array<T>(X), y.view(), weight, execution);
    return run(execution, [&](const Execution&) { return body(*rows); });
  }
  const Rows<T> x(X, (what + ": X").c_str());
  return run(execution, [&](const Execution&) {
    MemoryRows<T> rows(x.view(), y.view(), weight);
    return body(static_cast<RowSource<T>&>(rows));
  });
}

}  // namespace carmina::python
