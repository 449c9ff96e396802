// losses/logistic.hpp -- the logistic loss of one row: binary for one output, multinomial (softmax) for several.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina {

// The negative log likelihood of a class under probabilities that are a softmax of the predictions.
//
// One output, y = +-1:     l(f, y) = log(1 + exp(-y f)),           l*(u) = a log a + (1 - a) log(1 - a),  a = -u y
// p > 1 outputs, y a row   l(f, y) = log(sum_j exp f_j) - y.f,     l*(u) = sum_j s_j log s_j,             s = u + y
// of 0 with a single 1:
// The domains are 0 <= a <= 1, and s in the simplex: s >= 0, sum_j s_j = 1. Both are compact, and the gradient
// softmax(f) - y is inside. Second derivatives are diag(s) - s sᵀ, of rank one beside a diagonal (mathematics.md 2c).
struct Logistic {
  static constexpr const char* name = "logistic";
  static constexpr bool radial = false, whole_row = true, smooth = true;

  double value(const double* f, const double* y, Index p) const;
  // What output j adds to the value: -log s_j where y_j = 1, else 0.
  double part(const double* f, const double* y, Index p, Index j) const;
  void gradient(const double* f, const double* y, Index p, double* out) const;
  // argmin_f l(f, y) + |f - z|^2 / (2 rho); out may be z
  void prox(const double* z, const double* y, double rho, Index p, double* out) const;
  // Second derivatives of l (rho = 0) or of its envelope, diag(diagonal) + along direction directionᵀ.
  void curvature(const double* v, const double* y, double rho, Index p, double* diagonal, double* direction,
                 double& along) const;
  double conjugate(const double* u, const double* y, Index p) const;  // for u in the domain
  void into_domain(double* u, const double* y, Index p) const;        // the nearest point of it
  // The gradient at f + c, where u is the gradient at f; growth_j = exp(c_j).
  void shift(double* u, const double* y, const double* growth, Index p) const;

  void check(Index) const {}
  const char* expected_target(double y) const {
    return y == 1 || y == -1 || y == 0 ? nullptr : "-1 or 1, or 0 or 1 where there are several";
  }
  // What a row of targets must be, if this one is not; else null.
  const char* expected_row(const double* y, Index p) const;

  bool operator==(const Logistic&) const = default;
};

// Probabilities of the classes for predictions f (p): a softmax, or of one output those of -1 and 1 (2 numbers).
void softmax(const double* f, Index p, double* out);

}  // namespace carmina
