// theory/sketching.cpp -- eigenvalues of K / n, the root that is the critical radius, and the two norms of a sketch.
#include "backends/tiled.hpp"
#include "features/kernel_map.hpp"

#include <carmina/theory/sketching.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace carmina::theory {
namespace {

struct Decomposition {
  Vector<double> values;   // descending, not below 0
  Matrix<double> vectors;  // Uᵀ: row j belongs to values[j]
};

Decomposition decompose(Matrix<double> K, const Execution& execution) {
  const Index n = K.rows();
  require(n > 0 && K.cols() == n, "theory: the kernel matrix must be square, found ({}, {})", n, K.cols());
  const double largest = K.cwiseAbs().maxCoeff();
  require(std::isfinite(largest) && K.allFinite(), "theory: the kernel matrix has entries that are not finite");
  const double asymmetry = (K - K.transpose()).cwiseAbs().maxCoeff();
  require(asymmetry <= 1e-8 * largest, "theory: the kernel matrix must be symmetric, found a difference of {}",
          asymmetry);
  K /= static_cast<double>(n);
  Vector<double> values(n);
  backend::symmetric_eigen(n, K.data(), n, values.data(), execution);
  require(values[0] >= -1e-8 * std::max(values[n - 1], largest / static_cast<double>(n)),
          "theory: the kernel matrix must be positive semi-definite, found the eigenvalue {}",
          values[0] * static_cast<double>(n));
  return {values.reverse().cwiseMax(0.0), K.colwise().reverse()};
}

Matrix<double> gram_matrix(const ScalarKernel& kernel, ConstView<double> X, const Execution& execution) {
  require(X.rows() > 0, "theory: X has no rows");
  const Matrix<double> K = kernel_matrix<double>(kernel, X, X, execution);
  return (K + K.transpose()) / 2;  // symmetric to the last bit
}

// The largest |eigenvalue| of a symmetric matrix; 0 for one without rows.
double norm(Matrix<double> A, const Execution& execution) {
  if (A.rows() == 0) return 0;
  Vector<double> values(A.rows());
  backend::symmetric_eigen(A.rows(), A.data(), A.cols(), values.data(), execution);
  return values.cwiseAbs().maxCoeff();
}

// (S U)ᵀ (n, s): only columns of Uᵀ at anchors count.
Matrix<double> sketched_vectors(const sketches::Sketch& sketch, const Matrix<double>& vectors) {
  Matrix<double> at_anchors(vectors.rows(), sketch.anchor_count());
  for (Index a = 0; a < sketch.anchor_count(); ++a) {
    at_anchors.col(a) = vectors.col(sketch.anchors[static_cast<std::size_t>(a)]);
  }
  return std::visit([&](const auto& mixing) -> Matrix<double> { return at_anchors * mixing.transpose(); },
                    sketch.mixing);
}

double constant_with(double density, double rate) {
  require(density > 0 && density <= 1, "theory: density must be in (0, 1], found {}", density);
  return 2 / std::sqrt(density) * (1 + std::sqrt(std::log(5.0) / rate)) + 1;
}

}  // namespace

Vector<double> gram_eigenvalues(const Matrix<double>& K, const Execution& execution) {
  return decompose(K, execution).values;
}

Vector<double> kernel_eigenvalues(const ScalarKernel& kernel, ConstView<double> X, const Execution& execution) {
  return gram_eigenvalues(gram_matrix(kernel, X, execution), execution);
}

// With k eigenvalues above t the equation is k t + T_k = n t^2, T_k the sum of the others:
//   t = (k + sqrt(k^2 + 4 n T_k)) / (2 n),
// and k is right when mu_{k+1} <= t <= mu_k. sum_i min(t, mu_i) / t falls while n t grows, so from k = 0 upwards the
// first k with mu_{k+1} <= t is it.
CriticalRadius critical_radius(const Vector<double>& eigenvalues) {
  const Index n = eigenvalues.size();
  require(n > 0, "critical_radius: no eigenvalues");
  require(eigenvalues.allFinite() && eigenvalues.minCoeff() >= 0,
          "critical_radius: eigenvalues must be finite and not negative");
  Vector<double> mu = eigenvalues;
  std::sort(mu.begin(), mu.end(), std::greater<>());
  Vector<double> tails = Vector<double>::Zero(n + 1);
  for (Index k = n; k-- > 0;) tails[k] = tails[k + 1] + mu[k];  // small ones first
  const auto root = [&](Index k) {
    const auto count = static_cast<double>(k), rows = static_cast<double>(n);
    return (count + std::sqrt(count * count + 4 * rows * tails[k])) / (2 * rows);
  };
  Index k = 0;
  while (k < n && mu[k] > root(k)) ++k;
  return {n, std::sqrt(root(k)), k};
}

CriticalRadius critical_radius(const ScalarKernel& kernel, ConstView<double> X, const Execution& execution) {
  return critical_radius(kernel_eigenvalues(kernel, X, execution));
}

double satisfiability_constant(double density, Entries entries) {
  return constant_with(density, concentration(entries));
}

double satisfiability_constant_as_printed(double density) { return constant_with(density, 1); }

KSatisfiability k_satisfiability(const sketches::Sketch& sketch, const Matrix<double>& K, double largest_c,
                                 const Execution& execution) {
  require(sketch.n == K.rows(), "k_satisfiability: the sketch is of {} rows, the kernel matrix has {}", sketch.n,
          K.rows());
  require(largest_c >= 0, "k_satisfiability: c must be positive, found {}", largest_c);
  const Decomposition of_K = decompose(K, execution);
  const CriticalRadius spectrum = critical_radius(of_K.values);
  const Index n = spectrum.n, d = spectrum.statistical_dimension;
  const Matrix<double> SU = sketched_vectors(sketch, of_K.vectors);
  const Matrix<double> first = SU.topRows(d);
  const Matrix<double> rest = of_K.values.tail(n - d).cwiseSqrt().asDiagonal() * SU.bottomRows(n - d);
  KSatisfiability out{};
  out.spectrum = spectrum;
  out.isometry_error = norm(first * first.transpose() - Matrix<double>::Identity(d, d), execution);
  out.tail_norm = std::sqrt(norm(rest.transpose() * rest, execution));
  out.c = out.tail_norm > 0 ? out.tail_norm / spectrum.radius : 0;
  out.largest_c = largest_c > 0 ? largest_c : satisfiability_constant(1, Entries::gaussian);
  out.holds = out.isometry_error <= 0.5 && out.c <= out.largest_c;
  return out;
}

KSatisfiability k_satisfiability(const sketches::Sketch& sketch, const ScalarKernel& kernel, ConstView<double> X,
                                 double largest_c, const Execution& execution) {
  return k_satisfiability(sketch, gram_matrix(kernel, X, execution), largest_c, execution);
}

}  // namespace carmina::theory
