// models/choose/exact_evidence.cpp -- the evidence of exact processes, its gradient in the widths, and the ascent.
#include "models/choose/exact_evidence.hpp"
#include "models/choose/kernel_slopes.hpp"
#include "models/choose/missing_choice.hpp"
#include "models/fit/kernel_matrices.hpp"
#include "solvers/evidence/ascent.hpp"

#include <cmath>
#include <limits>

namespace carmina {
namespace {
constexpr double largest_log_factor = 6;
constexpr double irrelevant = 5;  // a factor smaller than the largest by more in its logarithm counts as that
constexpr double usual_noise = 0.01;
constexpr double fineness = 8;  // parts of 1 that logarithms of what is learnt are rounded to
}  // namespace

ExactEvidence exact_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha,
                             const Execution& execution) {
  if (rows.Y.hasNaN()) return pooled_evidence(rows, kernel, alpha, execution);
  const Index n = rows.rows(), d = rows.Z.cols(), p = rows.Y.cols();
  ExactEvidence out{-std::numeric_limits<double>::infinity(), Vector<double>::Zero(d), 0};
  Matrix<double> M = exact_gram<double>(kernel, rows.Z, {}, execution);
  Matrix<double> K;
  const bool manhattan = std::holds_alternative<Laplacian>(kernel);
  if (manhattan) {
    K = M;
    mirror_lower(K, execution);
  }
  M.diagonal() += alpha * rows.weights.cwiseInverse();
  if (!backend::cholesky(n, M.data(), n, execution)) return out;
  double log_determinant = 2 * M.diagonal().array().log().sum();
  backend::cholesky_inverse(n, M.data(), n, execution);
  mirror_lower(M, execution);
  double total = rows.weights.sum();
  log_determinant += (total - static_cast<double>(n)) * std::log(alpha) + rows.weights.array().log().sum();
  if (rows.intercept) {
    const Vector<double> u = M.rowwise().sum();
    const double sum = u.sum();
    if (!(sum > 0)) return out;
    M.noalias() -= u * (u.transpose() / sum);
    log_determinant += std::log(sum);
    total -= 1;
  }
  Matrix<double> C = M * rows.Y;
  double value = 0;
  Index used = 0;  // targets that vary
  for (Index j = 0; j < p; ++j) {
    const double variance = rows.Y.col(j).dot(C.col(j)) / total;
    if (!(variance > 0) || rows.Y.col(j).squaredNorm() == 0) {
      C.col(j).setZero();
      continue;
    }
    ++used;
    value -= 0.5 * total * std::log(variance);
    C.col(j) /= std::sqrt(variance);
  }
  const auto count = static_cast<double>(used);
  value -= 0.5 * count * log_determinant;
  if (used == 0 || !std::isfinite(value)) return out;
  const Vector<double> noise = alpha * rows.weights.cwiseInverse();
  const double copies = rows.weights.sum() - static_cast<double>(n);
  out.by_alpha = 0.5 * (C.rowwise().squaredNorm().dot(noise) - count * (M.diagonal().dot(noise) + copies));

  // The matrix beside dM, times the part of dM that all inputs share, H. It is symmetric: rows against those up to the
  // block's last, what is left of the block twice.
  const double width = length_scale(kernel)[0];
  const KernelSlopes slopes(kernel, rows.Z);
  const Matrix<double> columns = manhattan ? Matrix<double>(rows.Z.transpose()) : Matrix<double>();
  std::vector<Vector<double>> sums(static_cast<std::size_t>(slopes.blocks()));
  parallel_for(slopes.blocks(), execution.thread_count(), [&](Index block, int) {
    const Index first = slopes.first(block), here = slopes.count(block), until = first + here;
    Matrix<double> H = manhattan ? Matrix<double>(-K.block(first, 0, here, until)) : slopes.values(block, until);
    H.leftCols(first) *= 2;
    Matrix<double> beside = M.block(first, 0, here, until);
    backend::gemm<double>(backend::Transpose::no, backend::Transpose::yes, here, until, p, 1.0, C.row(first).data(), p,
                          C.data(), p, -count, beside.data(), until);
    H.array() *= beside.array();
    const auto Z = rows.Z.middleRows(first, here);
    Vector<double>& sum = sums[static_cast<std::size_t>(block)];
    if (manhattan) {
      sum.setZero(d);
      for (Index i = 0; i < here; ++i) {
        for (Index k = 0; k < d; ++k) {
          sum[k] += (columns.row(k).head(until).array() - Z(i, k)).abs().matrix().dot(H.row(i));
        }
      }
      sum /= 2 * width;
    } else {
      // sum_il H_il (z_ik - z_lk)^2 = sum_i (H 1)_i z_ik^2 + sum_l (Hᵀ1)_l z_lk^2 - 2 z_kᵀ H z_k
      Matrix<double> HZ(here, d);
      backend::gemm<double>(backend::Transpose::no, backend::Transpose::no, here, d, until, 1.0, H.data(), until,
                            rows.Z.data(), d, 0.0, HZ.data(), d);
      sum = 0.5 * (Z.cwiseAbs2().transpose() * H.rowwise().sum());
      sum += 0.5 * (rows.Z.topRows(until).cwiseAbs2().transpose() * H.colwise().sum().transpose());
      sum -= Z.cwiseProduct(HZ).colwise().sum().transpose();
      sum /= width * width;
    }
  });
  for (const Vector<double>& sum : sums) out.by_factor += sum;
  out.value = value;
  return out;
}

