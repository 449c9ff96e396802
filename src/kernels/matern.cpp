// kernels/matern.cpp -- Matérn values: closed forms for nu = 1/2, 3/2, 5/2, Bessel functions otherwise.
#include <carmina/kernels/stationary.hpp>

namespace carmina {
namespace {

// 2^(1-nu) / Gamma(nu) a^mu K_mu(a) with mu = nu - lowered; the exponential of K is kept apart, so that neither factor
// overflows or vanishes before the other.
double scaled_bessel(double nu, double lowered, double a) {
  const double mu = nu - lowered;
  if (a > 600) return 0;
  return std::exp((1 - nu) * std::log(2.0) - std::lgamma(nu) + mu * std::log(a)) * std::cyl_bessel_k(std::abs(mu), a);
}

}  // namespace

double Matern::value(double a) const {
  if (nu == 0.5) return std::exp(-a);
  if (nu == 1.5) return (1 + a) * std::exp(-a);
  if (nu == 2.5) return (1 + a + a * a / 3) * std::exp(-a);
  return a < 1e-8 ? 1.0 : scaled_bessel(nu, 0, a);
}

Slopes Matern::slopes(double t) const {
  require(why_not_differentiable() == nullptr, "{}", why_not_differentiable());
  const double a = std::sqrt(4 * nu * t);
  if (nu == 1.5) {
    const double e = 3 * std::exp(-a);
    return {-e, a > 0 ? 3 * e / a : 0.0};
  }
  if (nu == 2.5) {
    const double e = std::exp(-a);
    return {-5.0 / 3 * (1 + a) * e, 25.0 / 3 * e};
  }
  // Limits at 0: Gamma(mu) 2^(mu-1) = lim a^mu K_mu(a) for mu > 0.
  if (a < 1e-7) return {-nu / (nu - 1), nu > 2 ? nu * nu / ((nu - 1) * (nu - 2)) : 0.0};
  return {-2 * nu * scaled_bessel(nu, 1, a), 4 * nu * nu * scaled_bessel(nu, 2, a)};
}

}  // namespace carmina
