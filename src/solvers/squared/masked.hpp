// solvers/squared/masked.hpp -- squared loss where targets are missing and the outputs depend on each other.
//
//   J = sum over the targets y_ia that are there of w_i (f_a(x_i) + b_a - y_ia)^2 / 2 + alpha |theta|^2 / 2
//
// (mathematics.md 1d). An intercept is part of one output alone, so it is eliminated by centring the features about
// their mean over the rows that this output has: H = sum_a E_aᵀ G_a E_a, with E_a the part of E that makes output a and
// G_a the Gram matrix of its rows, centred. Outputs that are missing in the same rows share G_a.
#pragma once
#include "solvers/losses/convex_loss.hpp"
#include "solvers/squared/alpha_path_solve.hpp"
#include "solvers/squared/squared_loss.hpp"

#include <vector>

namespace carmina {

// The normal equations, pattern by pattern: a matrix of the order of all coefficients.
class MaskedNormal {
 public:
  MaskedNormal(const CoefficientSpace& space, Index features, const Vector<double>& origin, bool fit_intercept,
               const Execution& execution);

  // Sums of the rows that have these outputs, which alone are the targets of the sums.
  void add(const Moments& moments, const std::vector<Index>& outputs);
  // After all outputs, once. Coefficients are those that a model keeps.
  LinearSolution solve(double alpha, SolveReport& report);

 private:
  const CoefficientSpace& space_;
  Vector<double> origin_;
  bool fit_intercept_;
  const Execution execution_;
  RowSums sums_;
  Matrix<double> H_;
};

// The same by conjugate gradients over the rows. Where the kernel is separable and there are at most `largest_inverse`
// features, they are preconditioned by (c A (x) G + alpha I)^-1, G the Gram matrix of at most 8 rows for each feature
// and c the share of the targets that are there.
constexpr Index largest_inverse = 3000;
LinearSolution solve_masked_cg(const FeatureRows& rows, const CoefficientSpace& space, const Vector<double>& origin,
                               double alpha, bool fit_intercept, const IterationOptions& options,
                               const Execution& execution, SolveReport& report);

// The targets that are there, row after row.
struct SeenTargets {
  std::vector<Index> row, output;
  explicit SeenTargets(const Matrix<double>& targets);
  Index count() const { return static_cast<Index>(row.size()); }
  // Where the targets of each of n rows begin, and the end.
  std::vector<Index> first_of_rows(Index n) const;
  // v (count) at its places in (n, p), zero elsewhere; and back.
  Matrix<double> spread(const Vector<double>& v, Index n, Index p) const;
  Vector<double> gathered(const Matrix<double>& V) const;
};

// The dual: (K + alpha W^-1) c + E b = y over the targets that are there, Eᵀc = 0, K (count, count) the kernel's values
// between them, lower triangle, which is overwritten, and E a column of ones for each output. Coefficients are C
// (n, p), zero where a target is missing: f = sum_i K(., x_i) c_i.
LinearSolution solve_masked_dual(Matrix<double>& K, const DualRows& rows, const SeenTargets& seen, double alpha,
                                 bool fit_intercept, const Execution& execution, SolveReport& report);

// The same for many alphas. With rows left out one by one, of which no target stays, as alpha_path_solve_dual.cpp says.
std::vector<AlphaPathSolution> masked_dual_path(Matrix<double> K, const DualRows& rows, const AlphaPathProblem& problem,
                                                const Execution& execution);

// The same with K only as a product with V (n, p), and as columns for a preconditioner. The constraint is kept by
// projection: one system, whatever the number of outputs.
using OutputProduct = std::function<Matrix<double>(const Matrix<double>& V)>;
LinearSolution solve_masked_dual_cg(const OutputProduct& product, const DualRows& rows, const SeenTargets& seen,
                                    double alpha, bool fit_intercept, const IterationOptions& options,
                                    const Execution& execution, SolveReport& report, const MatrixColumns& columns = {});

}  // namespace carmina
