// tests/theory/bounds_test.cpp -- every bound holds in simulation where it says something; printed ones that do not.
#include <gtest/gtest.h>
#include <carmina/theory/approximation.hpp>
#include <carmina/theory/fourier.hpp>
#include "features/expansion.hpp"

#include <cmath>
#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina::theory {
namespace {

using testing::random_matrix;
using testing::random_psd;

// Share of maps whose error at some delta reaches epsilon.
double simulated_chance(const Kernel& kernel, const Matrix<double>& deltas, double epsilon, Index n_components,
                        int maps) {
  int hits = 0;
  for (int seed = 0; seed < maps; ++seed) {
    const Matrix<double> W = sample_term_frequencies(kernel, deltas.cols(), n_components, std::uint64_t(seed));
    hits += block_errors(kernel, W, deltas, Execution{}).maxCoeff() >= epsilon;
  }
  return double(hits) / maps;
}

// Half of a grid of differences with |delta| <= radius in the plane; K~ is even in delta.
Matrix<double> plane(double radius, int steps) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i <= steps; ++i) {
    for (int j = -steps; j <= steps; ++j) {
      const double x = radius * i / steps, y = radius * j / steps;
      if (x * x + y * y <= radius * radius) points.emplace_back(x, y);
    }
  }
  Matrix<double> out(Index(points.size()), 2);
  for (std::size_t i = 0; i < points.size(); ++i) out.row(Index(i)) << points[i].first, points[i].second;
  return out;
}

Matrix<double> line(double length, int points) { return Vector<double>::LinSpaced(points, 0, length); }

std::vector<Kernel> kernels() {
  return {Decomposable(Gaussian(1.0), random_psd(2, 2, 3)), CurlFree(Gaussian(1.0)), DivergenceFree(Gaussian(1.0)),
          CurlFree(Gaussian(std::vector<double>{1.0, 1.5})),
          0.5 * CurlFree(Gaussian(1.0)) + 0.5 * DivergenceFree(Gaussian(1.0))};
}

TEST(UniformBound, HoldsInSimulationWhereItIsBelowOneHalf) {
  for (const Kernel& kernel : kernels()) {
    const double epsilon = 1.5, diameter = 2.0;
    for (const Slope slope : {Slope::as_printed, Slope::rigorous}) {
      Index n = 2;
      while (uniform_bound(kernel, 2, diameter, epsilon, n, slope) >= 0.5) n = n * 5 / 4 + n * 5 / 4 % 2 + 2;
      EXPECT_LE(simulated_chance(kernel, plane(diameter, 5), epsilon, n, 30),
                uniform_bound(kernel, 2, diameter, epsilon, n, slope));
    }
  }
}

// Where it bites: an error of one and a half standard deviations, so that simulated chances are not 0.
TEST(PointwiseBound, DominatesSimulation) {
  for (const Kernel& kernel : kernels()) {
    const Matrix<double> delta = random_matrix(1, 2, 4);
    const Vector<double> vector = delta.row(0).transpose();
    const Index n = 400;
    const double deviation = std::sqrt(variance(kernel, vector) / (double(n) / 2));
    for (const double factor : {1.0, 1.5, 2.0, 2.5}) {
      const double bound = pointwise_bound(kernel, vector, factor * deviation, n);
      EXPECT_LE(simulated_chance(kernel, delta, factor * deviation, n, 400), bound);
    }
    const double far = 1.2, half = pointwise_bound(kernel, vector, far,
                                                   components_needed(kernel, 2, 10.0, far, 0.7, Guarantee::pointwise));
    EXPECT_LT(half, 0.5);
  }
  // A bound of a constant A that says something close to the truth: 4 deviations.
  const Kernel gaussian = Gaussian(1.0);
  const Matrix<double> delta = Matrix<double>::Constant(1, 1, 2.0);
  const double bound = pointwise_bound(gaussian, delta.row(0).transpose(), 0.2, 200);
  EXPECT_LT(bound, 0.5);
  EXPECT_LE(simulated_chance(gaussian, delta, 0.2, 200, 2000), bound);
}

