// tests/theory/sketching_test.cpp -- critical radii against bisection, K-satisfiability against dense definitions, and
// what the bounds claim against simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/sketches/distribution.hpp>
#include <carmina/theory/sketching.hpp>
#include "features/kernel_map.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "support/random_matrix.hpp"

namespace carmina::theory {
namespace {

using ::testing::HasSubstr;
using testing::random_matrix;
using testing::random_psd;

// The largest t with sum_i min(t, mu_i) >= n t^2, by halving.
double bisected_radius(const Vector<double>& mu) {
  const auto n = static_cast<double>(mu.size());
  double low = 0, high = 2 + mu.sum();
  for (int i = 0; i < 200; ++i) {
    const double t = (low + high) / 2;
    (mu.cwiseMin(t).sum() >= n * t * t ? low : high) = t;
  }
  return std::sqrt(low);
}

double spectral_norm(const Eigen::MatrixXd& A) {
  return A.size() == 0 ? 0 : Eigen::JacobiSVD<Eigen::MatrixXd>(A).singularValues()[0];
}

Matrix<double> grid(Index n) {
  return Matrix<double>::NullaryExpr(n, 1, [n](Index i, Index) { return (double(i) + 0.5) / double(n); });
}

TEST(CriticalRadius, IsTheRootThatBisectionFinds) {
  for (const Index n : {1, 2, 5, 40, 300}) {
    for (const double decay : {0.0, 0.5, 1.0, 2.0, 6.0}) {
      for (const double size : {1e-4, 1.0, 50.0}) {
        const Vector<double> mu =
            Vector<double>::NullaryExpr(n, [&](Index j) { return size * std::pow(double(n - j), -decay); });
        const CriticalRadius found = critical_radius(mu);  // the eigenvalues ascend: any order will do
        EXPECT_NEAR(found.radius, bisected_radius(mu), 1e-12 * (1 + found.radius));
        EXPECT_EQ(found.statistical_dimension, (mu.array() > found.squared()).count());
        EXPECT_EQ(found.n, n);
      }
    }
  }
}

TEST(CriticalRadius, OfKernelsWithoutRankOrDecay) {
  EXPECT_EQ(critical_radius(Vector<double>::Zero(7)).radius, 0);
  EXPECT_EQ(critical_radius(Vector<double>::Zero(7)).statistical_dimension, 0);
  // K = I: t = sqrt(1 / n), above every eigenvalue 1 / n.
  const CriticalRadius identity = critical_radius(gram_eigenvalues(Matrix<double>::Identity(100, 100)));
  EXPECT_NEAR(identity.squared(), 0.1, 1e-14);
  EXPECT_EQ(identity.statistical_dimension, 0);
  // Rank 3, all three large: t = 3 / n.
  Vector<double> mu = Vector<double>::Zero(50);
  mu.head(3).setConstant(2.0);
  EXPECT_NEAR(critical_radius(mu).squared(), 3.0 / 50, 1e-15);
  EXPECT_EQ(critical_radius(mu).statistical_dimension, 3);  // one less than in print
}

TEST(CriticalRadius, RefusesWhatIsNoKernel) {
  EXPECT_THROW(critical_radius(Vector<double>()), Error);
  EXPECT_THROW(critical_radius(Vector<double>::Constant(3, -0.1)), Error);
  EXPECT_THROW(critical_radius(Vector<double>::Constant(3, std::nan(""))), Error);
  Matrix<double> K = Matrix<double>::Identity(3, 3);
  K(0, 1) = 0.5;
  EXPECT_THROW(gram_eigenvalues(K), Error);
  K(1, 0) = 0.5;
  EXPECT_NO_THROW(gram_eigenvalues(K));
  K(2, 2) = -1;
  EXPECT_THROW(gram_eigenvalues(K), Error);
  EXPECT_THROW(gram_eigenvalues(Matrix<double>::Zero(2, 3)), Error);
}

TEST(CriticalRadius, EigenvaluesAreThoseOfTheKernelMatrix) {
  const Matrix<double> X = random_matrix(60, 2, 3);
  const Matrix<double> K = kernel_matrix<double>(Matern(0.8, 1.5), X, X);
  Vector<double> expected = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K / 60).eigenvalues().reverse();
  EXPECT_LT((kernel_eigenvalues(Matern(0.8, 1.5), X) - expected).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_NEAR(critical_radius(Matern(0.8, 1.5), X).radius, bisected_radius(expected.cwiseMax(0.0)), 1e-12);
}

// Slopes of log delta_n^2 against log n for n = 100, ..., 800 equidistant inputs. In theory, up to logarithms, -1 for
// the Gaussian kernel, -2/3 for Sobolev's, -1 for a polynomial; at these n the logarithm still shows.
TEST(CriticalRadius, FallsAsTheEigenvaluesOfEachKernelSay) {
  const std::vector<Index> sizes{100, 200, 400, 800};
  const auto slope = [&](const ScalarKernel& kernel) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const Index n : sizes) {
      const double u = std::log(double(n)), v = std::log(critical_radius(kernel, grid(n)).squared());
      x += u / 4, y += v / 4, xx += u * u / 4, xy += u * v / 4;
    }
    return (xy - x * y) / (xx - x * x);
  };
  EXPECT_NEAR(slope(Gaussian(0.25)), -0.89, 0.05);
  EXPECT_NEAR(slope(Sobolev1()), -0.68, 0.05);
  EXPECT_NEAR(slope(Polynomial(3)), -0.95, 0.08);
}

