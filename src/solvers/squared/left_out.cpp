// solvers/squared/left_out.cpp -- leverages a block of rows at a time, then errors output by output.
#include "solvers/squared/left_out.hpp"

#include <carmina/core/error.hpp>
#include <carmina/random/philox.hpp>

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace carmina {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// 1 - h of normal equations is a difference: below this it is rounding.
constexpr double least_left = 1e-11;

// Up to so many rows leverages are computed, above they are estimated where that is as good.
constexpr Index rows_computed = 2000;
constexpr Index directions_asked = 128;  // of a sketch, before it is asked whether there are enough

// Of them, those that are multiplied at a time: as large as rows_left_out_together, if that is not very little.
Index directions_together(Index rows, Index order) {
  return std::clamp<Index>(2 * rows_left_out_together(order, 1) * order / (rows + order), 4, directions_asked);
}

}  // namespace

Index rows_left_out_together(Index order, Index block) {
  return std::clamp<Index>((Index{1} << 19) / std::max<Index>(1, order * block), 8, 64);
}

double numbers_left_out(double rows, double order, double block, double features) {
  const auto whole = static_cast<Index>(order);
  const auto together = static_cast<double>(rows_left_out_together(whole, static_cast<Index>(block)));
  const double computed = std::min(rows, together) * (block * order + features);
  if (features == 0 || rows <= rows_computed) return computed;
  return std::max(computed, static_cast<double>(directions_together(static_cast<Index>(rows), whole)) * (rows + order));
}

LeftOut::LeftOut(const OutputFactor* outputs, Index p, double alpha, bool fit_intercept, double total_weight,
                 Vector<double> weights)
    : outputs_(outputs),
      p_(p),
      alpha_(alpha),
      fit_intercept_(fit_intercept),
      total_weight_(total_weight),
      weights_(std::move(weights)) {}

Matrix<double>& LeftOut::left(double delta) {
  for (auto& [known, blocks] : left_) {
    if (known == delta) return blocks;
  }
  return left_.emplace_back(delta, Matrix<double>::Zero(weights_.size(), block() * block())).second;
}

const Matrix<double>& LeftOut::left(double delta) const {
  require(!left_.empty(), "fit: no factor was there for the rows left out");
  const auto nearer = [delta](const auto& a, const auto& b) {
    return std::abs(a.first - delta) < std::abs(b.first - delta);
  };
  return std::min_element(left_.begin(), left_.end(), nearer)->second;
}

void LeftOut::add(double delta, const Whiten& whiten, const FeatureRows& rows, const Vector<double>& mean,
                  const Expansion* expansion) {
  std::vector<bool> known(static_cast<std::size_t>(weights_.size()));
  if (!expansion && weights_.size() > rows_computed) known = estimate(delta, whiten, rows, mean);
  const Index b = block(), m = rows.features(), order = expansion ? expansion->dim_coef() : m;
  const Index at_once = rows_left_out_together(order, b);
  Matrix<double>& blocks = left(delta);
  Matrix<double> phi, Z;
  std::vector<Index> places;
  rows.windows([&](Index first_row, Index count, const FeatureRows::Gather& gather) {
    for (Index at = 0; at < count;) {
      for (places.clear(); at < count && static_cast<Index>(places.size()) < at_once; ++at) {
        if (!known[static_cast<std::size_t>(first_row + at)]) places.push_back(at);
      }
      const auto some = static_cast<Index>(places.size());
      if (some == 0) return;
      gather(places.data(), some, phi);
      if (mean.size() > 0) phi.rowwise() -= mean.transpose();
      if (expansion) {
        Z.resize(order, some * b);
        Matrix<double> R(m, b);
        for (Index i = 0; i < some * b; ++i) {
          R.setZero();
          R.col(i % b) = phi.row(i / b).transpose();
          Z.col(i) = expansion->contract(R);
        }
      } else {
        Z = phi.transpose();
      }
      whiten.apply(0, Z);
      Vector<double> norms;
      if (b == 1) norms = Z.colwise().squaredNorm().transpose();
      for (Index i = 0; i < some; ++i) {
        const Index row = first_row + places[static_cast<std::size_t>(i)];
        const double u = std::min(1.0, weights_[row]);
        if (b == 1) {
          const double left = 1 - u * share() - u * delta * norms[i];
          blocks(row, 0) = left < least_left ? 0 : left;
          continue;
        }
        Eigen::Map<Matrix<double>> L(blocks.row(row).data(), b, b);
        L = -u * delta * (Z.middleCols(i * b, b).transpose() * Z.middleCols(i * b, b));
        L.diagonal().array() += 1 - u * share();
      }
    }
  });
}

