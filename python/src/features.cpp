// features.cpp -- Fourier features of rows, and the width that a fit would choose.
#include <carmina/features/map_operations.hpp>
#include <carmina/kernels/kernel.hpp>
#include <carmina/models/median_heuristic.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "arrays.hpp"
#include "running.hpp"

namespace carmina::python {

void bind_features(nb::module_& m) {
  m.def(
      "median_heuristic",
      [](nb::handle X, int threads) {
        return in_precision_of(X, [&](auto precision) {
          using T = decltype(precision);
          const Rows<T> rows(X, "X");
          return run(make_execution(threads, 0, nb::none()),
                     [&](const Execution& execution) { return median_heuristic<T>(rows.view(), execution); });
        });
      },
      nb::arg("X"), nb::arg("threads") = 0, "The length scale that gamma='median' stands for.");
  m.def(
      "sample_frequencies",
      [](const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed, const std::string& dtype) {
        const auto sample = [&](auto precision) {
          using T = decltype(precision);
          return nb::cast(
              to_numpy(Matrix<T>(FourierMap<T>(scalar_part(kernel), dim_in, n_components, seed).frequencies())));
        };
        return dtype == dtype_name<float> ? sample(float()) : sample(double());
      },
      nb::arg("kernel"), nb::arg("dim_in"), nb::arg("n_components"), nb::arg("seed"), nb::arg("dtype"),
      "Frequencies W (n_components / 2, dim_in) of a kernel's spectral measure.");
  m.def(
      "fourier_features",
      [](nb::handle frequencies, nb::handle X, int threads) {
        return in_precision_of(frequencies, [&](auto precision) -> nb::object {
          using T = decltype(precision);
          const FourierMap<T> map(Rows<T>(frequencies, "frequencies").view());
          const Rows<T> rows(X, "X");
          NewArray<T> out({static_cast<std::size_t>(rows.rows()), static_cast<std::size_t>(map.n_features())});
          run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
            evaluate(map, rows.view(), out.view(rows.rows(), map.n_features()), execution);
          });
          return nb::cast(out.array);
        });
      },
      nb::arg("frequencies"), nb::arg("X"), nb::arg("threads") = 0,
      "[cos XWᵀ, sin XWᵀ] / √D in the precision of the frequencies W (D, d).");
}

}  // namespace carmina::python
