// tests/models/exact_losses_test.cpp -- exact machines with every loss, against features made of eigenvectors of K.
#include <carmina/models/kernel_machine.hpp>
#include "losses/row_functions.hpp"
#include "solvers/losses/convex_loss.hpp"

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "support/given_numbers.hpp"
#include "support/loss_targets.hpp"
#include "support/random_matrix.hpp"

namespace carmina::testing {
namespace {

std::vector<Loss> other_losses() {
  return {Huber(0.5), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2), Pinball({0.8}), Absolute{}, Hinge{},
          Logistic{}};
}

template <class T>
struct Data {
  Matrix<T> X, Y;
  Vector<T> w;

  Data(Index n, Index p, const Loss& loss) : X(random_matrix<T>(n, 2, 1)), Y(n, p), w(Vector<T>::Ones(n)) {
    const Matrix<T> noise = random_matrix<T>(n, p, 2);
    for (Index j = 0; j < p; ++j) Y.col(j) = 3 * X.col(j % 2).array().sin() + T(0.3) * noise.col(j).array();
    Y = targets_for(loss, Y);
  }
  Matrix<double> gram() const {
    Matrix<double> K(X.rows(), X.rows());
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index j = 0; j < X.rows(); ++j) {
        K(i, j) = std::exp(-(X.row(i) - X.row(j)).template cast<double>().squaredNorm() / 2);
      }
    }
    return K;
  }
};

FitOptions exact_options(const Loss& loss, double alpha) {
  FitOptions options = given_numbers();
  options.kernel = Kernel(Gaussian(1.0));
  options.approximation = "exact";
  options.loss = loss;
  options.alpha = alpha;
  options.tol = 1e-7;
  return options;
}

// The least objective, from features U sqrt(mu) of K = U diag(mu) Uᵀ.
template <class T>
SolveReport by_eigenvectors(const Data<T>& data, const FitOptions& options) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(data.gram());
  const Matrix<double> phi = eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
  SolveReport report;
  (void)solve_convex_loss(*stored_rows(phi, Execution{}), CoefficientSpace({}, phi.cols(), data.Y.cols()),
                          {options.loss, data.Y.template cast<double>(), data.w.template cast<double>(), *options.alpha,
                           options.fit_intercept},
                          Direction::newton, {1000, 1e-8}, Execution{}, report);
  return report;
}

// J of a machine, from its coefficients and an outside kernel matrix; zero weights have no coefficients.
template <class T>
double objective(const Data<T>& data, const FitOptions& options, const KernelMachine<T>& machine) {
  const Matrix<double> F = machine.predict(data.X).template cast<double>(), Y = data.Y.template cast<double>();
  std::vector<Index> kept;
  double sum = 0;
  for (Index i = 0; i < F.rows(); ++i) {
    if (data.w[i] > 0) kept.push_back(i);
    std::visit([&](const auto& l) { sum += data.w[i] * row_value(l, F.row(i).data(), Y.row(i).data(), F.cols()); },
               options.loss);
  }
  const Matrix<double> K = data.gram()(kept, kept), C = machine.coefficients().template cast<double>();
  return sum + *options.alpha / 2 * C.cwiseProduct(K * C).sum();
}

template <class T>
class ExactLosses : public ::testing::Test {
 protected:
  static constexpr double relative = std::is_same_v<T, float> ? 1e-4 : 1e-6;

