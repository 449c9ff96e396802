// tests/models/iterative_solvers_test.cpp -- every iterative solver against the direct one, for every kind of kernel.
#include <gtest/gtest.h>
#include <carmina/models/kernel_machine.hpp>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

const std::vector<std::string> solvers = {"lsmr", "idr", "sgd", "adam"};
bool stochastic(const std::string& solver) { return solver == "sgd" || solver == "adam"; }

std::vector<Kernel> all_kernels() {
  return {Gaussian(1.0),
          0.7 * Decomposable(Gaussian(1.0), random_psd(2, 2, 1)),
          Decomposable(Matern(1.0, 1.5), random_psd(2, 1, 1)),  // A of rank 1
          CurlFree(Gaussian(0.8)),
          DivergenceFree(Gaussian(0.8)),
          CurlFree(Gaussian(0.8)) + DivergenceFree(Matern(1.0, 2.5)),
          0.5 * Decomposable(Gaussian(1.0), random_psd(2, 1, 1)) + 2.0 * CurlFree(Cauchy(1.0))};
}

template <class T>
struct Rows {
  Matrix<T> X, Y;
  Vector<T> w;
  explicit Rows(Index n)
      : X(random_matrix<T>(n, 2, 1)),
        Y(random_matrix<T>(n, 2, 2).array() + 3),
        w(random_matrix<T>(n, 1, 3).cwiseAbs().array() + T(0.1)) {
    w[n / 2] = 0;
  }
};

template <class T>
class IterativeSolvers : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(IterativeSolvers, Precisions);

TYPED_TEST(IterativeSolvers, ReachTheDirectSolution) {
  using T = TypeParam;
  constexpr bool single = std::is_same_v<T, float>;
  for (const Index n : {40, 300}) {  // fewer rows than coefficients, and more
    const Rows<T> rows(n);
    const auto kernels = all_kernels();
    for (const Kernel& kernel : kernels) {
      for (const bool intercept : {false, true}) {
        for (const bool weighted : {false, true}) {
          FitOptions options = given_numbers();
          options.kernel = kernel;
          options.n_components = 60;
          options.alpha = 0.5;
          options.max_iter = 3000;
          options.fit_intercept = intercept;
          options.solver = "direct";
          const T* weights = weighted ? rows.w.data() : nullptr;
          const auto direct = KernelMachine<T>::fit(rows.X, rows.Y, options, weights);
          for (const auto& solver : solvers) {
            options.solver = solver;
            options.tol = single ? (stochastic(solver) ? 1e-8 : 1e-6) : (stochastic(solver) ? 1e-11 : 1e-10);
            const auto model = KernelMachine<T>::fit(rows.X, rows.Y, options, weights);
            const SolveReport& report = model.record().report;
            const auto where = format_text("{} n {} kernel {} intercept {} weights {}: {}", solver, n,
                                           &kernel - kernels.data(), intercept, weighted, report.message);
            EXPECT_EQ(report.solver, solver);
            EXPECT_EQ(report.status, SolveStatus::converged) << where;
            EXPECT_GE(report.iterations, 1);
            EXPECT_GT(report.residual, 0) << where;
            EXPECT_LE(report.residual, stochastic(solver) ? std::sqrt(options.tol) : options.tol) << where;
            // The error of theta is at most |g| residual / alpha.
            const double allowed = stochastic(solver) ? (single ? 2e-2 : 1e-3) : (single ? 1e-2 : 1e-6);
            EXPECT_LT(max_difference(model.predict(rows.X), direct.predict(rows.X)), allowed) << where;
          }
        }
      }
    }
  }
}

