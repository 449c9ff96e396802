// backends/cpu/secular.cpp -- roots of the secular equation by rational interpolation within a bracket.
#include "backends/cpu/secular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina::backend {
namespace {

// f(x) = 1 + psi + phi at a distance x from the pole `origin`: psi of the poles up to `split`, phi of those after it.
struct Secular {
  double psi = 0, psi_slope = 0, phi = 0, phi_slope = 0;

  Secular(Index k, const double* d, const double* z, double rho, double origin, Index split, double x) {
    for (Index i = 0; i <= split; ++i) add(psi, psi_slope, z[i], (d[i] - origin) - x, rho);
    for (Index i = k - 1; i > split; --i) add(phi, phi_slope, z[i], (d[i] - origin) - x, rho);
  }
  double value() const { return 1 + psi + phi; }
  // What rounding may leave of f where it is zero.
  double rounding() const { return 8 * std::numeric_limits<double>::epsilon() * (1 + std::abs(psi) + std::abs(phi)); }

 private:
  static void add(double& sum, double& slope, double zi, double gap, double rho) {
    const double quotient = zi / gap, term = rho * zi * quotient;
    sum += term;
    slope += rho * quotient * quotient;
  }
};

// The zero between low and high of c + a / (p - x) + b / (q - x); NaN where there is none. Times (p - x)(q - x) it is
// a quadratic.
double zero_of_model(double c, double a, double b, double p, double q, double low, double high) {
  // c x² - (c (p + q) + a + b) x + c p q + a q + b p = 0
  const double half = 0.5 * (c * (p + q) + a + b), constant = c * p * q + a * q + b * p;
  const double discriminant = half * half - c * constant;
  if (!(discriminant >= 0)) return std::numeric_limits<double>::quiet_NaN();
  const double stable = half + std::copysign(std::sqrt(discriminant), half);
  const double first = stable / c, second = constant / stable;
  const auto inside = [&](double x) { return x > low && x < high; };
  return inside(first) ? first : inside(second) ? second : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

SecularRoot secular_root(Index k, const double* d, const double* z, double rho, Index j) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  const bool last = j == k - 1;
  double low = 0, high = 0;
  Index nearest = j;
  if (last) {
    for (Index i = 0; i < k; ++i) high += rho * z[i] * z[i];
    if (k == 1) return {0, high};
    high *= 1 + 8 * epsilon;
  } else {
    const double half = 0.5 * (d[j + 1] - d[j]);
    if (Secular(k, d, z, rho, d[j], j, half).value() >= 0) {
      high = half;
    } else {
      nearest = j + 1;
      low = -half;
    }
  }
  // psi is taken for r + a / (p - x), phi for s + b / (q - x), with its value and slope at x: Bunch, Nielsen and
  // Sorensen (1978). For the last root both poles lie below it.
  const double origin = d[nearest];
  const Index split = last ? k - 2 : j;
  const double p = d[split] - origin, q = d[split + 1] - origin;
  double x = 0.5 * (low + high);
  double width = high - low;
  for (int step = 0; step < 200; ++step) {
    const Secular f(k, d, z, rho, origin, split, x);
    const double value = f.value();
    if (std::abs(value) <= f.rounding()) break;
    (value < 0 ? low : high) = x;
    const double a = (p - x) * (p - x) * f.psi_slope, b = (q - x) * (q - x) * f.phi_slope;
    const double c = 1 + (f.psi - (p - x) * f.psi_slope) + (f.phi - (q - x) * f.phi_slope);
    double next = zero_of_model(c, a, b, p, q, low, high);
    // Every third step at least halves the bracket: between ends of one sign, its logarithm.
    if (!(next > low && next < high) || (step % 3 == 2 && high - low > 0.5 * width)) {
      const bool far = low > 0 ? high > 4 * low : high < 0 && low < 4 * high;
      next = far ? std::copysign(std::sqrt(low * high), low + high) : 0.5 * (low + high);
    }
    if (step % 3 == 2) width = high - low;
    if (next == x || !(next > low && next < high) ||
        high - low <= 2 * epsilon * std::min(std::abs(low), std::abs(high))) {
      break;
    }
    x = next;
  }
  return {nearest, x};
}

}  // namespace carmina::backend