// h = delta |F phi|^2 is the mean of delta (gᵀF phi)^2 over normal g, of which k give it to a relative error of
// sqrt(2 / k): leverages as in [Drineas2012]. What counts is 1 - h: of most rows to `precision`, and
// of the others, whose h is large, it is left to be computed.
std::vector<bool> LeftOut::estimate(double delta, const Whiten& whiten, const FeatureRows& rows,
                                    const Vector<double>& mean) {
  constexpr double precision = 0.01, most = 0.03;
  const Index m = rows.features(), s = weights_.size();
  const Random random = Random(0, Stream::sketch).child(1);
  std::vector<bool> known(static_cast<std::size_t>(s));
  Vector<double> squares = Vector<double>::Zero(s);
  const Index together = directions_together(s, m);
  Matrix<double> G, F;
  Index k = 0;
  const auto add = [&](Index count) {
    G = Matrix<double>::NullaryExpr(m, count, [&](Index j, Index a) {
      return random.normal(static_cast<std::uint64_t>(j), static_cast<std::uint32_t>(k + a));
    });
    whiten.transposed(G);
    rows.forward(G, F);
    if (mean.size() > 0) F.rowwise() -= mean.transpose() * G;
    squares += F.rowwise().squaredNorm();
    k += count;
  };
  while (true) {
    const Index end = k + directions_asked;
    while (k < end) add(std::min(together, end - k));
    const double leverage = delta * squares.dot(weights_) / (static_cast<double>(k) * weights_.sum());
    const double needed = 2 * std::pow(leverage / precision, 2);
    if (needed > static_cast<double>(m) / 4) return known;
    if (static_cast<double>(k) < needed) continue;
    Matrix<double>& blocks = left(delta);
    for (Index i = 0; i < s; ++i) {
      const double u = std::min(1.0, weights_[i]), h = delta * squares[i] / static_cast<double>(k);
      blocks(i, 0) = 1 - u * share() - u * h;
      known[static_cast<std::size_t>(i)] = h * std::sqrt(2 / static_cast<double>(k)) < most;
    }
    return known;
  }
}

void LeftOut::add(double delta, const Whiten& whiten, const std::vector<Index>& places,
                  const Vector<double>& root_weights) {
  const Index b = block(), order = root_weights.size() * b, count = static_cast<Index>(places.size());
  const Index at_once = rows_left_out_together(order, b);
  Matrix<double>& blocks = left(delta);
  Matrix<double> ones;  // F E, E = w^(1/2) (x) I
  Eigen::LLT<Eigen::MatrixXd> mass;
  if (fit_intercept_) {
    ones.setZero(order, b);
    for (Index i = 0; i < order; ++i) ones(i, i % b) = root_weights[i / b];
    whiten.apply(0, ones);
    mass.compute(ones.transpose() * ones);
  }
  for (Index at = 0; at < count; at += at_once) {
    const Index some = std::min(at_once, count - at), first = places[static_cast<std::size_t>(at)] * b;
    Matrix<double> Z = Matrix<double>::Zero(order - first, some * b);
    for (Index k = 0; k < some * b; ++k) {
      Z(places[static_cast<std::size_t>(at + k / b)] * b + k % b - first, k) = 1;
    }
    whiten.apply(first, Z);
    Matrix<double> products;  // Zᵀ F E
    if (fit_intercept_) products = Z.transpose() * ones.bottomRows(Z.rows());
    for (Index k = 0; k < some; ++k) {
      const double w = std::pow(root_weights[places[static_cast<std::size_t>(at + k)]], 2);
      Eigen::MatrixXd P = Z.middleCols(k * b, b).transpose() * Z.middleCols(k * b, b);
      if (fit_intercept_) {
        const Eigen::MatrixXd own = products.middleRows(k * b, b).transpose();
        P -= own.transpose() * mass.solve(own);
      }
      P *= alpha_;
      if (w > 1) P = (P + (w - 1) * Eigen::MatrixXd::Identity(b, b)) / w;
      Eigen::Map<Matrix<double>>(blocks.row(at + k).data(), b, b) = P;
    }
  }
}

