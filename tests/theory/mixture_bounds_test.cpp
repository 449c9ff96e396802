// tests/theory/mixture_bounds_test.cpp -- bounds for spectral mixtures hold in simulation; the printed slope does not.
#include <gtest/gtest.h>
#include <carmina/theory/fourier.hpp>
#include "features/allocation.hpp"

#include <cmath>
#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina::theory::mixture_bounds_test {
namespace {

using testing::random_matrix;

constexpr double two_pi = 2 * std::numbers::pi;

Mixture random_mixture(const MixtureFamily& family, Index Q, Index d, std::uint64_t seed) {
  Mixture mixture{random_matrix(Q, 1, seed).array().exp().matrix(), 0.5 * random_matrix(Q, d, seed + 1),
                  (0.3 * random_matrix(Q, d, seed + 2)).array().exp().matrix() * 0.2, family};
  mixture.weights /= mixture.weights.sum();
  return mixture;
}

// k~ - k at each delta (rows of `deltas`), and the norm of its gradient, for one draw of spectral points.
struct Draw {
  Vector<double> error, slope;

  Draw(const Mixture& mixture, const std::vector<Index>& counts, const Matrix<double>& deltas, std::uint64_t seed) {
    const Index n = deltas.rows(), d = mixture.dim_in();
    const Random random(seed, Stream::frequencies);
    Matrix<double> k(n, 1), gradient = Matrix<double>::Zero(n, d);
    const Matrix<double> zero = Matrix<double>::Zero(1, d);
    mixture_values(mixture, deltas, zero, k, Execution{});
    error = -k.col(0);
    Mixture ignored = mixture;
    mixture_gradient(mixture, deltas, zero, Matrix<double>::Constant(n, 1, -1), ignored, &gradient, Execution{});
    Index i = 0;
    for (Index q = 0; q < mixture.size(); ++q) {
      const Index count = counts[std::size_t(q)];
      for (Index c = 0; c < count; ++c, ++i) {
        Vector<double> s(d);
        for (Index j = 0; j < d; ++j) {
          const double eps = std::visit([&](const auto& f) { return f.draw(random, i, j); }, mixture.family);
          s[j] = mixture.means(q, j) + mixture.scales(q, j) * eps;
        }
        const Eigen::ArrayXd phases = two_pi * (deltas * s).array();
        error.array() += mixture.weights[q] / double(count) * phases.cos();
        gradient -= two_pi * mixture.weights[q] / double(count) * phases.sin().matrix() * s.transpose();
      }
    }
    slope = gradient.rowwise().norm();
  }
};

Matrix<double> line(double length, Index points) { return Vector<double>::LinSpaced(points, 0, length); }

// A grid of |delta| <= radius in the plane.
Matrix<double> plane(double radius, Index steps) {
  Matrix<double> out((2 * steps + 1) * (steps + 1), 2);
  Index count = 0;
  for (Index i = 0; i <= steps; ++i) {
    for (Index j = -steps; j <= steps; ++j) {
      const double x = radius * double(i) / double(steps), y = radius * double(j) / double(steps);
      if (x * x + y * y <= radius * radius) out.row(count++) << x, y;
    }
  }
  return out.topRows(count);
}

// m = 1000 points: the share of draws with an error of epsilon or more is never above the bounds, from errors that are
// common to such that never happen.
TEST(MixtureBounds, DominateSimulation) {
  const int draws = 40;
  const double diameter = 2;
  for (const MixtureFamily& family : {MixtureFamily(GaussianFamily{}), MixtureFamily(LaplaceFamily{})}) {
    for (const Index d : {1, 2}) {
      const Mixture mixture = random_mixture(family, 4, d, 5);
      const std::vector<Index> counts = softmax_allocation(mixture.weights, 1000, 1.0);
      const Matrix<double> deltas = d == 1 ? line(diameter, 100) : plane(diameter, 7);
      const std::vector<double> epsilons = {0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 0.6, 0.8};
      std::vector<int> uniform(epsilons.size()), pointwise(epsilons.size());
      for (int seed = 0; seed < draws; ++seed) {
        const Vector<double> error = Draw(mixture, counts, deltas, std::uint64_t(seed)).error.cwiseAbs();
        for (std::size_t e = 0; e < epsilons.size(); ++e) {
          uniform[e] += error.maxCoeff() >= epsilons[e];
          pointwise[e] += error[deltas.rows() / 2] >= epsilons[e];
        }
      }
      EXPECT_GT(uniform[0], 0);
      for (std::size_t e = 0; e < epsilons.size(); ++e) {
        EXPECT_LE(double(uniform[e]) / draws, mixture_uniform_bound(mixture, counts, diameter, epsilons[e]));
        EXPECT_LE(double(pointwise[e]) / draws, mixture_pointwise_bound(mixture.weights, counts, epsilons[e]));
      }
      EXPECT_LT(mixture_uniform_bound(mixture, counts, diameter, 0.6), 1e-3);
      EXPECT_LT(mixture_pointwise_bound(mixture.weights, counts, 0.2), 1e-3);
      EXPECT_EQ(mixture_uniform_bound(mixture, counts, diameter, 0.02), 1);
    }
  }
}

// E[L^2] over the draws, L the largest slope: between the printed sum_q 4 pi^2 w_q^2 rho_q^2 / m_q and ours.
TEST(MixtureBounds, SlopeIsEnoughWhereThePrintedOneIsNot) {
  for (const MixtureFamily& family : {MixtureFamily(GaussianFamily{}), MixtureFamily(LaplaceFamily{})}) {
    const double spread = family_name(family) == "laplace" ? 2 : 1;
    const Mixture mixture = random_mixture(family, 3, 1, 9);
    const std::vector<Index> counts = {10, 4, 6};
    double printed = 0, simulated = 0;
    for (Index q = 0; q < 3; ++q) {
      const double w = mixture.weights[q], mu = mixture.means(q, 0), sigma = mixture.scales(q, 0);
      printed += two_pi * two_pi * w * w * (mu * mu + spread * sigma * sigma) / double(counts[std::size_t(q)]);
    }
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      simulated += std::pow(Draw(mixture, counts, line(40, 2000), seed).slope.maxCoeff(), 2) / 100;
    }
    EXPECT_GT(simulated, 1.2 * printed);
    EXPECT_LE(simulated, std::pow(mixture_slope(mixture, counts), 2));
  }
}

