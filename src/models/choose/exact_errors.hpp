// models/choose/exact_errors.hpp -- how well a kernel and an alpha predict rows that are left out, in closed form.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace carmina {

// Rows that choices are made on: inputs as the kernel sees them, each target in units of its own deviation.
struct ChoiceRows {
  Matrix<double> Z;        // (n, d)
  Matrix<double> Y;        // (n, p), mean 0, variance 1; NaN where a target is missing
  Vector<double> weights;  // (n), positive
  bool intercept = true;
  double rounding = 0;             // of the kernel values that the fit will have
  std::vector<Index> groups = {};  // (n), what is left out together; empty: each row by itself

  Index rows() const { return Z.rows(); }
  ChoiceRows at(const std::vector<Index>& numbers) const {
    ChoiceRows some{Z(numbers, Eigen::all), Y(numbers, Eigen::all), weights(numbers), intercept, rounding, {}};
    if (!groups.empty()) {
      for (const Index i : numbers) some.groups.push_back(groups[static_cast<std::size_t>(i)]);
    }
    return some;
  }
};

struct ExactErrors {
  double error;                 // weighted mean over rows and targets of e^2; infinite where the system is singular
  Vector<double> squares;       // (n), mean over the targets of e_i^2
  Matrix<double> residuals;     // (n, p), e
  Matrix<double> coefficients;  // (n, p), C of f = K C + b

  void set_error(const Vector<double>& weights) {
    error = squares.dot(weights) / weights.sum();
    if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
  }
};

// What rounded kernel values add to each squared error.
inline double rounding_error(const ChoiceRows& rows, const Matrix<double>& coefficients) {
  return 100 * rows.rounding * rows.rounding * coefficients.squaredNorm() / static_cast<double>(rows.Y.cols());
}

// Exact ridge of the rows. With M = K + alpha W^-1 and G = M^-1 - M^-1 1 (1ᵀ M^-1 1)^-1 1ᵀ M^-1 (M^-1 without an
// intercept): C = G Y, residuals alpha C_i / w_i, leverages h_i = 1 - alpha G_ii / w_i, and with v_i = min(1, w_i) of
// the weight of row i taken away it is missed by
//   e_i = (alpha C_i / w_i) / (1 - v_i h_i / w_i),
// exactly. Rounded kernel values add about rounding |C_j| to a prediction; ten times that counts as error too. A row of
// weight 2 and two equal rows give the same: of each, one copy is left out. Where targets are missing, each output has
// rows of its own (pooled_errors). Rows with groups are left out with their group (left_out_groups.hpp), all copies.
ExactErrors exact_errors(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha, const Execution& execution);

// P for the metric M = P Pᵀ of average outer products of gradients: with f = K C + b on rows z,
//   A = sum_i w_i sum_j (df_j / dz)(z_i) (df_j / dz)(z_i)ᵀ,  P = A^(1/4), its largest value 1: M is A^(1/2).
// [Radhakrishnan2022] takes M = A; the root is milder, and had the smaller errors where it was compared. `rows` are
// in a metric already, the rows of the inputs times `before` (empty: the identity), and A is that of the inputs:
// before (...) beforeᵀ.
Matrix<double> gradient_metric(const ChoiceRows& rows, const ScalarKernel& kernel, const Matrix<double>& coefficients,
                               const Matrix<double>& before, const Execution& execution);

// About `wanted` of the rows by total weight, or all: those whose numbers have the smallest hash. The sample does not
// depend on the order of rows, on their units (numbers are rounded to 2^-16 of a deviation), nor on whether a row is
// repeated or weighted.
std::vector<Index> hashed_rows(const ChoiceRows& rows, double wanted);
// The rows themselves; more where targets are missing (rows_for_one).
ChoiceRows hashed_sample(const ChoiceRows& rows, double wanted);

}  // namespace carmina
