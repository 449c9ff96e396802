// solvers/squared/squared_blocks.cpp -- squared loss in the rows' coefficients when the kernel's values are p x p
// blocks.
#include "solvers/squared/block_system.hpp"
#include "solvers/squared/dual_system.hpp"

namespace carmina {

LinearSolution solve_dual_blocks(Matrix<double>& K, const DualRows& rows, double alpha, bool fit_intercept,
                                 const Execution& execution, SolveReport& report, const FactorUse& use) {
  const BlockSystem system(rows, fit_intercept);
  Matrix<double> solved = system.right;
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  solve_shifted(K.data(), K.rows(), K.outerStride(), Vector<double>::Ones(solved.cols()), alpha, solved, execution,
                report, use);
  return system.finish(solved, rows);
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
  return system.finish(solved, rows);
}

}  // namespace carmina
