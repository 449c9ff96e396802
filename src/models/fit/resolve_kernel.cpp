// models/fit/resolve_kernel.cpp -- from a summary of the rows to the input transform and the kernel.
#include "models/fit/resolve_kernel.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace carmina {

namespace {

// The two numbers of an input that wraps round keep the distances of the circle under one factor: that of their
// variance together, which on a short arc is the variance along it.
void join_wrapped(const std::vector<Index>& firsts, Vector<double>& deviation) {
  for (const Index j : firsts) deviation.segment(j, 2).setConstant(deviation.segment(j, 2).norm());
}

// What wraps round is no coordinate along which a field has a component.
void check_fields(const Kernel& kernel, const FitOptions& options, Index d) {
  for (const Term& term : kernel.terms()) {
    if (!is_differential(term.coupling)) continue;
    for (const Index column : place_columns(term, d)) {
      for (const Index j : options.wrapped_inputs) {
        require(column != j && column != j + 1,
                "kernel: a vector field is of inputs as they are, input {}{} wraps round; take the field on other "
                "columns, or do not wrap it",
                j, options.input_names.empty() ? "" : " (" + options.input_names[static_cast<std::size_t>(j)] + ")");
      }
    }
  }
}

// Median and quartiles of each column's sample in the place of mean and deviation; values beyond `robust_limit` such
// deviations count as that far. A column whose quartiles are equal takes its deviation.
constexpr double automatic_limit = 8;
constexpr double robust_limit = 5, quartile_deviations = 1.349;

InputTransform robust_transform(const DataSummary& summary, const FitOptions& options, InputTransform transform,
                                bool common_factor) {
  const Index d = summary.input_mean.size();
  transform.shift = summary.input_mean;
  transform.factor = Vector<double>::Ones(d);
  transform.limit = robust_limit;
  Vector<double> deviation(d);
  for (Index j = 0; j < d; ++j) {
    std::vector<std::pair<double, double>> values;  // with weights
    double total = 0;
    for (Index i = 0; i < summary.sample.rows(); ++i) {
      const double w = summary.sample_weights[static_cast<std::size_t>(i)];
      if (std::isfinite(summary.sample(i, j))) values.emplace_back(summary.sample(i, j), w), total += w;
    }
    std::sort(values.begin(), values.end());
    const auto quantile = [&](double level) {
      double below = 0;
      for (const auto& [value, w] : values) {
        below += w;
        if (below >= level * total) return value;
      }
      return summary.input_mean[j];
    };
    deviation[j] = (quantile(0.75) - quantile(0.25)) / quartile_deviations;
    transform.shift[j] = quantile(0.5);
    if (!(deviation[j] > 1e-12 * std::abs(transform.shift[j]))) deviation[j] = summary.input_deviation[j];
  }
  join_wrapped(options.wrapped_inputs, deviation);
  if (common_factor) deviation.setConstant(std::sqrt(deviation.array().square().mean()));
  for (Index j = 0; j < d; ++j) {
    if (deviation[j] > 1e-12 * std::abs(summary.input_mean[j])) transform.factor[j] = 1 / deviation[j];
  }
  return transform;
}

}  // namespace

InputTransform input_transform(const DataSummary& summary, const FitOptions& options, bool common_factor) {
  InputTransform transform;
  if (options.fill_missing) transform.fill = summary.input_mean;
  InputScaling::Rule rule = options.scale_inputs.rule();
  if (rule == InputScaling::automatic) {
    rule = options.width_from_data() ? InputScaling::standard : InputScaling::none;
    // A value far from all others says little about the target, and much would be made of it.
    if (rule == InputScaling::standard && !common_factor) transform.limit = automatic_limit;
  }
  if (rule == InputScaling::robust) return robust_transform(summary, options, std::move(transform), common_factor);
  if (rule == InputScaling::standard) {
    for (Index j = 0; j < summary.input_mean.size(); ++j) {
      require(std::isfinite(summary.input_mean[j]) && std::isfinite(summary.input_deviation[j]),
              "fit: input column {} is too large for its mean and deviation; divide it by a number, or scale no inputs",
              j + 1);
    }
    transform.shift = summary.input_mean;
    // A column that does not vary (to rounding of its values) is only centred. Derivatives along different inputs stay
    // comparable only under one factor for all.
    Vector<double> deviations = summary.input_deviation;
    join_wrapped(options.wrapped_inputs, deviations);
    const double common = std::sqrt(summary.input_deviation.array().square().mean());
    transform.factor = Vector<double>::NullaryExpr(summary.input_mean.size(), [&](Index j) {
      const double deviation = common_factor ? common : deviations[j];
      return deviation > 1e-12 * std::abs(summary.input_mean[j]) ? 1 / deviation : 1.0;
    });
  }
  return transform;
}

Kernel resolve_kernel(const DataSummary& summary, const InputTransform& transform, const FitOptions& options) {
  if (options.kernel) {
    check_fields(*options.kernel, options, summary.input_mean.size());
    return *options.kernel;
  }
  const std::string name = options.settled_kernel_name();
  KernelParameters parameters = options.kernel_parameters;
  if (name == Polynomial::name && !parameters.contains("gamma")) {
    parameters["gamma"] = 1 / static_cast<double>(summary.input_mean.size());
  }
  std::optional<LengthScale> width = options.length_scale;
  if (!width && is_stationary(make_scalar_kernel(name, std::nullopt, parameters))) {
    Matrix<double> sample(summary.sample.rows(), summary.sample.cols());
    transform.apply(summary.sample.data(), sample.cols(), sample.rows(), sample.cols(), sample.data());
    width = median_distance(sample, summary.sample_weights, options.execution);
  }
  const ScalarKernel scalar = make_scalar_kernel(name, width, parameters);
  if (options.needs_covariance()) return Decomposable(scalar, summary.target_covariance);
  Kernel kernel(own_term(scalar, options.coupling));
  check_fields(kernel, options, summary.input_mean.size());
  return kernel;
}

}  // namespace carmina
