// random/quantiles.cpp -- quantiles and Sobol's sequence from Boost.
#include "random/quantiles.hpp"

#include <carmina/core/error.hpp>

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/sobol.hpp>

#include <numbers>
#include <vector>

namespace carmina {

double normal_quantile(double u) { return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u); }
double gamma_quantile(double shape, double u) { return boost::math::gamma_p_inv(shape, u); }

Matrix<double> sobol_points(Index count, Index dimensions, const Random& random) {
  constexpr Index most = 3667;  // Boost's table
  require(dimensions <= most, "sobol: at most {} dimensions, found {}", most, dimensions);
  boost::random::sobol engine(static_cast<std::size_t>(dimensions));
  std::vector<std::uint64_t> shift(static_cast<std::size_t>(dimensions));
  for (std::size_t j = 0; j < shift.size(); ++j) shift[j] = random.bits(j);
  Matrix<double> points(count, dimensions);
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < dimensions; ++j) {
      const std::uint64_t digits = engine() ^ shift[static_cast<std::size_t>(j)];
      points(i, j) = (static_cast<double>(digits >> 11) + 0.5) * 0x1p-53;  // never 0 or 1
    }
  }
  return points;
}

}  // namespace carmina
