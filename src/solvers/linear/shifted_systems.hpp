// solvers/linear/shifted_systems.hpp -- (delta_j H + alpha I) x_j = r_j: what every squared-loss fit with coupled
// outputs comes down to once the outputs are turned into the eigenbasis of A (mathematics.md 1d, 2b).
#pragma once
#include "core/checkpoint.hpp"

#include <carmina/core/execution.hpp>
#include <carmina/models/report.hpp>

#include <functional>

namespace carmina {

// A factor F of an inverse, |F z|^2 = zᵀ (delta H + alpha I)^-1 z.
struct Whiten {
  // Z <- F Z. Z holds rows [first, m) of vectors whose rows before are zero; the result may have more rows than Z, the
  // last of which belong to the same places.
  std::function<void(Index first, Matrix<double>& Z)> apply;
  // Z <- FᵀZ, Z (m, any).
  std::function<void(Matrix<double>& Z)> transposed;
};
// Called with each different delta while its factor is there, perhaps again for all of them.
using FactorUse = std::function<void(double delta, const Whiten& whiten)>;

// Columns of R are overwritten by the solutions. H (m, m) positive semi-definite, lower triangle, row stride ldh;
// its memory is used for factors. One Cholesky per different delta while that is cheaper than an eigendecomposition;
// the latter also when alpha is 0 or H + alpha I turns out singular to rounding: then the solution of least norm, and
// report says so. `rounding`: what entries of H may be wrong by, where that is more than the last digits of its
// largest.
//
// `beyond`, of systems that are to give H x: directions that H takes to zero, but for rounding, are of no use there.
// Where the solution is large because of them (alpha far below the others), x is the part in the other directions, and
// beyond (m, q) what R has in these: (delta H + alpha I)^-1 R = x + beyond / alpha. It stays empty where x is whole.
struct RangeOnly {
  Matrix<double>& beyond;
  double digits;  // of the numbers that H x is computed with: their rounding
};
void solve_shifted(double* H, Index m, Index ldh, const Vector<double>& delta, double alpha, Matrix<double>& R,
                   const Execution& execution, SolveReport& report, const FactorUse& use = {}, double rounding = 0,
                   const RangeOnly* range = nullptr);

struct IterationOptions {
  Index max_iter = 1000;
  double tol = 1e-6;                 // on |r_j| / |rhs_j|, every column
  Checkpoint* checkpoint = nullptr;  // keeps the state between iterations
};
// status, iterations and residual of an iterative solver; a message with advice when it stopped above tol.
void report_iterations(const char* solver, Index iterations, double residual, const IterationOptions& options,
                       SolveReport& report);

// The same by conjugate gradients, all columns side by side: product(P, HP) sets HP = H P for P (m, q).
using SymmetricProduct = std::function<void(const Matrix<double>& P, Matrix<double>& HP)>;
// precondition(R, Z) sets Z to about (delta_j H + alpha I)^-1 R, by a fixed positive definite matrix for each column.
using Preconditioner = std::function<void(const Matrix<double>& R, Matrix<double>& Z)>;
Matrix<double> solve_shifted_cg(const SymmetricProduct& product, const Vector<double>& delta, double alpha,
                                const Matrix<double>& R, const IterationOptions& options, const Execution& execution,
                                SolveReport& report, const Preconditioner& precondition = {});

}  // namespace carmina
