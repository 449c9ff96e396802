// kernels/mixture_math.hpp -- values of spectral mixtures and their derivatives.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/kernels/mixture_kernel.hpp>
#include <carmina/random/philox.hpp>
#include <numbers>
#include <string>
#include <variant>

namespace carmina {

inline constexpr double two_pi = 2 * std::numbers::pi;  // from cycles to radians

// out (n, m) = k(x_i - z_j). A row of it is a function of its x and of Z, to the bit: the other rows of X play no part.
void mixture_values(const Mixture& mixture, ConstView<double> X, ConstView<double> Z, View<double> out,
                    const Execution& execution);

// For L with dL/dk(x_i, z_j) = G_ij, G (n, m): dL by the parameters is added to `by_parameters`, whose arrays have the
// mixture's shapes; dL by the rows of X, at fixed Z, to `by_inputs` (n, d) where it is not null.
void mixture_gradient(const Mixture& mixture, ConstView<double> X, ConstView<double> Z, ConstView<double> G,
                      Mixture& by_parameters, Matrix<double>* by_inputs, const Execution& execution);

}  // namespace carmina
