// models/fit_alphas.cpp -- the path of a fit for many alphas at once: one matrix, one decomposition, all solutions.
#include "fit_path.hpp"

#include <carmina/core/error.hpp>

namespace carmina {

template <Real T>
MachinePath<T> FitPath<T>::run_path(const std::vector<double>& alphas, bool leave_one_out) {
  require(squared_loss(), "path: it is for the squared loss, found loss '{}'", loss_name(options_.loss));
  require(options_.solver == "auto" || options_.solver == "direct",
          "path: solver must be 'auto' or 'direct', found '{}'", options_.solver);
  require(!options_.by_evidence, "path: alpha is chosen in one way, found 'evidence' too");
  require(!alphas.empty(), "path: the list of alphas is empty");
  for (const double alpha : alphas) {
    require(alpha > 0 && std::isfinite(alpha), "path: alphas must be positive and finite, found {}", alpha);
  }
  prepare();
  require(!leave_one_out || summary_.rows > 1, "path: leaving one row out takes at least 2 rows, found {}",
          summary_.rows);
  PathFit fit = path_fit(alphas, leave_one_out);
  std::vector<PathPoint> points;
  std::vector<LinearSolution> solutions;
  const double weight = summary_.weight, targets = weight * static_cast<double>(rows_.dim_out());
  for (RidgePoint& found : fit.points) {
    PathPoint point{found.alpha, found.squares / (2 * weight), found.degrees_of_freedom,
                    std::numeric_limits<double>::infinity(), std::nullopt};
    const double left = 1 - found.degrees_of_freedom / targets;
    if (left > 0) point.gcv = point.training_loss / (left * left);
    if (found.left_out) point.leave_one_out = *found.left_out / (2 * weight);
    points.push_back(point);
    solutions.push_back(std::move(found.solution));
  }
  return {finish(std::move(fit.map), solutions[0]), std::move(points), std::move(solutions)};
}

template <Real T>
typename FitPath<T>::PathFit FitPath<T>::path_fit(const std::vector<double>& alphas, bool leave_one_out) {
  const Term* term = kernel_->separable();
  const RidgePathProblem problem{outputs_, alphas, options_.fit_intercept, leave_one_out};
  report_.solver = "direct";
  report_.reason = format_text("direct: {} alphas from one decomposition", alphas.size());
  if (sketch_) {
    require(term != nullptr,
            "path: a sketch of a kernel whose outputs do not come apart has none; use approximation 'fourier' or "
            "'exact'");
    return sketched_path(term->scalar, problem);
  }
  return options_.approximation == "exact" ? exact_path(term ? &term->scalar : nullptr, problem)
                                           : fourier_path(problem);
}

template <Real T>
typename FitPath<T>::PathFit FitPath<T>::exact_path(const ScalarKernel* scalar, const RidgePathProblem& problem) {
  const Index n = summary_.rows, p = rows_.dim_out();
  check_path_memory(scalar ? n : n * p, 0, problem.leave_one_out);
  auto all = gather(rows_, summary_, origin_, at_once_);
  weights_ = all.dual.weights;
  if (scalar) {
    Matrix<double> K;
    {
      PhaseTimer timer(report_, "kernel");
      K = exact_gram(*scalar, all.X, transform_, execution_);
    }
    PhaseTimer timer(report_, "solve");
    auto points = dual_path(std::move(K), all.dual, problem, execution_);
    return {KernelMap<T>(*scalar, std::move(all.X), transform_), std::move(points)};
  }
  OperatorMap<T> map(*kernel_, std::move(all.X), p, transform_);
  Matrix<double> K;
  {
    PhaseTimer timer(report_, "kernel");
    K = map.gram(execution_);
  }
  PhaseTimer timer(report_, "solve");
  auto points = dual_blocks_path(std::move(K), all.dual, problem, execution_);
  return {std::move(map), std::move(points)};
}

template <Real T>
typename FitPath<T>::PathFit FitPath<T>::fourier_path(const RidgePathProblem& problem) {
  FourierMap<T> map = sample_map();
  const Index m = map.n_features();
  std::optional<Expansion> expansion;
  if (!kernel_->separable()) expansion.emplace(*kernel_, map.unit_frequencies(), rows_.dim_out());
  if (!expansion && summary_.rows < m) return fourier_dual_path(std::move(map), problem);
  const Index order = expansion ? expansion->dim_coef() : m;
  const double sums = 8.0 * std::pow(static_cast<double>(m + rows_.dim_out() + 1), 2);
  const double turned = expansion && problem.leave_one_out ? static_cast<double>(m * order * rows_.dim_out()) : 0.0;
  check_path_memory(order, sums + sizeof(T) * turned, problem.leave_one_out);
  auto moments = std::make_shared<Moments>(m, origin_);
  sum(map, *moments);
  if (options_.keep_moments) moments_ = moments;
  PhaseTimer timer(report_, "solve");
  auto points = path_of(map, *moments, expansion ? &*expansion : nullptr, problem);
  return {std::move(map), std::move(points)};
}

// With fewer rows than features: K = phi phiᵀ, then Theta = phiᵀ C for all alphas side by side.
template <Real T>
typename FitPath<T>::PathFit FitPath<T>::fourier_dual_path(FourierMap<T> map, const RidgePathProblem& problem) {
  const Index n = summary_.rows;
  check_path_memory(n, sizeof(T) * static_cast<double>(n) * static_cast<double>(map.n_features()),
                    problem.leave_one_out);
  const auto all = gather(rows_, summary_, origin_, at_once_);
  Matrix<T> phi(n, map.n_features());
  Matrix<double> K;
  {
    PhaseTimer timer(report_, "features");
    evaluate(map, all.X, View<T>(phi), execution_);
    K = dual_gram(phi, execution_);
  }
  if (options_.keep_moments) {
    auto moments = std::make_shared<Moments>(map.n_features(), origin_);
    sum(map, *moments);
    moments_ = std::move(moments);
  }
  PhaseTimer timer(report_, "solve");
  auto points = dual_path(std::move(K), all.dual, problem, execution_);
  const Index q = points[0].solution.coefficients.cols();
  Matrix<double> C(n, q * static_cast<Index>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i)
    C.middleCols(static_cast<Index>(i) * q, q) = points[i].solution.coefficients;
  const Matrix<double> theta = transposed_product(phi, C, execution_);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].solution.coefficients = theta.middleCols(static_cast<Index>(i) * q, q);
  return {std::move(map), std::move(points)};
}