TEST(DecomposableBound, HoldsInSimulationWhereThePrintedTheoremFails) {
  // A short length scale: the printed d sigma l / epsilon is small, the true sqrt(d) l / (sigma epsilon) large.
  const double sigma = 0.003, epsilon = 0.3;
  const Index D = 50;
  const Kernel kernel = Gaussian(sigma);
  const double simulated = simulated_chance(kernel, line(1.0, 1000), epsilon, 2 * D, 60);
  const double printed = 256 * std::pow(sigma / epsilon, 2) * std::exp(-epsilon * epsilon * D / 12);
  EXPECT_GT(simulated, 0.5);
  EXPECT_LT(printed, 0.05);
  for (const ScalarForm form : {ScalarForm::classical, ScalarForm::sharp}) {
    EXPECT_GE(decomposable_bound(kernel, 1, 1.0, epsilon, 2 * D, form), simulated);
  }
  // Below one half, with a matrix.
  const Matrix<double> A = random_psd(3, 2, 8);
  const Kernel matrix = Decomposable(Gaussian(0.5), A);
  const double size = theorem_constants(matrix, 1, 1.0).kernel_norm, error = 0.25 * size;
  const Index n = components_needed(matrix, 1, 1.0, error, 0.6);
  const double bound = decomposable_bound(matrix, 1, 1.0, error, n);
  EXPECT_LE(bound, 0.4);
  EXPECT_LE(simulated_chance(matrix, line(1.0, 60), error, n, 50), bound);
  EXPECT_LE(bound, decomposable_bound(matrix, 1, 1.0, error, n, ScalarForm::classical));
  // |A| scales errors: Cor. A.1.1.
  EXPECT_NEAR(bound, decomposable_bound(Gaussian(0.5), 1, 1.0, 0.25, n), 1e-12);
  EXPECT_THROW(decomposable_bound(Gaussian(1.0), 1, 0.01, 0.5, 100, ScalarForm::classical), Error);
}

// C_d (sigma_p l / eps)^(2d/(d+2)) E as mathematics.md 1e writes it, for both cases of E.
TEST(UniformBound, EqualsTheFormulaOfTheCorrectedTheorem) {
  const double e1 = std::numbers::e - 1;
  for (const Index d : {2, 3}) {
    for (const double epsilon : {0.05, 0.3, 2.0, 20.0}) {
      for (const Kernel& kernel : {Kernel(CurlFree(Gaussian(0.8))), Kernel(DivergenceFree(Gaussian(0.8)))}) {
        const double l = 30, D = 1000, n = double(d);
        const TheoremConstants c = theorem_constants(kernel, d, l);
        const bool curl = kernel == Kernel(CurlFree(Gaussian(0.8)));
        EXPECT_NEAR(c.slope, std::sqrt(n * (n + 2) * (n + 4)) / std::pow(0.8, 3), 1e-10);
        EXPECT_NEAR(c.kernel_norm, (curl ? 1 : n - 1) / 0.64, 1e-12);
        const double u = c.m() * std::log(1 + 2 * c.m() * c.m() / c.variance), b = c.variance;
        const double E = epsilon * u <= 4 * e1 * b
                             ? std::exp(-epsilon * epsilon * D / (8 * (n + 2) * (b + epsilon * u / 12)))
                             : std::exp(-epsilon * D / ((n + 2) * e1 * u));
        const double Cd = std::pow(n, 2 / (n + 2)) * (std::pow(n / 2, -n / (n + 2)) + std::pow(n / 2, 2 / (n + 2))) *
                          std::pow(2, (6 * n + 2) / (n + 2));
        for (const double stretch : {1.0, 2.0}) {
          const double expected = Cd * std::pow(stretch * c.slope * l / epsilon, 2 * n / (n + 2)) * E;
          const double found =
              uniform_bound(kernel, d, l, epsilon, 2000, stretch == 1 ? Slope::as_printed : Slope::rigorous);
          EXPECT_NEAR(found / expected, 1, 1e-10);
        }
      }
    }
  }
}

// As printed the bound vanishes with the diameter. A single pair x = z already has an error: F(0) is not 0.
TEST(UniformBound, DoesNotVanishOnASmallSet) {
  const Kernel kernel = CurlFree(Gaussian(1.0));
  const Matrix<double> origin = Matrix<double>::Zero(1, 2);
  const double simulated = simulated_chance(kernel, origin, 0.3, 40, 200);
  EXPECT_GT(simulated, 0.3);
  EXPECT_GE(uniform_bound(kernel, 2, 1e-9, 0.3, 40), simulated);
}

