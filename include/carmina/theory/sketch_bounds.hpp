// theory/sketch_bounds.hpp -- excess risk of sketched machines, the sketch that is proved to be enough, and the one
// that usually is: [ElAhmad2023, Theorems 2, 4, 5, 6 and Corollaries 1 to 3], corrected.
#pragma once
#include <carmina/theory/sketching.hpp>
#include <string>

namespace carmina::theory {

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
