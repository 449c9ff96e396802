// models/mixture/mixture_start.cpp -- factors, lines and periods at the start of a mixture.
#include "models/mixture/mixture_start.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>

namespace carmina {

Matrix<double> start_factors(const Matrix<double>& Y, Index components, Index rank, const Random& random) {
  const Index p = Y.cols();
  Matrix<double> correlation = Matrix<double>::Identity(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < a; ++b) {
      double product = 0, first = 0, second = 0;
      for (Index i = 0; i < Y.rows(); ++i) {
        if (std::isnan(Y(i, a)) || std::isnan(Y(i, b))) continue;
        product += Y(i, a) * Y(i, b), first += Y(i, a) * Y(i, a), second += Y(i, b) * Y(i, b);
      }
      correlation(a, b) = correlation(b, a) = first * second > 0 ? product / std::sqrt(first * second) : 0;
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(correlation);
  const Matrix<double> root = eigen.eigenvectors().rightCols(rank).rowwise().reverse() *
                              eigen.eigenvalues().tail(rank).reverse().cwiseMax(0.05).cwiseSqrt().asDiagonal();
  Matrix<double> out(components, p * rank);
  for (Index q = 0; q < components; ++q) {
    for (Index k = 0; k < p * rank; ++k) {
      out(q, k) = root.data()[k] + 0.05 * random.normal(static_cast<std::uint64_t>(q), static_cast<std::uint32_t>(k));
    }
  }
  return out;
}

Matrix<double> without_lines(const Vector<double>& times, const Matrix<double>& Y, const Vector<double>& weights) {
  const Vector<double> x = times.array() - times[0];
  Matrix<double> left = Y;
  for (Index a = 0; a < left.cols(); ++a) {
    Eigen::Matrix2d A = Eigen::Matrix2d::Zero();
    Eigen::Vector2d b = Eigen::Vector2d::Zero();
    for (Index i = 0; i < left.rows(); ++i) {
      if (std::isnan(left(i, a))) continue;
      const double w = weights.size() > 0 ? weights[i] : 1;
      const Eigen::Vector2d row(1, x[i]);
      A += w * row * row.transpose(), b += w * left(i, a) * row;
    }
    const Eigen::Vector2d line = A.completeOrthogonalDecomposition().solve(b);
    left.col(a).array() -= line[0] + line[1] * x.array();
  }
  return left;
}

void start_at_periods(Mixture& mixture, const std::vector<double>& periods, double range) {
  if (periods.empty()) return;
  const double resolution = 1 / range;
  for (const double period : periods) {
    Index nearest = 0, least = 0;
    const auto apart = (mixture.means.col(0).array() - 1 / period).abs() - mixture.scales.col(0).array();
    if (apart.minCoeff(&nearest) <= resolution / 2) {
      mixture.means(nearest, 0) = 1 / period;
      continue;
    }
    mixture.weights.minCoeff(&least);
    mixture.means(least, 0) = 1 / period;
    mixture.scales(least, 0) = resolution;
    mixture.weights[least] = mixture.weights.mean();
  }
}

}  // namespace carmina