// With lengths in another unit the curl-free kernel is multiplied by a constant, and so must u be. As printed,
// 2 m log(2^(3/2) (m / b)^2), it is negative.
TEST(TheoremConstants, DoNotDependOnTheUnitOfLength) {
  const TheoremConstants one = theorem_constants(CurlFree(Gaussian(1.0)), 2, 1.0);
  const TheoremConstants small = theorem_constants(CurlFree(Gaussian(0.1)), 2, 0.1);
  EXPECT_NEAR(small.u(), 100 * one.u(), 1e-9 * small.u());
  EXPECT_NEAR(2 * small.m() * std::log(std::pow(2, 1.5) * std::pow(small.m() / small.variance, 2)), -17506, 1);
  EXPECT_NEAR(uniform_bound(CurlFree(Gaussian(1.0)), 2, 1.0, 0.5, 20000),
              uniform_bound(CurlFree(Gaussian(0.1)), 2, 0.1, 50.0, 20000), 1e-9);
}

TEST(ComponentsNeeded, IsTheSmallestThatTheBoundAllows) {
  for (const Kernel& kernel : kernels()) {
    for (const Guarantee guarantee : {Guarantee::uniform, Guarantee::pointwise}) {
      const Index n = components_needed(kernel, 2, 2.0, 0.4, 0.9, guarantee);
      const auto bound = [&](Index components) {
        if (guarantee == Guarantee::pointwise) return pointwise_bound(kernel, 2, 2.0, 0.4, components);
        const double uniform = uniform_bound(kernel, 2, 2.0, 0.4, components);
        return kernel.has_differential() ? uniform
                                         : std::min(uniform, decomposable_bound(kernel, 2, 2.0, 0.4, components));
      };
      EXPECT_EQ(n % 2, 0);
      EXPECT_LE(bound(n), 0.1 * (1 + 1e-12));
      EXPECT_GT(bound(n - 2), 0.1);
    }
  }
  // A uniform statement asks for more than one about a single pair; a smaller error for more than a larger one.
  const Kernel curl = CurlFree(Gaussian(1.0));
  EXPECT_GT(components_needed(curl, 2, 2.0, 0.4, 0.9), components_needed(curl, 2, 2.0, 0.4, 0.9, Guarantee::pointwise));
  EXPECT_GT(components_needed(curl, 2, 2.0, 0.2, 0.9), components_needed(curl, 2, 2.0, 0.4, 0.9));
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Bounds, SayWhenTheyDoNotApply) {
  const Kernel heavy = CurlFree(Matern(1.0, 2.5)), rough = Decomposable(Laplacian(1.0), Matrix<double>::Identity(2, 2));
  EXPECT_NE(message_of([&] { uniform_bound(heavy, 2, 1.0, 0.1, 100); }).find("heavy tails"), std::string::npos);
  EXPECT_NE(message_of([&] { pointwise_bound(heavy, 2, 1.0, 0.1, 100); }).find("'matern'"), std::string::npos);
  EXPECT_NE(message_of([&] { uniform_bound(rough, 2, 1.0, 0.1, 100); }).find("no second moment"), std::string::npos);
  EXPECT_LT(pointwise_bound(rough, 2, 1.0, 0.1, 10000), 1e-3);
  EXPECT_THROW(decomposable_bound(CurlFree(Gaussian(1.0)), 2, 1.0, 0.1, 100), Error);
  EXPECT_THROW(uniform_bound(Gaussian(1.0), 2, 1.0, 0.0, 100), Error);
  EXPECT_THROW(uniform_bound(Gaussian(1.0), 2, 1.0, 0.1, 101), Error);
  EXPECT_THROW(uniform_bound(Gaussian(1.0), 2, -1.0, 0.1, 100), Error);
  EXPECT_THROW(components_needed(Gaussian(1.0), 2, 1.0, 0.1, 1.0), Error);
  EXPECT_THROW(theorem_constants(Kernel(Gaussian(1.0)) + Kernel(Gaussian(2.0)), 1, 1.0), Error);
}

}  // namespace
}  // namespace carmina::theory
