// solvers/losses/loss_rows.cpp -- loops over rows; tiles are fixed and their sums are added in order.
#include "solvers/losses/loss_rows.hpp"
#include "losses/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {
namespace {

constexpr Index tile_rows = 1024;

}  // namespace

LossRows::LossRows(Loss loss, Matrix<double> targets, Vector<double> weights, Execution execution)
    : loss_(std::move(loss)),
      targets_(std::move(targets)),
      weights_(std::move(weights)),
      total_weight_(weights_.size() == 0 ? static_cast<double>(targets_.rows()) : weights_.sum()),
      target_weights_(Vector<double>::Constant(targets_.cols(), total_weight_)),
      execution_(std::move(execution)) {
  if (!targets_.hasNaN()) return;
  target_weights_.setZero();
  for (Index i = 0; i < rows(); ++i) {
    for (Index j = 0; j < outputs(); ++j) target_weights_[j] += has_target(targets_(i, j)) ? weight(i) : 0.0;
  }
}

Vector<double> LossRows::target_means() const {
  Vector<double> total = Vector<double>::Zero(outputs());
  for (Index i = 0; i < rows(); ++i) {
    for (Index j = 0; j < outputs(); ++j) total[j] += has_target(targets_(i, j)) ? weight(i) * targets_(i, j) : 0.0;
  }
  return (target_weights_.array() > 0).select(total.cwiseQuotient(target_weights_), 0.0);
}

// body(one loss, first, last) returns the sum of its rows.
template <class Body>
double LossRows::sum_over_rows(const Body& body) const {
  const Index n = rows(), tiles = (n + tile_rows - 1) / tile_rows;
  std::vector<double> sums(static_cast<std::size_t>(tiles), 0.0);
  std::visit(
      [&](const auto& loss) {
        parallel_for(tiles, execution_.thread_count(), [&](Index tile, int) {
          sums[static_cast<std::size_t>(tile)] = body(loss, tile * tile_rows, std::min(n, (tile + 1) * tile_rows));
        });
      },
      loss_);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

double LossRows::value(const Matrix<double>& F) const {
  const Index p = outputs();
  return sum_over_rows([&](const auto& loss, Index first, Index last) {
    double sum = 0;
    for (Index i = first; i < last; ++i) {
      sum += weight(i) * row_value(loss, F.data() + i * p, targets_.data() + i * p, p);
    }
    return sum;
  });
}

Vector<double> LossRows::losses(const Matrix<double>& F) const {
  const Index p = outputs();
  Vector<double> of_row(rows());
  sum_over_rows([&](const auto& loss, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      of_row[i] = row_value(loss, F.data() + i * p, targets_.data() + i * p, p);
    }
    return 0.0;
  });
  return of_row;
}

void LossRows::slopes(const Matrix<double>& F, const Index* rows, Matrix<double>& G) const {
  const Index p = outputs();
  G.resize(F.rows(), p);
  std::visit(
      [&](const auto& loss) {
        for (Index k = 0; k < F.rows(); ++k) {
          row_gradient(loss, F.data() + k * p, targets_.data() + rows[k] * p, p, G.data() + k * p);
        }
      },
      loss_);
}

void LossRows::prox(Index row, const double* v, double rho, double* out) const {
  const Index p = outputs();
  std::visit([&](const auto& loss) { row_prox(loss, v, targets_.data() + row * p, rho, p, out); }, loss_);
}

double LossRows::envelope(const Matrix<double>& F, const Matrix<double>& lambda, double rho, Matrix<double>& G) const {
  const Index p = outputs();
  G.resize(rows(), p);
  return sum_over_rows([&](const auto& loss, Index first, Index last) {
    std::vector<double> v(static_cast<std::size_t>(p));
    double sum = 0;
    for (Index i = first; i < last; ++i) {
      const double *f = F.data() + i * p, *y = targets_.data() + i * p;
      double* g = G.data() + i * p;
      if (rho == 0) {
        row_gradient(loss, f, y, p, g);
        sum += weight(i) * row_value(loss, f, y, p);
        continue;
      }
      for (Index j = 0; j < p; ++j) v[static_cast<std::size_t>(j)] = f[j] + rho * lambda(i, j);
      row_prox(loss, v.data(), y, rho, p, g);
      double value = row_value(loss, g, y, p);
      for (Index j = 0; j < p; ++j) {
        g[j] = (v[static_cast<std::size_t>(j)] - g[j]) / rho;
        value += rho * g[j] * g[j] / 2;
      }
      sum += weight(i) * value;
    }
    return sum;
  });
}

