// solvers/losses/newton_direction.cpp -- the systems that give a descent direction.
#include "solvers/losses/newton_direction.hpp"
#include "backends/tiled.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {
namespace {

// X <- H⁻¹ X for H by its lower triangle; false when H is singular to rounding.
template <class M>
bool solve_in_place(Matrix<double>& H, M& X, const Execution& execution) {
  const Index order = H.rows();
  if (order > 0 && !backend::cholesky(order, H.data(), H.outerStride(), execution)) return false;
  if (order > 0) backend::cholesky_solve(order, X.cols(), H.data(), H.outerStride(), X.data(), X.cols(), execution);
  return true;
}

}  // namespace

NewtonModel::NewtonModel(const FeatureRows& features, const CoefficientSpace& space, const LossRows& rows, double alpha,
                         bool fit_intercept, Execution execution)
    : LossModel(features, space, rows, alpha, fit_intercept, std::move(execution)) {}

Matrix<double> NewtonModel::weighted_gram() const {
  const Index m = features().features(), p = std::max<Index>(1, features().block_outputs());
  Matrix<double> G;
  features().gram(Vector<double>::NullaryExpr(rows().rows() * p, [&](Index i) { return rows().weight(i / p); }), G);
  for (Index i = 0; has_intercept() && i < m; ++i) {
    G.row(i).head(i + 1) -= rows().total_weight() * mean().row(i) * mean().topRows(i + 1).transpose();
  }
  return G.topLeftCorner(m, m);
}

const CoefficientSpace::Inverse& NewtonModel::inverse() const {
  if (!inverse_) inverse_ = space().inverse(weighted_gram(), alpha(), execution());
  return inverse_;
}

Point NewtonModel::precondition(double c, const Point& r) const {
  if (kernel()) {  // the second derivatives are below this
    Point out = r.scaled(1 / (alpha() + c * kernel()->trace()));
    out.b = r.b / (c * rows().total_weight());
    return out;
  }
  return {inverse()(c, r.theta), r.b / (c * rows().total_weight())};
}

Point NewtonModel::ridge_solution() const {
  Matrix<double> Y = rows().targets();
  Vector<double> b = Vector<double>::Zero(rows().outputs());
  if (has_intercept()) {
    b = rows().target_means();
    Y.rowwise() -= b.transpose();
  }
  Y = Y.array().isNaN().select(0.0, Y);
  rows().apply_weights(Y);
  const Vector<double> pulled = pull_back(Y).theta;
  if (!space().separate() || has_blocks()) return {inverse()(1, pulled), b};
  Matrix<double> H = std::pow(space().root(0, 0), 2) * weighted_gram();
  H.diagonal().array() += alpha();
  Matrix<double> theta = Eigen::Map<const Matrix<double>>(pulled.data(), H.rows(), rows().outputs());
  if (!solve_in_place(H, theta, execution())) return {inverse()(1, pulled), b};
  return {Eigen::Map<const Vector<double>>(theta.data(), theta.size()), b};
}

Matrix<double> NewtonModel::centred_gram(const Vector<double>& u) const {
  const Index m = features().features();
  Matrix<double> H;
  features().gram(u, H);
  if (!has_intercept()) return H;
  const double total = H(m, m);
  const Vector<double> g = H.row(m).head(m).transpose(), z = mean().col(0);
  for (Index i = 0; i < m; ++i) {
    H.row(i).head(i + 1) +=
        total * z[i] * z.head(i + 1).transpose() - g[i] * z.head(i + 1).transpose() - z[i] * g.head(i + 1).transpose();
  }
  H.row(m).head(m) = g - total * z;
  return H;
}

