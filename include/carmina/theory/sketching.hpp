// theory/sketching.hpp -- whether a sketch keeps what a kernel needs: critical radius, statistical dimension and
// K-satisfiability, [ElAhmad2023, Section 2.1].
//
// All of it is about the eigenvalues mu_1 >= mu_2 >= ... of K / n, K the kernel matrix of n rows: O(n^3) steps and n^2
// numbers.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <carmina/sketches/sketch.hpp>

namespace carmina::theory {

// Descending, not below 0. Error when K is not symmetric, or has eigenvalues that are negative beyond rounding.
Vector<double> gram_eigenvalues(const Matrix<double>& K, const Execution& execution = {});
Vector<double> kernel_eigenvalues(const ScalarKernel& kernel, ConstView<double> X, const Execution& execution = {});

// delta_n: delta_n^2 = t is the root of sum_i min(t, mu_i) = n t^2, the only positive one, or 0 when K is 0.
struct CriticalRadius {
  Index n;
  double radius;  // delta_n
  // d_n, the number of mu_j > delta_n^2. In print it is the least j with mu_j <= delta_n^2, one too many: the proofs
  // need every mu_j left out to be at most delta_n^2, and every one kept above it.
  Index statistical_dimension;

  double squared() const { return radius * radius; }
};
CriticalRadius critical_radius(const Vector<double>& eigenvalues);  // in any order
CriticalRadius critical_radius(const ScalarKernel& kernel, ConstView<double> X, const Execution& execution = {});

// p-SG (p = 1: Gaussian) or p-SR.
enum class Entries { gaussian, rademacher };
// c' of the concentration inequality P(F > E F + t) <= exp(-c' t^2), F convex and 1-Lipschitz: 1/2 for Gaussian
// entries, 1/8 for signs [Boucheron2013, Theorems 5.6 and 6.10].
constexpr double concentration(Entries entries) { return entries == Entries::gaussian ? 0.5 : 0.125; }

// The constant c for which a p-sparsified sketch is proved to be K-satisfiable: 2 (1 + sqrt(log 5 / c')) / sqrt(p) + 1.
// [ElAhmad2023, Theorem 5] has c' = 1.
double satisfiability_constant(double density, Entries entries);
double satisfiability_constant_as_printed(double density);

// [ElAhmad2023, Definition 3] for one sample S, with K / n = U D Uᵀ: U1 the first d_n columns, U2 and D2 the rest.
struct KSatisfiability {
  CriticalRadius spectrum;
  double isometry_error;  // |(S U1)ᵀ S U1 - I|
  double tail_norm;       // |S U2 D2^(1/2)|
  double c;               // tail_norm / delta_n: the least constant
  double largest_c;       // what c was held against
  bool holds;             // isometry_error <= 1/2 and c <= largest_c
};
// `largest_c` 0: that of a dense Gaussian sketch, 6.59. The definition is about S with its scale, E[Sᵀ S] = I, although
// a machine does not change when S is multiplied.
KSatisfiability k_satisfiability(const sketches::Sketch& sketch, const Matrix<double>& K, double largest_c = 0,
                                 const Execution& execution = {});
KSatisfiability k_satisfiability(const sketches::Sketch& sketch, const ScalarKernel& kernel, ConstView<double> X,
                                 double largest_c = 0, const Execution& execution = {});

}  // namespace carmina::theory
