// models/row_noise.hpp -- noise whose variance is known for each row, as weights of a fit.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <limits>
#include <span>
#include <vector>

namespace carmina {

// Which row weighs 1: one with the harmonic mean of the variances, so that weights are 1 on the average of those that
// were given and a number for alpha keeps its size; or one with the least of them. The latter is for fits that choose
// by rows left out: a row of weight above 1 is left out by one copy, and what stays of it would predict itself.
enum class NoiseUnit { mean, least };

// Sums over the rows, in their order: of weights w_i, and of w_i / v_i.
struct NoiseSums {
  double weight = 0, precision = 0, least = std::numeric_limits<double>::infinity();
  void add(double variance, double row_weight = 1) {
    weight += row_weight;
    precision += row_weight / variance;
    if (row_weight > 0 && variance < least) least = variance;
  }
  // The variance of a row of weight 1.
  double unit(NoiseUnit of) const {
    if (!(weight > 0)) return 1;
    return of == NoiseUnit::mean ? weight / precision : least;
  }
};

// Row i has the variance unit / weight_i, times the weight that was given.
struct RowNoise {
  std::vector<double> weights;
  double unit = 1;
};
// Error for a variance that is not positive and finite, and for another number of weights; none: all 1.
RowNoise weights_of_noise(std::span<const double> variances, std::span<const double> weights = {},
                          NoiseUnit unit = NoiseUnit::mean);

// The machine of a fit with such weights: deviations and intervals of predictions are those of the noise that is known,
// in the place of an estimate. As it is where it has no deviations.
template <Real T>
KernelMachine<T> with_known_noise(const KernelMachine<T>& machine, double unit);

}  // namespace carmina
