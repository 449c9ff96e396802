// models/fit_any_loss.cpp -- losses other than the squared one, for Fourier, exact and sketched machines alike.
#include "fit_path.hpp"

#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/sketched_map.hpp>

#include <cmath>

namespace carmina {

// Targets and weights of all rows; those of weight 0 stay, without effect, so that rows keep their numbers.
template <Real T>
AnyLossProblem FitPath<T>::loss_problem() {
  const Index p = rows_.dim_out();
  std::vector<double> targets, weights;
  bool weighted = false;
  rows_.rewind();
  for (auto block = rows_.next(at_once_); block.rows > 0; block = rows_.next(at_once_)) {
    for (Index i = 0; i < block.rows; ++i) {
      for (Index j = 0; j < p; ++j) {
        const auto y = static_cast<double>(block.Y[i * block.y_stride + j]);
        if (const char* expected = refuses(options_.loss, y)) {
          fail("fit: {}: with loss '{}' a target must be {}, found {}", rows_.place(i), loss_name(options_.loss),
               expected, y);
        }
        targets.push_back(y);
      }
      weights.push_back(block.weights ? static_cast<double>(block.weights[i]) : 1.0);
      weighted = weighted || weights.back() != 1;
    }
  }
  const auto n = static_cast<Index>(weights.size());
  AnyLossProblem problem{options_.loss,
                         Eigen::Map<const Matrix<double>>(targets.data(), n, p),
                         {},
                         options_.alpha,
                         options_.fit_intercept};
  if (weighted) problem.weights = Eigen::Map<const Vector<double>>(weights.data(), n);
  return problem;
}

// Of rows that were gathered.
template <Real T>
void FitPath<T>::check_targets(const Matrix<double>& Y) const {
  for (Index i = 0; i < Y.rows(); ++i) {
    for (Index j = 0; j < Y.cols(); ++j) {
      if (const char* expected = refuses(options_.loss, Y(i, j))) {
        fail("fit: row {}: with loss '{}' a target must be {}, found {}", i + 1, loss_name(options_.loss), expected,
             Y(i, j));
      }
    }
  }
}

template <Real T>
LinearSolution FitPath<T>::minimise_loss(const FeatureProducts& features, const CoefficientSpace& space,
                                         AnyLossProblem problem) {
  PhaseTimer timer(report_, "solve");
  if (options_.solver == "adam") {
    const AdamOptions adam{
        .validation_fraction = options_.validation_fraction, .patience = options_.patience, .seed = options_.seed};
    LinearSolution solution =
        solve_any_loss_adam(features, space, std::move(problem), adam, iterations(), execution_, report_);
    report_.reason = format_text("adam: asked for{}{}", report_.reason.empty() ? "" : "; ", report_.reason);
    return solution;
  }
  const Direction direction = options_.solver == "lbfgs" ? Direction::lbfgs : Direction::newton;
  LinearSolution solution =
      solve_any_loss(features, space, std::move(problem), direction, iterations(), execution_, report_);
  report_.reason = options_.solver == "auto" ? format_text("{}: loss '{}'", report_.solver, loss_name(options_.loss))
                                             : format_text("{}: asked for", report_.solver);
  return solution;
}

// Features are held in memory while they take at most a quarter of it: a solver passes over them some dozens of times.
template <Real T>
template <ScalarMap M>
LinearSolution FitPath<T>::minimise_loss(const M& map, const CoefficientSpace& space) {
  AnyLossProblem problem = loss_problem();
  const Index n = problem.targets.rows(), m = map.n_features();
  if (static_cast<double>(n) * static_cast<double>(m) * sizeof(T) > memory_limit(execution_) / 4) {
    return minimise_loss(streamed_features(map, rows_, n, at_once_, execution_), space, std::move(problem));
  }
  Matrix<T> phi(n, m);
  {
    PhaseTimer timer(report_, "features");
    rows_.rewind();
    for (auto block = rows_.next(at_once_); block.rows > 0; block = rows_.next(at_once_)) {
      evaluate(map, block.inputs(), View<T>(phi.middleRows(block.first_row, block.rows)), execution_);
      execution_.checkpoint({"features", block.first_row + block.rows, n});
    }
  }
  if (n < m && space.separable()) {  // Theta = phiᵀ times the coefficients of the rows
    // In double: rounding of float in K would be small negative eigenvalues, which a small penalty lets grow without
    // bound.
    Matrix<double> K = dual_gram<double>(phi.template cast<double>(), execution_);
    LinearSolution solution = minimise_loss_by_rows(std::move(K), std::move(problem));
    solution.coefficients = transposed_product(phi, solution.coefficients, execution_);
    return solution;
  }
  return minimise_loss(stored_features(phi, execution_), space, std::move(problem));
}

namespace {

// Eigenvectors of a positive semi-definite K (n, n) as rows and the roots of their eigenvalues, those that are not
// rounding.
struct RowBasis {
  Matrix<double> vectors;  // (rank, n)
  Vector<double> roots;

