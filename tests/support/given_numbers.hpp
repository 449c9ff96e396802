// tests/support/given_numbers.hpp -- options with a number wherever the data could choose.
#pragma once
#include <carmina/models/fit_options.hpp>

namespace carmina {

// A Gaussian kernel of the median width on inputs as they are, 1000 Fourier features, alpha 1.
inline FitOptions given_numbers() {
  FitOptions options;
  options.kernel_name = "gaussian";
  options.width = WidthRule::median;
  options.metric = MetricRule::identity;
  options.approximation = "fourier";
  options.n_components = usual_components;
  options.alpha = usual_alpha;
  options.scale_inputs = false;
  return options;
}

}  // namespace carmina
