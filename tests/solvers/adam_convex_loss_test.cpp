// tests/solvers/adam_convex_loss_test.cpp -- Adam against Newton's objective, its certificate, and stopping by rows
// held out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loss_problem.hpp"

namespace carmina {
namespace {

using testing::all_losses;
using testing::Case;
using testing::cases;
using ::testing::HasSubstr;
using testing::max_difference;
using testing::Problem;
using testing::random_matrix;

LinearSolution adam(const Problem& problem, const AdamOptions& options, SolveReport& report, Index epochs = 1000,
                    int threads = 0) {
  const Execution execution{.threads = threads};
  const CoefficientSpace space(problem.outputs, problem.shape.m, problem.shape.p);
  return solve_convex_loss_adam(*stored_rows(problem.phi, execution), space,
                                {problem.loss, problem.Y, problem.w, problem.alpha, problem.shape.intercept}, options,
                                {epochs, 1e-6}, execution, report);
}

// Mean loss of predictions for other rows.
double mean_loss(const Loss& loss, const LinearSolution& found, const Matrix<double>& phi, const Matrix<double>& Y) {
  const Matrix<double> F = (phi * found.coefficients).rowwise() + found.intercept.transpose();
  double sum = 0;
  for (Index i = 0; i < Y.rows(); ++i) {
    std::visit([&](const auto& l) { sum += row_value(l, F.row(i).data(), Y.row(i).data(), Y.cols()); }, loss);
  }
  return sum / static_cast<double>(Y.rows());
}

TEST(AdamConvexLoss, ReachesNewtonsObjectiveAndSaysHowNearItIs) {
  std::vector<Case> shapes = cases();
  for (Case& shape : shapes) shape.n *= 4;
  for (const Case& shape : shapes) {
    for (const Loss& loss : all_losses(shape.p)) {
      SCOPED_TRACE(loss_name(loss) + " n " + std::to_string(shape.n) + " p " + std::to_string(shape.p) + " outputs " +
                   std::to_string(shape.outputs));
      const Problem problem(shape, loss);
      SolveReport newton, report;
      problem.solve(Direction::newton, 1e-9, newton);
      const LinearSolution found = adam(problem, {.validation_fraction = 0}, report);
      const double J = problem.objective(found.coefficients, found.intercept), least = newton.objective;
      EXPECT_EQ(report.solver, "adam");
      EXPECT_NEAR(report.objective, J, 1e-9 * J);
      EXPECT_LE(J - least, (shape.n < 100 ? 1e-2 : 1e-3) * least);  // an epoch of few rows is a step or two
      EXPECT_GE(report.residual, (J - least) / J - 1e-9);           // a gap is never below the truth
      EXPECT_EQ(report.status == SolveStatus::converged, report.residual <= 1e-3) << report.message;
    }
  }
}

// 100 noisy features for 120 rows and hardly a penalty: the minimum of the objective is far from the best model.
struct Overfitted {
  Problem problem{{120, 100, 1, 0, true, false}, Absolute{}};
  Matrix<double> phi, Y;  // rows that nobody saw

