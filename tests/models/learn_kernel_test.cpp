// Kernels learnt by evidence: the value is the dense density, the end is a maximum, and truth is found again.
#include "models/fit/learn_kernel.hpp"
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/sample_map.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>
#include <numbers>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using carmina::testing::random_matrix;

// log N(y | 0, Phi Phiᵀ + alpha I) with the features that a fit draws for this kernel, all outputs in one vector.
double dense_evidence(const Kernel& kernel, double alpha, const Matrix<double>& X, const Matrix<double>& Y,
                      const FitOptions& options) {
  const Index n = X.rows(), p = Y.cols();
  const auto map = sample_term_map<double>(kernel, X.cols(), options.components(), options.seed, options.sampling);
  const Expansion expansion(kernel, map.unit_frequencies(), p);
  Matrix<double> F(n, map.n_features());
  evaluate(map, X, View<double>(F), {});
  Eigen::MatrixXd Phi(n * p, expansion.dim_coef());
  for (Index k = 0; k < expansion.dim_coef(); ++k) {
    const Matrix<double> unit = expansion.expand(Matrix<double>(Vector<double>::Unit(expansion.dim_coef(), k)));
    const Matrix<double> values = F * unit;
    Phi.col(k) = Eigen::Map<const Vector<double>>(values.data(), n * p);
  }
  Eigen::MatrixXd C = Phi * Phi.transpose();
  C.diagonal().array() += alpha;
  const Eigen::LLT<Eigen::MatrixXd> llt(C);
  const Vector<double> y = Eigen::Map<const Vector<double>>(Y.data(), n * p);
  const Eigen::MatrixXd L = llt.matrixL();
  return -0.5 * y.dot(llt.solve(y)) - L.diagonal().array().log().sum() -
         0.5 * static_cast<double>(n * p) * std::log(2 * std::numbers::pi);
}

// All widths, or the one with a number.
Kernel scaled_widths(const Kernel& kernel, double factor, int only = -1) {
  std::vector<Term> terms = kernel.terms();
  int number = 0;
  for (Term& term : terms) {
    term.scalar = with_widths(std::move(term.scalar), [&](const LengthScale& width) {
      std::vector<double> widths = width.values();
      for (double& one : widths) one *= only < 0 || number++ == only ? factor : 1;
      return LengthScale(std::move(widths));
    });
  }
  return Kernel(terms);
}

class LearnKernel : public ::testing::TestWithParam<int> {
 protected:
  static InputColumns column(Index number) { return std::vector<Index>{number}; }
  Kernel kernel() const {
    const Matrix<double> A{{2.0, 0.6}, {0.6, 1.0}}, singular{{1.0, 1.0}, {1.0, 1.0}};
    switch (GetParam()) {
      case 0:
        return Gaussian(1.0);
      case 1:
        return Matern(std::vector<double>{1.0, 2.0}, 2.5);
      case 2:
        return Decomposable(Gaussian(0.8), A);
      case 3:
        return Decomposable(Laplacian(2.0), singular);
      case 4:
        return CurlFree(Gaussian(1.0));
      case 5:
        return DivergenceFree(Gaussian(std::vector<double>{1.0, 1.3}));
      case 6:
        return Kernel(CurlFree(Gaussian(1.0))) + 0.5 * Kernel(Gaussian(0.7));
      case 7:  // factors of different columns, of the same ones, a field among them
        return Kernel(Gaussian(0.9)).on(column(0)) * Kernel(Matern(1.4, 2.5)).on(column(1));
      case 8:
        return DivergenceFree(Gaussian(1.0)) * Kernel(Gaussian(1.6));
      case 9:
        return CurlFree(Gaussian(1.1), false, true) * Kernel(Gaussian(2.0)).on(column(1)) +
               0.5 * Kernel(Gaussian(0.7)).on(column(0)) * Kernel(Periodic(0.8, 3.0)).on(column(1));
      default:  // factors of one column and of two
        return Kernel(DivergenceFree(Gaussian(1.0))) + 0.5 * Decomposable(Gaussian(0.7), A);
    }
  }
};

TEST_P(LearnKernel, EndsAtAMaximumOfTheDenseDensity) {
  const Matrix<double> X = random_matrix(60, 2, 1);
  Matrix<double> Y(60, 2);
  Y.col(0) = X.col(0).array().sin() + 0.1 * random_matrix(60, 1, 2).col(0).array();
  Y.col(1) = X.col(1).array().cos() + 0.1 * random_matrix(60, 1, 3).col(0).array();
  Y *= 3;
  FitOptions options = given_numbers();
  options.n_components = 16;
  options.seed = 5;
  const LearntKernel learnt = learn_kernel<double>(X, Y, nullptr, kernel(), options, {400, 1e-12});
  const double value = dense_evidence(learnt.kernel, learnt.alpha, X, Y, options);
  EXPECT_NEAR(learnt.evidence, value, 1e-7 * std::abs(value));
  for (const double factor : {0.99, 1.01}) {
    const double slack = 1e-5 * std::abs(value);
    EXPECT_LE(dense_evidence(learnt.kernel, factor * learnt.alpha, X, Y, options), value + slack);
    EXPECT_LE(dense_evidence(factor * learnt.kernel, learnt.alpha, X, Y, options), value + slack);
    EXPECT_LE(dense_evidence(scaled_widths(learnt.kernel, factor), learnt.alpha, X, Y, options), value + slack);
    for (int only = 0; only < 4; ++only) {
      EXPECT_LE(dense_evidence(scaled_widths(learnt.kernel, factor, only), learnt.alpha, X, Y, options), value + slack);
    }
  }
  EXPECT_GT(value, dense_evidence(kernel(), 1.0, X, Y, options));
}

