// The posterior from blocks of rows against the one from all rows at once.
#include "solvers/evidence/streamed_posterior.hpp"
#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/random_matrix.hpp"

namespace carmina::streamed_posterior_test {
namespace {

using carmina::testing::random_matrix;

struct Problem {
  Matrix<double> X = random_matrix(700, 2, 7), Y = random_matrix(700, 3, 8);
  Vector<double> weights = Vector<double>::NullaryExpr(700, [](Index i) { return static_cast<double>(i % 4) / 2; });
  Vector<double> origin{{0.3, -1.0, 2.0}};
  std::vector<std::vector<Index>> groups = {{0, 2}, {1}};
  WeightedFrequencies at;

  Problem() {
    for (Index i = 0; i < 700; i += 3) Y(i, 1) = std::numeric_limits<double>::quiet_NaN();
    for (Index i = 0; i < 700; i += 7) Y(i, 0) = Y(i, 2) = std::numeric_limits<double>::quiet_NaN();
    at.W = 2 * random_matrix(20, 2, 1);
    at.real = random_matrix(20, 6, 2) / std::sqrt(20.0);
    at.imaginary = random_matrix(20, 6, 3) / std::sqrt(20.0);
    at.noise = Vector<double>{{0.2, 0.1, 0.4}};
  }
};

TEST(StreamedPosterior, IsThatOfAllRowsAtOnce) {
  const Problem problem;
  const Matrix<double> centred = problem.Y.rowwise() - problem.origin.transpose();
  for (const bool weighted : {false, true}) {
    const double* weights = weighted ? problem.weights.data() : nullptr;
    const FourierPosterior whole =
        FourierEvidence<double>(problem.X, centred, weights).posterior(problem.at, Execution{});
    for (const Index block : {1, 37, 128, 5000}) {
      MemoryRows<double> rows(problem.X, problem.Y, weights);
      const FourierPosterior streamed = streamed_posterior(CountedRows<double>{rows, 700, block}, problem.at,
                                                           problem.origin, problem.groups, Execution{});
      EXPECT_NEAR(streamed.evidence, whole.evidence, 1e-9 * std::abs(whole.evidence));
      EXPECT_LE((streamed.beta - whole.beta).norm(), 1e-10 * whole.beta.norm());
      const Matrix<double> difference = (streamed.L - whole.L).triangularView<Eigen::Lower>();
      EXPECT_LE(difference.norm(), 1e-10 * whole.L.norm());
    }
  }
}

// Float rows, sums in double: the posterior of the same rows in double.
TEST(StreamedPosterior, OfFloatRowsIsComputedInDouble) {
  const Problem problem;
  const Matrix<float> X = problem.X.cast<float>(), Y = problem.Y.cast<float>();
  const Matrix<double> wide_X = X.cast<double>(), wide_Y = Y.cast<double>();
  MemoryRows<float> narrow(X, Y);
  MemoryRows<double> wide(wide_X, wide_Y);
  const auto a =
      streamed_posterior(CountedRows<float>{narrow, 700}, problem.at, problem.origin, problem.groups, Execution{});
  const auto b =
      streamed_posterior(CountedRows<double>{wide, 700}, problem.at, problem.origin, problem.groups, Execution{});
  EXPECT_EQ(a.evidence, b.evidence);
  EXPECT_EQ(a.beta, b.beta);
}

TEST(StreamedPosterior, RefusesOtherShapes) {
  const Problem problem;
  const Matrix<double> three = random_matrix(20, 3, 1);
  MemoryRows<double> rows(three, three);
  EXPECT_THROW(
      streamed_posterior(CountedRows<double>{rows, 20}, problem.at, problem.origin, problem.groups, Execution{}),
      Error);
}

}  // namespace
}  // namespace carmina::streamed_posterior_test