  Overfitted() {
    const Matrix<double> truth = random_matrix(100, 1, 8) * 0.1;
    problem.alpha = 1e-3;
    problem.Y = problem.phi * truth + random_matrix(120, 1, 9);
    phi = random_matrix(1000, 100, 10);
    phi.col(0).array() += 2;
    Y = phi * truth + random_matrix(1000, 1, 11);
  }
  double error(const LinearSolution& found) const { return mean_loss(problem.loss, found, phi, Y); }
};

TEST(AdamConvexLoss, StopsEarlyAndPredictsBetterForIt) {
  const Overfitted data;
  SolveReport stopped, whole;
  const LinearSolution early = adam(data.problem, {}, stopped),
                       late = adam(data.problem, {.validation_fraction = 0}, whole);
  EXPECT_LT(stopped.iterations, whole.iterations / 2);
  EXPECT_EQ(stopped.status, SolveStatus::converged);
  EXPECT_THAT(stopped.reason, HasSubstr("12 rows held out"));
  EXPECT_LT(data.error(early), data.error(late));
  EXPECT_GT(stopped.objective, whole.objective);
}

// The loss of the rows held out at every number of epochs; what is kept is where it was least.
TEST(AdamConvexLoss, KeepsTheCoefficientsOfTheLeastHeldOutLoss) {
  const Overfitted data;
  SolveReport whole;
  const LinearSolution kept = adam(data.problem, {.patience = 4}, whole);
  EXPECT_GT(whole.iterations, 5);
  SolveReport shorter;
  const LinearSolution same = adam(data.problem, {.patience = 4}, shorter, whole.iterations - 4);
  EXPECT_EQ(shorter.status, SolveStatus::not_converged);
  EXPECT_THAT(shorter.message, HasSubstr("may still fall"));
  EXPECT_EQ(max_difference(kept.coefficients, same.coefficients), 0);
  EXPECT_EQ(kept.intercept, same.intercept);
}

TEST(AdamConvexLoss, DependsOnTheSeedAndNotOnThreads) {
  const Problem problem({700, 6, 2, 0, true, false}, Huber(0.5));
  SolveReport report;
  const LinearSolution one = adam(problem, {}, report, 20, 1), two = adam(problem, {}, report, 20, 2),
                       other = adam(problem, {.seed = 1}, report, 20, 1);
  EXPECT_EQ(max_difference(one.coefficients, two.coefficients), 0);
  EXPECT_GT(max_difference(one.coefficients, other.coefficients), 0);
}

TEST(AdamConvexLoss, RowsWithoutWeightTakeNoPart) {
  Problem problem({60, 5, 1, 0, true, false}, Absolute{});
  problem.w.head(20).setZero();
  Problem other = problem;
  other.phi.topRows(20) *= 3;
  other.Y.topRows(20).array() += 100;
  SolveReport report;
  const LinearSolution a = adam(problem, {}, report, 30), b = adam(other, {}, report, 30);
  EXPECT_LT(max_difference(a.coefficients, b.coefficients), 1e-9);
}

template <class T>
class StreamedAdam : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StreamedAdam, Precisions);

// A run of rows gives the features of those asked for.
TYPED_TEST(StreamedAdam, RunsGiveTheFeaturesOfTheirRows) {
  using T = TypeParam;
  const Index n = 700;
  const Matrix<T> X = random_matrix<T>(n, 3, 1), Y = random_matrix<T>(n, 2, 2);
  const FourierMap<T> map(Gaussian(1.0), 3, 20, 0);
  Matrix<T> phi(n, 20);
  evaluate(map, X, View<T>(phi), Execution{});
  MemoryRows<T> rows(X, Y);
  Index seen = 0;
  const std::vector<Index> places = {3, 0, 99};
  const DataRows<TypeParam> data(rows);
  for (const auto storage : {FeatureStorage::memory, FeatureStorage::none}) {
    const auto products = rows_of(map, data, storage, Execution{});
    products->windows([&](Index first_row, Index count, const FeatureRows::Gather& gather) {
      Matrix<double> out;
      gather(places.data(), 3, out);
      for (Index k = 0; k < 3; ++k) {
        EXPECT_LT(max_difference(out.row(k), phi.row(first_row + places[static_cast<std::size_t>(k)])),
                  testing::tolerance<T>);
      }
      seen += count;
    });
  }
  EXPECT_EQ(seen, 2 * n);
}

TEST(AdamConvexLoss, BlocksComeToTheSameObjective) {
  const Index n = 40, p = 2, m = 6;
  const Matrix<double> phi = random_matrix(n * p, m, 1), Y = random_matrix(n, p, 2);
  const auto features = stored_blocks(phi, p, Execution{});
  const CoefficientSpace space = CoefficientSpace::of_blocks(m);
  for (const Loss& loss : all_losses(p)) {
    if (std::holds_alternative<Hinge>(loss)) continue;
    SolveReport newton, report;
    const ConvexLossProblem problem{loss, testing::targets_for(loss, Y), {}, 0.5, true};
    solve_convex_loss(*features, space, problem, Direction::newton, {1000, 1e-9}, Execution{}, newton);
    solve_convex_loss_adam(*features, space, problem, {.validation_fraction = 0}, {1000, 1e-6}, Execution{}, report);
    EXPECT_NEAR(report.objective, newton.objective, 1e-3 * newton.objective) << loss_name(loss);
  }
}

}  // namespace
}  // namespace carmina
