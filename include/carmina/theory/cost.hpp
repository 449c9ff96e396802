// theory/cost.hpp -- what the operators of a Fourier model cost, measured: P (predict), its adjoint P*, and P*P.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/kernel.hpp>
#include <cstddef>

namespace carmina::theory {

// [Brault2016, Tables 1 and 2] gives P theta = Phi(X)* theta, P* Y and P*P theta for one row; here seconds for all rows
// of X, best of some repetitions. P*P is P*(P theta), never a matrix of size D^2, and its formulas in Table 1 for
// differential kernels replace <w_j, w_k> by |w_k|^2.
struct OperatorCost {
  double apply, adjoint, normal;  // seconds
  std::size_t stored;             // bytes of frequencies and factors that a model keeps; solvers hold a second copy
};
OperatorCost operator_cost(const Kernel& kernel, Index n_components, ConstView<double> X, int repetitions = 5,
                           const Execution& execution = {});

}  // namespace carmina::theory