// Results depend neither on the number of threads nor on the size of blocks of a streamed source.
TYPED_TEST(IterativeSolvers, AreEqualOnAnyNumberOfThreads) {
  using T = TypeParam;
  const Rows<T> rows(5000);
  for (const auto& solver : solvers) {
    FitOptions options = given_numbers();
    options.kernel = CurlFree(Gaussian(0.8)) + DivergenceFree(Gaussian(1.0));
    options.n_components = 40;
    options.solver = solver;
    options.max_iter = stochastic(solver) ? 3 : 20;
    options.execution.threads = 1;
    const auto one = KernelMachine<T>::fit(rows.X, rows.Y, options, rows.w.data());
    for (const int threads : {2, 3}) {
      options.execution.threads = threads;
      const auto many = KernelMachine<T>::fit(rows.X, rows.Y, options, rows.w.data());
      EXPECT_EQ(one.coefficients(), many.coefficients()) << solver;
      EXPECT_EQ(one.intercept(), many.intercept()) << solver;
    }
  }
}

// Too little memory to keep the rows: mini-batches are shuffled within the blocks that are read.
TYPED_TEST(IterativeSolvers, ConvergeOnStreamedRows) {
  using T = TypeParam;
  const Rows<T> rows(10000);
  FitOptions options = given_numbers();
  options.kernel = Gaussian(1.0);
  options.n_components = 40;
  options.execution.memory_budget = 112'500 * sizeof(T);  // rows may take a quarter of it
  options.solver = "cg";
  const auto cg = KernelMachine<T>::fit(rows.X, rows.Y, options);
  for (const auto& solver : {"idr", "sgd", "adam"}) {
    options.solver = solver;
    const auto model = KernelMachine<T>::fit(rows.X, rows.Y, options);
    EXPECT_EQ(model.record().report.status, SolveStatus::converged) << solver;
    EXPECT_LT(max_difference(model.predict(rows.X), cg.predict(rows.X)), 5e-2) << solver;
  }
  options.solver = "lsmr";  // keeps vectors over the rows
  options.execution.memory_budget = 200'000;
  EXPECT_THROW(KernelMachine<T>::fit(rows.X, rows.Y, options), Error);
}

TYPED_TEST(IterativeSolvers, SayWhenTheyDidNotConverge) {
  using T = TypeParam;
  const Rows<T> rows(500);
  for (const auto& solver : solvers) {
    FitOptions options = given_numbers();
    options.kernel = Gaussian(1.0);
    options.alpha = 1e-3;
    options.solver = solver;
    options.max_iter = 1;
    const auto model = KernelMachine<T>::fit(rows.X, rows.Y, options);
    const SolveReport& report = model.record().report;
    EXPECT_EQ(report.status, SolveStatus::not_converged);
    EXPECT_EQ(report.iterations, 1);
    EXPECT_NE(report.message.find(solver + " stopped after 1 iteration"), std::string::npos) << report.message;
    EXPECT_TRUE(model.predict(rows.X).allFinite());
  }
}

TYPED_TEST(IterativeSolvers, EdgeShapes) {
  using T = TypeParam;
  for (const auto& solver : solvers) {
    FitOptions options = given_numbers();
    options.kernel = Gaussian(1.0);
    options.n_components = 2;
    options.solver = solver;
    const Matrix<T> one = random_matrix<T>(1, 3, 1), target = random_matrix<T>(1, 2, 2);
    EXPECT_LT(max_difference(KernelMachine<T>::fit(one, target, options).predict(one), target), 1e-5);  // the intercept
    const Matrix<T> X = random_matrix<T>(50, 3, 1), level = Matrix<T>::Constant(50, 1, T(7));
    const auto constant = KernelMachine<T>::fit(X, level, options);
    EXPECT_LT(max_difference(constant.predict(X), level), 1e-5) << solver;
    EXPECT_EQ(constant.record().report.status, SolveStatus::converged);
    options.alpha = 0;
    options.n_components = 10;
    const auto free = KernelMachine<T>::fit(X, Matrix<T>(X.col(0).array().sin()), options);
    EXPECT_TRUE(free.predict(X).allFinite()) << solver;
  }
}

