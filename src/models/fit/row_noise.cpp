// models/fit/row_noise.cpp -- weights of rows whose noise is known, and machines that know it.
#include <carmina/core/error.hpp>
#include <carmina/models/row_noise.hpp>

#include <cmath>

namespace carmina {

RowNoise weights_of_noise(std::span<const double> variances, std::span<const double> weights, NoiseUnit unit) {
  require(weights.empty() || weights.size() == variances.size(), "noise_variance: {} variances for {} weights",
          variances.size(), weights.size());
  NoiseSums sums;
  RowNoise out;
  for (std::size_t i = 0; i < variances.size(); ++i) {
    require(variances[i] > 0 && std::isfinite(variances[i]),
            "noise_variance must be positive and finite, found {} in row {}", variances[i], i + 1);
    out.weights.push_back(weights.empty() ? 1 : weights[i]);
    sums.add(variances[i], out.weights.back());
  }
  out.unit = sums.unit(unit);
  for (std::size_t i = 0; i < variances.size(); ++i) out.weights[i] *= out.unit / variances[i];
  return out;
}

// Errors of rows left out are in units of the deviation.
template <Real T>
KernelMachine<T> with_known_noise(const KernelMachine<T>& machine, double unit) {
  require(unit > 0 && std::isfinite(unit), "noise_variance must be positive, found {}", unit);
  if (machine.record().noise.size() == 0) return machine;
  FitRecord record = machine.record();
  if (record.left_out.size() > 0) {
    for (Index a = 0; a < record.noise.size(); ++a) record.left_out.col(a) *= std::sqrt(record.noise[a] / unit);
    record.left_out.rightCols(1) *= std::sqrt(record.noise.mean() / unit);
  }
  record.noise.setConstant(unit);
  return KernelMachine<T>(machine.kernel(), machine.shared_map(), machine.coefficients(), machine.output_root(),
                          machine.intercept(), std::move(record));
}

template KernelMachine<float> with_known_noise(const KernelMachine<float>&, double);
template KernelMachine<double> with_known_noise(const KernelMachine<double>&, double);

}  // namespace carmina
