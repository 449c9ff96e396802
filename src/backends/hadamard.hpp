// backends/hadamard.hpp -- products of rows with Hadamard and diagonal matrices, for the machine it runs on.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina::backend {

constexpr Index smallest_hadamard = 16;  // a whole register on every machine

// out (rows, n), row stride ldo: each row is L H D3 H D2 H D1 [x; 0], where H (n, n) is Sylvester's Hadamard matrix of
// ones and minus ones, D1, D2, D3 are diagonal, the three rows of `diagonals` (3, n), L is diag(lengths), and x, a row
// of X (rows, d), row stride ldx, is filled up with zeros. n is a power of two, at least smallest_hadamard and d.
// Costs 3 n log2(n) additions a row. The order of sums does not depend on the instruction set.
void hadamard_products(const float* X, Index ldx, Index rows, Index d, const float* diagonals, const float* lengths,
                       Index n, float* out, Index ldo);
void hadamard_products(const double* X, Index ldx, Index rows, Index d, const double* diagonals, const double* lengths,
                       Index n, double* out, Index ldo);

}  // namespace carmina::backend
