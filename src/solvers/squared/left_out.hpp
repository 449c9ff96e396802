// solvers/squared/left_out.hpp -- errors of rows left out one by one, and their variances, from a factor of the system
// that the fit to all rows solves (mathematics.md 1h).
//
// A weight means repetition, so of a row of weight w the part u = min(1, w) is left out. With Q = phi (PhiᵀW Phi +
// alpha I)^-1 phiᵀ + 1 / sum w, a number or p x p, and L = I - u Q, the fit without that part has the error e = L^-1 r
// where the fit to all rows has the residual r, and an observation the variance V = I + Q L^-1 in units of the noise.
// In the dual, with P as in alpha_path_solve_dual.cpp, I - w Q = alpha P.
#pragma once
#include "solvers/squared/squared_loss.hpp"

#include <utility>
#include <vector>

namespace carmina {

struct LeftOutErrors {
  Matrix<double> errors, variances;  // e and the diagonal of V (s, p); e is infinite where a row determines its own fit
  Vector<double> weights;            // (s)
};

// Rows whose columns of a system make about 4 MB: so many are solved for at a time.
Index rows_left_out_together(Index order, Index block);
// Numbers that are held meanwhile, for so many rows and a system of that order; `features` is 0 without any.
double numbers_left_out(double rows, double order, double block, double features);

class LeftOut {
 public:
  // Of s rows with these weights, a fit to rows of total_weight; `outputs` is null where the kernel is not separable.
  LeftOut(const OutputFactor* outputs, Index p, double alpha, bool fit_intercept, double total_weight,
          Vector<double> weights);

  // L by a factor of the normal equations. Features of the rows are taken about `mean` (empty: as they are). Of more
  // than 2,000 rows L is estimated to about 1 % where it is not far from 1.
  void add(double delta, const Whiten& whiten, const FeatureRows& rows, const Vector<double>& mean,
           const Expansion* expansion);
  // L by a factor of the dual, for the rows at `places` of all n, root_weights (n).
  void add(double delta, const Whiten& whiten, const std::vector<Index>& places, const Vector<double>& root_weights);

  // R = Y - f - b (s, p).
  LeftOutErrors of_residuals(const Matrix<double>& R) const;
  // The same from the dual's solution, whose residuals are alpha c / w: no digits are lost where alpha is small.
  LeftOutErrors of_dual(const LinearSolution& solution, const DualRows& rows, const std::vector<Index>& places) const;

 private:
  Index block() const { return outputs_ ? 1 : p_; }
  double share() const { return fit_intercept_ ? 1 / total_weight_ : 0.0; }
  // Writes estimates of L; false for rows that it is to be computed for.
  std::vector<bool> estimate(double delta, const Whiten& whiten, const FeatureRows& rows, const Vector<double>& mean);
  Matrix<double>& left(double delta);              // (s, block block)
  const Matrix<double>& left(double delta) const;  // of the nearest one
  LeftOutErrors separable(const Matrix<double>& inside, const Matrix<double>& outside) const;
  LeftOutErrors together(const Matrix<double>& R) const;

  const OutputFactor* outputs_;
  Index p_;
  double alpha_;
  bool fit_intercept_;
  double total_weight_;
  Vector<double> weights_;
  std::vector<std::pair<double, Matrix<double>>> left_;  // by delta
};

}  // namespace carmina