template <Real T>
typename FitPath<T>::PathFit FitPath<T>::sketched_path(const ScalarKernel& scalar, const RidgePathProblem& problem) {
  const auto s = static_cast<double>(n_components(*sketch_) + rows_.dim_out() + 1);
  check_path_memory(n_components(*sketch_), 16 * s * s, problem.leave_one_out);
  std::optional<Moments> moments;
  const SketchedMap<T> map = sketched_map(scalar, moments);
  if (!moments) sum(map, moments.emplace(map.n_features(), origin_));
  PhaseTimer timer(report_, "solve");
  auto points = path_of(map, *moments, nullptr, problem);
  for (RidgePoint& point : points) {
    point.solution.coefficients = map.anchor_coefficients(point.solution.coefficients);
  }
  return {map.kernel_map(), std::move(points)};
}

template <Real T>
template <ScalarMap M>
std::vector<RidgePoint> FitPath<T>::path_of(const M& map, const Moments& moments, const Expansion* expansion,
                                            const RidgePathProblem& problem) {
  return primal_path(map, rows_, at_once_, moments, expansion, problem, execution_);
}

// H itself; for rows left out the workspace of an eigendecomposition, twice as much, and the vectors turned.
template <Real T>
void FitPath<T>::check_path_memory(Index order, double other_bytes, bool leave_one_out) const {
  const double matrices = leave_one_out ? 3 : 1;
  const double needed = matrices * 8 * static_cast<double>(order) * static_cast<double>(order) + other_bytes;
  const double limit = memory_limit(execution_);
  require(needed <= limit, "path: a matrix of order {} needs {}, the memory budget is {}; use fewer components{}",
          order, format_bytes(needed), format_bytes(limit),
          options_.approximation == "exact" ? " of 'fourier' or a sketch" : "");
}

template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