TYPED_TEST(IterativeSolvers, StopWhenAsked) {
  using T = TypeParam;
  const Rows<T> rows(200);
  for (const auto& solver : solvers) {
    int total = 0;
    FitOptions options = given_numbers();
    options.kernel = Gaussian(1.0);
    options.n_components = 40;
    options.solver = solver;
    options.execution.threads = 1;
    options.execution.should_stop = [&] { return ++total > 1 << 30; };
    KernelMachine<T>::fit(rows.X, rows.Y, options);
    for (const int after : {2, total / 2, total - 1}) {
      int asked = 0;
      options.execution.should_stop = [&] { return ++asked > after; };
      EXPECT_THROW(KernelMachine<T>::fit(rows.X, rows.Y, options), Cancelled) << solver;
    }
  }
}

// Conjugate gradients of an exact machine: a preconditioner from a few columns of an ill-conditioned kernel matrix.
TEST(ExactConjugateGradients, ConvergeInFewIterations) {
  const Rows<double> rows(1000);
  for (const Kernel& kernel : {Kernel(Gaussian(2.0)), Kernel(CurlFree(Gaussian(2.0)))}) {
    FitOptions options = given_numbers();
    options.kernel = kernel;
    options.approximation = "exact";
    options.alpha = 1e-4;
    options.solver = "direct";
    const auto direct = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
    options.solver = "cg";
    const auto cg = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
    EXPECT_EQ(cg.record().report.status, SolveStatus::converged);
    EXPECT_LE(cg.record().report.iterations, 30);
    EXPECT_LT(max_difference(cg.predict(rows.X), direct.predict(rows.X)), 1e-3);
  }
}

TEST(SolverChoice, SaysWhy) {
  const Rows<double> rows(300);
  const testing::TempDir folder;
  const auto reason = [&](auto change) {
    FitOptions options = given_numbers();
    options.kernel = CurlFree(Gaussian(1.0));
    options.n_components = 100;
    change(options);
    const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options);
    model.save(folder.path("model"));
    const auto back = std::get<KernelMachine<double>>(load_kernel_machine(folder.path("model")));
    EXPECT_EQ(back.record().report.reason, model.record().report.reason);
    return model.record().report.reason;
  };
  EXPECT_EQ(reason([](auto&) {}), "direct: a matrix of order 100 fits in memory");
  EXPECT_EQ(reason([](auto& o) { o.solver = "cg"; }), "cg: asked for");
  EXPECT_EQ(reason([](auto& o) { o.solver = "sgd"; }), "sgd: asked for");
  EXPECT_EQ(reason([](auto& o) { o.execution.memory_budget = 100000; }),
            "cg: with a matrix of order 100 the fit would need 460 kB, the memory budget is 100 kB");
  EXPECT_EQ(reason([](auto& o) {
              o.kernel = Gaussian(1.0);
              o.n_components = 1000;
              o.execution.memory_budget = 500000;
            }),
            "cg: with a matrix of order 300 the fit would need 6.6 MB, the memory budget is 500 kB");
  // 60 outputs that are not separable: a system of order 3600 from 30 frequencies.
  const Matrix<double> Y = random_matrix(30, 60, 2);
  FitOptions options = given_numbers();
  options.kernel = Kernel(Gaussian(1.0)) + Kernel(Gaussian(2.0));
  options.n_components = 60;
  const auto model = KernelMachine<double>::fit(Matrix<double>(rows.X.topRows(30)), Y, options);
  EXPECT_EQ(model.record().report.reason, "cg: faster than factoring a matrix of order 7200, by the stored rates");
}

TEST(SolverChoice, RefusesIterativeSolversOfExactMachines) {
  const Rows<double> rows(20);
  for (const auto& solver : solvers) {
    FitOptions options = given_numbers();
    options.approximation = "exact";
    options.solver = solver;
    EXPECT_THROW(KernelMachine<double>::fit(rows.X, rows.Y, options), Error);
  }
}

}  // namespace
}  // namespace carmina
