// features/allocation.hpp -- how many spectral points each component of a mixture gets.
#pragma once
#include "kernels/mixture_math.hpp"

#include <carmina/kernels/mixture_kernel.hpp>

#include <vector>

namespace carmina {

// Each of these gives m_q >= 1 with sum m. Error when m < Q.
std::vector<Index> equal_allocation(Index components, Index m);
// mathematics.md 3d: one each, the rest by largest remainder of p_q in proportion to w_q^(1/temperature), in log-space.
std::vector<Index> softmax_allocation(const Vector<double>& weights, Index m, double temperature);
// The integer m_q that minimise sum_q cost_q / m_q, cost_q = c_q^2 of mathematics.md 3d: greedy, exact.
std::vector<Index> optimal_allocation(const Vector<double>& costs, Index m);
// c_q^2 = w_q^2 sum_ij V_q(x_i - x_j), over all pairs of the rows of X where they are few, else over `pairs` random
// ones.
Vector<double> allocation_costs(const Mixture& mixture, ConstView<double> X, Index pairs, const Random& random);

}  // namespace carmina
