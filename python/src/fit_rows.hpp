// fit_rows.hpp -- arrays that a fit takes, as rows that the library reads.
#pragma once
#include <carmina/data/rows.hpp>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "running.hpp"

namespace carmina::python {

// body(rows) without the interpreter lock; X, Y and the weights, or None, in precision T. `what`: who asks.
template <Real T, class Body>
auto with_rows(const std::string& what, nb::handle X, nb::handle Y, nb::handle weights, const Execution& execution,
               const Body& body) {
  const Rows<T> x(X, (what + ": X").c_str()), y(Y, (what + ": Y").c_str());
  std::optional<Rows<T>> w;
  if (!weights.is_none()) {
    w.emplace(as_array<T>(weights).attr("reshape")(1, -1), (what + ": sample_weight").c_str());
    require(w->columns() == x.rows(), "{}: sample_weight has {} entries, X has {} rows", what, w->columns(), x.rows());
  }
  return run(execution, [&](const Execution&) {
    MemoryRows<T> rows(x.view(), y.view(), w ? w->view().data() : nullptr);
    return body(rows);
  });
}

}  // namespace carmina::python
