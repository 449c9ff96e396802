// solvers/squared/iterative.hpp -- squared loss of a Fourier model, any kernel, by LSMR, IDR(s), SGD and Adam.
//
// All work on theta (dim_coef), P theta = phi(X) E theta with the map's Expansion E, and minimise
// J = sum_i w_i |P_i theta + b - y_i|^2 / 2 + alpha |theta|^2 / 2, b eliminated by centring. The residual they report
// is that of the normal equations: |g - (H + alpha I) theta| / |g|, H = P_cᵀ W P_c, g = P_cᵀ W y.
#pragma once
#include "features/expansion.hpp"
#include "solvers/squared/squared_loss.hpp"

#include <algorithm>
#include <cstdint>

namespace carmina {

struct ExpandedProblem {
  const FeatureRows& rows;
  const Expansion& expansion;
  const Vector<double>& origin;  // (p), near the targets' mean; zero without an intercept
  double alpha;
  bool fit_intercept;
  std::uint64_t seed;  // of what a solver draws
};
using ExpandedSolver = LinearSolution(const ExpandedProblem& problem, const IterationOptions& options,
                                      const Execution& execution, SolveReport& report);

// LSMR on [W^(1/2) P_c; sqrt(alpha) I]: keeps one vector over the rows (n, p). Never forms H, whose condition number is
// the square of that matrix's.
ExpandedSolver solve_expanded_lsmr;
// IDR(4) on the normal equations. iterations counts products with H.
ExpandedSolver solve_expanded_idr;
// Mini-batches in an order shuffled each epoch within windows of rows; iterations counts epochs. They stop at a
// residual of sqrt(tol): 1e-3 for the default tol.
ExpandedSolver solve_expanded_sgd, solve_expanded_adam;
// Rows that their preconditioner is made from.
inline Index batch_sample_rows(Index features) { return std::clamp<Index>(8 * features, 512, 2048); }

// The algorithms themselves, for any operators.

// min |A x - b|^2 + alpha |x|^2: forward(x, Ax), backward(u, Aᵀu), u and b matrices over the rows. A gradient of A's
// `rounding` times |b| is none.
struct RowOperator {
  std::function<void(const Vector<double>& x, Matrix<double>& out)> forward;
  std::function<void(const Matrix<double>& u, Vector<double>& out)> backward;
};
Vector<double> lsmr(const RowOperator& A, Matrix<double> b, double alpha, const IterationOptions& options,
                    const Execution& execution, SolveReport& report, double rounding = 0);

// A x = b for a square A: product(x, Ax). `floor`: a recomputed residual below it counts as rounding.
using SquareProduct = std::function<void(const Vector<double>& x, Vector<double>& out)>;
Vector<double> idr(const SquareProduct& product, const Vector<double>& b, std::uint64_t seed, double floor,
                   const IterationOptions& options, const Execution& execution, SolveReport& report);

}  // namespace carmina
