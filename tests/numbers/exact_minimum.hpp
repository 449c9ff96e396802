// tests/numbers/exact_minimum.hpp -- the least J of a few rows and one output, in numbers of 400 digits.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/losses/loss.hpp>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/eigen.hpp>

namespace carmina::numbers_test {

using Exact = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<400>, boost::multiprecision::et_off>;
using ExactMatrix = Eigen::Matrix<Exact, Eigen::Dynamic, Eigen::Dynamic>;

// J(c, b) = sum_i w_i l((K c)_i + b, y_i) + alpha cᵀ K c / 2
struct Problem {
  Loss loss;
  ExactMatrix K;  // (n, n): its rounding to double would be functions that there are not
  Vector<double> y, w;
  Exact alpha;
  bool intercept = true;
};

// l(f, y)
Exact loss_of(const Loss& loss, const Exact& f, double y);
// J at c = 0 and the best of some constants.
Exact objective_of_nothing(const Problem& problem);
// min J. The slope of every loss but the logistic one is made of pieces: for each choice of a piece for each row the
// conditions of the minimum are a linear system, and where its solution lies in these pieces it is the minimum. The
// logistic loss takes Newton's steps.
Exact exact_minimum(const Problem& problem);

}  // namespace carmina::numbers_test
