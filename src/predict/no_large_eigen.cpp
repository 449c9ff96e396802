// predict/no_large_eigen.cpp -- the prediction library leaves out eigendecompositions of large orders: a refusal in the
// place of tiled_eigen.cpp.
#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>

namespace carmina::backend {

void symmetric_eigen(Index n, double*, Index, double*, const Execution&) {
  fail("the prediction library has no eigendecomposition of order {}: link the whole library (carmina::carmina)", n);
}

}  // namespace carmina::backend
