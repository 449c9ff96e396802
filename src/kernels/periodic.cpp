// kernels/periodic.cpp -- values and harmonics of the periodic kernel.
#include <carmina/core/error.hpp>
#include <carmina/kernels/periodic.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

constexpr double narrowest = 1e-3;  // whose harmonics are some thousands

}  // namespace

Periodic::Periodic(LengthScale width, double turn) : length_scale(std::move(width)), period(turn) {
  length_scale.check("Periodic");
  require(period > 0 && std::isfinite(period), "Periodic: period must be positive and finite, found {}", period);
  std::vector<Cumulative> all;
  for (const double one : length_scale.values()) {
    require(one >= narrowest, "Periodic: length_scale must be at least {}, found {}", narrowest, one);
    all.push_back(cumulative(one));
  }
  probabilities_ = std::make_shared<const std::vector<Cumulative>>(std::move(all));
}

// I_(n-1) = I_(n+1) + (2n / z) I_n from a large n downwards, which any start serves; sum_n p_n = 1 gives the unit.
Periodic::Cumulative Periodic::cumulative(double width) {
  const double z = 1 / (width * width);
  const auto last = static_cast<std::size_t>(40 + 10 * std::sqrt(z));
  Cumulative p(last + 2, 0.0);
  p[last] = 1e-280;
  for (std::size_t n = last; n > 0; --n) {
    p[n - 1] = p[n + 1] + 2 * static_cast<double>(n) / z * p[n];
    if (p[n - 1] < 1e200) continue;
    for (std::size_t k = n - 1; k <= last; ++k) p[k] *= 1e-250;
  }
  for (std::size_t n = 1; n < p.size(); ++n) p[n] = p[n - 1] + 2 * p[n];  // of n and -n
  for (double& sum : p) sum /= p.back();
  return p;
}

template <Real T>
void Periodic::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  const double turn = std::numbers::pi / period;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < count; ++j) {
      double sum = 0;
      for (Index l = 0; l < d; ++l) {
        const double s =
            std::sin(turn * (static_cast<double>(X[i * d + l]) - static_cast<double>(Z[j * d + l]))) / length_scale[l];
        sum += s * s;
      }
      out[i * ldo + j] = static_cast<T>(std::exp(-2 * sum));
    }
  }
}

double Periodic::harmonic(double u, Index input) const {
  const auto& all = *probabilities_;
  const Cumulative& sums = all[all.size() == 1 ? 0 : static_cast<std::size_t>(input)];
  const double size = std::abs(2 * u - 1);  // uniform too, and independent of the sign
  const auto n = std::min<std::ptrdiff_t>(std::lower_bound(sums.begin(), sums.end(), size) - sums.begin(),
                                          static_cast<std::ptrdiff_t>(sums.size()) - 1);
  return 2 * std::numbers::pi / period * static_cast<double>(u < 0.5 ? -n : n);
}

void Periodic::frequency(const Random& random, Index i, Index d, double* out) const {
  for (Index j = 0; j < d; ++j) {
    out[j] = harmonic(random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)), j);
  }
}

void Periodic::quasi_frequency(const double* u, Index d, double* out) const {
  for (Index j = 0; j < d; ++j) out[j] = harmonic(u[j], j);
}

template void Periodic::values(const float*, Index, const float*, Index, Index, float*, Index) const;
template void Periodic::values(const double*, Index, const double*, Index, Index, double*, Index) const;

}  // namespace carmina
