// solvers/squared/squared_loss.hpp -- squared loss with a ridge, an intercept, weights and coupled outputs: primal and
// dual.
#pragma once
#include "features/expansion.hpp"
#include "features/feature_rows.hpp"
#include "solvers/linear/low_rank.hpp"

#include <carmina/kernels/coupling.hpp>

#include <limits>

namespace carmina {

// f(x) + b = B Thetaᵀ phi(x) + b.
struct LinearSolution {
  Matrix<double> coefficients;  // Theta (features, rank), or (rows, rank) in the dual
  Vector<double> intercept;     // b (p); zero without one
};

struct SquaredLossProblem {
  const OutputFactor& outputs;  // A = V diag(delta) Vᵀ, B = V sqrt(delta)
  double alpha;
  bool fit_intercept;
};

// min over Theta, b of sum_i w_i |B Thetaᵀ phi_i + b - y_i|^2 / 2 + alpha |Theta|^2 / 2 from the sums alone, which are
// overwritten. mathematics.md 1d with centred features: b = mean(y - f), never penalised. `digits`: the rounding of
// products that were added up.
LinearSolution solve_primal(Moments& moments, const SquaredLossProblem& problem, const Execution& execution,
                            SolveReport& report, const FactorUse& use = {},
                            double digits = std::numeric_limits<double>::epsilon());

// The same by conjugate gradients over the rows, preconditioned by the normal equations of subset_rows of them (0: not
// preconditioned).
LinearSolution solve_primal_cg(const FeatureRows& rows, const Vector<double>& origin, const SquaredLossProblem& problem,
                               Index subset_rows, const IterationOptions& options, const Execution& execution,
                               SolveReport& report);

// Rows of a dual problem: f = sum_i k(., x_i) A c_i. Weights must be positive.
struct DualRows {
  Matrix<double> targets;  // Y - origin (n, p)
  Vector<double> weights;  // (n); empty: all one
  Vector<double> origin;   // (p)
};

// (delta_j K + alpha W^-1) c_j + 1 b_j = y_j, 1ᵀ c_j = 0 in the eigenbasis of A; coefficients are c_j sqrt(delta_j), to
// be used with B. K (n, n), lower triangle, is overwritten; `rounding`: of its entries, in units of the largest;
// `digits`: the rounding of the numbers that K c will be computed with.
LinearSolution solve_dual(Matrix<double>& K, const DualRows& rows, const SquaredLossProblem& problem,
                          const Execution& execution, SolveReport& report, const FactorUse& use = {},
                          double rounding = 0, double digits = std::numeric_limits<double>::epsilon());

// The same with K only as a product. Given K's columns too, some of them make a preconditioner.
LinearSolution solve_dual_cg(const SymmetricProduct& product, const DualRows& rows, const SquaredLossProblem& problem,
                             const IterationOptions& options, const Execution& execution, SolveReport& report,
                             const MatrixColumns& columns = {});

// Kernels that are not separable (mathematics.md 1c): theta has one column, expansion.dim_coef() rows. The
// coefficients returned are E theta (features, p), to be used with the scalar map alone.
LinearSolution solve_expanded(Moments& moments, const Expansion& expansion, double alpha, bool fit_intercept,
                              const Execution& execution, SolveReport& report, const FactorUse& use = {},
                              double digits = std::numeric_limits<double>::epsilon());
LinearSolution solve_expanded_cg(const FeatureRows& rows, const Expansion& expansion, const Vector<double>& origin,
                                 double alpha, bool fit_intercept, const IterationOptions& options,
                                 const Execution& execution, SolveReport& report);

// (K + alpha W^-1) c + 1 (x) b = y, the rows' coefficients summing to zero; K (n p, n p), row i p + a for output a of
// row i, lower triangle, is overwritten. Coefficients are (n, p).
LinearSolution solve_dual_blocks(Matrix<double>& K, const DualRows& rows, double alpha, bool fit_intercept,
                                 const Execution& execution, SolveReport& report, const FactorUse& use = {});
// The same with K only as a product with (n p, columns), and perhaps its columns for a preconditioner.
LinearSolution solve_dual_blocks_cg(const SymmetricProduct& product, const DualRows& rows, double alpha,
                                    bool fit_intercept, const IterationOptions& options, const Execution& execution,
                                    SolveReport& report, const MatrixColumns& columns = {});

}  // namespace carmina