  static void expect_the_minimum(const Data<T>& data, const FitOptions& options) {
    SCOPED_TRACE(loss_name(options.loss) + " n " + std::to_string(data.X.rows()));
    const auto machine = KernelMachine<T>::fit(data.X, data.Y, options, data.w.data());
    const SolveReport& report = machine.record().report;
    const SolveReport expected = by_eigenvectors(data, options);
    EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
    EXPECT_EQ(report.solver, "newton");
    const double J = expected.objective, allowed = relative * std::abs(J) + 1e-6;
    EXPECT_NEAR(report.objective, J, allowed);
    EXPECT_NEAR(objective(data, options, machine), J, 3 * allowed);
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ExactLosses, Precisions);

TYPED_TEST(ExactLosses, FindTheMinimumOfEigenvectors) {
  for (const Loss& loss : other_losses()) {
    for (const double alpha : {0.1, 5.0}) {
      this->expect_the_minimum({250, 1, loss}, exact_options(loss, alpha));
    }
    FitOptions options = exact_options(loss, 0.5);
    options.fit_intercept = false;
    this->expect_the_minimum({40, 2, loss}, options);  // radial losses couple two outputs
  }
}

TYPED_TEST(ExactLosses, TakeRepeatedRowsAndRowsWithoutWeight) {
  for (const Loss& loss : other_losses()) {
    Data<TypeParam> data(240, 1, loss);
    data.X.bottomRows(120) = data.X.topRows(120);
    for (Index i = 0; i < 240; i += 4) data.w[i] = 0;
    data.w.segment(1, 2).setConstant(7);
    this->expect_the_minimum(data, exact_options(loss, 0.5));
  }
}

// K is made in panels of 512 columns, below the diagonal alone.
TYPED_TEST(ExactLosses, TakeMoreRowsThanAPanel) {
  const Loss loss = EpsilonInsensitive(0.2);
  const Data<TypeParam> data(700, 1, loss);
  const FitOptions options = exact_options(loss, 0.1);
  const auto machine = KernelMachine<TypeParam>::fit(data.X, data.Y, options);
  const SolveReport& report = machine.record().report;
  EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
  EXPECT_NEAR(objective(data, options, machine), report.objective, this->relative * report.objective);
}

TYPED_TEST(ExactLosses, TakeOneRow) {
  for (const Loss& loss : other_losses()) {
    for (const bool intercept : {false, true}) {
      FitOptions options = exact_options(loss, 0.5);
      options.fit_intercept = intercept;
      this->expect_the_minimum({1, 1, loss}, options);
    }
  }
}

// Labels are checked as they are given: no mean is taken off and put back, which would round them.
TYPED_TEST(ExactLosses, TakeEveryBalanceOfClasses) {
  using T = TypeParam;
  const Matrix<T> X = random_matrix<T>(120, 2, 1);
  for (const Loss& loss : {Loss(Hinge{}), Loss(Logistic{})}) {
    for (Index positive = 1; positive < 120; ++positive) {
      Matrix<T> Y = Matrix<T>::Constant(120, 1, T(-1));
      Y.topRows(positive).setOnes();
      FitOptions options = exact_options(loss, 1.0);
      options.tol = 1e-3;
      EXPECT_NO_THROW(KernelMachine<T>::fit(X, Y, options)) << positive;
    }
  }
}

// Fewer rows than Fourier features: the same by way of their Gram matrix.
TYPED_TEST(ExactLosses, ServeFourierMapsWithMoreFeaturesThanRows) {
  using T = TypeParam;
  for (const Loss& loss : other_losses()) {
    const Data<T> data(60, 1, loss);
    FitOptions options = exact_options(loss, 0.5);
    options.approximation = "fourier";
    options.n_components = 100;
    const auto machine = KernelMachine<T>::fit(data.X, data.Y, options);
    const FourierMap<T> map(Gaussian(1.0), 2, 100, options.seed);
    Matrix<T> phi(60, 100);
    evaluate(map, data.X, View<T>(phi), Execution{});
    SolveReport report;
    const LinearSolution found = solve_convex_loss(*stored_rows(phi, Execution{}), CoefficientSpace({}, 100, 1),
                                                   {loss, data.Y.template cast<double>(), {}, 0.5, true},
                                                   Direction::newton, {1000, 1e-8}, Execution{}, report);
    EXPECT_NEAR(machine.record().report.objective, report.objective, this->relative * report.objective + 1e-6);
    EXPECT_LT(max_difference(machine.coefficients(), found.coefficients.template cast<T>()), 0.02) << loss_name(loss);
  }
}

}  // namespace
}  // namespace carmina::testing
