// tests/models/alone_test.cpp -- a row is predicted with the same bits alone and in any batch, whatever the model.
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"

namespace carmina::alone_test {
namespace {

using carmina::testing::random_matrix;

// The rows of X alone, in pieces of several sizes, and beside a row that is very far away.
template <Real T>
void expect_alone(const Matrix<T>& X, T far, const std::function<Matrix<T>(const Matrix<T>&)>& predict) {
  const Matrix<T> whole = predict(X);
  for (const Index size : {1, 3, 8, 64}) {
    for (Index first = 0; first < X.rows(); first += size) {
      const Index count = std::min(size, X.rows() - first);
      ASSERT_EQ(predict(X.middleRows(first, count)), whole.middleRows(first, count)) << size << " rows from " << first;
    }
  }
  Matrix<T> beside(X.rows() + 1, X.cols());
  beside << Matrix<T>::Constant(1, X.cols(), far), X;
  ASSERT_EQ(predict(beside).bottomRows(X.rows()), whole);
}

template <Real T>
void expect_machine_alone(Index d, const FitOptions& options, T far) {
  const Matrix<T> X = random_matrix(70, d, 1).cast<T>(), Y = random_matrix(70, 2, 2).cast<T>();
  const auto machine = KernelMachine<T>::fit(X, Y, options);
  expect_alone<T>(X, far, [&](const Matrix<T>& Z) { return machine.predict(Z); });
  if constexpr (std::same_as<T, double>) {
    if (d > 1024 || !why_no_deviation(machine.record()).empty()) return;
    const Posterior<T> posterior(machine);
    expect_alone<T>(X, far, [&](const Matrix<T>& Z) { return posterior.covariance(Z); });
  }
}

FitOptions exact(ScalarKernel kernel) {
  FitOptions options = given_numbers();
  options.kernel = Kernel(std::move(kernel));
  options.approximation = "exact";
  return options;
}

TEST(Alone, KernelsOfProducts) {
  for (const Index d : {3, 40}) expect_machine_alone<double>(d, exact(Polynomial(3, 0.1, 1)), 1e6);
  expect_machine_alone<float>(3, exact(Polynomial(2, 0.1, 1)), 1e6F);
}

TEST(Alone, MoreInputsThanPanelsHold) {
  expect_machine_alone<double>(1100, exact(Gaussian(40)), 1e3);
  FitOptions options = given_numbers();
  options.kernel = Kernel(Gaussian(40));
  options.n_components = 60;
  expect_machine_alone<double>(1100, options, 1e3);
}

TEST(Alone, FrequenciesThatFloatsMustReduceInDouble) {
  FitOptions options = given_numbers();
  options.kernel = Kernel(Laplacian(0.001));
  options.n_components = 60;
  expect_machine_alone<float>(3, options, 1e4F);
}

TEST(Alone, WithDeviations) {
  FitOptions options = given_numbers();
  options.estimate_noise = options.keep_moments = true;
  options.n_components = 60;
  for (const Index d : {1, 3, 8}) expect_machine_alone<double>(d, options, 1e6);
  for (ScalarKernel kernel :
       {ScalarKernel(Gaussian(1)), ScalarKernel(Laplacian(1)), ScalarKernel(Polynomial(2, 1, 1))}) {
    options = exact(std::move(kernel));
    options.estimate_noise = true;
    expect_machine_alone<double>(3, options, 1e3);
  }
}

TEST(Alone, MixturesWithEachInference) {
  const Matrix<double> X = random_matrix(90, 2, 3), Y = random_matrix(90, 1, 4);
  for (const Inference inference : {Inference::fourier, Inference::exact, Inference::inducing}) {
    SpectralMixtureOptions options;
    options.inference = inference;
    options.n_mixtures = 3;
    options.n_components = 40;
    options.n_inducing = 20;
    options.max_iter = 3;
    const auto machine = SpectralMixtureMachine::fit(X, Y, options);
    expect_alone<double>(X, 1e12, [&](const Matrix<double>& Z) { return machine.predict(Z); });
    expect_alone<double>(X, 1e12, [&](const Matrix<double>& Z) { return machine.predict_observation(Z).covariance; });
  }
}

// One model, several threads: they take turns at the pool, and change nothing of it.
TEST(Alone, ThreadsThatPredictAtOnce) {
  const Matrix<double> X = random_matrix(300, 3, 5), Y = random_matrix(300, 2, 6);
  FitOptions options = given_numbers();
  options.n_components = 60;
  options.estimate_noise = options.keep_moments = true;
  const auto machine = KernelMachine<double>::fit(X, Y, options);
  const Posterior<double> posterior(machine);
  const Matrix<double> mean = machine.predict(X), covariance = posterior.covariance(X);
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int& count : wrong) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < 20; ++turn) {
          if (machine.predict(X) != mean || posterior.covariance(X) != covariance) ++count;
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace carmina::alone_test
