// solvers/squared/masked_primal.cpp -- missing targets, in the coefficients of the features.
#include "solvers/squared/masked.hpp"
#include "solvers/squared/row_sums.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

MaskedNormal::MaskedNormal(const CoefficientSpace& space, Index features, const Vector<double>& origin,
                           bool fit_intercept, const Execution& execution)
    : space_(space), origin_(origin), fit_intercept_(fit_intercept), execution_(execution) {
  const Index p = origin.size();
  sums_.cross.setZero(features, p);
  sums_.own_feature_sums.setZero(features, p);
  sums_.target_sums.setZero(p);
  sums_.own_weight.setZero(p);
  H_.setZero(space.dim(), space.dim());
}

void MaskedNormal::add(const Moments& moments, const std::vector<Index>& outputs) {
  space_.add_gram(gram_of(moments, fit_intercept_), outputs, H_, execution_);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Index a = outputs[k];
    sums_.cross.col(a) = moments.cross().row(static_cast<Index>(k)).transpose();
    sums_.own_feature_sums.col(a) = moments.feature_sums().transpose();
    sums_.target_sums[a] = moments.target_sums()[static_cast<Index>(k)];
    sums_.own_weight[a] = moments.total_weight();
  }
}

LinearSolution MaskedNormal::solve(double alpha, SolveReport& report) {
  if (fit_intercept_) sums_.centre();
  Matrix<double> theta = space_.contract(sums_.cross);
  solve_shifted(H_.data(), H_.rows(), H_.outerStride(), Vector<double>::Ones(1), alpha, theta, execution_, report);
  Vector<double> b = with_intercept(space_.expand(theta), sums_, origin_, fit_intercept_).intercept;
  return {space_.model_coefficients(theta), std::move(b)};
}

namespace {

// (c E (G (x) I) E + alpha I)^-1 for the Gram matrix of some rows, spread evenly by their numbers.
Preconditioner precondition_by_rows(const FeatureRows& rows, const CoefficientSpace& space, const RowSums& sums,
                                    double alpha, bool fit_intercept, const Execution& execution) {
  const Index n = rows.rows(), m = rows.features();
  if (!space.separable() || m > largest_inverse || !(alpha > 0)) return {};
  Vector<double> u = rows.weights();
  if (u.size() == 0) u.setOnes(n);
  const double step = std::min(1.0, 8 * static_cast<double>(m) / static_cast<double>(n));
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<double>(i);
    if (std::floor((at + 1) * step) == std::floor(at * step)) u[i] = 0;
  }
  Matrix<double> G;
  rows.gram(u, G);
  const double weight = G(m, m);
  if (!(weight > 0)) return {};
  const Vector<double> g = G.row(m).head(m).transpose();
  Matrix<double> H = G.topLeftCorner(m, m);
  for (Index i = 0; fit_intercept && i < m; ++i) H.row(i).head(i + 1) -= g[i] / weight * g.head(i + 1).transpose();
  const double c = sums.own_weight.mean() / weight;
  return [c, inverse = space.inverse(std::move(H), alpha, execution)](const Matrix<double>& R, Matrix<double>& Z) {
    Z = inverse(c, R);
  };
}

}  // namespace

LinearSolution solve_masked_cg(const FeatureRows& rows, const CoefficientSpace& space, const Vector<double>& origin,
                               double alpha, bool fit_intercept, const IterationOptions& options,
                               const Execution& execution, SolveReport& report) {
  RowSums sums = rows.sums(origin);
  require(sums.missing(), "fit: no target is missing");
  if (fit_intercept) sums.centre();
  Matrix<double> image;
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    normal_product(rows, sums, fit_intercept, space.expand(P), image);
    HP = space.contract(image);
  };
  const Matrix<double> theta =
      solve_shifted_cg(product, Vector<double>::Ones(1), alpha, space.contract(sums.cross), options, execution, report,
                       precondition_by_rows(rows, space, sums, alpha, fit_intercept, execution));
  Vector<double> b = with_intercept(space.expand(theta), sums, origin, fit_intercept).intercept;
  return {space.model_coefficients(theta), std::move(b)};
}

}  // namespace carmina
