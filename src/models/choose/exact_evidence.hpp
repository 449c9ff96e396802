// models/choose/exact_evidence.hpp -- widths that make the evidence of exact processes largest.
#pragma once
#include "models/choose/exact_errors.hpp"

namespace carmina {

struct ExactEvidence {
  double value;              // log p(Y), sizes of the processes at their best; -infinity where the system is singular
  Vector<double> by_factor;  // (d), derivatives in log s_k, for inputs s_k z_k at s = 1
  double by_alpha;           // in log alpha
};

// Each target is a process of variance s_j^2 with this kernel, a constant without penalty, and noise alpha s_j^2 / w.
// With G of exact_errors, N = sum of weights - 1, C = G Y and s_j^2 = y_jᵀ C_j / N,
//   log p = - sum_j N / 2 log s_j^2 - p / 2 (log |M| + log 1ᵀ M^-1 1 + (N + 1 - n) log alpha + sum_i log w_i) + const,
//   d log p = 1/2 sum_il (sum_j C_ij C_lj / s_j^2 - p G_il) dM_il,
// dM_il / d log s_k being g'(t_il) (z_ik - z_lk)^2 / l^2, or -k_il |z_ik - z_lk| / l for the Laplacian kernel.
// The last terms of the value make a row of weight 2 the same as two rows.
ExactEvidence exact_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha,
                             const Execution& execution);

struct LearntWidths {
  Vector<double> factors;  // (d)
  double alpha, evidence;
};

// Factors of the inputs, from those given, and alpha, unless it is fixed, by L-BFGS in their logarithms.
LearntWidths widths_by_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, LearntWidths start,
                                bool fixed_alpha, double least_alpha, Index steps, const Execution& execution);

}  // namespace carmina