LearntWidths widths_by_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, LearntWidths start,
                                bool fixed_alpha, double least_alpha, Index steps, const Execution& execution) {
  const Index d = rows.Z.cols();
  // log s = b tanh(v / b): no factor leaves [e^-b, e^b], beyond which distances are of rounding.
  const auto factors_at = [&](const Vector<double>& at) {
    return Vector<double>((largest_log_factor * (at.head(d).array() / largest_log_factor).tanh()).exp());
  };
  const auto alpha_at = [&](const Vector<double>& at) {
    return fixed_alpha ? start.alpha : least_alpha + std::exp(at[d]);
  };
  const auto objective = [&](const Vector<double>& at, Vector<double>* gradient) {
    const Vector<double> factors = factors_at(at);
    const ChoiceRows scaled{rows.Z * factors.asDiagonal(), rows.Y, rows.weights, rows.intercept};
    const ExactEvidence found = exact_evidence(scaled, kernel, alpha_at(at), execution);
    // Wide kernels with little noise explain data as well as narrower ones with more, by large coefficients of both
    // signs, which rounding and approximations suffer from: log alpha has a normal prior, of one factor of ten.
    const double from_usual = fixed_alpha ? 0 : (std::log(alpha_at(at) / usual_noise)) / std::log(10.0);
    if (gradient) {
      const auto inside = 1 - (factors.array().log() / largest_log_factor).square();
      *gradient << (found.by_factor.array() * inside).matrix(),
          fixed_alpha ? 0 : (found.by_alpha - from_usual / std::log(10.0)) * std::exp(at[d]) / alpha_at(at);
    }
    return found.value - from_usual * from_usual / 2;
  };
  Vector<double> at(d + 1);
  const auto share = (start.factors.array().log() / largest_log_factor).max(-0.999).min(0.999);
  at << (largest_log_factor * share.unaryExpr([](double x) { return std::atanh(x); })).matrix(), std::log(start.alpha);
  const AscentResult found = lbfgs_ascent(objective, at, {.max_iter = steps, .tol = 1e-5, .finite_start = false});
  if (!std::isfinite(found.value)) {
    start.evidence = found.value;
    return start;
  }
  // Steps carry rounding on: what is found is rounded, so that orders of rows, units and repetitions do not show.
  Vector<double> logs = factors_at(found.at).array().log();
  logs = logs.cwiseMax(logs.maxCoeff() - irrelevant);
  const double log_alpha = std::log(alpha_at(found.at));
  return {Vector<double>(((logs.array() * fineness).round() / fineness).exp()),
          fixed_alpha ? start.alpha : std::exp(std::round(log_alpha * fineness) / fineness), found.value};
}

}  // namespace carmina
