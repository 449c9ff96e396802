// solvers/losses/row_sweeps.hpp -- one row after the other, for kernels so narrow that rows hardly meet.
#pragma once
#include "solvers/losses/loss_model.hpp"

namespace carmina {

// Whether a row's own value is most of the squares of its row of K, as of a narrow kernel.
bool narrow_kernel(const Matrix<double>& K);

// Minimises J by the coefficients of one row at a time (coordinate ascent in the dual): with all others fixed, the
// prediction of row i is prox_rho(v), v what they predict there and rho = w_i f^2 K_ii / alpha, f the outputs' factor.
// The intercept moves between sweeps, by what makes the coefficients sum to zero where rows do not meet. Stops when a
// sweep changes little, or not much less than the one before. Returns the multipliers g_i = -alpha theta_i / (f w_i),
// (n, p).
Matrix<double> sweep_rows(const LossModel& model, Point& at);

}  // namespace carmina
