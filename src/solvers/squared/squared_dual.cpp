// solvers/squared/squared_dual.cpp -- squared loss in the coefficients of the rows: exact machines, and fewer rows than
// features.
#include "solvers/squared/dual_system.hpp"

namespace carmina {

LinearSolution solve_dual(Matrix<double>& K, const DualRows& rows, const SquaredLossProblem& problem,
                          const Execution& execution, SolveReport& report, const FactorUse& use, double rounding,
                          double digits) {
  const Index n = K.rows();
  DualSystem system(rows, problem.outputs, problem.fit_intercept);
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  Matrix<double> beyond;
  const RangeOnly range{beyond, digits};
  solve_shifted(K.data(), n, K.outerStride(), system.delta, problem.alpha, system.right, execution, report, use,
                rounding * K.diagonal().maxCoeff(), &range);
  return system.finish(system.rotated(system.right, beyond, problem.alpha), rows);
}

LinearSolution solve_dual_cg(const SymmetricProduct& product, const DualRows& rows, const SquaredLossProblem& problem,
                             const IterationOptions& options, const Execution& execution, SolveReport& report,
                             const MatrixColumns& columns) {
  const DualSystem system(rows, problem.outputs, problem.fit_intercept);
  Matrix<double> scaled;
  const auto weighted = [&](const Matrix<double>& P, Matrix<double>& HP) {
    scaled = system.root_weights.asDiagonal() * P;
    product(scaled, HP);
    HP = system.root_weights.asDiagonal() * HP;
  };
  const Matrix<double> solved =
      solve_shifted_cg(weighted, system.delta, problem.alpha, system.right, options, execution, report,
                       low_rank_preconditioner(columns, system.root_weights, system.delta, problem.alpha, execution));
  return system.finish(solved, rows);
}

}  // namespace carmina
