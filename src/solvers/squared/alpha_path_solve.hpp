// solvers/squared/alpha_path_solve.hpp -- squared-loss solutions for many alphas, and what tells them apart: loss,
// degrees of freedom, and the error for rows that are left out one by one.
//
// In the eigenbasis of A the outputs are apart: of y_j the fit is S_j y_j with S_j linear, whose diagonal is
//   h_ij = w_i (1/W + delta_j z_iᵀ (delta_j H + alpha I)^-1 z_i),   z_i the features less their mean, W = sum of w,
// the 1/W and the mean only with an intercept; where delta_j is 0, h_ij = w_i/W or 0. A fit to all rows but one, of
// which nothing stays, neither weight nor any output, misses that row by
//   e_ij = (y_ij - f_ij - b_j) / (1 - h_ij)
// exactly, the features, the widths and the scaling being those of all rows. V rotates e_i back and keeps its length.
// In the dual 1 - h is alpha times the diagonal of a matrix that is known without a difference
// (alpha_path_solve_dual.cpp). Where outputs are not separable, h_i and 1 - h_i are p x p matrices.
//
// A row of weight 2 is left out with both its copies, which cross-validation does too; of two equal rows each is left
// out alone.
#pragma once
#include "solvers/squared/squared_loss.hpp"

#include <optional>
#include <vector>

namespace carmina {

struct AlphaPathSolution {
  double alpha;
  LinearSolution solution;         // what solve_primal, solve_dual, solve_expanded or solve_dual_blocks gives
  double squares;                  // sum_i w_i |f(x_i) + b - y_i|^2
  double degrees_of_freedom;       // trace of the map from targets to fits, all outputs, intercepts included
  std::optional<double> left_out;  // sum_i w_i |e_i|^2; infinite where rounding leaves no 1 - h > 0
};

struct AlphaPathProblem {
  const OutputFactor& outputs;  // ignored where outputs are not separable
  std::vector<double> alphas;   // positive
  bool fit_intercept;
  bool leave_one_out;
};

// From the sums alone; in float `squares` takes a second pass over the rows, and leaving them out one more. With an
// expansion the outputs are not separable.
std::vector<AlphaPathSolution> primal_path(const FeatureRows& rows, const Moments& moments, const Expansion* expansion,
                                           const AlphaPathProblem& problem, const Execution& execution);

// From K (n, n), lower triangle.
std::vector<AlphaPathSolution> dual_path(Matrix<double> K, const DualRows& rows, const AlphaPathProblem& problem,
                                         const Execution& execution);
// From K (n p, n p), lower triangle, for outputs that are not separable.
std::vector<AlphaPathSolution> dual_blocks_path(Matrix<double> K, const DualRows& rows, const AlphaPathProblem& problem,
                                                const Execution& execution);

}  // namespace carmina