  RowBasis(Matrix<double> K, const Execution& execution) {
    const Index n = K.rows();
    Vector<double> mu(n);
    BlasThreads blas(n < 512 ? 1 : execution.thread_count());
    backend::symmetric_eigen(n, K.data(), K.outerStride(), mu.data());  // row k of K: the k-th eigenvector
    const double cutoff = mu[n - 1] * std::max(static_cast<double>(n) * 2.2e-16, 1e-12);
    Index rank = 0;
    while (rank < n && mu[n - 1 - rank] > cutoff) ++rank;
    require(rank > 0, "fit: the kernel matrix is zero");
    vectors = K.bottomRows(rank);
    roots = mu.tail(rank).cwiseSqrt();
  }

  Matrix<double> features() const { return (roots.asDiagonal() * vectors).transpose(); }  // U sqrt(mu) (n, rank)
  // U Theta / sqrt(mu): a combination of the rows
  Matrix<double> of_rows(const Matrix<double>& Theta) const {
    return vectors.transpose() * (roots.cwiseInverse().asDiagonal() * Theta);
  }
};

}  // namespace

// f = K Theta Bᵀ + b for K given by its lower triangle, Theta (n, rank). Newton's method takes K itself where outputs
// are separate. Otherwise K = U diag(mu) Uᵀ gives features U sqrt(mu) of the rows, as many as its rank, and
// coefficients U Theta / sqrt(mu) of the rows.
template <Real T>
LinearSolution FitPath<T>::minimise_loss_by_rows(Matrix<double> K, AnyLossProblem problem) {
  const CoefficientSpace rows(outputs_, K.rows(), rows_.dim_out());
  if ((options_.solver == "auto" || options_.solver == "newton") && by_rows(rows, options_.loss)) {
    require(K.diagonal().maxCoeff() > 0, "fit: the kernel matrix is zero");
    mirror_lower(K, execution_);
    return minimise_loss(kernel_products(K, execution_), rows, std::move(problem));
  }
  const RowBasis basis = [&] {
    PhaseTimer timer(report_, "eigenvectors");
    return RowBasis(std::move(K), execution_);
  }();
  const Matrix<double> phi = basis.features();
  LinearSolution solution =
      minimise_loss(stored_features(phi, execution_), rows.with_features(phi.cols()), std::move(problem));
  solution.coefficients = basis.of_rows(solution.coefficients);
  return solution;
}

template <Real T>
KernelMachine<T> FitPath<T>::fit_fourier_any_loss() {
  follow(plan_.ways.front().solver);
  FourierMap<T> map = sample_map();
  if (kernel_->separable()) {
    return finish(map, minimise_loss(map, CoefficientSpace(outputs_, map.n_features(), rows_.dim_out())));
  }
  const Expansion expansion(*kernel_, map.unit_frequencies(), rows_.dim_out());
  return finish(map, minimise_loss(map, CoefficientSpace(expansion, map.n_features())));
}

template <Real T>
KernelMachine<T> FitPath<T>::fit_exact_any_loss(const ScalarKernel& scalar) {
  follow(plan_.ways.front().solver);
  const auto all = gather(rows_, summary_, origin_, at_once_);
  Matrix<double> K;
  {
    PhaseTimer timer(report_, "kernel");
    K = exact_gram<double>(scalar, all.X.template cast<double>(), transform_, execution_);
  }
  AnyLossProblem problem{options_.loss, all.dual.targets.rowwise() + origin_.transpose(), all.dual.weights,
                         options_.alpha, options_.fit_intercept};
  check_targets(problem.targets);
  const LinearSolution solution = minimise_loss_by_rows(std::move(K), std::move(problem));
  return finish(KernelMap<T>(scalar, all.X, transform_), solution);
}

template LinearSolution FitPath<float>::minimise_loss(const SketchedMap<float>&, const CoefficientSpace&);
template LinearSolution FitPath<double>::minimise_loss(const SketchedMap<double>&, const CoefficientSpace&);
template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
