// random/quantiles.hpp -- inverses of distribution functions, and the quasi-random points that they are applied to.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>

namespace carmina {

double normal_quantile(double u);               // of N(0, 1), 0 < u < 1
double gamma_quantile(double shape, double u);  // of Gamma(shape, rate 1)

// The first `count` points of Sobol's sequence in `dimensions`, shifted digit by digit by a random point: each is
// uniform in (0, 1)^dimensions, together they fill the cube more evenly than independent ones.
Matrix<double> sobol_points(Index count, Index dimensions, const Random& random);

}  // namespace carmina