TEST(MixtureBounds, AreTheFormulas) {
  for (const Index d : {1, 3}) {
    const Mixture mixture = random_mixture(GaussianFamily{}, 2, d, 20);
    const std::vector<Index> counts = {700, 300};
    const double l = 30, epsilon = 0.7, n = double(d);
    double W = 0, sum = 0, squares = 0;
    for (Index q = 0; q < 2; ++q) {
      const double w = mixture.weights[q], m = double(counts[std::size_t(q)]);
      const double rho = std::sqrt(mixture.means.row(q).squaredNorm() + mixture.scales.row(q).squaredNorm());
      W += w * w / m;
      sum += w * rho;
      squares += w * w * rho * rho / m;
    }
    const double slope = two_pi * std::sqrt(4 * sum * sum + squares);
    const double beta =
        (std::pow(n / 2, -n / (n + 2)) + std::pow(n / 2, 2 / (n + 2))) * std::pow(2.0, (6 * n + 2) / (n + 2));
    const double expected =
        beta * std::pow(slope * l / epsilon, 2 * n / (n + 2)) * std::exp(-epsilon * epsilon / (4 * (n + 2) * W));
    EXPECT_NEAR(mixture_slope(mixture, counts), slope, 1e-12 * slope);
    ASSERT_LT(expected, 1);
    EXPECT_NEAR(mixture_uniform_bound(mixture, counts, l, epsilon), expected, 1e-10 * expected);
    EXPECT_NEAR(mixture_pointwise_bound(mixture.weights, counts, 0.2), 2 * std::exp(-0.02 / W), 1e-12);
  }
}

TEST(MixtureBounds, RefuseWhatTheyCannotUse) {
  const Mixture mixture = random_mixture(GaussianFamily{}, 2, 1, 30);
  EXPECT_THROW(mixture_uniform_bound(mixture, {10}, 1, 0.1), Error);
  EXPECT_THROW(mixture_uniform_bound(mixture, {10, 0}, 1, 0.1), Error);
  EXPECT_THROW(mixture_uniform_bound(mixture, {10, 5}, 0, 0.1), Error);
  EXPECT_THROW(mixture_uniform_bound(mixture, {10, 5}, 1, -0.1), Error);
  EXPECT_THROW(mixture_pointwise_bound(Vector<double>::Constant(2, -1), {10, 5}, 0.1), Error);
}

}  // namespace
}  // namespace carmina::theory::mixture_bounds_test