LeftOutErrors LeftOut::of_residuals(const Matrix<double>& R) const {
  if (!outputs_) return together(R);
  if (outputs_->identity()) return separable(R, {});
  const Matrix<double> inside = R * outputs_->vectors;
  return separable(inside, R - inside * outputs_->vectors.transpose());
}

LeftOutErrors LeftOut::of_dual(const LinearSolution& solution, const DualRows& rows,
                               const std::vector<Index>& places) const {
  const auto count = static_cast<Index>(places.size());
  Matrix<double> R = alpha_ * solution.coefficients(places, Eigen::all);
  for (Index i = 0; rows.weights.size() > 0 && i < count; ++i) {
    R.row(i) /= rows.weights[places[static_cast<std::size_t>(i)]];
  }
  if (!outputs_) return together(R);
  for (Index j = 0; j < R.cols(); ++j) R.col(j) /= std::sqrt(outputs_->eigenvalue(j));
  if (outputs_->identity()) return separable(R, {});
  // Where A is zero f is zero, and the intercept the origin.
  const Matrix<double> targets = rows.targets(places, Eigen::all);
  return separable(R, targets - targets * outputs_->vectors * outputs_->vectors.transpose());
}

LeftOutErrors LeftOut::separable(const Matrix<double>& inside, const Matrix<double>& outside) const {
  const Index s = weights_.size(), rank = inside.cols();
  LeftOutErrors found{Matrix<double>(s, p_), Matrix<double>::Ones(s, p_), weights_};
  std::vector<const Matrix<double>*> of;
  for (Index j = 0; j < rank; ++j) of.push_back(&left(outputs_->eigenvalue(j)));
  Vector<double> e(rank), v(rank);
  for (Index i = 0; i < s; ++i) {
    const double u = std::min(1.0, weights_[i]), other = 1 - u * share();
    const auto variance = [u](double l) { return (1 + (1 - u) / u * (1 - l)) / l; };
    bool known = outputs_->identity() || other > 0;
    for (Index j = 0; j < rank; ++j) {
      const double l = (*of[static_cast<std::size_t>(j)])(i, 0);
      known = known && l > 0;
      e[j] = inside(i, j) / l;
      v[j] = variance(l);
    }
    if (!known) {
      found.errors.row(i).setConstant(infinite);
    } else if (outputs_->identity()) {
      found.errors.row(i) = e.transpose();
      found.variances.row(i) = v.transpose();
    } else {
      const Matrix<double>& V = outputs_->vectors;
      found.errors.row(i) = (V * e).transpose() + outside.row(i) / other;
      for (Index a = 0; a < p_; ++a) {
        const Vector<double> squares = V.row(a).cwiseAbs2().transpose();
        found.variances(i, a) = squares.dot(v) + std::max(0.0, 1 - squares.sum()) * variance(other);
      }
    }
  }
  return found;
}

LeftOutErrors LeftOut::together(const Matrix<double>& R) const {
  const Index s = weights_.size();
  LeftOutErrors found{Matrix<double>(s, p_), Matrix<double>::Ones(s, p_), weights_};
  const Matrix<double>& blocks = left(1);
  for (Index i = 0; i < s; ++i) {
    const double u = std::min(1.0, weights_[i]);
    const Eigen::MatrixXd L = Eigen::Map<const Matrix<double>>(blocks.row(i).data(), p_, p_);
    const Eigen::LLT<Eigen::MatrixXd> factor((L + L.transpose()) / 2);
    if (factor.info() != Eigen::Success) {
      found.errors.row(i).setConstant(infinite);
      continue;
    }
    const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(p_, p_);
    found.errors.row(i) = factor.solve(R.row(i).transpose()).transpose();
    found.variances.row(i) = factor.solve(one + (1 - u) / u * (one - L)).diagonal().transpose();
  }
  return found;
}

}  // namespace carmina
