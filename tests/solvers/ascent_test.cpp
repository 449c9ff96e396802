// Ascent on functions whose maximum is known.
#include "solvers/evidence/ascent.hpp"
#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using carmina::testing::random_psd;

TEST(Ascent, LbfgsFindsTheMaximumOfAQuadratic) {
  const Matrix<double> A = random_psd(8, 8, 3) + Matrix<double>::Identity(8, 8);
  const Vector<double> b = carmina::testing::random_matrix<double>(8, 1, 4).col(0);
  const auto result = lbfgs_ascent(
      [&](const Vector<double>& x, Vector<double>* g) {
        if (g) *g = b - A * x;
        return b.dot(x) - x.dot(A * x) / 2;
      },
      Vector<double>::Zero(8), {500, 1e-14});
  EXPECT_TRUE(result.converged);
  EXPECT_LE((A * result.at - b).norm(), 1e-5);
}

TEST(Ascent, LbfgsFindsRosenbrocksValleyAndStaysInTheDomain) {
  const auto f = [](const Vector<double>& x, Vector<double>* g) {
    if (x[0] > 1.5) return -std::numeric_limits<double>::infinity();
    const double u = 1 - x[0], v = x[1] - x[0] * x[0];
    if (g) *g = Vector<double>{{2 * u + 400 * x[0] * v, -200 * v}};
    return -u * u - 100 * v * v;
  };
  const auto result = lbfgs_ascent(f, Vector<double>{{-1.2, 1.0}}, {1000, 1e-13});
  EXPECT_NEAR(result.at[0], 1, 1e-4);
  EXPECT_NEAR(result.at[1], 1, 1e-4);
  for (std::size_t k = 1; k < result.values.size(); ++k) EXPECT_GE(result.values[k], result.values[k - 1]);
  EXPECT_THROW(lbfgs_ascent(f, Vector<double>{{2.0, 0.0}}, {}), Error);
}

TEST(Ascent, AdamFollowsANoisyGradient) {
  const Random random(1, 2);
  AdamAscent adam(2);
  Vector<double> at{{5.0, -3.0}};
  for (int t = 0; t < 2000; ++t) {
    const Vector<double> noise{
        {random.normal(static_cast<std::uint64_t>(t)), random.normal(static_cast<std::uint64_t>(t), 1)}};
    adam.step(Vector<double>{{1.0, 2.0}} - at + 0.5 * noise, 0.05 * (1 - t / 2000.0), at);
  }
  EXPECT_NEAR(at[0], 1, 0.1);
  EXPECT_NEAR(at[1], 2, 0.1);
}

TEST(Ascent, APlateauIsSeenWhenTheMeanStopsRising) {
  Plateau rising(10, 3, 1e-3), flat(10, 3, 1e-3);
  bool stopped = false;
  for (int t = 0; t < 500; ++t) stopped = stopped || rising.reached(t);
  EXPECT_FALSE(stopped);
  int steps = 0;
  while (!flat.reached(5.0)) ++steps;
  EXPECT_EQ(steps, 39);
}

}  // namespace
}  // namespace carmina
