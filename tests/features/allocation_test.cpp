// tests/features/allocation_test.cpp -- allocations against brute force, and the errors they leave in the kernel
// matrix.
#include "features/allocation.hpp"
#include <carmina/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "support/random_matrix.hpp"

namespace carmina::testing {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Counts = std::vector<Index>;

Index total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), Index{0}); }

double error_of(const Vector<double>& costs, const Counts& counts) {
  double error = 0;
  for (Index q = 0; q < costs.size(); ++q) {
    error += costs(q) / static_cast<double>(counts[static_cast<std::size_t>(q)]);
  }
  return error;
}

Vector<double> positive_vector(Index size, std::uint64_t seed) {
  return random_matrix(size, 1, seed).array().exp().square();
}

TEST(Allocation, CountsSumToTheAskedNumberAndNoneIsZero) {
  for (const Index Q : {1, 2, 7, 10}) {
    for (const Index m : {Q, Q + 1, 3 * Q - 1, Index{150}}) {
      const Vector<double> weights = positive_vector(Q, static_cast<std::uint64_t>(Q));
      for (const Counts& counts : {equal_allocation(Q, m), softmax_allocation(weights, m, 0.7),
                                   softmax_allocation(weights, m, 1e-300), optimal_allocation(weights, m)}) {
        EXPECT_EQ(total(counts), m);
        EXPECT_EQ(static_cast<Index>(counts.size()), Q);
        EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1);
      }
    }
  }
}

TEST(Allocation, EqualDiffersByOneAtMost) {
  EXPECT_THAT(equal_allocation(4, 10), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(equal_allocation(3, 9), ElementsAre(3, 3, 3));
}

// From all on the largest weight, over in proportion to weights, to equal.
TEST(Allocation, SoftmaxFollowsItsTemperature) {
  const Vector<double> weights{{1.0, 2.0, 5.0}};
  EXPECT_THAT(softmax_allocation(weights, 83, 1.0), ElementsAre(11, 21, 51));
  EXPECT_THAT(softmax_allocation(weights, 84, 1.0), ElementsAre(11, 21, 52));  // 10.125, 20.25, 50.625
  EXPECT_THAT(softmax_allocation(weights, 30, 1e-3), ElementsAre(1, 1, 28));
  EXPECT_THAT(softmax_allocation(weights, 30, 1e9), ElementsAre(10, 10, 10));
  EXPECT_THAT(softmax_allocation(1e-300 * weights, 83, 1.0), ElementsAre(11, 21, 51));
}

TEST(Allocation, OptimalIsTheBestOfAllAllocations) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Vector<double> costs = positive_vector(4, seed);
    const Index m = 17;
    double best = std::numeric_limits<double>::infinity();
    for (Index a = 1; a <= m - 3; ++a) {
      for (Index b = 1; a + b <= m - 2; ++b) {
        for (Index c = 1; a + b + c <= m - 1; ++c) best = std::min(best, error_of(costs, {a, b, c, m - a - b - c}));
      }
    }
    EXPECT_NEAR(error_of(costs, optimal_allocation(costs, m)), best, 1e-12 * best);
  }
  EXPECT_THAT(optimal_allocation(Vector<double>::Zero(3), 8), ElementsAre(3, 3, 2));
}

struct Series {
  Mixture mixture;
  Matrix<double> X;
  Vector<double> costs;
};

Series unequal_series(const MixtureFamily& family) {
  Series s;
  s.mixture.weights = Vector<double>{{1.0, 0.3, 0.05, 0.02}};
  s.mixture.means = Matrix<double>{{0.1, 0}, {0.5, 0.2}, {0.9, 0.4}, {0.3, 0.8}};
  s.mixture.scales = Matrix<double>{{0.03, 0.02}, {0.1, 0.05}, {0.05, 0.2}, {0.01, 0.1}};
  s.mixture.family = family;
  s.X = random_matrix(30, 2, 3);
  s.costs = allocation_costs(s.mixture, s.X, 30 * 30, Random(1));
  return s;
}

