// tests/models/quantiles_test.cpp -- joint quantiles: their order, their file, their names; every loss in an
// evaluation.
#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>

#include <gtest/gtest.h>
#include <cmath>
#include <support/given_numbers.hpp>
#include <support/random_matrix.hpp>
#include <support/temp_dir.hpp>

namespace carmina::testing {
namespace {

const std::vector<double> levels = {0.1, 0.3, 0.5, 0.7, 0.9};

template <class T>
class Quantiles : public ::testing::Test {
 protected:
  Quantiles() {
    options_.kernel = Kernel(Gaussian(0.3));
    options_.approximation = "exact";
    options_.loss = Pinball(levels);
    options_.alpha = 0.01;
    options_.tol = 1e-3;
    options_.target_names = {"price"};
  }
  const Matrix<T> X_ = random_matrix<T>(60, 1, 1), y_ = random_matrix<T>(60, 1, 2), new_ = random_matrix<T>(200, 1, 3);
  FitOptions options_ = given_numbers();
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Quantiles, Precisions);

TYPED_TEST(Quantiles, InOrderAreTheSortedOnesAlsoFromAFile) {
  using T = TypeParam;
  Matrix<T> expected = KernelMachine<T>::fit(this->X_, this->y_, this->options_).predict(this->new_);
  const Matrix<T> free = expected;
  for (Index i = 0; i < expected.rows(); ++i) std::sort(expected.row(i).begin(), expected.row(i).end());
  ASSERT_NE(expected, free) << "nothing crosses: the test shows nothing";

  this->options_.non_crossing = true;
  const auto machine = KernelMachine<T>::fit(this->X_, this->y_, this->options_);
  EXPECT_EQ(machine.predict(this->new_), expected);
  EXPECT_THROW(machine.predict_parts(this->new_), Error);
  const TempDir folder;
  machine.save(folder.path("m"));
  const auto again = std::get<KernelMachine<T>>(load_kernel_machine(folder.path("m")));
  EXPECT_EQ(again.predict(this->new_), expected);
  EXPECT_TRUE(again.record().joint_quantiles && again.record().non_crossing);
  EXPECT_EQ(output_names(again.record(), 5),
            (std::vector<std::string>{"price@0.1", "price@0.3", "price@0.5", "price@0.7", "price@0.9"}));
}

TYPED_TEST(Quantiles, AreEvaluatedAgainstTheOneTarget) {
  using T = TypeParam;
  const auto machine = KernelMachine<T>::fit(this->X_, this->y_, this->options_);
  const Matrix<T> y = random_matrix<T>(200, 1, 4);
  MemoryRows<T> rows(this->new_, y);
  const Evaluation result = evaluate_machine(machine, rows);
  const Matrix<double> errors = (y.replicate(1, 5) - machine.predict(this->new_)).template cast<double>();
  ASSERT_EQ(result.targets.size(), 5U);
  double sum = 0;
  for (Index j = 0; j < 5; ++j) {
    double loss = 0;
    const double tau = levels[static_cast<std::size_t>(j)];
    for (const double e : errors.col(j)) loss += (e > 0 ? tau : tau - 1) * e / 200;
    const Score& score = result.targets[static_cast<std::size_t>(j)];
    EXPECT_NEAR(score.loss, loss, 1e-6);
    EXPECT_NEAR(score.rmse, errors.col(j).norm() / std::sqrt(200.0), 1e-6);
    sum += loss;
  }
  EXPECT_NEAR(result.average.loss, sum, 1e-6);
  EXPECT_THROW(
      {
        MemoryRows<T> two(this->new_, Matrix<T>(y.replicate(1, 2)));
        evaluate_machine(machine, two);
      },
      Error);
}

TYPED_TEST(Quantiles, OfSeveralTargetsAreNotJoint) {
  using T = TypeParam;
  this->options_.loss = Pinball({0.2, 0.8});
  this->options_.target_names = {"a", "b"};
  const auto machine = KernelMachine<T>::fit(this->X_, random_matrix<T>(60, 2, 5), this->options_);
  EXPECT_FALSE(machine.record().joint_quantiles);
  EXPECT_EQ(output_names(machine.record(), 2), (std::vector<std::string>{"a", "b"}));
  MemoryRows<T> one(this->X_, this->y_);
  EXPECT_THROW(evaluate_machine(machine, one), Error);
}

TYPED_TEST(Quantiles, InOrderNeedAscendingLevelsOfThePinballLoss) {
  using T = TypeParam;
  this->options_.non_crossing = true;
  for (const Loss& loss : {Loss(Squared()), Loss(Pinball({0.5, 0.1}))}) {
    this->options_.loss = loss;
    EXPECT_THROW(KernelMachine<T>::fit(this->X_, this->y_, this->options_), Error);
  }
}

// Of two targets: the norm over both for whole rows, each alone in its own line.
TEST(EvaluationLoss, OfANormIsOfWholeRows) {
  const Matrix<double> X = random_matrix<double>(40, 2, 1), Y = 3 * random_matrix<double>(40, 2, 2);
  FitOptions options = given_numbers();
  options.approximation = "exact";
  options.loss = Huber(0.5);
  const auto machine = KernelMachine<double>::fit(X, Y, options);
  MemoryRows<double> rows(X, Y);
  const Evaluation result = evaluate_machine(machine, rows);
  const Matrix<double> R = machine.predict(X) - Y;
  const auto huber = [](double n) { return n <= 0.5 ? n * n / 2 : 0.5 * (n - 0.25); };
  double whole = 0, first = 0;
  for (Index i = 0; i < 40; ++i) {
    whole += huber(R.row(i).norm()) / 40;
    first += huber(std::abs(R(i, 0))) / 40;
  }
  EXPECT_NEAR(result.average.loss, whole, 1e-12);
  EXPECT_NEAR(result.targets[0].loss, first, 1e-12);
  EXPECT_LT(result.average.loss, result.targets[0].loss + result.targets[1].loss);
}

}  // namespace
}  // namespace carmina::testing
