// tests/models/dense_derived.hpp -- deviations of derivatives from the dense posterior of rows, by differences.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"
#include "models/machine/machine_map.hpp"

namespace carmina::derived_test {

struct Case {
  Kernel kernel;
  Index d, p;
};

// With anchors Z the process is of the kernel k(x, Z) k(Z, Z)^-1 k(Z, z).
// cov theta = s (PhiᵀPhi + alpha I)^-1 with features about their mean; L f by differences of the design's own rows
// would be too coarse, so the dense posterior is of f at many near rows: L f is a fixed combination of them.
inline Matrix<double> dense_deviation(const KernelMachine<double>& machine, const Case& one, const Matrix<double>& X,
                                      const std::vector<std::vector<std::pair<Index, double>>>& quantities, bool exact,
                                      const Matrix<double>& rows, const Matrix<double>* anchors = nullptr) {
  const FitRecord& record = machine.record();
  const double alpha = record.alpha;
  const Index n = rows.rows(), p = one.p, d = one.d;
  // Kernel between (row, output) pairs, of the machine's own features or exact.
  const auto transform = std::visit([](const auto& map) { return map.transform(); }, machine.map());
  const std::function<Matrix<double>(const Matrix<double>&, const Matrix<double>&)> values =
      [&](const Matrix<double>& A, const Matrix<double>& B) -> Matrix<double> {
    Matrix<double> K(A.rows() * p, B.rows() * p);
    if (anchors && A.data() != anchors->data() && B.data() != anchors->data()) {
      const Eigen::MatrixXd own = values(*anchors, *anchors);
      return values(A, *anchors) * own.ldlt().solve(Eigen::MatrixXd(values(*anchors, B)));
    }
    if (exact) {
      std::vector<double> blocks(static_cast<std::size_t>(A.rows() * B.rows() * p * p));
      OperatorMap<double>(one.kernel, B, p, transform).blocks(A, blocks.data(), Execution{});
      for (Index i = 0; i < K.rows(); ++i) {
        for (Index j = 0; j < K.cols(); ++j) {
          K(i, j) = blocks[static_cast<std::size_t>(((i / p * B.rows() + j / p) * p + i % p) * p + j % p)];
        }
      }
      return K;
    }
    const auto& map = std::get<FourierMap<double>>(machine.map());
    const auto design = [&](const Matrix<double>& at) {
      const Expansion expansion(one.kernel, map.unit_frequencies(), p);
      Matrix<double> phi(at.rows(), map.n_features()), Phi(at.rows() * p, expansion.dim_coef());
      evaluate(map, at, View<double>(phi), Execution{});
      for (Index i = 0; i < Phi.rows(); ++i) {
        Matrix<double> R = Matrix<double>::Zero(phi.cols(), p);
        R.col(i % p) = phi.row(i / p).transpose();
        Phi.row(i) = expansion.contract(R).transpose();
      }
      return Phi;
    };
    return Matrix<double>(design(A) * design(B).transpose());
  };
  const bool intercept = record.fit_intercept;
  // [K + alpha I, E; Eᵀ, 0]: the flat prior on the intercept.
  const Index border = intercept ? p : 0;
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(n * p + border, n * p + border);
  system.topLeftCorner(n * p, n * p) = values(rows, rows);
  for (Index i = 0; i < n * p; ++i) {
    system(i, i) += alpha;
    if (intercept) system(i, n * p + i % p) = system(n * p + i % p, i) = 1;
  }
  const Eigen::PartialPivLU<Eigen::MatrixXd> lu(system);
  constexpr double h = 1e-3;  // rounding is below 1e-8, and O(h^3) of kernels whose fifth derivative jumps
  const double weights[] = {-1.0 / 60, 3.0 / 20, -3.0 / 4, 3.0 / 4, -3.0 / 20, 1.0 / 60};  // seven points
  const double steps[] = {-3 * h, -2 * h, -h, h, 2 * h, 3 * h};
  constexpr Index around = 6;
  Matrix<double> out(X.rows(), std::ssize(quantities));
  for (Index i = 0; i < X.rows(); ++i) {
    Matrix<double> near(around * d, d);
    for (Index l = 0; l < d; ++l) {
      for (Index s = 0; s < around; ++s) {
        near.row(around * l + s) = X.row(i);
        near(around * l + s, l) += steps[s];
      }
    }
    const Matrix<double> own = values(near, near), across = values(near, rows);
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      Eigen::VectorXd combination = Eigen::VectorXd::Zero(around * d * p);
      for (const auto& [entry, factor] : quantities[q]) {  // entry: output d + input
        const Index a = entry / d, l = entry % d;
        for (Index s = 0; s < around; ++s) {
          combination[(around * l + s) * p + a] += factor * weights[s] / h * std::sqrt(record.noise[a] / alpha);
        }
      }
      Eigen::VectorXd right = Eigen::VectorXd::Zero(n * p + border);
      right.head(n * p) = across.transpose() * combination;
      out(i, static_cast<Index>(q)) = std::sqrt(combination.dot(own * combination) - right.dot(lu.solve(right)));
    }
  }
  return out;
}

}  // namespace carmina::derived_test
