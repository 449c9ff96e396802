// playground/approximation.cpp -- a kernel beside what random Fourier features and a sub-sample make of it, and the
// library's bounds on the error.
#include "features/kernel_map.hpp"
#include "features/map_operations.hpp"
#include "features/sample_map.hpp"

#include <carmina/theory/fourier.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace {

using namespace carmina;

// 0: Gaussian, 1: Laplacian, else Matern's of that smoothness.
ScalarKernel chosen_kernel(double nu, double width) {
  if (nu == 0) return Gaussian(width);
  if (nu == 1) return Laplacian(width);
  return Matern(width, nu);
}

}  // namespace

// k(x, 0) at x (m), and what `components` Fourier features, drawn by `seed`, estimate there.
extern "C" void approximate_kernel(double nu, double width, int components, int seed, int m, const double* x,
                                   double* exact, double* estimate) {
  const ScalarKernel kernel = chosen_kernel(nu, width);
  const Matrix<double> X = Eigen::Map<const Vector<double>>(x, m), zero = Matrix<double>::Zero(1, 1);
  Eigen::Map<Matrix<double>>(exact, m, 1) = kernel_matrix<double>(kernel, X, zero);
  const auto map =
      sample_term_map<double>(Kernel(kernel), 1, components, static_cast<std::uint64_t>(seed), Sampling::iid);
  Matrix<double> phi(m, components), at_zero(1, components);
  evaluate(map, ConstView<double>(X), View<double>(phi), {});
  evaluate(map, ConstView<double>(zero), View<double>(at_zero), {});
  Eigen::Map<Vector<double>>(estimate, m) = phi * at_zero.row(0).transpose();
}

// The same by Nystrom's sub-sample: k(x, Z) K(Z, Z)^+ k(Z, 0) for `anchors` rows Z.
extern "C" void approximate_by_rows(double nu, double width, int anchors, const double* rows, int m, const double* x,
                                    double* estimate) {
  const ScalarKernel kernel = chosen_kernel(nu, width);
  const Matrix<double> Z = Eigen::Map<const Vector<double>>(rows, anchors), X = Eigen::Map<const Vector<double>>(x, m);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(kernel_matrix<double>(kernel, Z, Z));
  Vector<double> c = eigen.eigenvectors().transpose() * kernel_matrix<double>(kernel, Z, Matrix<double>::Zero(1, 1));
  const double floor = 1e-12 * eigen.eigenvalues().maxCoeff();
  for (Index i = 0; i < c.size(); ++i) c[i] = eigen.eigenvalues()[i] > floor ? c[i] / eigen.eigenvalues()[i] : 0;
  Eigen::Map<Vector<double>>(estimate, m) = kernel_matrix<double>(kernel, X, Z) * (eigen.eigenvectors() * c);
}

// The error that `components` features stay below with that probability: for all pairs at most `diameter` apart at once
// where a theorem says so (`uniform`), else for any one pair. Infinite where no bound is below 1.
extern "C" double error_bound(double nu, double width, double diameter, int components, double probability,
                              int uniform) {
  using namespace carmina::theory;
  const Kernel kernel(chosen_kernel(nu, width));
  const auto chance = [&](double epsilon) {
    if (!uniform) return pointwise_bound(kernel, 1, diameter, epsilon, components);
    return std::min(uniform_bound(kernel, 1, diameter, epsilon, components),
                    decomposable_bound(kernel, 1, diameter, epsilon, components));
  };
  double low = 1e-6, high = 1;
  while (chance(high) > 1 - probability) {
    if (high > 100) return std::numeric_limits<double>::infinity();
    high *= 2;
  }
  for (int i = 0; i < 50; ++i) {
    const double middle = std::sqrt(low * high);
    (chance(middle) > 1 - probability ? low : high) = middle;
  }
  return high;
}

// Whether a theorem bounds the error of all pairs at once: frequencies need a second moment.
extern "C" int has_uniform_bound(double nu) { return why_not_differentiable(chosen_kernel(nu, 1)) == nullptr; }
