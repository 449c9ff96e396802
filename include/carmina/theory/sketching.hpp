// theory/sketching.hpp -- whether a sketch keeps what a kernel needs, and what a sketched machine then risks
// [ElAhmad2023].
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <carmina/sketches/sketch.hpp>
#include <string>

namespace carmina::theory {

// Whether a sketch keeps what a kernel needs: critical radius, statistical dimension and K-satisfiability,
// [ElAhmad2023, Section 2.1].
//
// All of it is about the eigenvalues mu_1 >= mu_2 >= ... of K / n, K the kernel matrix of n rows: O(n^3) steps and n^2
// numbers.

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

// Excess risk of sketched machines, the sketch that is proved to be enough, and the one that usually is: [ElAhmad2023,
// Theorems 2, 4, 5, 6 and Corollaries 1 to 3], corrected.

// What the bounds are about: a machine that minimises sum_i l(f(x_i), y_i) + (alpha / 2) |f|^2 over the sketched
// functions. They take for granted that l is in [0, 1] (the paper does not say so) and L-Lipschitz, that the risk has a
// minimiser with |f| <= 1, and that the sketched fits, with noise and without, have |f| <= 1.
enum class RiskLoss { lipschitz, squared };
struct RiskSetting {
  RiskLoss loss = RiskLoss::lipschitz;
  double alpha = 1;  // lambda_n = alpha / n. With lambda_n ~ n^(-1/2) the bound falls as n^(-1/4) only.
  double lipschitz = 1;
  double kernel_bound = 1;                              // kappa >= k(x, x)
  Matrix<double> outputs = Matrix<double>::Ones(1, 1);  // M of the kernel k M, invertible
  double probability = 0.95;                            // 1 - delta
};

// E[l(f)] of the sketched machine is at most the least possible plus `value`. At 1 or more it says nothing: l is in
// [0, 1].
struct RiskBound {
  double value;
  double approximation, generalization;  // what the sketch and the penalty add, and what the sample does
  double probability;
  bool proven;
  std::string note;  // what it rests on, or what is missing
};

// Theorems 2 and 4, (5) and (9), C = 1 + sqrt(6) c, for a sketch that is K-satisfiable with c:
//   L C sqrt(lambda_n + |M| delta_n^2) + lambda_n / 2 + 8 L sqrt(kappa tr M / n) + 2 sqrt(8 log(4 / delta) / n).
// Squared loss |f - y|^2 / 2: (6) and (10), not proven. They rest on |f~ - y|^2 - |f - y|^2 <= |f~ - f|^2, which is
// false: f~ = 2, f = 1, y = 0 gives 3 <= 1.
RiskBound excess_risk_bound(const CriticalRadius& spectrum, double c, const RiskSetting& setting = {});

// Corollaries 2 and 3: the same with c of satisfiability_constant; the sample and the sketch may both fail, and their
// chances add up. Not proven when s is less than sketch_components_needed.
RiskBound sparse_sketch_bound(const CriticalRadius& spectrum, Index n_components, double density, Entries entries,
                              const RiskSetting& setting = {});

// Theorem 6, for one output. Its constants are not in print, so that no number is proven: it is what would follow from
// those given here.
struct RefinedConstants {
  double B = 1, D = 2, C1 = 1, C2 = 1, C3 = 1, b2 = 1;
};
// r = 2 L C1 sqrt(2 / n sum_i min(b2 r, mu_i)) + C2 / n log(1 / delta)
double local_fixed_point(const Vector<double>& eigenvalues, const RiskSetting& setting = {},
                         const RefinedConstants& constants = {});
RiskBound refined_excess_risk_bound(const Vector<double>& eigenvalues, double c, const RiskSetting& setting = {},
                                    const RefinedConstants& constants = {});

// Theorem 5: the least s for which a sketch of this density is proved to be K-satisfiable,
// max(C0 d_n / p^2, n delta_n^2) with C0 = 5120, but for a chance of sketch_failure.
Index sketch_components_needed(const CriticalRadius& spectrum, double density);
// 2 exp(-c0 s) + exp(-c2 s), c0 = p^2 (1 - 2 / 10 - 1 / 100)^2 / 1024 (the paper lost the square),
// c2 = sqrt(c' p log 5) + c' p / 4; at most 1.
double sketch_failure(Index n_components, double density, Entries entries);
double expected_anchors(Index n, Index n_components, double density);  // n (1 - (1 - p)^s)

// Minimises the expected anchors of a sketch with s = C0 d_n / p^2: p / (1 - p) = -2 log(1 - p). Corollary 1 has 0.7.
constexpr double fewest_anchors_density = 0.7153318629591614;

struct SketchSize {
  Index n_components;
  double density;
  double expected_anchors;
  bool proven;
};
struct SketchSuggestion {
  CriticalRadius spectrum;
  SketchSize proved;     // Corollary 1 with the s of Theorem 5
  SketchSize practical;  // a Gaussian sketch's s, 20 entries a row
  std::string text;
};
SketchSuggestion suggest_sketch(const CriticalRadius& spectrum);

}  // namespace carmina::theory
