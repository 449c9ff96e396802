// models/fit/resolve_kernel.cpp -- from a summary of the rows to the input transform and the kernel.
#include "models/fit/resolve_kernel.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {

InputTransform input_transform(const DataSummary& summary, const FitOptions& options, bool common_factor) {
  InputTransform transform;
  if (options.fill_missing) transform.fill = summary.input_mean;
  if (options.scale_inputs) {
    transform.shift = summary.input_mean;
    // A column that does not vary (to rounding of its values) is only centred. Derivatives along different inputs stay
    // comparable only under one factor for all.
    const double common = std::sqrt(summary.input_deviation.array().square().mean());
    transform.factor = Vector<double>::NullaryExpr(summary.input_mean.size(), [&](Index j) {
      const double deviation = common_factor ? common : summary.input_deviation[j];
      return deviation > 1e-12 * std::abs(summary.input_mean[j]) ? 1 / deviation : 1.0;
    });
  }
  return transform;
}

Kernel resolve_kernel(const DataSummary& summary, const InputTransform& transform, const FitOptions& options) {
  if (options.kernel) return *options.kernel;
  KernelParameters parameters = options.kernel_parameters;
  if (options.kernel_name == Polynomial::name && !parameters.contains("gamma")) {
    parameters["gamma"] = 1 / static_cast<double>(summary.input_mean.size());
  }
  std::optional<LengthScale> width = options.length_scale;
  if (!width && is_stationary(make_scalar_kernel(options.kernel_name, std::nullopt, parameters))) {
    Matrix<double> sample(summary.sample.rows(), summary.sample.cols());
    transform.apply(summary.sample.data(), sample.cols(), sample.rows(), sample.cols(), sample.data());
    width = median_distance(sample, summary.sample_weights, options.execution);
  }
  const ScalarKernel scalar = make_scalar_kernel(options.kernel_name, width, parameters);
  if (options.needs_covariance()) return Decomposable(scalar, summary.target_covariance);
  return Kernel(own_term(scalar, options.coupling));
}

}  // namespace carmina
