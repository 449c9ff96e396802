// theory/terms.cpp -- values and norms of one term.
#include "theory/terms.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace carmina::theory {

Index outputs_of(const Kernel& kernel, Index dim_in) {
  require(dim_in > 0, "theory: inputs need at least one column, found {}", dim_in);
  const Index p = kernel.n_outputs(dim_in).value_or(1);
  for (const Term& term : kernel.terms()) {
    require_spectral_measure(term.scalar);
    require(is_stationary(term.scalar) || std::holds_alternative<SpectralMixture>(term.scalar),
            "theory: nothing is known of the kernel '{}'", kernel_name(term.scalar));
    require(!is_normalized(term.coupling),
            "theory: bounds are known for fields as in the papers; take normalized=False and a multiple");
  }
  kernel.check_dimensions(dim_in, p);
  return p;
}

namespace {

void refuse_user_spectrum(const Term& term) {
  require(!std::holds_alternative<UserSpectrum>(term.coupling),
          "theory: nothing is known of the spectrum of a Spectral or FromSignature kernel; kernel_error and "
          "approximation_report measure the latter");
}

}  // namespace

Matrix<double> constant_matrix(const Term& term, Index dim_out) {
  refuse_user_spectrum(term);
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) return term.weight * matrix->A();
  return term.weight * Matrix<double>::Identity(dim_out, dim_out);
}

double constant_norm(const Term& term) {
  refuse_user_spectrum(term);
  const auto* matrix = std::get_if<OutputMatrix>(&term.coupling);
  return term.weight * (matrix ? spectral_norm(matrix->A()) : 1.0);
}

namespace {

double of_distance(const ScalarKernel& kernel, double distance, bool squared_already) {
  return visit_stationary(
      [&](const auto& k) {
        constexpr bool squared = std::remove_cvref_t<decltype(k)>::distance == Distance::squared;
        double value = squared && !squared_already ? distance * distance : distance;
        k.of_distances(&value, 1);
        return value;
      },
      kernel);
}

bool takes_squares(const ScalarKernel& kernel) {
  return visit_stationary([](const auto& k) { return std::remove_cvref_t<decltype(k)>::distance == Distance::squared; },
                          kernel);
}

}  // namespace

double scalar_value(const ScalarKernel& kernel, const Vector<double>& delta) {
  if (const auto* mixture = std::get_if<SpectralMixture>(&kernel)) {
    const Vector<double> zero = Vector<double>::Zero(delta.size());
    double value = 0;
    mixture->values(delta.data(), 1, zero.data(), 1, delta.size(), &value, 1);
    return value;
  }
  const LengthScale& width = length_scale(kernel);
  const bool squared = takes_squares(kernel);
  double distance = 0;
  for (Index j = 0; j < delta.size(); ++j) {
    const double scaled = delta[j] / width[j];
    distance += squared ? scaled * scaled : std::abs(scaled);
  }
  return of_distance(kernel, distance, true);
}

double scalar_value(const ScalarKernel& kernel, double distance) { return of_distance(kernel, distance, false); }

// max |L^-1 delta| = l / min l_j; max sum_j |delta_j| / l_j = l |L^-1 1|, by Cauchy and Schwarz.
double scaled_distance(const ScalarKernel& kernel, Index dim_in, double diameter) {
  const LengthScale& width = length_scale(kernel);
  const auto inverse = Vector<double>::NullaryExpr(dim_in, [&](Index j) { return 1 / width[j]; }).eval();
  return diameter * (takes_squares(kernel) ? inverse.maxCoeff() : inverse.norm());
}

Vector<double> gaussian_spectrum(const Term& term, Index dim_in, const char* what) {
  const auto* gaussian = std::get_if<Gaussian>(&term.scalar);
  require(gaussian != nullptr,
          "{}: curl-free and divergence-free kernels are known here over 'gaussian' only, found '{}'", what,
          kernel_name(term.scalar));
  const Vector<double> S = Vector<double>::NullaryExpr(
      dim_in, [&](Index j) { return 1 / (gaussian->length_scale[j] * gaussian->length_scale[j]); });
  require(!has_bounded_features(term.coupling) || isotropic(S),
          "{}: bounded features are known here for one length scale only", what);
  return S;
}

double maximum(const std::function<double(double)>& f, double end) {
  // Over y in [0, end / (1 + end)], x = y / (1 - y): what happens near 1 is seen however far `end` is.
  constexpr int points = 1000;
  const double step = end / (1 + end) / points;
  const auto g = [&](double y) { return f(std::min(end, y / (1 - y))); };
  int best = 0;
  double value = g(0);
  for (int i = 1; i <= points; ++i) {
    const double here = g(i * step);
    if (here > value) value = here, best = i;
  }
  double a = std::max(0, best - 1) * step, b = std::min(points, best + 1) * step;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 60; ++i) {
    const double left = b - golden * (b - a), right = a + golden * (b - a);
    if (g(left) > g(right)) {
      b = right;
    } else {
      a = left;
    }
  }
  return std::max(value, g((a + b) / 2));
}

double spectral_norm(const Matrix<double>& symmetric) {
  if (symmetric.size() == 1) return std::abs(symmetric(0, 0));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().cwiseAbs().maxCoeff();
}

}  // namespace carmina::theory
