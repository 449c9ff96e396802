// theory/kernel_error.cpp -- errors of a Fourier map against the exact kernel, many pairs at a time.
#include "backends/blas.hpp"
#include "backends/tiled.hpp"
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"
#include "theory/terms.hpp"

#include <carmina/theory/approximation.hpp>

#include <algorithm>
#include <cmath>

namespace carmina::theory {
namespace {

constexpr Index numbers_at_once = Index(1) << 22;  // of the blocks and cosines of a run of pairs

// A separable kernel's error is its scalar kernel's times |A|: a 1 x 1 kernel stands for it.
Kernel reduced(const Kernel& kernel) {
  const Term* term = kernel.separable();
  if (term == nullptr || constant_norm(*term) == 0) return kernel;
  return Term{constant_norm(*term), term->scalar, Independent{}};
}

// Column b of A(w_u) for every frequency, as the map's own factors give it: rows of (units, p), times what the terms'
// weights and the common 1 / units ask for.
Matrix<double> factor_column(const Expansion& expansion, Index b) {
  Matrix<double> R = Matrix<double>::Zero(2 * expansion.units(), expansion.dim_out());
  R.col(b).head(expansion.units()).setOnes();
  return expansion.expand(expansion.contract(R)).topRows(expansion.units()) / static_cast<double>(expansion.units());
}

}  // namespace

// K~(delta) = sum_u cos<w_u, delta> A(w_u) / units: cosines of a run of pairs times the columns of all A(w_u).
Vector<double> block_errors(const Kernel& kernel, const Matrix<double>& frequencies, ConstView<double> deltas,
                            const Execution& execution) {
  const Index d = frequencies.cols(), units = frequencies.rows(), pairs = deltas.rows();
  require(units > 0 && deltas.cols() == d, "kernel_error: frequencies are for inputs of {} columns, found {}", d,
          deltas.cols());
  require(deltas.allFinite(), "kernel_error: an input is NaN or infinite");
  outputs_of(kernel, d);
  const Kernel same = reduced(kernel);
  const Index p = same.n_outputs(d).value_or(1);
  const Expansion expansion(same, frequencies, p);
  const FourierMap<double> map(frequencies);
  const OperatorMap<double> exact(same, Matrix<double>::Zero(1, d), p);
  const Index run = std::clamp<Index>(numbers_at_once / (2 * units + p * p), 1, std::max<Index>(pairs, 1));

  Vector<double> errors(pairs);
  Matrix<double> phi(run, 2 * units), blocks(run, p * p), column(run, p);
  for (Index first = 0; first < pairs; first += run) {
    const Index count = std::min(run, pairs - first);
    const auto rows = deltas.middleRows(first, count);
    exact.blocks(rows, blocks.data(), execution);
    evaluate(map, rows, View<double>(phi.topRows(count)), execution);
    const double root = std::sqrt(static_cast<double>(units));  // phi carries its inverse
    for (Index b = 0; b < p; ++b) {
      const Matrix<double> A = factor_column(expansion, b);
      backend::gemm<double>(backend::Transpose::no, backend::Transpose::no, count, p, units, root, phi.data(),
                            2 * units, A.data(), p, 0.0, column.data(), p);
      for (Index i = 0; i < count; ++i) {
        for (Index a = 0; a < p; ++a) blocks(i, a * p + b) -= column(i, a);
      }
    }
    parallel_for(count, execution.thread_count(), [&](Index i, int worker) {
      execution.poll(worker);
      errors[first + i] = spectral_norm(Eigen::Map<const Matrix<double>>(blocks.row(i).data(), p, p));
    });
    execution.checkpoint({"kernel error", first + count, pairs});
  }
  return errors;
}

KernelError kernel_error(const Kernel& kernel, const Matrix<double>& frequencies, ConstView<double> X,
                         ConstView<double> Z, const Execution& execution) {
  require(X.rows() > 0 && Z.rows() > 0, "kernel_error: X has {} rows and Z {}; both need one at least", X.rows(),
          Z.rows());
  require(X.cols() == Z.cols(), "kernel_error: X has {} columns, Z {}", X.cols(), Z.cols());
  KernelError out;
  double sum = 0;
  const Index rows_at_once = std::max<Index>(1, numbers_at_once / (Z.size() + 1));
  for (Index first = 0; first < X.rows(); first += rows_at_once) {
    const Index count = std::min(rows_at_once, X.rows() - first);
    Matrix<double> deltas(count * Z.rows(), X.cols());
    for (Index i = 0; i < count; ++i) {
      deltas.middleRows(i * Z.rows(), Z.rows()) = (-Z).rowwise() + X.row(first + i);
    }
    const Vector<double> errors = block_errors(kernel, frequencies, deltas, execution);
    out.max = std::max(out.max, errors.maxCoeff());
    sum += errors.squaredNorm();
  }
  out.pairs = X.rows() * Z.rows();
  out.rms = std::sqrt(sum / static_cast<double>(out.pairs));
  return out;
}

}  // namespace carmina::theory
