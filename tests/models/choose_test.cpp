// tests/models/choose_test.cpp -- what the data choose: errors of left-out rows, metrics, samples, other losses' alpha.
#include "models/choose/choose.hpp"
#include "features/kernel_map.hpp"
#include "models/choose/equal_rows.hpp"
#include "models/choose/exact_errors.hpp"
#include "models/choose/exact_evidence.hpp"
#include "models/choose/search.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <support/given_numbers.hpp>
#include <support/random_matrix.hpp>

namespace carmina::testing {
namespace {

ChoiceRows some_rows(Index n, Index d, Index p, bool intercept) {
  ChoiceRows rows{random_matrix(n, d, 1), random_matrix(n, p, 2), Vector<double>::Ones(n), intercept};
  return rows;
}

// f(x) + b of exact ridge on these rows.
Matrix<double> dense_fit(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha, const Matrix<double>& at) {
  FitOptions options = given_numbers();
  options.kernel = Kernel(kernel);
  options.approximation = "exact";
  options.alpha = alpha;
  options.fit_intercept = rows.intercept;
  return KernelMachine<double>::fit(rows.Z, rows.Y, options, rows.weights.data()).predict(at);
}

TEST(LeftOutErrors, AreThoseOfFitsWithoutTheRow) {
  for (const bool intercept : {true, false}) {
    for (const ScalarKernel& kernel :
         {ScalarKernel(Matern(LengthScale(1.3), 0.5)), ScalarKernel(Gaussian(LengthScale(0.8)))}) {
      ChoiceRows rows = some_rows(17, 3, 2, intercept);
      for (Index i = 0; i < 17; ++i) rows.weights[i] = 0.5 * static_cast<double>(1 + i % 5);
      const double alpha = 0.07;
      const ExactErrors found = exact_errors(rows, kernel, alpha, Execution{});
      double sum = 0;
      for (Index i = 0; i < rows.rows(); ++i) {
        ChoiceRows without = rows;
        without.weights[i] -= std::min(1.0, rows.weights[i]);
        const Matrix<double> e = rows.Y.row(i) - dense_fit(without, kernel, alpha, rows.Z.row(i));
        // exp(-r) at r = 0 is known to the root of the rounding of r^2.
        EXPECT_LT((found.residuals.row(i) - e).cwiseAbs().maxCoeff(), 1e-8);
        sum += rows.weights[i] * e.squaredNorm() / 2;
      }
      EXPECT_NEAR(found.error, sum / rows.weights.sum(), 1e-8);
    }
  }
}

TEST(EqualRows, AreOneRowOfTheirWeight) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  HeldRows<double> held;
  held.X.resize(6, 2);
  held.X << 3, 1, 0, 0, 3, 1, 3, 1, 0, 0, 3, 1;
  held.Y.resize(6, 1);
  held.Y << 5, nan, 5, 6, nan, 5;  // rows 0, 2, 5 and 1, 4 are equal; row 3 has another target
  held.numbers = {10, 11, 12, 13, 14, 15};
  HeldRows<double> merged = held;
  merge_equal_rows(merged);
  EXPECT_EQ(merged.numbers, (std::vector<Index>{10, 11, 13}));
  EXPECT_EQ(merged.weights, Eigen::Vector3d(3, 2, 1));
  EXPECT_EQ(merged.X, (Matrix<double>(3, 2) << 3, 1, 0, 0, 3, 1).finished());
  EXPECT_EQ(merged.Y(2, 0), 6);

