// features/frequencies.cpp -- draws from spectral measures: independent, orthogonal, quasi-random; structured ones
// stand in hadamard_frequencies.cpp.
#include "core/words.hpp"
#include "features/expansion.hpp"
#include "features/fourier_map.hpp"
#include "random/quantiles.hpp"

#include <carmina/core/error.hpp>

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

// Each block of d frequencies gets d orthonormal directions, uniform on the rotations, with the lengths of independent
// draws: for a measure invariant under rotations every single frequency keeps its distribution.
template <class K>
void orthogonalize(const K& kernel, Matrix<double>& W, const Random& random) {
  require(K::radial, "sampling 'orthogonal' needs a kernel of |x - z|; the {} kernel is not", kernel.name);
  const Index d = W.cols();
  const Random directions = random.child(0xffff);
  for (Index first = 0; first < W.rows(); first += d) {
    const Eigen::MatrixXd G = Eigen::MatrixXd::NullaryExpr(d, d, [&](Index i, Index j) {
      return directions.normal(static_cast<std::uint64_t>(first + i), static_cast<std::uint32_t>(j));
    });
    const Eigen::MatrixXd Q = Eigen::HouseholderQR<Eigen::MatrixXd>(G).householderQ();
    for (Index i = 0; i < std::min(d, W.rows() - first); ++i) {
      W.row(first + i) = W.row(first + i).norm() * Q.col(i).transpose();
    }
  }
}

template <class K>
Matrix<double> draw(const K& k, Index d, Index count, const Random& random, Sampling sampling) {
  Matrix<double> W(count, d);
  if (sampling == Sampling::sobol) {
    const Matrix<double> points = sobol_points(count, d + 1, random);
    for (Index i = 0; i < count; ++i) k.quasi_frequency(points.row(i).data(), d, W.row(i).data());
  } else {
    for (Index i = 0; i < count; ++i) k.unit_frequency(random, i, d, W.row(i).data());
    if (sampling == Sampling::orthogonal) orthogonalize(k, W, random);
  }
  for (Index j = 0; j < d; ++j) W.col(j) /= k.length_scale[j];
  return W;
}

Matrix<double> draw(const Periodic& k, Index d, Index count, const Random& random, Sampling sampling) {
  require(sampling != Sampling::orthogonal, "sampling 'orthogonal' needs a kernel of |x - z|; the {} kernel is not",
          k.name);
  Matrix<double> W(count, d);
  if (sampling == Sampling::sobol) {
    const Matrix<double> points = sobol_points(count, d, random);
    for (Index i = 0; i < count; ++i) k.quasi_frequency(points.row(i).data(), d, W.row(i).data());
  } else {
    for (Index i = 0; i < count; ++i) k.frequency(random, i, d, W.row(i).data());
  }
  return W;
}

Matrix<double> draw(const SpectralMixture& k, Index d, Index count, const Random& random, Sampling sampling) {
  require(sampling != Sampling::orthogonal, "sampling 'orthogonal' needs a kernel of |x - z|; the {} kernel is not",
          k.name);
  Matrix<double> W(count, d);
  if (sampling == Sampling::sobol) {
    const Matrix<double> points = sobol_points(count, d + 1, random);
    for (Index i = 0; i < count; ++i) k.quasi_frequency(points.row(i).data(), W.row(i).data());
  } else {
    for (Index i = 0; i < count; ++i) k.frequency(random, i, W.row(i).data());
  }
  return W;
}

// The Gaussian's measure times |w|^2 / d: directions are uniform, |w|^2 is chi^2 with d + 2 degrees of freedom
// (mathematics.md 1b), the square of a normal vector's length and an independent chi^2 with 2, -2 log of a uniform
// number.
struct WeightedGaussian {
  static constexpr const char* name = Gaussian::name;
  static constexpr bool radial = true;
  const LengthScale& length_scale;

  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    normal_vector(random, i, d, 1, out);
    lengthen(random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(d)), d, out);
  }
  void quasi_frequency(const double* u, Index d, double* out) const {
    normal_vector(u, d, 1, out);
    lengthen(u[d], d, out);
  }

 private:
  static void lengthen(double u, Index d, double* out) {
    Eigen::Map<Vector<double>> w(out, d);
    w *= std::sqrt(1 - 2 * std::log1p(-u) / w.squaredNorm());
  }
};

