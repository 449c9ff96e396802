// models/fit_options.hpp -- everything a user can choose about a fit, with its defaults.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/kernel.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carmina {

// How outputs are coupled when the kernel is given by name.
enum class OutputCoupling { none, identity, covariance, matrix };

struct FitOptions {
  // The kernel: a value, or a name with a width; no width means the median distance between rows.
  std::optional<Kernel> kernel;
  std::string kernel_name = "gaussian";
  std::optional<LengthScale> length_scale;
  OutputCoupling coupling = OutputCoupling::none;  // with a name: Decomposable of identity, cov(Y) or output_matrix
  Matrix<double> output_matrix;

  std::string approximation = "fourier";  // or "exact"
  Index n_components = 1000;              // feature columns of a Fourier map: twice the number of frequencies
  double alpha = 1.0;                     // J = sum_i w_i |f(x_i) + b - y_i|^2 / 2 + alpha |f|^2 / 2
  bool fit_intercept = true;
  bool scale_inputs = false;    // zero mean, unit variance per column
  bool fill_missing = false;    // missing inputs take the training mean
  std::string solver = "auto";  // or "direct", "cg"
  Index max_iter = 1000;        // of cg
  double tol = 1e-6;            // of cg: relative residual
  std::uint64_t seed = 0;

  std::vector<std::string> input_names, target_names;  // kept in the model, so that columns are found by name again
  Execution execution;

  void check() const;  // Error for a value out of range
};

}  // namespace carmina