  // Parts of a row are no repetitions.
  HeldRows<double> parts = held;
  parts.weights = Vector<double>::Constant(6, 0.5);
  merge_equal_rows(parts);
  EXPECT_EQ(parts.rows(), 6);
}

TEST(LeftOutErrors, CountAWeightAsRepetitions) {
  ChoiceRows weighted = some_rows(12, 2, 1, true);
  weighted.weights[3] = 3;
  weighted.weights[7] = 2;
  std::vector<Index> each;
  for (Index i = 0; i < 12; ++i) each.insert(each.end(), static_cast<std::size_t>(weighted.weights[i]), i);
  const ChoiceRows repeated{weighted.Z(each, Eigen::all), weighted.Y(each, Eigen::all),
                            Vector<double>::Ones(static_cast<Index>(each.size())), true};
  const ScalarKernel kernel = Matern(LengthScale(0.9), 1.5);
  EXPECT_NEAR(exact_errors(weighted, kernel, 0.2, Execution{}).error,
              exact_errors(repeated, kernel, 0.2, Execution{}).error, 1e-10);
}

// log p of targets with these covariances, from determinants and inverses of the whole; without an intercept.
double dense_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha) {
  const Index n = rows.rows();
  Matrix<double> M = kernel_matrix<double>(kernel, rows.Z, rows.Z);
  for (Index i = 0; i < n; ++i) M(i, i) += alpha / rows.weights[i];
  double value = -0.5 * static_cast<double>(rows.Y.cols()) *
                 (std::log(M.determinant()) + (rows.weights.sum() - static_cast<double>(n)) * std::log(alpha) +
                  rows.weights.array().log().sum());
  const double total = rows.weights.sum();
  for (Index j = 0; j < rows.Y.cols(); ++j) {
    value -= 0.5 * total * std::log(rows.Y.col(j).dot(M.inverse() * rows.Y.col(j)) / total);
  }
  return value;
}

const std::vector<ScalarKernel> kernels_with_widths{Matern(LengthScale(1.1), 0.5), Matern(LengthScale(1.1), 1.5),
                                                    Matern(LengthScale(1.1), 2.5), Gaussian(LengthScale(0.9)),
                                                    Laplacian(LengthScale(2.3)),   Cauchy(LengthScale(1.2))};

TEST(ExactEvidence, IsThatOfTheWholeCovariance) {
  ChoiceRows rows = some_rows(14, 3, 2, false);
  for (Index i = 0; i < 14; ++i) rows.weights[i] = 0.5 * static_cast<double>(1 + i % 4);
  for (const ScalarKernel& kernel : kernels_with_widths) {
    EXPECT_NEAR(exact_evidence(rows, kernel, 0.3, Execution{}).value, dense_evidence(rows, kernel, 0.3), 1e-7);
  }
}

TEST(ExactEvidence, HasTheGradientOfDifferences) {
  for (const bool intercept : {true, false}) {
    ChoiceRows rows = some_rows(40, 3, 2, intercept);
    for (Index i = 0; i < 40; ++i) rows.weights[i] = 0.5 * static_cast<double>(1 + i % 4);
    for (const ScalarKernel& kernel : kernels_with_widths) {
      const ExactEvidence found = exact_evidence(rows, kernel, 0.2, Execution{});
      constexpr double step = 1e-3;  // exp(-r) at r = 0 is known to 1e-8
      for (Index k = 0; k < 3; ++k) {
        ChoiceRows above = rows, below = rows;
        above.Z.col(k) *= std::exp(step);
        below.Z.col(k) *= std::exp(-step);
        const double slope = (exact_evidence(above, kernel, 0.2, Execution{}).value -
                              exact_evidence(below, kernel, 0.2, Execution{}).value) /
                             (2 * step);
        EXPECT_NEAR(found.by_factor[k], slope, 1e-4 * std::max(1.0, std::abs(slope)));
      }
      const double slope = (exact_evidence(rows, kernel, 0.2 * std::exp(step), Execution{}).value -
                            exact_evidence(rows, kernel, 0.2 * std::exp(-step), Execution{}).value) /
                           (2 * step);
      EXPECT_NEAR(found.by_alpha, slope, 1e-4 * std::max(1.0, std::abs(slope)));
    }
  }
}

