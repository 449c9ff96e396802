// tests/models/evaluation_test.cpp -- scores of weighted rows: an integer weight is a repetition, zero a removal.
#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/given_numbers.hpp"
#include "support/loss_targets.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using carmina::testing::random_matrix;
using carmina::testing::targets_for;

template <class T>
class WeightedEvaluation : public ::testing::Test {
 protected:
  // Weights 0 to 3.
  static std::vector<T> random_weights(Index n, std::uint64_t seed) {
    const Random random(seed, Stream::data);
    std::vector<T> weights;
    for (Index i = 0; i < n; ++i) weights.push_back(static_cast<T>(random.bits(static_cast<std::uint64_t>(i)) % 4));
    return weights;
  }
  static Matrix<T> repeated(const Matrix<T>& rows, const std::vector<T>& weights) {
    std::vector<Index> which;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      which.insert(which.end(), static_cast<std::size_t>(weights[i]), static_cast<Index>(i));
    }
    return rows(which, Eigen::all);
  }
  static void expect_equal(const Score& a, const Score& b) {
    constexpr double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;  // rows at other places of a block
    EXPECT_EQ(a.target, b.target);
    EXPECT_NEAR(a.rmse, b.rmse, tolerance * (1 + b.rmse));
    EXPECT_NEAR(a.rrmse, b.rrmse, tolerance * (1 + b.rrmse));
    EXPECT_NEAR(a.r2, b.r2, tolerance * (1 + std::abs(b.r2)));
    EXPECT_NEAR(a.loss, b.loss, tolerance * (1 + b.loss));
  }
  static KernelMachine<T> machine(const Loss& loss, Index p) {
    FitOptions options = given_numbers();
    options.loss = loss;
    options.n_components = 20;
    const Matrix<T> X = random_matrix<T>(60, 3, 1);
    Matrix<T> Y = X.leftCols(p).array().sin();
    Y = targets_for(loss, Y);
    return KernelMachine<T>::fit(X, Y, options);
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(WeightedEvaluation, Scalars);

TYPED_TEST(WeightedEvaluation, IntegerWeightsEqualRepeatedRows) {
  using T = TypeParam;
  for (const Loss& loss : {Loss(Squared()), Loss(Huber(0.5)), Loss(Absolute()), Loss(Pinball({0.2, 0.9})),
                           Loss(Hinge()), Loss(Logistic())}) {
    const Index p = std::holds_alternative<Hinge>(loss) ? 1 : 2;
    const auto model = this->machine(loss, p);
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Index n = 40;
      const Matrix<T> X = random_matrix<T>(n, 3, 10 + seed);
      Matrix<T> Y = random_matrix<T>(n, p, 20 + seed);
      Y = targets_for(loss, Y);
      const std::vector<T> weights = this->random_weights(n, seed);
      const Matrix<T> many_X = this->repeated(X, weights), many_Y = this->repeated(Y, weights);
      MemoryRows<T> weighted(X, Y, weights.data()), many(many_X, many_Y);
      const Evaluation a = evaluate_machine(model, weighted), b = evaluate_machine(model, many);
      EXPECT_EQ(a.weight, double(many_X.rows()));
      EXPECT_EQ(a.rows, n - std::count(weights.begin(), weights.end(), T(0)));
      ASSERT_EQ(a.targets.size(), static_cast<std::size_t>(p));
      for (std::size_t j = 0; j < a.targets.size(); ++j) this->expect_equal(a.targets[j], b.targets[j]);
      this->expect_equal(a.average, b.average);
    }
  }
}

// A missing target is left out with the weight of its row; each target has rows of its own.
TYPED_TEST(WeightedEvaluation, OfMissingTargetsToo) {
  using T = TypeParam;
  const auto model = this->machine(Squared(), 2);
  const Matrix<T> X = random_matrix<T>(40, 3, 3);
  Matrix<T> Y = random_matrix<T>(40, 2, 4);
  for (Index i = 0; i < 40; i += 3) Y(i, i % 2) = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> weights = this->random_weights(40, 5);
  const Matrix<T> many_X = this->repeated(X, weights), many_Y = this->repeated(Y, weights);
  MemoryRows<T> weighted(X, Y, weights.data()), many(many_X, many_Y);
  const Evaluation a = evaluate_machine(model, weighted), b = evaluate_machine(model, many);
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_TRUE(std::isfinite(a.targets[j].rmse));
    this->expect_equal(a.targets[j], b.targets[j]);
  }
  this->expect_equal(a.average, b.average);
}

// Of joint quantiles the one target is repeated on the way; its weights are not lost.
TYPED_TEST(WeightedEvaluation, OfJointQuantilesToo) {
  using T = TypeParam;
  FitOptions options = given_numbers();
  options.loss = Pinball({0.1, 0.5, 0.9});
  options.n_components = 20;
  const auto model = KernelMachine<T>::fit(random_matrix<T>(60, 2, 1), random_matrix<T>(60, 1, 2), options);
  const Matrix<T> X = random_matrix<T>(30, 2, 3), y = random_matrix<T>(30, 1, 4);
  const std::vector<T> weights = this->random_weights(30, 5);
  const Matrix<T> many_X = this->repeated(X, weights), many_y = this->repeated(y, weights);
  MemoryRows<T> weighted(X, y, weights.data()), many(many_X, many_y);
  const Evaluation a = evaluate_machine(model, weighted), b = evaluate_machine(model, many);
  ASSERT_EQ(a.targets.size(), 3u);
  for (std::size_t j = 0; j < 3; ++j) this->expect_equal(a.targets[j], b.targets[j]);
  this->expect_equal(a.average, b.average);
}

TYPED_TEST(WeightedEvaluation, AFactorOfAllWeightsHasNoEffect) {
  using T = TypeParam;
  const auto model = this->machine(Squared(), 2);
  const Matrix<T> X = random_matrix<T>(30, 3, 3), Y = random_matrix<T>(30, 2, 4);
  std::vector<T> weights = this->random_weights(30, 5);
  MemoryRows<T> rows(X, Y, weights.data());
  const Evaluation a = evaluate_machine(model, rows);
  for (T& w : weights) w *= T(0.25);
  const Evaluation b = evaluate_machine(model, rows);
  EXPECT_EQ(b.weight, a.weight / 4);
  for (std::size_t j = 0; j < 2; ++j) this->expect_equal(a.targets[j], b.targets[j]);
}

TYPED_TEST(WeightedEvaluation, WhatARowOfWeightZeroHoldsHasNoEffect) {
  using T = TypeParam;
  const auto model = this->machine(Squared(), 2);
  Matrix<T> X = random_matrix<T>(10, 3, 3), Y = random_matrix<T>(10, 2, 4);
  X(9, 0) = Y(9, 1) = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> weights(10, T(1));
  weights[9] = 0;
  MemoryRows<T> rows(X, Y, weights.data()), fewer(ConstView<T>(X.topRows(9)), ConstView<T>(Y.topRows(9)));
  const Evaluation a = evaluate_machine(model, rows), b = evaluate_machine(model, fewer);
  EXPECT_EQ(a.rows, 9);
  for (std::size_t j = 0; j < 2; ++j) this->expect_equal(a.targets[j], b.targets[j]);

  for (const T bad : {T(-1), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    weights[2] = bad;
    try {
      evaluate_machine(model, rows);
      ADD_FAILURE() << "a weight of " << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("row 3: a weight must be finite and not negative, found"));
    }
  }
  std::fill(weights.begin(), weights.end(), T(0));
  EXPECT_THROW(evaluate_machine(model, rows), Error);
}

}  // namespace
}  // namespace carmina
