// tests/solvers/squared_loss_test.cpp -- mathematics.md 5.3: primal, dual and conjugate gradients against the Kronecker
// system.
#include "solvers/squared/squared_loss.hpp"
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "support/random_matrix.hpp"

namespace carmina::squared_loss_test {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

struct Problem {
  FourierMap<double> map;
  Matrix<double> X, Y, phi;
  Vector<double> w;
  OutputFactor outputs;
  double alpha = 0.2;
  bool intercept;

  Problem(Index n, Index m, Index p, Index rank, bool with_intercept)
      : map(Gaussian(1.0), 2, m, 4),
        X(random_matrix(n, 2, 1)),
        Y(random_matrix(n, p, 2).array() + 3),
        phi(n, m),
        w(random_matrix(n, 1, 3).cwiseAbs().array() + 0.1),
        intercept(with_intercept) {
    evaluate(map, X, View<double>(phi), Execution{});
    if (rank > 0) outputs = factor_output_matrix(random_psd(p, rank, 5));
  }
  Matrix<double> root() const {
    return outputs.identity() ? Matrix<double>(Matrix<double>::Identity(Y.cols(), Y.cols())) : outputs.root();
  }
  Vector<double> origin() const {
    if (!intercept) return Vector<double>::Zero(Y.cols());
    return (w.asDiagonal() * Y).colwise().sum().transpose() / w.sum();
  }
  SquaredLossProblem squared() const { return {outputs, alpha, intercept}; }

  // The twin: rows (i, output) of the design phi_i (x) B, plus indicator columns for the intercept, solved densely.
  Matrix<double> predictions() const {
    const Matrix<double> B = root();
    const Index n = phi.rows(), m = phi.cols(), p = Y.cols(), q = B.cols(), extra = intercept ? p : 0;
    Eigen::MatrixXd design = Eigen::MatrixXd::Zero(n * p, m * q + extra);
    Eigen::VectorXd target(n * p), weight(n * p);
    for (Index i = 0; i < n; ++i) {
      for (Index a = 0; a < p; ++a) {
        for (Index j = 0; j < m; ++j) {
          for (Index b = 0; b < q; ++b) design(i * p + a, j * q + b) = phi(i, j) * B(a, b);
        }
        if (intercept) design(i * p + a, m * q + a) = 1;
        target[i * p + a] = Y(i, a);
        weight[i * p + a] = w[i];
      }
    }
    Eigen::MatrixXd system = design.transpose() * weight.asDiagonal() * design;
    system.diagonal().head(m * q).array() += alpha;
    const Eigen::VectorXd theta = system.partialPivLu().solve(design.transpose() * weight.asDiagonal() * target);
    const Eigen::VectorXd f = design * theta;
    return Eigen::Map<const Matrix<double>>(f.data(), n, p);
  }
  Matrix<double> predictions(const LinearSolution& s, const Matrix<double>& base) const {
    return (base * s.coefficients * root().transpose()).rowwise() + s.intercept.transpose();
  }
};

class SquaredLoss : public ::testing::TestWithParam<std::tuple<std::pair<Index, Index>, Index, bool>> {
 protected:
  Problem make() const {
    const auto [shape, rank, intercept] = GetParam();
    return Problem(shape.first, shape.second, 3, rank, intercept);
  }
};

TEST_P(SquaredLoss, PrimalEqualsTheKroneckerSystem) {
  const Problem problem = make();
  Moments moments(problem.map.n_features(), problem.origin());
  MemoryRows<double> rows(problem.X, problem.Y, problem.w.data());
  const DataRows<double> data(rows);
  rows_of(problem.map, data, FeatureStorage::none, Execution{})->moments(moments);
  SolveReport report;
  const LinearSolution s = solve_primal(moments, problem.squared(), Execution{}, report);
  EXPECT_LT(max_difference(problem.predictions(s, problem.phi), problem.predictions()), 1e-9);
}

TEST_P(SquaredLoss, DualEqualsTheKroneckerSystem) {
  const Problem problem = make();
  const DualRows rows{problem.Y.rowwise() - problem.origin().transpose(), problem.w, problem.origin()};
  const Matrix<double> gram = problem.phi * problem.phi.transpose();
  Matrix<double> K = gram;
  SolveReport report;
  const LinearSolution s = solve_dual(K, rows, problem.squared(), Execution{}, report);
  EXPECT_LT(max_difference(problem.predictions(s, gram), problem.predictions()), 1e-9);

  SolveReport cg_report;
  const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) { KP = gram * P; };
  const LinearSolution c = solve_dual_cg(product, rows, problem.squared(), {500, 1e-12}, Execution{}, cg_report);
  EXPECT_LT(max_difference(problem.predictions(c, gram), problem.predictions()), 1e-8);
}

TEST_P(SquaredLoss, ConjugateGradientsEqualTheKroneckerSystem) {
  const Problem problem = make();
  MemoryRows<double> rows(problem.X, problem.Y, problem.w.data());
  SolveReport report;
  DataRows<double> data(rows);
  data.read_at_once(7);
  const auto features = rows_of(problem.map, data, FeatureStorage::none, Execution{});
  const LinearSolution s =
      solve_primal_cg(*features, problem.origin(), problem.squared(), 0, {500, 1e-12}, Execution{}, report);
  EXPECT_LT(max_difference(problem.predictions(s, problem.phi), problem.predictions()), 1e-8);
  EXPECT_EQ(report.status, SolveStatus::converged);
}

// More rows than features and fewer; outputs uncoupled (0), singular A of rank 1 and 2, full rank; one row.
INSTANTIATE_TEST_SUITE_P(Shapes, SquaredLoss,
                         ::testing::Combine(::testing::Values(std::pair<Index, Index>{40, 10},
                                                              std::pair<Index, Index>{12, 30},
                                                              std::pair<Index, Index>{1, 4}),
                                            ::testing::Values(0, 1, 2, 3), ::testing::Bool()));

}  // namespace
}  // namespace carmina::squared_loss_test