TEST(ExactEvidence, CountsAWeightAsRepetitions) {
  ChoiceRows weighted = some_rows(12, 2, 1, true);
  weighted.weights[3] = 3;
  weighted.weights[7] = 2;
  std::vector<Index> each;
  for (Index i = 0; i < 12; ++i) each.insert(each.end(), static_cast<std::size_t>(weighted.weights[i]), i);
  ChoiceRows repeated = weighted.at(each);
  repeated.weights.setOnes();
  const ScalarKernel kernel = Matern(LengthScale(0.9), 1.5);
  for (const double alpha : {0.2, 1.7}) {
    EXPECT_NEAR(exact_evidence(weighted, kernel, alpha, Execution{}).value,
                exact_evidence(repeated, kernel, alpha, Execution{}).value, 1e-8);
  }
  EXPECT_NEAR(exact_evidence(weighted, kernel, 0.2, Execution{}).by_alpha,
              exact_evidence(repeated, kernel, 0.2, Execution{}).by_alpha, 1e-8);
}

TEST(WidthsByEvidence, FindTheInputsThatMatter) {
  const Index n = 250, d = 12;
  ChoiceRows rows = some_rows(n, d, 1, true);
  rows.Y = (2 * rows.Z.col(2).array()).sin() + rows.Z.col(7).array().square() - 1 + 0.1 * rows.Y.col(0).array();
  const LearntWidths found = widths_by_evidence(rows, Matern(LengthScale(7.0), 1.5), {Vector<double>::Ones(d), 0.1, 0},
                                                false, 1e-9, 40, Execution{});
  const double relevant = std::min(found.factors[2], found.factors[7]);
  for (Index k = 0; k < d; ++k) {
    EXPECT_TRUE(k == 2 || k == 7 || found.factors[k] < 0.2 * relevant) << k;
  }
}

// The outer products are of gradients by central differences.
TEST(GradientMetric, IsTheRootOfGradients) {
  ChoiceRows rows = some_rows(30, 3, 2, true);
  for (const ScalarKernel& kernel :
       {ScalarKernel(Matern(LengthScale(1.1), 1.5)), ScalarKernel(Matern(LengthScale(1.1), 2.5)),
        ScalarKernel(Gaussian(LengthScale(0.9)))}) {
    const ExactErrors fit = exact_errors(rows, kernel, 0.1, Execution{});
    Matrix<double> A = Matrix<double>::Zero(3, 3);
    constexpr double step = 1e-5;
    for (Index i = 0; i < rows.rows(); ++i) {
      Matrix<double> gradient(2, 3);
      for (Index k = 0; k < 3; ++k) {
        Matrix<double> at = rows.Z.row(i), below = at;
        at(0, k) += step;
        below(0, k) -= step;
        gradient.col(k) =
            (dense_fit(rows, kernel, 0.1, at) - dense_fit(rows, kernel, 0.1, below)).transpose() / (2 * step);
      }
      A += gradient.transpose() * gradient;
    }
    const Matrix<double> P = gradient_metric(rows, kernel, fit.coefficients, {}, Execution{});
    Matrix<double> fourth = P * P * P * P;
    EXPECT_LT((fourth / fourth.norm() - A / A.norm()).cwiseAbs().maxCoeff(), 1e-5);
  }
}

TEST(HashedSample, DoesNotDependOnOrderUnitsOrRepetition) {
  ChoiceRows rows = some_rows(200, 2, 1, true);
  rows.weights[5] = 2;
  const ChoiceRows some = hashed_sample(rows, 50);
  EXPECT_GE(some.weights.sum(), 50);
  EXPECT_LE(some.weights.sum(), 52);
  std::vector<Index> other;
  for (Index i = 0; i < 200; ++i) other.push_back((i * 77) % 200);
  other.push_back(5);
  ChoiceRows shuffled{rows.Z(other, Eigen::all), rows.Y(other, Eigen::all), Vector<double>::Ones(201), true};
  shuffled.Z *= 1 + 1e-13;
  const ChoiceRows same = hashed_sample(shuffled, 50);
  EXPECT_NEAR(same.weights.sum(), some.weights.sum(), 1e-12);
  EXPECT_NEAR(same.Z.sum(), (some.weights.asDiagonal() * some.Z).sum(), 1e-9);
}

