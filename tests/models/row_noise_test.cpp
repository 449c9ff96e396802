// tests/models/row_noise_test.cpp -- noise that is known for each row, beside the dense posterior.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/models/posterior.hpp>
#include <carmina/models/row_noise.hpp>
#include "data/noise_rows.hpp"

#include <Eigen/Cholesky>

#include <algorithm>

#include <support/given_numbers.hpp>
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::row_noise_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_matrix;

std::vector<double> some_variances(Index n) {
  std::vector<double> variances;
  for (Index i = 0; i < n; ++i) variances.push_back(0.1 + 0.05 * static_cast<double>(i % 7));
  return variances;
}

TEST(RowNoise, WeightsAreOneOnTheAverageOfThoseGiven) {
  const std::vector<double> variances = some_variances(20);
  const RowNoise plain = weights_of_noise(variances);
  double total = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    total += plain.weights[i];
    EXPECT_NEAR(plain.unit / plain.weights[i], variances[i], 1e-14);
  }
  EXPECT_NEAR(total, 20, 1e-12);
  std::vector<double> copies(20, 2.0);
  copies[3] = 0;
  const RowNoise weighted = weights_of_noise(variances, copies);
  EXPECT_EQ(weighted.weights[3], 0);
  EXPECT_NEAR(2 * weighted.unit / weighted.weights[4], variances[4], 1e-14);
  // For choices no row weighs more than those that were given.
  const RowNoise chosen = weights_of_noise(variances, copies, NoiseUnit::least);
  EXPECT_EQ(chosen.unit, *std::min_element(variances.begin(), variances.end()));
  EXPECT_EQ(*std::max_element(chosen.weights.begin(), chosen.weights.end()), 2);
  EXPECT_NEAR(2 * chosen.unit / chosen.weights[4], variances[4], 1e-14);
  EXPECT_THAT(message_of([] { weights_of_noise(std::vector<double>{1, 0}); }),
              HasSubstr("noise_variance must be positive and finite, found 0 in row 2"));
  EXPECT_THAT(message_of([] { weights_of_noise(std::vector<double>{1, 2}, std::vector<double>{1}); }),
              HasSubstr("2 variances for 1 weights"));
}

// With alpha = unit the fit is the mean of the process with kernel k and these variances, its deviations those of a new
// observation with the variance unit.
TEST(RowNoise, GivesTheDensePosterior) {
  const Index n = 30;
  const Matrix<double> X = random_matrix(n, 2, 1), Y = random_matrix(n, 1, 2), Z = random_matrix(5, 2, 3);
  const std::vector<double> variances = some_variances(n);
  const RowNoise noise = weights_of_noise(variances);
  FitOptions options = given_numbers();
  options.kernel = Gaussian(1.2);
  options.approximation = "exact";
  options.alpha = noise.unit;
  options.fit_intercept = false;
  const auto fitted = KernelMachine<double>::fit(X, Y, options, noise.weights.data());
  const auto machine = with_known_noise(fitted, noise.unit);
  const auto k = [](const auto& a, const auto& b) { return std::exp(-(a - b).squaredNorm() / (2 * 1.44)); };
  Matrix<double> K(n, n), cross(5, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) K(i, j) = k(X.row(i), X.row(j));
    for (Index j = 0; j < 5; ++j) cross(j, i) = k(Z.row(j), X.row(i));
    K(i, i) += variances[static_cast<std::size_t>(i)];
  }
  const Eigen::LLT<Matrix<double>> factor(K);
  EXPECT_LT((machine.predict(Z) - cross * factor.solve(Y)).cwiseAbs().maxCoeff(), 1e-10);
  const Matrix<double> deviation = Posterior<double>(machine).deviation(Z);
  for (Index j = 0; j < 5; ++j) {
    const double variance = 1 - cross.row(j).dot(factor.solve(cross.row(j).transpose()));
    EXPECT_NEAR(deviation(j, 0), std::sqrt(variance + noise.unit), 1e-9);
  }
  // Errors of rows left out are in units of the deviation: the ends of intervals stay where they are.
  const Matrix<double> before = Posterior<double>(fitted).interval(Z, 0.9);
  EXPECT_LT((Posterior<double>(machine).interval(Z, 0.9) - before).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(RowNoise, OfAColumnIsThatOfAVector) {
  const Index n = 25;
  const Matrix<double> X = random_matrix(n, 2, 1), Y = random_matrix(n, 2, 2);
  const std::vector<double> variances = some_variances(n);
  Matrix<double> with_noise(n, 3);
  for (Index i = 0; i < n; ++i) with_noise.row(i) << Y.row(i), variances[static_cast<std::size_t>(i)];
  MemoryRows<double> rows(X, with_noise);
  NoiseRows<double> noisy(rows, "v");
  const RowNoise noise = weights_of_noise(variances);
  noisy.set_unit(noise.unit);
  EXPECT_EQ(noisy.dim_out(), 2);
  Index seen = 0;
  for (auto block = noisy.next(8); block.rows > 0; block = noisy.next(8)) {
    for (Index i = 0; i < block.rows; ++i, ++seen) {
      EXPECT_EQ(block.weights[i], noise.weights[static_cast<std::size_t>(seen)]);
      EXPECT_EQ(block.targets().row(i), Y.row(seen));
    }
  }
  EXPECT_EQ(seen, n);
  with_noise(3, 2) = -1;
  noisy.rewind();
  EXPECT_THAT(message_of([&] { noisy.next(8); }),
              HasSubstr("row 4: column 'v': the variance of a row's noise must be positive and finite, found -1"));
}

}  // namespace
}  // namespace carmina::row_noise_test
