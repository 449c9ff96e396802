// backends/cpu/tridiagonal.hpp -- eigenvalues and eigenvectors of tridiagonal matrices.
#pragma once
#include "backends/tiled.hpp"

namespace carmina::backend {

// Eigenvalues of a tridiagonal matrix, ascending, in the place of its diagonal, and its eigenvectors, the rows of
// `vectors` (n, n); the off-diagonal is spoilt. By halves, which are joined (Cuppen 1981; Gu and Eisenstat 1995).
void tridiagonal_eigenvectors(Index n, double* diagonal, double* off_diagonal, double* vectors,
                              const Execution& execution);

}  // namespace carmina::backend
