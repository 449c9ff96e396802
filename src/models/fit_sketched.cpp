// models/fit_sketched.cpp -- a sketched machine: whitened sketched features, then the same solvers, then back to
// anchors.
//
// SPEC 2b: with z(x) = D^(-1/2) Uᵀ S k(x), f = B Thetaᵀ z is a combination of kernels at the anchor rows alone, so what
// is kept is a kernel map of the anchors and its coefficients.
#include "fit_path.hpp"

#include <carmina/core/error.hpp>
#include <carmina/features/sketched_map.hpp>

namespace carmina {

// Rows by their number among those of positive weight, in order.
template <Real T>
Matrix<T> FitPath<T>::rows_at(const std::vector<Index>& numbers) {
  Matrix<T> found(static_cast<Index>(numbers.size()), rows_.dim_in());
  Index at = 0, number = 0;
  rows_.rewind();
  for (auto block = rows_.next(at_once_); block.rows > 0; block = rows_.next(at_once_)) {
    for (Index i = 0; i < block.rows; ++i) {
      if (block.weights && block.weights[i] == 0) continue;
      if (at < found.rows() && numbers[static_cast<std::size_t>(at)] == number) found.row(at++) = block.inputs().row(i);
      ++number;
    }
  }
  require(at == found.rows(), "fit: the rows changed while they were read");
  return found;
}

template <Real T>
KernelMachine<T> FitPath<T>::fit_sketched(const ScalarKernel& scalar) {
  const Index n = summary_.rows;
  const sketches::Sketch sketch = [&] {
    PhaseTimer timer(report_, "sketch");
    if (!needs_data(*sketch_)) return sample(*sketch_, n, options_.seed, execution_);
    const auto all = gather(rows_, summary_, origin_, at_once_);
    return sample<T>(*sketch_, options_.seed, all.X, scalar, transform_, execution_);
  }();
  Matrix<T> anchors = rows_at(sketch.anchors);
  const SketchedMap<T> map = [&] {
    PhaseTimer timer(report_, "whitening");
    return SketchedMap<T>(scalar, anchors, sketch.mixing, transform_, execution_);
  }();
  LinearSolution solution;
  if (squared_loss()) {
    Moments moments(map.n_features(), origin_);
    sum(map, moments);
    PhaseTimer timer(report_, "solve");
    report_.solver = "direct";
    report_.reason = fmt::format("direct: a sketch leaves a matrix of order {}", map.n_features());
    solution = solve_primal(moments, problem(), execution_, report_);
  } else {
    solution = minimise_loss(map, CoefficientSpace(outputs_, map.n_features(), rows_.dim_out()));
  }
  solution.coefficients = map.anchor_coefficients(solution.coefficients);
  return finish(KernelMap<T>(scalar, std::move(anchors), transform_), solution);
}

template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
