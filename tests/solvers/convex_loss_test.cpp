// tests/solvers/convex_loss_test.cpp -- every loss to a certified gap, against dense values, closed forms and random
// moves.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <algorithm>

#include "loss_problem.hpp"

namespace carmina {
namespace {

using testing::all_losses;
using testing::Case;
using testing::cases;
using testing::max_difference;
using testing::Problem;
using testing::random_matrix;

// J is convex: a point that no move improves is its minimum.
TEST(ConvexLoss, NoRandomMoveImprovesTheSolution) {
  for (const Case& shape : cases()) {
    for (const Loss& loss : all_losses(shape.p)) {
      const Problem problem(shape, loss);
      SolveReport report;
      const LinearSolution found = problem.solve(Direction::newton, 1e-9, report);
      SCOPED_TRACE(loss_name(loss) + " p " + std::to_string(shape.p) + " outputs " + std::to_string(shape.outputs));
      EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
      EXPECT_LE(report.residual, 1e-9);
      const double J = problem.objective(found.coefficients, found.intercept);
      EXPECT_NEAR(report.objective, J, 1e-9 * std::abs(J));
      for (std::uint64_t k = 0; k < 200; ++k) {
        const double size = std::pow(10.0, -static_cast<double>(k % 5));
        const Matrix<double> move = random_matrix(found.coefficients.rows(), found.coefficients.cols(), 100 + k);
        Vector<double> b = found.intercept;
        if (shape.intercept) b += size * random_matrix(shape.p, 1, 500 + k);
        EXPECT_GE(problem.objective(found.coefficients + size * move, b), J - 1e-9 * std::abs(J));
      }
    }
  }
}

TEST(ConvexLoss, SquaredLossIsTheClosedForm) {
  for (const Case& shape : cases()) {
    const Problem problem(shape, Squared{});
    SolveReport report;
    const LinearSolution found = problem.solve(Direction::newton, 1e-12, report);
    // [phi (x) B, 1 (x) I] as one dense design
    const Index rank = problem.root.cols(), order = shape.m * rank, all = order + (shape.intercept ? shape.p : 0);
    Eigen::MatrixXd design = Eigen::MatrixXd::Zero(shape.n * shape.p, all);
    Eigen::VectorXd y(shape.n * shape.p), w(shape.n * shape.p);
    for (Index i = 0; i < shape.n; ++i) {
      for (Index j = 0; j < shape.p; ++j) {
        const Index row = i * shape.p + j;
        for (Index k = 0; k < shape.m; ++k) {
          for (Index a = 0; a < rank; ++a) design(row, k * rank + a) = problem.phi(i, k) * problem.root(j, a);
        }
        if (shape.intercept) design(row, order + j) = 1;
        y[row] = problem.Y(i, j);
        w[row] = problem.w[i];
      }
    }
    Eigen::MatrixXd H = design.transpose() * w.asDiagonal() * design;
    H.diagonal().head(order).array() += problem.alpha;
    const Eigen::VectorXd x = H.ldlt().solve(design.transpose() * w.asDiagonal() * y);
    EXPECT_LT(max_difference(Eigen::Map<const Matrix<double>>(x.data(), shape.m, rank), found.coefficients), 1e-7);
    if (shape.intercept) {
      EXPECT_LT(max_difference(x.tail(shape.p), found.intercept), 1e-7);
    }
  }
}

TEST(ConvexLoss, LbfgsReachesTheSameMinimumOfSmoothLosses) {
  for (const Case& shape : cases()) {
    for (const Loss& loss : all_losses(shape.p)) {
      if (!smooth(loss)) continue;
      const Problem problem(shape, loss);
      SolveReport newton, lbfgs;
      problem.solve(Direction::newton, 1e-8, newton);
      problem.solve(Direction::lbfgs, 1e-8, lbfgs);
      EXPECT_EQ(lbfgs.solver, "lbfgs");
      EXPECT_EQ(lbfgs.status, SolveStatus::converged) << loss_name(loss) << " " << lbfgs.message;
      EXPECT_NEAR(lbfgs.objective, newton.objective, 1e-8 * std::abs(newton.objective)) << loss_name(loss);
    }
  }
}

// mathematics.md 5.8: the minimiser of the pinball loss of level tau over constants is the tau quantile, not the 1 -
// tau one.
TEST(ConvexLoss, AConstantModelGivesTheQuantile) {
  const Index n = 101;
  Matrix<double> Y = random_matrix(n, 1, 1);
  const Matrix<double> phi = Matrix<double>::Zero(n, 1);
  for (const double tau : {0.1, 0.5, 0.9}) {
    const Loss loss = Pinball({tau});
    SolveReport report;
    const LinearSolution found =
        solve_convex_loss(*stored_rows(phi, Execution{}), CoefficientSpace({}, 1, 1), {loss, Y, {}, 1.0, true},
                          Direction::newton, {1000, 1e-10}, Execution{}, report);
    std::vector<double> sorted(Y.data(), Y.data() + n);
    std::sort(sorted.begin(), sorted.end());
    const double quantile = sorted[static_cast<std::size_t>(std::floor(tau * n))];
    EXPECT_NEAR(found.intercept[0], quantile, 1e-6);
  }
}

// Far from the ridge solution it starts at, with few rows that hold the intercept in place.
TEST(ConvexLoss, ReachesExtremeQuantilesUnderAnyPenalty) {
  for (const double tau : {0.02, 0.1, 0.5, 0.98}) {
    for (const double alpha : {1e-4, 1e-2, 1.0, 100.0}) {
      Problem problem({200, 10, 1, 0, true, false}, Pinball({tau}));
      problem.alpha = alpha;
      SolveReport report;
      problem.solve(Direction::newton, 1e-8, report);
      EXPECT_EQ(report.status, SolveStatus::converged) << tau << " " << alpha << " " << report.message;
    }
  }
}

// An objective of zero leaves nothing to be relative to.
TEST(ConvexLoss, ConvergesWhereAConstantIsPerfect) {
  for (const Index n : {1, 30}) {
    for (const Loss& loss : all_losses(1)) {
      Problem problem({n, 4, 1, 0, true, false}, loss);
      problem.Y.setConstant(expected_target(loss, 5) ? 1 : 5);
      SolveReport report;
      const LinearSolution found = problem.solve(Direction::newton, 1e-6, report);
      EXPECT_EQ(report.status, SolveStatus::converged) << loss_name(loss) << " " << report.message;
      EXPECT_LT(problem.objective(found.coefficients, found.intercept), 1e-9) << loss_name(loss);
    }
  }
}

TEST(ConvexLoss, IntegerWeightsAreRepetitions) {
  for (const Loss& loss : all_losses(1)) {
    Problem once({30, 4, 1, 0, true, false}, loss);
    Problem twice = once;
    once.w.head(10).setConstant(2);
    once.w.segment(10, 5).setZero();
    twice.phi.resize(35, 4);
    twice.Y.resize(35, 1);
    twice.phi << once.phi.topRows(10), once.phi.topRows(10), once.phi.bottomRows(15);
    twice.Y << once.Y.topRows(10), once.Y.topRows(10), once.Y.bottomRows(15);
    twice.shape.n = 35;
    twice.w = Vector<double>::Ones(35);
    SolveReport first, second;
    once.solve(Direction::newton, 1e-10, first);
    twice.solve(Direction::newton, 1e-10, second);
    EXPECT_NEAR(first.objective, second.objective, 1e-8 * std::abs(second.objective)) << loss_name(loss);
  }
}

template <class T>
class StreamedFeatures : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StreamedFeatures, Precisions);

// The three products of features that are made again on each pass equal those of features that are kept.
TYPED_TEST(StreamedFeatures, EqualStoredOnes) {
  using T = TypeParam;
  const double tolerance = testing::tolerance<T>;
  const Index n = 700;
  const Matrix<T> X = random_matrix<T>(n, 3, 1), Y = random_matrix<T>(n, 2, 2);
  const FourierMap<T> map(Gaussian(1.0), 3, 20, 0);
  Matrix<T> phi(n, 20);
  evaluate(map, X, View<T>(phi), Execution{});
  MemoryRows<T> rows(X, Y);
  DataRows<TypeParam> data(rows);
  data.read_at_once(300);
  const auto kept = rows_of(map, data, FeatureStorage::memory, Execution{});
  const auto made = rows_of(map, data, FeatureStorage::none, Execution{});
  const FeatureRows &stored = *kept, &streamed = *made;
  const Matrix<double> C = random_matrix(20, 2, 3), R = random_matrix(n, 2, 4);
  Matrix<double> a, b;
  stored.forward(C, a);
  streamed.forward(C, b);
  EXPECT_LT(max_difference(a, phi.template cast<double>() * C), tolerance);
  EXPECT_LT(max_difference(a, b), tolerance);
  stored.adjoint(R, a);
  streamed.adjoint(R, b);
  EXPECT_LT(max_difference(a, phi.template cast<double>().transpose() * R), 10 * tolerance);
  EXPECT_LT(max_difference(a, b), 10 * tolerance);
  Vector<double> u = random_matrix(n, 1, 5).cwiseMax(0.0);  // half of them without curvature
  stored.gram(u, a);
  streamed.gram(u, b);
  Matrix<double> wide(n, 21);
  wide << phi.template cast<double>(), Vector<double>::Ones(n);
  const Matrix<double> dense = wide.transpose() * u.asDiagonal() * wide;
  for (const auto* G : {&a, &b}) {
    const Matrix<double> lower = G->template triangularView<Eigen::Lower>(),
                         expected = dense.template triangularView<Eigen::Lower>();
    EXPECT_LT(max_difference(lower, expected), 10 * tolerance);
  }
}

}  // namespace
}  // namespace carmina
