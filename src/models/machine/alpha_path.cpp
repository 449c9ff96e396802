// models/machine/alpha_path.cpp -- machines of a path, and the choice between them.
#include "models/fit/leave_out.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/alpha_path.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

std::vector<double> path_alphas() {
  std::vector<double> alphas;
  for (int i = 0; i < 20; ++i) alphas.push_back(std::pow(10.0, -6 + 0.5 * i));
  return alphas;
}

double score_of(const PathPoint& point, AlphaScore score) {
  return score == AlphaScore::gcv ? point.gcv : point.leave_one_out.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::size_t best_point(const std::vector<PathPoint>& points, AlphaScore score) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double mine = score_of(points[i], score), yours = score_of(points[best], score);
    if (mine < yours || std::isnan(yours)) best = i;
  }
  const bool finite = !points.empty() && std::isfinite(score_of(points[best], score));
  require(finite || score != AlphaScore::gcv,
          "path: no alpha has a finite score: the weights count the rows and sum to less than the degrees of freedom");
  require(finite, "path: no alpha has a finite score of the rows left out; try larger ones");
  return best;
}

std::string end_of_alphas(const std::vector<PathPoint>& points, std::size_t best) {
  const auto smaller = [](const PathPoint& a, const PathPoint& b) { return a.alpha < b.alpha; };
  const auto [low, high] = std::minmax_element(points.begin(), points.end(), smaller);
  const double alpha = points[best].alpha;
  if (low->alpha == high->alpha || (alpha > low->alpha && alpha < high->alpha)) return {};
  return format_text("the best alpha, {:.6g}, is the {} tried", alpha, alpha > low->alpha ? "largest" : "smallest");
}

template <Real T>
MachinePath<T>::MachinePath(KernelMachine<T> first, std::vector<PathPoint> points,
                            std::shared_ptr<const std::vector<LinearSolution>> solutions)
    : first_(std::move(first)),
      points_(std::make_shared<const std::vector<PathPoint>>(std::move(points))),
      solutions_(std::move(solutions)) {}

template <Real T>
KernelMachine<T> MachinePath<T>::machine(std::size_t i) const {
  require(i < solutions_->size(), "path: machine {} of {} is asked for", i + 1, solutions_->size());
  const LinearSolution& solution = (*solutions_)[i];
  FitRecord record = first_.record();
  record.alpha = points()[i].alpha;
  record.path = points_;
  if (record.moments && record.fourier()) {
    const Index p = first_.dim_out();
    const Matrix<double> root = first_.output_root().template cast<double>();
    const Matrix<double> C =
        root.size() > 0 ? Matrix<double>(solution.coefficients * root.transpose()) : solution.coefficients;
    const double freedom = points()[i].degrees_of_freedom / static_cast<double>(p);
    record.noise = noise_of_sums(*record.moments, C, solution.intercept, Vector<double>::Constant(p, freedom));
  }
  return KernelMachine<T>(first_.kernel(), first_.shared_map(), solution.coefficients.template cast<T>(),
                          first_.output_root(), solution.intercept.template cast<T>(), std::move(record));
}

template <Real T>
MachinePath<T> fit_path(RowSource<T>& rows, const FitOptions& options, const std::vector<double>& alphas,
                        bool leave_one_out) {
  options.check();
  require(!options.checkpoint, "path: a checkpoint is for one fit, here are many");
  require(rows.dim_out() > 0, "fit: Y has no columns");
  DataRows<T> data(rows);
  const FitOptions fixed = options.without_choices();
  return FitPipeline<T>(data, fixed).run_path(alphas, leave_one_out);
}

#define CARMINA_INSTANTIATE(T)   \
  template class MachinePath<T>; \
  template MachinePath<T> fit_path(RowSource<T>&, const FitOptions&, const std::vector<double>&, bool);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
