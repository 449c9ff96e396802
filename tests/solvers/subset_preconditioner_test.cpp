// tests/solvers/subset_preconditioner_test.cpp -- conjugate gradients on all rows with a factor of a few of them.
#include <gtest/gtest.h>
#include <carmina/solvers/squared_loss.hpp>

#include "../../src/solvers/subset_preconditioner.hpp"
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
  ASSERT_EQ(SubsetPreconditioner<FourierMap<double>>::sample_rows(4000, 40), 320);
  const Vector<double> origin = Vector<double>::Zero(2);
  for (const bool intercept : {false, true}) {
    const OutputFactor outputs;
    const SquaredLossProblem problem{outputs, 1e-2, intercept};
    Moments moments(40, origin);
    MomentsBuilder builder(map, moments, Execution{});
    rows.rewind();
    builder.add(rows.next(4000));
    SolveReport direct_report, report, plain_report;
    const LinearSolution direct = solve_primal(moments, problem, Execution{}, direct_report);
    const LinearSolution s = solve_primal_cg(map, rows, 700, origin, problem, {100, 1e-9}, Execution{}, report);
    EXPECT_LT(max_difference(s.coefficients, direct.coefficients), 1e-5 * direct.coefficients.norm());
    EXPECT_LT(report.iterations, 40);
    // Without memory for the factor the plain iteration needs many more.
    const Execution tight{.memory_budget = 20000};
    (void)solve_primal_cg(map, rows, 700, origin, problem, {2000, 1e-9}, tight, plain_report);
    EXPECT_GT(plain_report.iterations, 3 * report.iterations);
  }
}

// Any sample and any alpha, down to where bfloat16 and float no longer serve and the factor is in double.
TEST(SubsetPreconditioner, AnyPrecisionReachesTheDirectSolution) {
  const FourierMap<double> map(Gaussian(0.7), 3, 60, 1);
  const Matrix<double> X = random_matrix(3000, 3, 1), Y = random_matrix(3000, 1, 2);
  MemoryRows<double> rows(X, Y);
  const Vector<double> origin = Vector<double>::Zero(1);
  for (const double alpha : {10.0, 0.1, 1e-3, 1e-6}) {
    const OutputFactor outputs;
    const SquaredLossProblem problem{outputs, alpha, true};
    Moments moments(60, origin);
    MomentsBuilder builder(map, moments, Execution{});
    rows.rewind();
    builder.add(rows.next(3000));
    SolveReport direct_report;
    const LinearSolution direct = solve_primal(moments, problem, Execution{}, direct_report);
    for (const Index sample : {100, 500}) {
      SolveReport report;
      const LinearSolution s =
          solve_primal_cg(map, rows, 700, origin, problem, {100, 1e-9}, Execution{}, report, sample);
      EXPECT_EQ(report.status, SolveStatus::converged) << alpha << " " << sample;
      EXPECT_LT(max_difference(s.coefficients, direct.coefficients), 1e-5 * direct.coefficients.norm()) << alpha;
    }
  }
}

}  // namespace
}  // namespace carmina