// The squared error of the Gram matrix of m_q drawn frequencies a component, about 3.6 % from its mean over 1500 draws
// (one draw deviates by about 1.4 times its mean): 10 % is nearly three deviations of a fixed seed.
TEST(Allocation, CostsAreTheExpectedSquaredErrorOfTheGramMatrix) {
  for (const MixtureFamily& family : {MixtureFamily(GaussianFamily{}), MixtureFamily(LaplaceFamily{})}) {
    const Series s = unequal_series(family);
    const Counts counts = softmax_allocation(s.mixture.weights, 40, 1.0);
    Matrix<double> exact(30, 30);
    mixture_values(s.mixture, s.X, s.X, exact, Execution{});
    double mean = 0;
    const int draws = 1500;
    for (int draw = 0; draw < draws; ++draw) {
      Matrix<double> sampled = Matrix<double>::Zero(30, 30);
      Index point = 0;
      for (Index q = 0; q < 4; ++q) {
        const Index count = counts[static_cast<std::size_t>(q)];
        for (Index i = 0; i < count; ++i, ++point) {
          Vector<double> frequency(2);
          for (Index j = 0; j < 2; ++j) {
            const double eps = std::visit(
                [&](const auto& f) { return f.draw(Random(static_cast<std::uint64_t>(draw)), point, j); }, family);
            frequency(j) = s.mixture.means(q, j) + s.mixture.scales(q, j) * eps;
          }
          const Vector<double> phase = 2 * std::numbers::pi * s.X * frequency;
          const double weight = s.mixture.weights(q) / static_cast<double>(count);
          sampled += weight * (phase.array().cos().matrix() * phase.array().cos().matrix().transpose() +
                               phase.array().sin().matrix() * phase.array().sin().matrix().transpose());
        }
      }
      mean += (sampled - exact).squaredNorm() / draws;
    }
    EXPECT_NEAR(mean, error_of(s.costs, counts), 0.1 * mean);
  }
}

TEST(Allocation, OptimalIsBestThenSoftmaxThenEqualOnUnequalWeights) {
  const Series s = unequal_series(GaussianFamily{});
  const double equal = error_of(s.costs, equal_allocation(4, 40));
  const double softmax = error_of(s.costs, softmax_allocation(s.mixture.weights, 40, 1.0));
  const double optimal = error_of(s.costs, optimal_allocation(s.costs, 40));
  EXPECT_LT(softmax, 0.8 * equal);
  EXPECT_LE(optimal, softmax);
}

// 20000 pairs: a mean of numbers in [0, 1] has deviation 0.0036 at most.
TEST(Allocation, CostsOfSomePairsEstimateThoseOfAll) {
  const Series s = unequal_series(GaussianFamily{});
  const Matrix<double> X = random_matrix(300, 2, 4);
  const Vector<double> all = allocation_costs(s.mixture, X, 300 * 300, Random(1));
  const Vector<double> some = allocation_costs(s.mixture, X, 20'000, Random(1));
  const Eigen::ArrayXd unit = s.mixture.weights.array().square() * 300 * 300;
  EXPECT_LT(((all - some).array() / unit).abs().maxCoeff(), 5 * 0.0036);
  EXPECT_EQ(allocation_costs(s.mixture, X.topRows(1), 10, Random(1)), Vector<double>::Zero(4));
}

TEST(Allocation, SaysWhatIsWrong) {
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message([] { equal_allocation(4, 3); }), HasSubstr("each of 4 components"));
  EXPECT_THAT(message([] { softmax_allocation(Vector<double>{{1.0, 0.0}}, 4, 1); }), HasSubstr("weights"));
  EXPECT_THAT(message([] { softmax_allocation(Vector<double>{{1.0, 2.0}}, 4, 0); }), HasSubstr("temperature"));
  EXPECT_THAT(message([] { optimal_allocation(Vector<double>{{1.0, -1.0}}, 4); }), HasSubstr("costs"));
  EXPECT_THAT(message([] { (void)parse_allocation("best"); }), HasSubstr("'best'"));
  for (const char* name : {"equal", "softmax", "optimal"}) EXPECT_EQ(allocation_name(parse_allocation(name)), name);
}

}  // namespace carmina::testing
