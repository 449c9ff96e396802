// models/choose/exact_errors.cpp -- errors of left-out rows by the inverse of the kernel matrix; gradients; a sample.
#include "models/choose/exact_errors.hpp"
#include "models/choose/kernel_slopes.hpp"
#include "models/choose/left_out_groups.hpp"
#include "models/choose/missing_choice.hpp"
#include "models/fit/kernel_matrices.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace carmina {

ExactErrors exact_errors(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha, const Execution& execution) {
  if (rows.Y.hasNaN()) return pooled_errors(rows, kernel, alpha, execution);
  const Index n = rows.rows(), p = rows.Y.cols();
  ExactErrors out;
  out.error = std::numeric_limits<double>::infinity();
  Matrix<double> M = exact_gram<double>(kernel, rows.Z, {}, execution);
  M.diagonal() += alpha * rows.weights.cwiseInverse();
  if (!rows.groups.empty()) return errors_of_groups(rows, std::move(M), execution);
  if (!backend::cholesky(n, M.data(), n, execution)) return out;
  // M^-1 = UᵀU with U = L^-1, of which the diagonal is enough.
  const Matrix<double> U = backend::lower_inverse(n, M.data(), n, execution);
  Vector<double> diagonal = U.colwise().squaredNorm();
  Matrix<double> right(n, p + 1);
  right << rows.Y, Vector<double>::Ones(n);
  right = U * right;
  Matrix<double> C = U.transpose() * right;
  if (rows.intercept) {
    const Vector<double> u = C.col(p);
    const double total = u.sum();
    C.leftCols(p) -= u * (C.leftCols(p).colwise().sum() / total);
    diagonal -= u.cwiseAbs2() / total;
  }
  out.coefficients = C.leftCols(p);
  const double rounded = rounding_error(rows, out.coefficients);
  out.residuals.resize(n, p);
  out.squares.resize(n);
  for (Index i = 0; i < n; ++i) {
    const double w = rows.weights[i], kept = alpha * diagonal[i] / w;  // 1 - h
    const double taken = std::min(1.0, w) / w;
    out.residuals.row(i) = out.coefficients.row(i) * (alpha / w / (1 - taken * (1 - kept)));
    out.squares[i] = out.residuals.row(i).squaredNorm() / static_cast<double>(p) + rounded;
  }
  out.set_error(rows.weights);
  return out;
}

Matrix<double> gradient_metric(const ChoiceRows& rows, const ScalarKernel& kernel, const Matrix<double>& coefficients,
                               const Matrix<double>& before, const Execution& execution) {
  const Index d = rows.Z.cols(), p = coefficients.cols();
  // grad f_j(z_i) = sum_l g'(t_il) c_lj (z_i - z_l) / l^2; the factor of the width drops out below.
  const KernelSlopes slopes(kernel, rows.Z);
  std::vector<Matrix<double>> sums(static_cast<std::size_t>(slopes.blocks()));
  parallel_for(slopes.blocks(), execution.thread_count(), [&](Index block, int) {
    const Index first = slopes.first(block), count = slopes.count(block);
    const Matrix<double> S = slopes.values(block, rows.rows());
    Matrix<double> sum = Matrix<double>::Zero(d, d);
    for (Index j = 0; j < p; ++j) {
      const Matrix<double> weighted = S * coefficients.col(j).asDiagonal();
      Matrix<double> gradients = -weighted * rows.Z;
      gradients += weighted.rowwise().sum().asDiagonal() * rows.Z.middleRows(first, count);
      sum += gradients.transpose() * rows.weights.segment(first, count).asDiagonal() * gradients;
    }
    sums[static_cast<std::size_t>(block)] = std::move(sum);
  });
  Matrix<double> A = Matrix<double>::Zero(d, d);
  for (const Matrix<double>& sum : sums) A += sum;
  if (before.size() > 0) A = before * A * before.transpose();
  constexpr double least = 1e-8;  // of the largest: below it roots would be of rounding
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> eigen(A);
  const double largest = eigen.eigenvalues().maxCoeff();
  if (!(largest > 0) || !std::isfinite(largest)) return Matrix<double>::Identity(d, d);
  const Vector<double> roots = (eigen.eigenvalues() / largest).cwiseMax(least).array().pow(0.25);
  return eigen.eigenvectors() * roots.asDiagonal() * eigen.eigenvectors().transpose();
}

std::vector<Index> hashed_rows(const ChoiceRows& rows, double wanted) {
  const Index n = rows.rows();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  if (rows.weights.sum() <= wanted) return order;
  const auto mixed = [](std::uint64_t hash, double value) {
    if (std::isnan(value)) value = -1e9;  // a target that is missing
    hash +=
        static_cast<std::uint64_t>(std::llround(std::clamp(value, -1e9, 1e9) * 65536 + 0.37)) + 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    return hash ^ (hash >> 31);
  };
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    std::uint64_t hash = 0;
    for (Index j = 0; j < rows.Z.cols(); ++j) hash = mixed(hash, rows.Z(i, j));
    for (Index j = 0; j < rows.Y.cols(); ++j) hash = mixed(hash, rows.Y(i, j));
    hashes[static_cast<std::size_t>(i)] = hash;
  }
  const auto hash_of = [&](Index i) { return hashes[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return hash_of(a) < hash_of(b); });
  double weight = 0;
  std::size_t count = 0;
  for (; count < order.size(); ++count) {  // equal rows stay together
    if (weight >= wanted && hash_of(order[count]) != hash_of(order[count - 1])) break;
    weight += rows.weights[order[count]];
  }
  order.resize(count);
  return order;
}

ChoiceRows hashed_sample(const ChoiceRows& rows, double wanted) {
  wanted *= rows_for_one(rows);
  return rows.weights.sum() <= wanted ? rows : rows.at(hashed_rows(rows, wanted));
}

}  // namespace carmina
