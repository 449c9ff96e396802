// solvers/squared/subset_preconditioner.hpp -- a factor of the normal equations of a few rows, to precondition those of
// all rows.
#pragma once
#include "features/feature_rows.hpp"

namespace carmina {

// M = delta (w / w_s) H_s + alpha I, H_s the centred Gram matrix of a sample of s rows, spread evenly over the source.
// Were the sample as good as one of a random Gaussian design, M^-1 (delta H + alpha I) would have eigenvalues within
// (1 +- sqrt(m / s))^2 and cg would cut the error by sqrt(m / s) each time. Rows that matter more than others make it
// slower, eigenvalues of H below alpha, of which there are many as a rule, faster.
//
// Nothing here need be exact. Rounding the features to unit roundoff u changes M by a random matrix of norm about
// 2 u delta w / sqrt(s m), features having squares of mean 1 / m: bfloat16 serves while that is well below alpha, else
// float. The factor of data in float is in float unless rounding, about 2^-24 |M| at each of many steps, comes near
// alpha. In small systems there is nothing to gain, and iterations to lose (45 in the place of 34 in one of order 40).
class SubsetPreconditioner {
 public:
  static constexpr Index large = 1024;  // orders from here on are worth less than double

  // A number of rows that serves most fits: 8 m, or fewer that are a small part of them. 0: there are too few.
  static Index sample_rows(Index rows, Index features);

  SubsetPreconditioner(const FeatureRows& rows, Index wanted, double total_weight, bool centred, double delta,
                       double alpha, const Execution& execution);

  // Z = M^-1 R; the identity where M was singular.
  void operator()(const Matrix<double>& R, Matrix<double>& Z) const;

 private:
  FeatureRows::SubsetSolve solve_;  // where the rows have factored M themselves
  void factor(Matrix<float> H, bool narrow, const Execution& execution);

  Index order_;
  Execution execution_;
  Matrix<float> single_;  // one of the two
  Matrix<double> double_;
};

}  // namespace carmina