TEST(KSatisfiability, IsWhatTheDefinitionSaysForEverySketch) {
  const Index n = 50;
  const Matrix<double> X = random_matrix(n, 1, 4);
  const ScalarKernel kernel = Gaussian(0.7);
  const Matrix<double> K = kernel_matrix<double>(kernel, X, X);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(K / double(n));
  const Eigen::MatrixXd U = solver.eigenvectors().rowwise().reverse();
  const Eigen::VectorXd mu = solver.eigenvalues().reverse().cwiseMax(0.0);
  const double radius = bisected_radius(mu);
  const auto d = (mu.array() > radius * radius).count();
  for (const std::string& name : sketches::sketch_names()) {
    const auto sketch = sketches::sample<double>(sketches::make_sketch(name, 30), 11, X, kernel);
    const Eigen::MatrixXd SU = sketch.toarray() * U;
    const Eigen::MatrixXd first = SU.leftCols(d);
    const double isometry = spectral_norm(first.transpose() * first - Eigen::MatrixXd::Identity(d, d));
    const double tail = spectral_norm(SU.rightCols(n - d) * mu.tail(n - d).cwiseSqrt().asDiagonal());
    const KSatisfiability found = k_satisfiability(sketch, kernel, X, 2.0);
    EXPECT_EQ(found.spectrum.statistical_dimension, d);
    EXPECT_NEAR(found.isometry_error, isometry, 1e-9) << name;
    EXPECT_NEAR(found.tail_norm, tail, 1e-7) << name;
    EXPECT_NEAR(found.c, tail / radius, 1e-6) << name;
    EXPECT_EQ(found.holds, isometry <= 0.5 && tail <= 2.0 * radius) << name;
    EXPECT_NEAR(k_satisfiability(sketch, K).isometry_error, isometry, 1e-9) << name;
  }
}

TEST(KSatisfiability, HoldsForTheWholeAndFailsForTooFewOrTheWrongScale) {
  const Matrix<double> X = random_matrix(40, 1, 5);
  const KSatisfiability whole = k_satisfiability(sketches::SubSample(40).sample(40, 1), Gaussian(1.0), X);
  EXPECT_LT(whole.isometry_error, 1e-12);
  EXPECT_LE(whole.c, 1 + 1e-12);  // every eigenvalue left is at most delta_n^2
  EXPECT_TRUE(whole.holds);
  EXPECT_NEAR(whole.largest_c, 6.588, 1e-3);
  EXPECT_FALSE(k_satisfiability(sketches::SubSample(1).sample(40, 1), Gaussian(1.0), X).holds);
  sketches::Sketch scaled = sketches::SubSample(40).sample(40, 1);
  std::visit([](auto& mixing) { mixing *= 3; }, scaled.mixing);
  EXPECT_NEAR(k_satisfiability(scaled, Gaussian(1.0), X).isometry_error, 8, 1e-10);
  EXPECT_THROW(k_satisfiability(sketches::SubSample(3).sample(39, 1), Gaussian(1.0), X), Error);
  const KSatisfiability alone = k_satisfiability(sketches::SubSample(1).sample(1, 1), Gaussian(1.0), X.topRows(1));
  EXPECT_TRUE(alone.holds);
}

// n = 400, d_n = 7: of 40 samples (seeds 0 to 39) few hold at s = 60, more than half at s = 150, nearly all at 300.
TEST(KSatisfiability, IsReachedNear150ComponentsAt400RowsAndDimension7) {
  const Index n = 400, samples = 40;
  const Matrix<double> X = grid(n);
  const ScalarKernel kernel = Gaussian(0.12);
  const Matrix<double> K = kernel_matrix<double>(kernel, X, X);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(K / double(n));
  const CriticalRadius spectrum = critical_radius(kernel, X);
  ASSERT_EQ(spectrum.statistical_dimension, 7);
  const Eigen::MatrixXd U1 = solver.eigenvectors().rightCols(7);
  const auto share = [&](Index s) {
    Index held = 0;
    for (std::uint64_t seed = 0; seed < samples; ++seed) {
      const Eigen::MatrixXd Q = sketches::SparseRademacher(s).sample(n, seed).toarray() * U1;
      held += spectral_norm(Q.transpose() * Q - Eigen::MatrixXd::Identity(7, 7)) <= 0.5;
    }
    return double(held) / double(samples);
  };
  EXPECT_LT(share(60), 0.2);
  EXPECT_GT(share(150), 0.5);
  EXPECT_GT(share(300), 0.95);
  const KSatisfiability whole = k_satisfiability(sketches::SparseRademacher(300).sample(n, 0), K);
  EXPECT_TRUE(whole.holds);
  EXPECT_LT(whole.c, 3);
}

}  // namespace
}  // namespace carmina::theory
