// models/machine/feature_gram.hpp -- the Gram matrix of features from their sums over the rows.
#pragma once
#include "features/moments.hpp"

namespace carmina {

// PhiᵀW Phi of the scalar map's features, about their mean when there is an intercept; full lower triangle.
struct FeatureGram {
  Matrix<double> gram;
  Vector<double> mean;  // empty without intercept

  FeatureGram(const Moments& moments, bool intercept)
      : gram(moments.sums.topLeftCorner(moments.features, moments.features)) {
    if (!intercept) return;
    mean = moments.feature_sums().transpose() / moments.total_weight();
    for (Index i = 0; i < gram.rows(); ++i) {
      gram.row(i).head(i + 1) -= moments.total_weight() * mean[i] * mean.head(i + 1).transpose();
    }
  }
};

}  // namespace carmina
