// kernels/mixture_kernel.cpp -- values, frequencies and second derivatives of a spectral mixture.
#include "kernels/mixture_math.hpp"
#include "random/quantiles.hpp"

#include <carmina/core/error.hpp>
#include <carmina/kernels/mixture_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

double quantile(const GaussianFamily&, double u) { return normal_quantile(u); }
double quantile(const LaplaceFamily&, double u) { return u < 0.5 ? std::log(2 * u) : -std::log(2 * (1 - u)); }

// First and second derivative of log chi; the latter at 0 is less the variance of the family.
struct LogSlopes {
  double first, second;
};
LogSlopes log_slopes(const GaussianFamily&, double t) { return {-t, -1}; }
LogSlopes log_slopes(const LaplaceFamily&, double t) {
  const double s = 1 + t * t;
  return {-2 * t / s, 2 * (t * t - 1) / (s * s)};
}

}  // namespace

SpectralMixture::SpectralMixture(Mixture mixture) {
  mixture.check();
  auto parts = std::make_shared<Parts>(Parts{mixture, std::move(mixture), {}});
  const double sum = parts->given.weights.sum();
  require(std::isfinite(sum), "spectral mixture: the sum of the weights must be finite, found {}", sum);
  parts->unit.weights /= sum;
  require(parts->unit.weights.minCoeff() > 0, "spectral mixture: a weight of {} beside a sum of {} is too small",
          parts->given.weights.minCoeff(), sum);
  parts->cumulative = parts->unit.weights;
  for (Index q = 1; q < parts->cumulative.size(); ++q) parts->cumulative[q] += parts->cumulative[q - 1];
  parts_ = std::move(parts);
}

SpectralMixture::SpectralMixture(Vector<double> weights, Matrix<double> means, Matrix<double> scales,
                                 const std::string& family)
    : SpectralMixture(Mixture{std::move(weights), std::move(means), std::move(scales), make_mixture_family(family)}) {}

bool SpectralMixture::operator==(const SpectralMixture& other) const {
  const auto alike = [](const auto& a, const auto& b) { return a.rows() == b.rows() && a.cols() == b.cols(); };
  return alike(mixture().means, other.mixture().means) && mixture() == other.mixture();
}

template <Real T>
void SpectralMixture::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  const Execution serial{.threads = 1};  // tiles are shared out among threads by those who ask for them
  if constexpr (std::same_as<T, double>) {
    Eigen::Map<Matrix<double>, 0, Eigen::OuterStride<>> K(out, rows, count, Eigen::OuterStride<>(ldo));
    mixture_values(parts_->unit, map_rows(X, rows, d), map_rows(Z, count, d), K, serial);
  } else {
    const Matrix<double> x = map_rows(X, rows, d).template cast<double>();
    const Matrix<double> z = map_rows(Z, count, d).template cast<double>();
    Matrix<double> K(rows, count);
    mixture_values(parts_->unit, x, z, K, serial);
    Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>(out, rows, count, Eigen::OuterStride<>(ldo)) = K.template cast<T>();
  }
}
template void SpectralMixture::values(const float*, Index, const float*, Index, Index, float*, Index) const;
template void SpectralMixture::values(const double*, Index, const double*, Index, Index, double*, Index) const;

Index SpectralMixture::component(double u) const {
  const Vector<double>& c = parts_->cumulative;
  const auto above = static_cast<Index>(std::upper_bound(c.begin(), c.end(), u) - c.begin());
  return std::min(above, c.size() - 1);  // the last sum may be rounded to below 1
}

void SpectralMixture::frequency(const Random& random, Index i, double* out) const {
  const Mixture& m = mixture();
  const Index q = component(random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(dim_in())));
  std::visit(
      [&](const auto& family) {
        for (Index j = 0; j < dim_in(); ++j) {
          out[j] = two_pi * family.frequency(m.means(q, j), m.scales(q, j), family.draw(random, i, j)).frequency;
        }
      },
      m.family);
}

void SpectralMixture::quasi_frequency(const double* u, double* out) const {
  const Mixture& m = mixture();
  const Index q = component(u[dim_in()]);
  std::visit(
      [&](const auto& family) {
        for (Index j = 0; j < dim_in(); ++j) {
          out[j] = two_pi * family.frequency(m.means(q, j), m.scales(q, j), quantile(family, u[j])).frequency;
        }
      },
      m.family);
}

double SpectralMixture::mean_square_frequency() const {
  const Mixture& m = parts_->unit;
  const double variance = std::visit([](const auto& family) { return -log_slopes(family, 0).second; }, m.family);
  const Vector<double> squares = m.means.rowwise().squaredNorm() + variance * m.scales.rowwise().squaredNorm();
  return two_pi * two_pi * m.weights.dot(squares);
}

// With b = 2 pi mu, s = 2 pi sigma, t_j = s_j delta_j, E = prod_j chi(t_j) and r_j = s_j (log chi)'(t_j),
//   -k_q'' = E [(b bᵀ - r rᵀ - diag(s_j^2 (log chi)''(t_j))) cos<b, delta> + (b rᵀ + r bᵀ) sin<b, delta>],
// for the Gaussian family r = -c and -s^2 (log chi)'' = C of mathematics.md 4.
void SpectralMixture::negative_hessian(const double* delta, double* out) const {
  const Mixture& m = parts_->unit;
  const Index d = dim_in();
  Eigen::Map<Matrix<double>> H(out, d, d);
  H.setZero();
  Vector<double> b(d), r(d), curvature(d);
  for (Index q = 0; q < m.size(); ++q) {
    double phase = 0, envelope = m.weights[q];
    std::visit(
        [&](const auto& family) {
          for (Index j = 0; j < d; ++j) {
            const double s = two_pi * m.scales(q, j), t = s * delta[j];
            const LogSlopes slopes = log_slopes(family, t);
            b[j] = two_pi * m.means(q, j);
            r[j] = s * slopes.first;
            curvature[j] = s * s * slopes.second;
            phase += b[j] * delta[j];
            envelope *= family.chi(t);
          }
        },
        m.family);
    const double even = envelope * std::cos(phase), odd = envelope * std::sin(phase);
    H += even * (b * b.transpose() - r * r.transpose()) + odd * (b * r.transpose() + r * b.transpose());
    H.diagonal() -= even * curvature;
  }
}

}  // namespace carmina