void LossRows::curvatures(const Matrix<double>& F, const Matrix<double>& lambda, double rho, RowCurvatures& out) const {
  const Index p = outputs();
  out.diagonal.resize(rows(), p);
  out.direction.resize(rows(), p);
  out.along.resize(rows());
  const double trace = sum_over_rows([&](const auto& loss, Index first, Index last) {
    std::vector<double> v(static_cast<std::size_t>(p));
    double sum = 0;
    for (Index i = first; i < last; ++i) {
      for (Index j = 0; j < p; ++j) {
        v[static_cast<std::size_t>(j)] = F(i, j) + (rho > 0 ? rho * lambda(i, j) : 0.0);
      }
      double* diagonal = out.diagonal.data() + i * p;
      row_curvature(loss, v.data(), targets_.data() + i * p, rho, p, diagonal, out.direction.data() + i * p,
                    out.along[i]);
      double of_row = out.along[i];
      for (Index j = 0; j < p; ++j) of_row += diagonal[j];
      if (p == 1) {  // one output: all of it on the diagonal
        diagonal[0] = of_row;
        out.along[i] = 0;
      }
      sum += weight(i) * of_row;
    }
    return sum;
  });
  out.mean = trace / target_weights_.sum();
  out.of_one_row = total_weight_ / static_cast<double>(rows()) / (rho > 0 ? rho : 1.0);
  // Curvature that decays where a row is fitted well: what a row has at most would hold the intercept back.
  if (std::visit([]<class L>(const L&) { return WholeRowLoss<L>; }, loss_))
    out.of_one_row *= std::max(out.mean, 1e-300);
}

void LossRows::multiply(const RowCurvatures& D, const Matrix<double>& Q, Matrix<double>& out) const {
  const Index n = rows(), p = outputs();
  out.resize(n, p);
  parallel_for((n + tile_rows - 1) / tile_rows, execution_.thread_count(), [&](Index tile, int) {
    for (Index i = tile * tile_rows; i < std::min(n, (tile + 1) * tile_rows); ++i) {
      double along = 0;
      if (D.along[i] != 0) along = D.along[i] * D.direction.row(i).dot(Q.row(i));
      for (Index j = 0; j < p; ++j) {
        const double rank_one = along == 0 ? 0.0 : along * D.direction(i, j);
        out(i, j) = weight(i) * (D.diagonal(i, j) * Q(i, j) + rank_one);
      }
    }
  });
}

double LossRows::conjugate(const Matrix<double>& G) const {
  const Index p = outputs();
  return sum_over_rows([&](const auto& loss, Index first, Index last) {
    double sum = 0;
    for (Index i = first; i < last; ++i) {
      sum += weight(i) * row_conjugate(loss, G.data() + i * p, targets_.data() + i * p, p);
    }
    return sum;
  });
}

double LossRows::weighted_dot(const Matrix<double>& G, const Matrix<double>& R) const {
  return sum_over_rows([&](const auto&, Index first, Index last) {
    double sum = 0;
    for (Index i = first; i < last; ++i) sum += weight(i) * G.row(i).dot(R.row(i));
    return sum;
  });
}

Vector<double> LossRows::sums(const Matrix<double>& R) const {
  Vector<double> total = Vector<double>::Zero(outputs());
  for (Index i = 0; i < rows(); ++i) total += weight(i) * R.row(i).transpose();
  return total;
}

void LossRows::apply_weights(Matrix<double>& R) const {
  if (weights_.size() > 0) R.array().colwise() *= weights_.array();
}

double LossRows::mean_deviation(const Matrix<double>& F) const {
  double sum = 0;
  for (Index i = 0; i < rows(); ++i) {
    for (Index j = 0; j < outputs(); ++j) {
      if (has_target(targets_(i, j))) sum += weight(i) * std::abs(F(i, j) - targets_(i, j));
    }
  }
  const double mean = sum / target_weights_.sum();
  return std::visit([]<class L>(const L&) { return WholeRowLoss<L>; }, loss_) ? std::max(mean, 1.0) : mean;
}

LossRows LossRows::some(const std::vector<Index>& numbers, double factor) const {
  const auto count = static_cast<Index>(numbers.size());
  Matrix<double> Y(count, outputs());
  Vector<double> w(count);
  for (Index k = 0; k < count; ++k) {
    const Index i = numbers[static_cast<std::size_t>(k)];
    Y.row(k) = targets_.row(i);
    w[k] = factor * weight(i);
  }
  return {loss_, std::move(Y), std::move(w), execution_};
}

}  // namespace carmina
