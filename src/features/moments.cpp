// features/moments.cpp -- what sums over rows of products of features say.
#include "features/moments.hpp"

#include <carmina/core/error.hpp>

#include <utility>

namespace carmina {

Moments::Moments(Index n_features, Vector<double> target_origin)
    : features(n_features), outputs(target_origin.size()), origin(std::move(target_origin)) {
  sums.setZero(features + outputs + 1, features + outputs + 1);
}

void require_finite(const Moments& moments) {
  for (Index i = 0; i < moments.sums.rows(); ++i) {
    if (moments.sums.row(i).head(i + 1).allFinite()) continue;
    fail("fit: the sums of products of {} are not finite numbers: {}",
         i < moments.features                     ? "features"
         : i < moments.features + moments.outputs ? "targets"
                                                  : "weights",
         i < moments.features ? "the inputs are too large for the kernel's width; scale them, or take a larger width"
                              : "they are too large; divide all of them by one number");
  }
}

Matrix<double> gram_of(const Moments& moments, bool centred) {
  Matrix<double> H = moments.sums.topLeftCorner(moments.features, moments.features);
  if (centred) {
    const Vector<double> g = moments.feature_sums().transpose();
    H.noalias() -= g / moments.total_weight() * g.transpose();
  }
  return H;
}

RowSums row_sums_of(const Moments& moments, bool centred) {
  RowSums sums{moments.cross().transpose(), moments.feature_sums().transpose(), moments.target_sums().transpose(),
               moments.total_weight(), moments.rows};
  if (centred) sums.centre();
  return sums;
}

}  // namespace carmina