namespace {

// The intercept is not penalised: a tenth of a row keeps it in place where no row has curvature.
double intercept_curvature(const NewtonModel& model, const RowCurvatures& D, double total) {
  return model.has_intercept() ? total + 0.1 * D.of_one_row : 1.0;
}

Vector<double> curvature_weights(const NewtonModel& model, const RowCurvatures& D, Index j) {
  return Vector<double>::NullaryExpr(D.along.size(),
                                     [&](Index i) { return model.rows().weight(i) * D.diagonal(i, j); });
}

struct OutputMove {
  Vector<double> theta;
  double b = 0;
};

// f^2 sum_i u_i z_i z_iᵀ + alpha I, f sum_i u_i z_i and sum_i u_i, f the output's factor; false when singular.
bool by_features(const NewtonModel& model, const RowCurvatures& D, const Vector<double>& u, OutputMove& move) {
  const Index m = move.theta.size();
  const double f = model.space().root(0, 0);
  Matrix<double> H = model.centred_gram(u);
  H.topLeftCorner(m, m) *= f * f;
  H.diagonal().head(m).array() += model.alpha();
  H.row(m).head(m) *= model.has_intercept() ? f : 0.0;
  H(m, m) = intercept_curvature(model, D, H(m, m));
  Vector<double> x(m + 1);
  x << -move.theta, -move.b;
  if (!solve_in_place(H, x, model.execution())) return false;
  move = {x.head(m), x[m]};
  return true;
}

// The same by the rows that have curvature. With Z the rows f sqrt(u_i) z_i, s = sqrt(u) and M = Z Zᵀ + alpha I,
//   H⁻¹ = (I - Zᵀ M⁻¹ Z) / alpha and Z H⁻¹ = M⁻¹ Z, so that for w = M⁻¹ Z g and y = M⁻¹ s
//   db = (y . Z g - g_b) / (alpha s . y + 0.1 of a row),   d = (Zᵀ w - g) / alpha - db Zᵀ y.
bool by_curved_rows(const NewtonModel& model, const RowCurvatures& D, const Vector<double>& u,
                    const std::vector<Index>& curved, OutputMove& move) {
  const auto order = static_cast<Index>(curved.size());
  const double f = model.space().root(0, 0), alpha = model.alpha();
  const Vector<double> s =
      Vector<double>::NullaryExpr(order, [&](Index a) { return std::sqrt(u[curved[static_cast<std::size_t>(a)]]); });
  Matrix<double> Z = model.features_of(curved).transpose();  // (m, order)
  if (model.has_intercept()) Z.colwise() -= model.mean_of_features();
  Z *= f * s.asDiagonal();
  Matrix<double> M = Matrix<double>::Zero(order, order), right(order, 2);
  M.diagonal().setConstant(alpha);
  backend::add_gram(order, Z.rows(), Z.data(), order, M.data(), order, model.execution());
  right.col(0) = Z.transpose() * move.theta;
  right.col(1) = s;
  const Vector<double> Zg = right.col(0);
  if (!solve_in_place(M, right, model.execution())) return false;
  double db = 0;
  if (model.has_intercept())
    db = (right.col(1).dot(Zg) - move.b) / intercept_curvature(model, D, alpha * s.dot(right.col(1)));
  move = {(Z * right.col(0) - move.theta) / alpha - db * (Z * right.col(1)), db};
  return true;
}

// Every output on its own.
bool separate_direction(const NewtonModel& model, const RowCurvatures& D, const Point& gradient, Point& move) {
  const Index p = model.rows().outputs(), m = gradient.theta.size() / p;
  move = gradient;
  std::vector<Index> curved;
  for (Index j = 0; j < p; ++j) {
    const Vector<double> u = curvature_weights(model, D, j);
    curved.clear();
    for (Index i = 0; i < u.size(); ++i) {
      if (u[i] > 0) curved.push_back(i);
    }
    OutputMove of_output{Vector<double>::NullaryExpr(m, [&](Index k) { return gradient.theta[k * p + j]; }),
                         gradient.b[j]};
    const bool few = static_cast<Index>(curved.size()) < m;
    if (!(few ? by_curved_rows(model, D, u, curved, of_output) : by_features(model, D, u, of_output))) return false;
    for (Index k = 0; k < m; ++k) move.theta[k * p + j] = of_output.theta[k];
    move.b[j] = model.has_intercept() ? of_output.b : 0.0;
  }
  return true;
}

// Outputs that meet only through B: the sum over outputs of (row j of B)(row j of B)ᵀ (x) sum_i u_ij z_i z_iᵀ.
bool coupled_direction(const NewtonModel& model, const RowCurvatures& D, const Point& gradient, Point& move) {
  const Index p = model.rows().outputs(), rank = model.space().rank(), order = gradient.theta.size(), m = order / rank;
  Matrix<double> H = Matrix<double>::Zero(order + p, order + p);
  H.diagonal().head(order).setConstant(model.alpha());
  for (Index j = 0; j < p; ++j) {
    const Matrix<double> G = model.centred_gram(curvature_weights(model, D, j));
    Vector<double> b(rank);
    for (Index a = 0; a < rank; ++a) b[a] = model.space().root(j, a);
    const Matrix<double> bb = b * b.transpose();
    parallel_for(m, model.execution().thread_count(), [&](Index k, int) {
      for (Index l = 0; l <= k; ++l) H.block(k * rank, l * rank, rank, rank) += G(k, l) * bb;
    });
    if (model.has_intercept()) {
      for (Index k = 0; k < m; ++k) H.row(order + j).segment(k * rank, rank) = G(m, k) * b.transpose();
    }
    H(order + j, order + j) = intercept_curvature(model, D, G(m, m));
  }
  Vector<double> x(order + p);
  x << -gradient.theta, -gradient.b;
  if (!solve_in_place(H, x, model.execution())) return false;
  move = {x.head(order), model.has_intercept() ? Vector<double>(x.tail(p)) : Vector<double>(Vector<double>::Zero(p))};
  return true;
}

// Rows of a kernel, every output on its own. With r the gradient's coefficients, S = f sqrt(w D) and A the rows where
// it is not zero, alpha d + r + f w D (f K d + db) = 0 has the solution d = -r / alpha + S y with
//   (S K S + alpha I) y = S K r / alpha - (S / f) db   on A alone, and
//   g_b - (alpha / f) sum_A S y = 0.
// Theta follows the intercept here, which leaves it little curvature: a tenth of a row more would hold it back.
Point rows_direction(const NewtonModel& model, const RowCurvatures& D, const Point& gradient) {
  const Matrix<double>& K = *model.kernel();
  const Index n = K.rows(), p = model.rows().outputs();
  const double f = model.space().root(0, 0), alpha = model.alpha();
  Point found = gradient.scaled(-1 / alpha), along{Vector<double>::Zero(n * p), Vector<double>::Zero(p)};
  for (Index j = 0; j < p; ++j) {
    std::vector<Index> curved;
    for (Index i = 0; i < n; ++i) {
      if (model.rows().weight(i) * D.diagonal(i, j) > 0) curved.push_back(i);
    }
    const auto order = static_cast<Index>(curved.size());
    const auto number = [&](Index a) { return curved[static_cast<std::size_t>(a)]; };
    const Vector<double> S = Vector<double>::NullaryExpr(
        order, [&](Index a) { return f * std::sqrt(model.rows().weight(number(a)) * D.diagonal(number(a), j)); });
    Matrix<double> H(order, order), y(order, 2);
    double shift = alpha;
    bool solved = false;
    while (!solved) {  // a shift above alpha, where rounding asks for it, leaves a direction that still descends
      if (!std::isfinite(shift)) return found;  // numbers beyond double's range
      parallel_for(order, model.execution().thread_count(), [&](Index a, int) {
        const double* row = K.row(number(a)).data();
        for (Index c = 0; c <= a; ++c) H(a, c) = S[a] * row[number(c)] * S[c];
        H(a, a) += shift;
      });
      shift *= 100;
      for (Index a = 0; a < order; ++a) y.row(a) << S[a] * gradient.image[number(a) * p + j] / alpha, S[a] / f;
      solved = solve_in_place(H, y, model.execution());
    }
    const Vector<double> sums = (alpha / f) * y.transpose() * S;
    const double curvature = sums[1] > 0 ? sums[1] : 0.1 * D.of_one_row;
    const double db = model.has_intercept() ? (sums[0] - gradient.b[j]) / curvature : 0.0;
    for (Index a = 0; a < order; ++a) along.theta[number(a) * p + j] = S[a] * (y(a, 0) - db * y(a, 1));
    found.b[j] = db;
  }
  model.set_image(along);
  found.theta += along.theta;
  found.image += along.image;
  return found;
}

Point conjugate_direction(const NewtonModel& model, const RowCurvatures& D, const Point& gradient) {
  constexpr Index most = 200;
  constexpr double enough = 1e-2;  // of the gradient's norm in the preconditioner's metric
  const double c = std::max(D.mean, 1e-12);
  Matrix<double> F, R;
  const auto product = [&](const Point& q) {
    model.values(q, F);
    model.rows().multiply(D, F, R);
    Point out = model.pull_back(R);
    out.theta += model.alpha() * q.theta;
    out.b += 0.1 * D.of_one_row * q.b;
    return out;
  };
  Point x{Vector<double>::Zero(gradient.theta.size()), Vector<double>::Zero(gradient.b.size())};
  Point r = gradient.scaled(-1), z = model.precondition(c, r), q = z;
  if (!model.has_intercept()) z.b.setZero(), q.b.setZero();
  double rz = LossModel::dot(r, z);
  const double first = rz;
  for (Index k = 0; k < most && rz > enough * enough * first; ++k) {
    const Point Hq = product(q);
    const double curvature = LossModel::dot(q, Hq);
    if (!(curvature > 0)) break;
    x = x.plus(q, rz / curvature);
    r = r.plus(Hq, -rz / curvature);
    z = model.precondition(c, r);
    if (!model.has_intercept()) z.b.setZero();
    const double next = LossModel::dot(r, z);
    q = z.plus(q, next / rz);
    rz = next;
  }
  return x;
}

}  // namespace

