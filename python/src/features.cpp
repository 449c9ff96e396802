// features.cpp -- Fourier features of rows, and the width that a fit would choose.
#include <carmina/models/fit_options.hpp>
#include "features/map_operations.hpp"
#include "features/sample_map.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "running.hpp"

namespace carmina::python {
namespace {

// Row (i, a) is Eᵀ (phi_iᵀ e_aᵀ): Phi(x_i)* in output a.
template <Real T>
void expand_features(const Matrix<T>& phi, const Expansion& expansion, T* out, const Execution& execution) {
  const Index p = expansion.dim_out(), width = expansion.dim_coef();
  parallel_for(phi.rows(), execution.thread_count(), [&](Index i, int) {
    for (Index a = 0; a < p; ++a) {
      Matrix<double> R = Matrix<double>::Zero(phi.cols(), p);
      R.col(a) = phi.row(i).transpose().template cast<double>();
      const Matrix<double> row = expansion.contract(R);
      std::copy_n(row.data(), width, out + (i * p + a) * width);
    }
  });
}

template <Real T>
nb::object kernel_features(const Kernel& kernel, const FourierMap<T>& map, const Rows<T>& rows, int threads) {
  const auto outputs = kernel.n_outputs(map.dim_in());
  const Index p = outputs.value_or(1);
  kernel.check_dimensions(map.dim_in(), p);
  const auto n = static_cast<std::size_t>(rows.rows());
  if (!outputs && kernel.terms().size() == 1 && kernel.terms()[0].weight == 1) {
    NewArray<T> out({n, static_cast<std::size_t>(map.n_features())});
    run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
      evaluate(map, rows.view(), out.view(rows.rows(), map.n_features()), execution);
    });
    return nb::cast(out.array);
  }
  const Expansion expansion(kernel, map.unit_frequencies(), p);
  const auto width = static_cast<std::size_t>(expansion.dim_coef());
  NewArray<T> out = outputs ? NewArray<T>({n, static_cast<std::size_t>(p), width}) : NewArray<T>({n, width});
  run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
    Matrix<T> phi(rows.rows(), map.n_features());
    evaluate(map, rows.view(), View<T>(phi), execution);
    expand_features(phi, expansion, out.data, execution);
  });
  return nb::cast(out.array);
}

}  // namespace

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
      [](const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed, const std::string& dtype,
         const std::string& sampling) {
        kernel.check_dimensions(dim_in, kernel.n_outputs(dim_in).value_or(1));
        Matrix<double> W = sample_term_frequencies(kernel, dim_in, n_components, seed, parse_sampling(sampling));
        // Those of a vector field's factors, where they are others, as more columns.
        const Matrix<double> place =
            parse_sampling(sampling) == Sampling::phases
                ? Matrix<double>()
                : sample_place_frequencies(kernel, dim_in, n_components, seed, parse_sampling(sampling));
        if (place.size() > 0) W = (Matrix<double>(W.rows(), 2 * dim_in) << W, place).finished();
        if (dtype == dtype_name<float>) return nb::cast(to_numpy(Matrix<float>(W.cast<float>())));
        return nb::cast(to_numpy(std::move(W)));
      },
      nb::arg("kernel"), nb::arg("dim_in"), nb::arg("n_components"), nb::arg("seed"), nb::arg("dtype"),
      nb::arg("sampling") = "iid",
      "Frequencies of a kernel's spectral measure, n_components / 2 for each of its terms, one after the other; "
      "n_components of them where sampling='phases'.");
  m.def(
      "sample_phases",
      [](Index n_components, std::uint64_t seed, const std::string& dtype) {
        const Vector<double> phases = sample_term_phases(n_components, seed);
        if (dtype == dtype_name<float>) return nb::cast(to_numpy(Matrix<float>(phases.cast<float>()))).attr("ravel")();
        return nb::cast(to_numpy(Matrix<double>(phases))).attr("ravel")();
      },
      nb::arg("n_components"), nb::arg("seed"), nb::arg("dtype"),
      "The phases of sampling='phases', one for each column.");
  m.def(
      "fourier_features",
      [](const Kernel& kernel, nb::handle frequencies, nb::handle X, nb::handle phases, int threads) {
        return in_precision_of(frequencies, [&](auto precision) {
          using T = decltype(precision);
          const Matrix<T> W = Rows<T>(frequencies, "frequencies").view();
          if (phases.is_none()) {
            const Rows<T> rows(X, "X");
            const Index d = rows.columns();
            Matrix<T> place;
            if (W.cols() == 2 * d) place = W.rightCols(d);
            return kernel_features<T>(kernel,
                                      map_of_frequencies<T>(kernel, W.leftCols(place.size() > 0 ? d : W.cols()), place),
                                      rows, threads);
          }
          const Matrix<T> b = Rows<T>(phases.attr("reshape")(-1, 1), "phases").view();
          return kernel_features<T>(kernel, FourierMap<T>(W, Vector<T>(b.col(0))), Rows<T>(X, "X"), threads);
        });
      },
      nb::arg("kernel"), nb::arg("frequencies"), nb::arg("X"), nb::arg("phases") = nb::none(), nb::arg("threads") = 0,
      "Φ(X) in the precision of the frequencies W: (n, n_features), or (n, p, n_features) when operator-valued.");
  m.def(
      "hadamard_features",
      [](const Kernel& kernel, Index n_components, std::uint64_t seed, nb::handle X, int threads) {
        return in_precision_of(X, [&](auto precision) {
          using T = decltype(precision);
          const Rows<T> rows(X, "X");
          const auto map = sample_term_map<T>(kernel, rows.columns(), n_components, seed, Sampling::hadamard);
          return kernel_features<T>(kernel, map, rows, threads);
        });
      },
      nb::arg("kernel"), nb::arg("n_components"), nb::arg("seed"), nb::arg("X"), nb::arg("threads") = 0,
      "Φ(X) in the precision of X, of the frequencies that sampling='hadamard' draws, by fast transforms.");
}

}  // namespace carmina::python
