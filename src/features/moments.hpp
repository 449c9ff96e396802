// features/moments.hpp -- everything a squared-loss fit needs to know of the rows: one matrix of sums.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina {

// Sums over rows of w z zᵀ with z = [phi(x), y - origin, 1]: the Gram matrix, phi(X)ᵀWY, the means and the targets' own
// sums in one symmetric matrix. Sums of two sets of rows with the same origin add up to the sums of both.
struct Moments {
  Index features = 0, outputs = 0, rows = 0;
  Vector<double> origin;  // (p), near the targets' mean, so that float products do not cancel
  Matrix<double> sums;    // (m + p + 1, m + p + 1), lower triangle

  Moments(Index n_features, Vector<double> target_origin);

  double total_weight() const { return sums(features + outputs, features + outputs); }
  auto feature_sums() const { return sums.row(features + outputs).head(features); }             // 1ᵀW phi
  auto target_sums() const { return sums.row(features + outputs).segment(features, outputs); }  // 1ᵀW(Y - origin)
  auto cross() const { return sums.block(features, 0, outputs, features); }                     // (Y - origin)ᵀW phi
};

// The part of them that iterative solvers need: phiᵀW(Y - origin) (features, p) and the sums that an intercept needs.
struct RowSums {
  Matrix<double> cross;                      // (features, p)
  Vector<double> feature_sums, target_sums;  // phiᵀW1, (Y - origin)ᵀW1
  double weight = 0;
  Index rows = 0;
  // Where targets are missing, sums over the rows that have those of output a: column a of phiᵀW1, and 1ᵀW1. `cross`
  // and `target_sums` are then of those rows too. Empty where none is missing.
  Matrix<double> own_feature_sums = {};  // (features, p)
  Vector<double> own_weight = {};        // (p)

  bool missing() const { return own_weight.size() > 0; }
  // The features' mean over the rows that an output has: one column for all outputs, or one for each.
  Matrix<double> feature_means() const {
    if (missing()) return own_feature_sums * own_weight.cwiseInverse().asDiagonal();
    return feature_sums / weight;
  }
  Vector<double> target_means() const {
    return missing() ? Vector<double>(target_sums.cwiseQuotient(own_weight)) : Vector<double>(target_sums / weight);
  }
  // cross about the weighted means
  void centre() {
    if (missing()) {
      cross.noalias() -= own_feature_sums * target_means().asDiagonal();
    } else {
      cross.noalias() -= feature_sums * target_sums.transpose() / weight;
    }
  }
};

// Error where targets, weights or features are too large for the sums of their products.
void require_finite(const Moments& moments);

// sum of w phi phiᵀ, lower triangle, about the mean of phi when asked; and the other sums, likewise.
Matrix<double> gram_of(const Moments& moments, bool centred);
RowSums row_sums_of(const Moments& moments, bool centred);

}  // namespace carmina