Point newton_direction(const NewtonModel& model, const RowCurvatures& D, const Point& gradient) {
  constexpr Index largest_coupled = 3000;  // order of a matrix that is quick to factor again and again
  if (model.kernel()) return rows_direction(model, D, gradient);
  Point move;
  if ((D.along.array() == 0).all() && model.space().separable() && !model.has_blocks()) {
    if (model.space().separate()) {
      if (separate_direction(model, D, gradient, move)) return move;
    } else if (gradient.theta.size() <= largest_coupled && coupled_direction(model, D, gradient, move)) {
      return move;
    }
  }
  return conjugate_direction(model, D, gradient);
}

Point LimitedMemory::direction(const NewtonModel& model, double curvature, const Point& gradient) const {
  Point q = gradient;
  std::vector<double> coefficient(moves_.size());
  for (std::size_t k = moves_.size(); k-- > 0;) {
    const auto& [move, change] = moves_[k];
    coefficient[k] = LossModel::dot(move, q) / LossModel::dot(move, change);
    q = q.plus(change, -coefficient[k]);
  }
  Point r = model.precondition(curvature, q);
  if (!model.has_intercept()) r.b.setZero();
  for (std::size_t k = 0; k < moves_.size(); ++k) {
    const auto& [move, change] = moves_[k];
    const double beta = LossModel::dot(change, r) / LossModel::dot(move, change);
    r = r.plus(move, coefficient[k] - beta);
  }
  return r.scaled(-1);
}

void LimitedMemory::name(LoopState& state) {
  std::size_t count = moves_.size();
  state("moves", count);
  count = std::min(count, moves_kept);
  moves_.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    moves_[k].first.name(state, format_text("move {}", k)), moves_[k].second.name(state, format_text("change {}", k));
  }
}

void LimitedMemory::remember(Point move, Point change) {
  if (LossModel::dot(move, change) <= 1e-14 * std::sqrt(LossModel::dot(move, move) * LossModel::dot(change, change)))
    return;
  moves_.emplace_back(std::move(move), std::move(change));
  if (moves_.size() > moves_kept) moves_.pop_front();
}

}  // namespace carmina
