// models/fit_options.hpp -- everything a user can choose about a fit, with its defaults.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/features/fourier_map.hpp>
#include <carmina/kernels/kernel.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carmina {

// How outputs are coupled when the kernel is given by name.
enum class OutputCoupling { none, identity, covariance, matrix, curl_free, divergence_free };

struct FitOptions {
  // The kernel: a value, or a name with a width; no width means the median distance between rows.
  std::optional<Kernel> kernel;
  std::string kernel_name = "gaussian";
  KernelParameters kernel_parameters;  // with a name: Matern's nu, RationalQuadratic's shape
  std::optional<LengthScale> length_scale;
  OutputCoupling coupling = OutputCoupling::none;  // with a name: how outputs go together
  Matrix<double> output_matrix;
  bool bounded = false;  // with a curl-free or divergence-free coupling: bounded features (kernels/kernel.hpp)

  std::string approximation = "fourier";  // or "exact"
  Index n_components = 1000;              // feature columns of a Fourier map: twice the number of frequencies
  Sampling sampling = Sampling::iid;      // of a Fourier map's frequencies
  double alpha = 1.0;                     // J = sum_i w_i |f(x_i) + b - y_i|^2 / 2 + alpha |f|^2 / 2
  bool fit_intercept = true;
  bool scale_inputs = false;    // zero mean, unit variance per column
  bool fill_missing = false;    // missing inputs take the training mean
  std::string solver = "auto";  // "direct", "cg"; Fourier models also "lsmr", "idr", "sgd", "adam"
  Index max_iter = 1000;        // iterations; of sgd and adam: passes over the rows
  double tol = 1e-6;            // relative residual of an iterative solver; sgd and adam stop at its square root
  std::uint64_t seed = 0;

  bool keep_moments = false;  // of a Fourier fit, for the variance of its predictions: memory for one more matrix

  std::vector<std::string> input_names, target_names;  // kept in the model, so that columns are found by name again
  Execution execution;

  void check() const;  // Error for a value out of range
  // Whether the kernel is, or contains, a curl-free or divergence-free one, or one of the user's own that may be such.
  bool differential() const {
    return kernel ? kernel->keeps_directions()
                  : coupling == OutputCoupling::curl_free || coupling == OutputCoupling::divergence_free;
  }
};

}  // namespace carmina
