// models/row_noise.hpp -- noise whose variance is known for each row, as weights of a fit.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <span>
#include <vector>

namespace carmina {

// Sums over the rows, in their order: of weights w_i, and of w_i / v_i.
struct NoiseSums {
  double weight = 0, precision = 0;
  void add(double variance, double row_weight = 1) {
    weight += row_weight;
    precision += row_weight / variance;
  }
  // The variance of a row of weight 1: the harmonic mean of all.
  double unit() const { return weight > 0 ? weight / precision : 1; }
};

// Row i has the variance unit / weight_i; weights are 1 on the average of those that were given.
struct RowNoise {
  std::vector<double> weights;
  double unit = 1;
};
// Error for a variance that is not positive and finite, and for another number of weights; none: all 1.
RowNoise weights_of_noise(std::span<const double> variances, std::span<const double> weights = {});

// The machine of a fit with such weights: deviations and intervals of predictions are those of the noise that is known,
// in the place of an estimate. As it is where it has no deviations.
template <Real T>
KernelMachine<T> with_known_noise(const KernelMachine<T>& machine, double unit);

}  // namespace carmina
