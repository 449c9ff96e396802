// solvers/squared/squared_dual.cpp -- squared loss in the coefficients of the rows: exact machines, and fewer rows than
// features.
#include "solvers/squared/dual_system.hpp"

#include <limits>

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
  DualSystem::Rotated found = system.rotated(solved);
  // What alpha alone holds of rows that are nearly equal cancels in K c, or should.
  const double largest = columns.diagonal.size() > 0 ? columns.diagonal.maxCoeff() * system.delta.maxCoeff() : 0.0;
  const double off = std::numeric_limits<double>::epsilon() * largest * found.c.stableNorm();
  const double reach = system.right.leftCols(system.rank).stableNorm();
  if (off > 1e-7 * reach) {
    report.status = SolveStatus::not_converged;
    report.message = format_text(
        "cg: alpha = {:.3g} leaves coefficients that cancel, and rounding of {:.1g} of the targets in predictions; "
        "take "
        "a larger alpha, or solver 'direct'",
        problem.alpha, off / reach);
  }
  return system.finish(std::move(found), rows);
}

}  // namespace carmina