TEST(Choice, FindsTheInputsThatMatter) {
  const Matrix<double> X = random_matrix(300, 6, 3), noise = random_matrix(300, 1, 4);
  const Matrix<double> Y = (2 * X.col(0)).array().sin() + X.col(1).array() + 0.05 * noise.array();
  const Matrix<double> fresh = random_matrix(400, 6, 5);
  const Matrix<double> truth = (2 * fresh.col(0)).array().sin() + fresh.col(1).array();
  FitOptions options;
  options.kernel_name = "matern";  // of Euclidean distances: the Laplacian does well on sums as it is
  options.metric = MetricRule::identity;
  const auto error = [&] { return (KernelMachine<double>::fit(X, Y, options).predict(fresh) - truth).norm(); };
  const double plain = error();
  options.metric = MetricRule::learn;
  EXPECT_LT(error(), 0.8 * plain);
  options.metric = MetricRule::automatic;
  EXPECT_LT(error(), 0.8 * plain);
  options.width = WidthRule::per_input;
  EXPECT_LT(error(), 0.8 * plain);
}

TEST(ScaledLoss, HasItsNumberFromResiduals) {
  const Loss huber = scaled_loss(Huber(), 0.6745 * 3, 100);
  EXPECT_NEAR(std::get<Huber>(huber).kappa, 1.349 * 3, 1e-3);
  const Loss tube = scaled_loss(EpsilonInsensitive(), 0.6745 * 3, 10000);
  EXPECT_NEAR(std::get<EpsilonInsensitive>(tube).epsilon, 9 * std::sqrt(std::log(1e4) / 1e4), 1e-9);
  EXPECT_NEAR(std::get<SquaredEpsilonInsensitive>(scaled_loss(SquaredEpsilonInsensitive(), 0.6745 * 3, 20)).epsilon,
              1.5, 1e-9);
  EXPECT_EQ(scaled_loss(Loss(Absolute()), 3, 100), Loss(Absolute()));
  EXPECT_EQ(scaled_loss(Loss(Huber(2)), 0, 100), Loss(Huber(2)));  // nothing to measure by
}

TEST(Choice, GivesALossItsNumberWithAnyKernel) {
  const Matrix<double> X = random_matrix(150, 2, 3), noise = random_matrix(150, 2, 4);
  Matrix<double> Y(150, 2);
  Y << X.col(0), X.col(1);
  Y += 0.3 * noise;
  FitOptions options;
  options.loss = Huber();
  options.automatic_loss = true;
  const auto kappa = [&] { return std::get<Huber>(KernelMachine<double>::fit(X, Y, options).record().loss).kappa; };
  // The median norm of two normal numbers of deviation 0.3 is 0.3 sqrt(2 log 2).
  const double expected = 2 * 0.3 * std::sqrt(2 * std::log(2));
  EXPECT_NEAR(kappa(), expected, 0.3 * expected);
  options.kernel = CurlFree(Gaussian(LengthScale(2.0)));
  EXPECT_NEAR(kappa(), expected, 0.4 * expected);
  options.alpha = 1;
  EXPECT_THROW(kappa(), Error);
}

// Half a square of curvature c has c times the alpha; a scale of the targets leaves the squared loss's alone and
// divides that of the absolute one.
TEST(LossAlpha, FollowsCurvatureAndScale) {
  const Matrix<double> targets = random_matrix(4000, 1, 6), none = Matrix<double>::Zero(4000, 1);
  const Vector<double> ones = Vector<double>::Ones(4000);
  EXPECT_NEAR(loss_alpha(Squared{}, 0.3, none, targets, ones), 0.3, 1e-9);
  EXPECT_NEAR(loss_alpha(Huber(1e6), 0.3, none, targets, ones), 0.3, 1e-9);
  const double one = loss_alpha(Absolute{}, 0.3, none, targets, ones);
  EXPECT_NEAR(loss_alpha(Absolute{}, 0.3, none, 100 * targets, ones), one / 100, 1e-9);
  // E l'^2 = 1, E l'' = 2 phi(0) = 0.798 for normal noise of variance 1.
  EXPECT_NEAR(one, 0.3 / (2 * 0.39894), 0.02);
  EXPECT_NEAR(loss_alpha(Pinball({0.5}), 0.3, none, targets, ones), 0.3 * 0.25 / 0.39894, 0.02);
}

}  // namespace
}  // namespace carmina::testing
