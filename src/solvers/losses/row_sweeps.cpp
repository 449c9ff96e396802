// solvers/losses/row_sweeps.cpp -- coordinate ascent over the rows of a kernel matrix.
#include "solvers/losses/row_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {

bool narrow_kernel(const Matrix<double>& K) {
  constexpr Index looked_at = 64;
  constexpr double most = 6;  // times the square of its own value
  const Index n = K.rows(), step = std::max<Index>(1, n / looked_at);
  double shares = 0;
  Index count = 0;
  for (Index i = 0; i < n; i += step) {
    if (!(K(i, i) > 0)) return false;
    shares += K.row(i).squaredNorm() / (K(i, i) * K(i, i));
    ++count;
  }
  return shares <= most * static_cast<double>(count);
}

Matrix<double> sweep_rows(const LossModel& model, Point& at) {
  constexpr int most_sweeps = 300;
  constexpr double enough = 1e-9, slow = 0.97;  // of the first change; of the last one
  const Matrix<double>& K = *model.kernel();
  const LossRows& rows = model.rows();
  const Index n = K.rows(), p = rows.outputs();
  const double f = model.space().root(0, 0), alpha = model.alpha();
  at = {Vector<double>::Zero(n * p), Vector<double>::Zero(p), Vector<double>::Zero(n * p)};
  if (model.has_intercept()) at.b = rows.target_means();
  Eigen::Map<Matrix<double>> theta(at.theta.data(), n, p), image(at.image.data(), n, p);  // image = K theta
  Matrix<double> G = Matrix<double>::Zero(n, p);
  Vector<double> v(p), found(p), change(p), held(p);
  double first = 0, last = std::numeric_limits<double>::infinity();
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    model.execution().checkpoint({"solving", sweep, 0, "sweep"});
    double changed = 0;
    held.setZero();  // sum of f^2 K_ii over the rows that stay where they are when the intercept moves
    for (Index i = 0; i < n; ++i) {
      const double w = rows.weight(i), own = f * K(i, i);
      if (!(w > 0) || !(own > 0)) continue;
      const double rho = w * f * own / alpha;
      v = f * image.row(i).transpose() + at.b - own * theta.row(i).transpose();
      rows.prox(i, v.data(), rho, found.data());
      G.row(i) = (v - found).transpose() / rho;
      change = -f * w / alpha * G.row(i).transpose() - theta.row(i).transpose();
      held += (found.array() != v.array()).select(Vector<double>::Constant(p, 1 / own), 0.0);
      if (change.isZero(0)) continue;
      changed += change.squaredNorm();
      theta.row(i) += change.transpose();
      if (p == 1) {
        at.image += change[0] * K.row(i).transpose();
      } else {
        image.noalias() += K.row(i).transpose() * change.transpose();
      }
    }
    for (Index j = 0; model.has_intercept() && j < p; ++j) {
      if (held[j] > 0) at.b[j] += theta.col(j).sum() / held[j];
    }
    if (sweep == 0) first = changed;
    if (changed <= enough * enough * first || (sweep > 3 && changed > slow * slow * last)) break;
    last = changed;
  }
  return G;
}

}  // namespace carmina