// What Linear and Constant have: waves of frequency 0.
Matrix<double> draw_factor(const Product::Factor& factor, bool bounded, Index own, Index count, const Random& random,
                           Sampling sampling) {
  if (explicit_features(factor.kernel, own) > 0) return Matrix<double>::Zero(count, own);
  if (!bounded) return sample_frequencies(factor.kernel, own, count, random, sampling);
  const LengthScale& width = length_scale(factor.kernel);
  width.check_dimension(kernel_name(factor.kernel), own);
  return draw(WeightedGaussian{width}, own, count, random, sampling);
}

}  // namespace

Index frequency_count(Index n_components) {
  require(n_components > 0 && n_components % 2 == 0,
          "n_components must be positive and even, a cosine and a sine for each frequency; found {}", n_components);
  return n_components / 2;
}

constexpr Words<Sampling, 5> samplings{"sampling", {"iid", "orthogonal", "sobol", "hadamard", "phases"}};
std::vector<std::string> sampling_names() { return samplings.names(); }
Sampling parse_sampling(const std::string& name) { return samplings.parse(name); }
std::string sampling_name(Sampling sampling) { return samplings.name(sampling); }

Vector<double> sample_phases(Index count, const Random& random) {
  const Random stream = random.child(0xfffe);
  return Vector<double>::NullaryExpr(
      count, [&](Index i) { return 2 * std::numbers::pi * stream.uniform(static_cast<std::uint64_t>(i)); });
}

Matrix<double> sample_frequencies(const ScalarKernel& kernel, Index d, Index count, const Random& random,
                                  Sampling sampling) {
  if (sampling == Sampling::hadamard) return sample_hadamard(kernel, d, count, random).matrix();
  if (explicit_features(kernel, d) > 0) return Matrix<double>::Zero(count, d);
  if (std::holds_alternative<Product>(kernel)) {
    return sample_frequencies(Term{1, kernel, Independent{}}, d, count, random, sampling);
  }
  require_spectral_measure(kernel);
  check_dimension(kernel, d);
  if (const auto* periodic = std::get_if<Periodic>(&kernel)) return draw(*periodic, d, count, random, sampling);
  if (const auto* mixture = std::get_if<SpectralMixture>(&kernel)) return draw(*mixture, d, count, random, sampling);
  Matrix<double> W(count, d);
  visit_stationary([&](const auto& k) { W = draw(k, d, count, random, sampling); }, kernel);
  return W;
}

HadamardFrequencies sample_hadamard(const Term& term, Index d, Index count, const Random& random) {
  require(!std::holds_alternative<UserSpectrum>(term.coupling),
          "sampling 'hadamard' is not known for a Spectral kernel, only 'iid'");
  require(!has_bounded_features(term.coupling), "sampling 'hadamard' is not known for bounded features");
  require(!std::holds_alternative<Product>(term.scalar), "sampling 'hadamard' is not known for products of kernels");
  return sample_hadamard(term.scalar, d, count, random);
}

Matrix<double> sample_frequencies(const Term& term, Index d, Index count, const Random& random, Sampling sampling) {
  if (sampling == Sampling::hadamard) return sample_hadamard(term, d, count, random).matrix();
  if (const auto* spectrum = std::get_if<UserSpectrum>(&term.coupling)) {
    require(sampling == Sampling::iid, "sampling '{}' is not known for a Spectral kernel, only 'iid'",
            sampling_name(sampling));
    return checked_frequencies(**spectrum, count, d, random);
  }
  // Factor 0 has the term's own stream, so that a kernel alone and the first of a product draw the same.
  const std::vector<Matrix<double>> pieces = sample_factor_frequencies(term, d, count, random, sampling);
  Matrix<double> W = pieces[0];
  for (std::size_t f = 1; f < pieces.size(); ++f) W += pieces[f];
  return W;
}

std::vector<Matrix<double>> sample_factor_frequencies(const Term& term, Index d, Index count, const Random& random,
                                                      Sampling sampling) {
  constexpr std::uint32_t first_child = 0x8000;
  const bool bounded = has_bounded_features(term.coupling);
  std::vector<Matrix<double>> pieces;
  for (const Product::Factor& factor : factors_of(term.scalar)) {
    if (!has_fourier_features(factor.kernel)) require_spectral_measure(factor.kernel);
    const auto f = static_cast<std::uint32_t>(pieces.size());
    const Random stream = f == 0 ? random : random.child(first_child + f);
    const std::vector<Index> columns = factor.columns.of(d);
    const Matrix<double> own =
        draw_factor(factor, bounded && f == 0, static_cast<Index>(columns.size()), count, stream, sampling);
    Matrix<double> piece = Matrix<double>::Zero(count, d);
    for (std::size_t k = 0; k < columns.size(); ++k) piece.col(columns[k]) = own.col(static_cast<Index>(k));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace carmina
