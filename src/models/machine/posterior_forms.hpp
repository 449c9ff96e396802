// models/machine/posterior_forms.hpp -- the variances of predictions as sums of squares of products with features, for
// those who write them down elsewhere.
#pragma once
#include <carmina/models/kernel_machine.hpp>

#include <vector>

namespace carmina {

// With psi(x) = phi(x) - mean, of features, or k(x), of an exact machine, and u_k = M_k psi:
//   variance of f_a = noise_a / alpha (alpha (1 + flat) + rest_a + sum_k share(a, k) v_k)
//   v_k = alpha delta_k |u_k|^2                                                            of features
//   v_k = max(0, delta_k k(x, x) - |delta_k u_k|^2 + (1 - delta_k <one_k, u_k>)^2 / |one_k|^2)     exact
struct PosteriorForms {
  bool exact = false;
  double alpha = 0, flat = 0;
  Vector<double> mean;               // empty: none
  std::vector<double> deltas;        // by k
  std::vector<Matrix<double>> M;     // L_k^-1
  std::vector<Vector<double>> ones;  // L_k^-1 1, of exact machines with an intercept
  Matrix<double> share;              // (p, k)
  Vector<double> rest, noise;        // (p)
};

// Empty M where the machine has none of this form: sums of kernels, fields, sub-samples, patterns of missing targets.
template <Real T>
PosteriorForms posterior_forms(const KernelMachine<T>& machine, const Execution& execution = {});

}  // namespace carmina
