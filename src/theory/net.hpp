// theory/net.hpp -- from a bound at one difference to all differences of a set: an epsilon-net and a Lipschitz
// constant.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <cmath>

namespace carmina::theory {

inline void check_epsilon(double epsilon) {
  require(epsilon > 0 && std::isfinite(epsilon), "theory: epsilon must be positive and finite, found {}", epsilon);
}

// [Brault2016, B.1 and B.5.1]: with balls of radius r around at most (4l/r)^d differences,
//   P <= (4l/r)^d P(one centre >= eps/2) + r^2 4 E[L^2] / eps^2,
// least at r^(d+2) = (d/2) k1 / k2 for k1 = (4l)^d P(one centre), k2 = 4 E[L^2] / eps^2: C'_d k1^(2/(d+2))
// k2^(d/(d+2)). This is the theorem's C_d (sigma_p l / eps)^(2d/(d+2)) exp(...). Differs from print: it holds for r <=
// 4l only, since a net has at least one ball; beyond, r = 4l. (Else the bound would vanish with l, though F(0) is not
// 0.)
inline double net_bound(double log_centre, double slope, double diameter, double epsilon, Index dim_in) {
  const double d = static_cast<double>(dim_in), log_k1 = d * std::log(4 * diameter) + log_centre;
  const double log_k2 = 2 * std::log(2 * slope / epsilon);
  const double log_r = (std::log(d / 2) + log_k1 - log_k2) / (d + 2);
  if (log_r > std::log(4 * diameter)) return std::exp(log_centre) + std::exp(log_k2 + 2 * std::log(4 * diameter));
  return (std::pow(d / 2, -d / (d + 2)) + std::pow(d / 2, 2 / (d + 2))) * std::exp((2 * log_k1 + d * log_k2) / (d + 2));
}

}  // namespace carmina::theory