INSTANTIATE_TEST_SUITE_P(Kernels, LearnKernel, ::testing::Range(0, 11));

// Data of the model itself, 2,000 rows: widths within a factor 1.5, noise within 10 %.
TEST(LearnKernelTruth, IsFoundAgain) {
  const Matrix<double> X = 2 * random_matrix(2000, 2, 1);
  const FourierMap<double> map(Gaussian(std::vector<double>{0.8, 3.0}), 2, 400, 77);
  Matrix<double> F(2000, 400);
  evaluate(map, X, View<double>(F), {});
  const Matrix<double> Y = 2 * F * random_matrix(400, 1, 4) + 0.3 * random_matrix(2000, 1, 5);
  FitOptions options = given_numbers();
  options.n_components = 200;
  options.kernel = Kernel(Gaussian(std::vector<double>{1.5, 1.5}));
  options.by_evidence = true;
  options.fit_intercept = false;
  const auto machine = KernelMachine<double>::fit(X, Y, options);
  const auto widths = length_scale_values(machine.kernel().terms()[0].scalar);
  EXPECT_NEAR(std::log(widths[0] / 0.8), 0, std::log(1.5));
  EXPECT_NEAR(std::log(widths[1] / 3.0), 0, std::log(1.5));
  EXPECT_NEAR(machine.record().alpha, 0.09, 0.009);
  EXPECT_TRUE(machine.record().evidence.has_value());
  const auto again = KernelMachine<double>::from_file(machine.to_file(), "file");
  EXPECT_EQ(again.record().evidence, machine.record().evidence);
}

TEST(LearnKernelTruth, FewRowsOfManyAreEnough) {
  const Matrix<double> X = random_matrix(3000, 1, 1);
  const Matrix<double> Y = (2 * X.array()).sin() + 0.2 * random_matrix(3000, 1, 2).array();
  FitOptions options = given_numbers();
  options.n_components = 40;
  options.by_evidence = true;
  options.evidence_rows = 500;
  EXPECT_NEAR(KernelMachine<double>::fit(X, Y, options).record().alpha, 0.04, 0.01);
  const Matrix<float> narrow_X = X.cast<float>(), narrow_Y = Y.cast<float>();
  EXPECT_NEAR(KernelMachine<float>::fit(narrow_X, narrow_Y, options).record().alpha, 0.04, 0.01);
}

TEST(LearnKernelTruth, RefusesWhatItIsNotFor) {
  const Matrix<double> X = random_matrix(20, 2, 1), Y = random_matrix(20, 2, 2);
  FitOptions options = given_numbers();
  options.n_components = 10;
  options.by_evidence = true;
  options.loss = Huber(1);
  EXPECT_THROW(KernelMachine<double>::fit(X, Y, options), Error);
  options.loss = Squared{};
  options.kernel = CurlFree(Gaussian(1.0), true);
  EXPECT_THROW(KernelMachine<double>::fit(X, Y, options), Error);
  options.kernel.reset();
  EXPECT_THROW(KernelMachine<double>::fit(X, Matrix<double>(Matrix<double>::Zero(20, 1)), options), Error);
}

// The features learn the kernel; the machine with it is exact, or a sketch.
TEST(LearnKernelTruth, ServesExactMachinesAndSketches) {
  const Matrix<double> X = random_matrix(80, 1, 1), noise = random_matrix(80, 1, 2);
  const Matrix<double> Y = (2 * X.array()).sin() + 0.1 * noise.array();
  FitOptions options = given_numbers();
  options.by_evidence = true;
  const auto features = KernelMachine<double>::fit(X, Y, options);
  for (const char* approximation : {"exact", "sub_sample"}) {
    options.approximation = approximation;
    options.n_components = approximation == std::string("exact") ? usual_components : 60;
    const auto machine = KernelMachine<double>::fit(X, Y, options);
    EXPECT_EQ(machine.record().approximation, approximation);
    EXPECT_EQ(machine.kernel(), features.kernel());
    EXPECT_EQ(machine.record().alpha, features.record().alpha);
    EXPECT_LT((machine.predict(X) - features.predict(X)).cwiseAbs().maxCoeff(), 0.05);
  }
}

}  // namespace
}  // namespace carmina
