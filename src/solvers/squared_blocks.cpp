// solvers/squared_blocks.cpp -- squared loss in the rows' coefficients when the kernel's values are p x p blocks.
#include <carmina/core/error.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <Eigen/LU>

namespace carmina {
namespace {

// Row i p + a stands for output a of row i. With c = W^(1/2) c' and H = W^(1/2) K W^(1/2):
// (H + alpha I) c' = w^(1/2) (y - b). Right-hand sides: the targets, then w^(1/2) (x) e_a for each output, whose
// solutions S give b from (EᵀS) b = Eᵀ c', E = w^(1/2) (x) I, so that each output's coefficients sum to zero.
struct BlockSystem {
  Index n, p;
  Vector<double> root_weights;  // (n p)
  Matrix<double> right;         // (n p, 1 + p)

  BlockSystem(const DualRows& rows, bool fit_intercept) : n(rows.targets.rows()), p(rows.targets.cols()) {
    root_weights = Vector<double>::Ones(n * p);
    for (Index i = 0; rows.weights.size() > 0 && i < n; ++i)
      root_weights.segment(i * p, p).setConstant(std::sqrt(rows.weights[i]));
    right = Matrix<double>::Zero(n * p, fit_intercept ? 1 + p : 1);
    right.col(0) = root_weights.cwiseProduct(Eigen::Map<const Vector<double>>(rows.targets.data(), n * p));
    for (Index a = 0; fit_intercept && a < p; ++a) {
      for (Index i = 0; i < n; ++i) right(i * p + a, 1 + a) = root_weights[i * p + a];
    }
  }

  LinearSolution finish(const Matrix<double>& solved, const DualRows& rows, bool fit_intercept) const {
    Vector<double> c = solved.col(0), b = Vector<double>::Zero(p);
    if (fit_intercept) {
      const auto E = right.rightCols(p);
      const auto S = solved.rightCols(p);
      const Eigen::MatrixXd mass = E.transpose() * S;
      b = mass.partialPivLu().solve(E.transpose() * c);
      c -= S * b;
    }
    c = c.cwiseProduct(root_weights);
    Vector<double> intercept = Vector<double>::Zero(p);
    if (fit_intercept) intercept = rows.origin + b;
    return {Eigen::Map<const Matrix<double>>(c.data(), n, p), std::move(intercept)};
  }
};

}  // namespace

LinearSolution solve_dual_blocks(Matrix<double>& K, const DualRows& rows, double alpha, bool fit_intercept,
                                 const Execution& execution, SolveReport& report) {
  const BlockSystem system(rows, fit_intercept);
  Matrix<double> solved = system.right;
  if (rows.weights.size() > 0) {
    const Vector<double>& w = system.root_weights;
    for (Index i = 0; i < K.rows(); ++i) K.row(i).head(i + 1).array() *= w[i] * w.head(i + 1).transpose().array();
  }
  solve_shifted(K.data(), K.rows(), K.outerStride(), Vector<double>::Ones(solved.cols()), alpha, solved, execution,
                report);
  return system.finish(solved, rows, fit_intercept);
}

LinearSolution solve_dual_blocks_cg(const SymmetricProduct& product, const DualRows& rows, double alpha,
                                    bool fit_intercept, const IterationOptions& options, const Execution& execution,
                                    SolveReport& report, const MatrixColumns& columns) {
  const BlockSystem system(rows, fit_intercept);
  Matrix<double> scaled;
  const auto weighted = [&](const Matrix<double>& P, Matrix<double>& HP) {
    scaled = system.root_weights.asDiagonal() * P;
    product(scaled, HP);
    HP = system.root_weights.asDiagonal() * HP;
  };
  const Vector<double> delta = Vector<double>::Ones(system.right.cols());
  const Matrix<double> solved =
      solve_shifted_cg(weighted, delta, alpha, system.right, options, execution, report,
                       low_rank_preconditioner(columns, system.root_weights, delta, alpha, execution));
  return system.finish(solved, rows, fit_intercept);
}

}  // namespace carmina
