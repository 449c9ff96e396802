// tests/solvers/subset_preconditioner_test.cpp -- conjugate gradients on all rows with a factor of a few of them.
#include <gtest/gtest.h>
#include "solvers/squared/squared_loss.hpp"

#include "solvers/squared/subset_preconditioner.hpp"

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;

// 4,000 rows and 40 features: the preconditioned iteration ends where the direct solution stands, in few steps.
TEST(SubsetPreconditioner, FewIterationsReachTheDirectSolution) {
  const FourierMap<double> map(Gaussian(1.0), 2, 40, 1);
  const Matrix<double> X = random_matrix(4000, 2, 1), Y = random_matrix(4000, 2, 2);
  const Vector<double> w = random_matrix(4000, 1, 3).cwiseAbs().array() + 0.1;
  MemoryRows<double> rows(X, Y, w.data());
  const DataRows<double> data(rows);
  const auto features = rows_of(map, data, FeatureStorage::none, Execution{});
  ASSERT_EQ(SubsetPreconditioner::sample_rows(4000, 40), 320);
  const Vector<double> origin = Vector<double>::Zero(2);
  for (const bool intercept : {false, true}) {
    const OutputFactor outputs;
    const SquaredLossProblem problem{outputs, 1e-2, intercept};
    Moments moments(40, origin);
    features->moments(moments);
    SolveReport direct_report, report, plain_report;
    const LinearSolution direct = solve_primal(moments, problem, Execution{}, direct_report);
    const LinearSolution s = solve_primal_cg(*features, origin, problem, 320, {100, 1e-9}, Execution{}, report);
    EXPECT_LT(max_difference(s.coefficients, direct.coefficients), 1e-5 * direct.coefficients.norm());
    EXPECT_LT(report.iterations, 40);
    // Without the factor the plain iteration needs many more.
    (void)solve_primal_cg(*features, origin, problem, 0, {2000, 1e-9}, Execution{}, plain_report);
    EXPECT_GT(plain_report.iterations, 3 * report.iterations);
  }
}

// Systems large enough for bfloat16 and float, with an alpha that bfloat16 serves and one that it does not. In float,
// sums of products are known to 1e-7 of their size: of an alpha below 0.01 nothing is left there.
template <class T>
void expect_direct_solution(double tol, double allowed) {
  const Index m = 1024, n = 4000;
  const FourierMap<T> map(Gaussian(0.7), 3, m, 1);
  const Matrix<T> X = random_matrix<T>(n, 3, 1), Y = random_matrix<T>(n, 1, 2);
  MemoryRows<T> rows(X, Y);
  const DataRows<T> data(rows);
  const auto features = rows_of(map, data, FeatureStorage::none, Execution{});
  const Vector<double> origin = Vector<double>::Zero(1);
  for (const double alpha : {10.0, 0.02}) {
    const OutputFactor outputs;
    const SquaredLossProblem problem{outputs, alpha, true};
    Moments moments(m, origin);
    features->moments(moments);
    SolveReport direct_report, report;
    const LinearSolution direct = solve_primal(moments, problem, Execution{}, direct_report);
    const LinearSolution s = solve_primal_cg(*features, origin, problem, 2500, {300, tol}, Execution{}, report);
    EXPECT_EQ(report.status, SolveStatus::converged) << alpha;
    // Fitted values: coefficients themselves are known less well than these.
    const Matrix<T> difference = (s.coefficients - direct.coefficients).template cast<T>();
    const Matrix<T> size = direct.coefficients.template cast<T>();
    Matrix<T> off(n, 1), fitted(n, 1);
    apply<FourierMap<T>>(map, X, difference, View<T>(off), Execution{});
    apply<FourierMap<T>>(map, X, size, View<T>(fitted), Execution{});
    EXPECT_LT(off.norm(), allowed * fitted.norm()) << alpha;
  }
}
TEST(SubsetPreconditioner, AnyPrecisionReachesTheDirectSolutionInFloat) { expect_direct_solution<float>(1e-6, 2e-3); }
TEST(SubsetPreconditioner, AnyPrecisionReachesTheDirectSolutionInDouble) {
  expect_direct_solution<double>(1e-10, 1e-6);
}

}  // namespace
}  // namespace carmina
