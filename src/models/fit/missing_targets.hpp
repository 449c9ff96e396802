// models/fit/missing_targets.hpp -- what the first pass makes of targets that are missing: patterns, and covariances of
// pairs.
#pragma once
#include "models/fit/summary.hpp"

#include <carmina/core/error.hpp>
#include <carmina/random/philox.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace carmina {

// Which rows each output lacks, as a sum of random numbers that stand for them: outputs with the same sum and count
// lack the same rows, but for a chance of 2^-64 a pair.
class MissingTargets {
 public:
  explicit MissingTargets(Index p)
      : marks_(static_cast<std::size_t>(p), 0),
        counts_(static_cast<std::size_t>(p), 0),
        copies_(static_cast<std::size_t>(p), 0.0) {}

  // A row of so many copies.
  template <class Row>
  void add(const Row& y, Index number, double copies) {
    for (Index j = 0; j < y.size(); ++j) {
      if (!std::isnan(y[j])) continue;
      marks_[static_cast<std::size_t>(j)] += random_.bits(static_cast<std::uint64_t>(number));
      ++counts_[static_cast<std::size_t>(j)];
      copies_[static_cast<std::size_t>(j)] += copies;
    }
  }
  // Of so many rows and copies in all.
  std::vector<TargetPattern> patterns(Index rows, double copies) const {
    std::vector<TargetPattern> found;
    for (std::size_t j = 0; j < marks_.size(); ++j) {
      const auto same = std::find_if(found.begin(), found.end(), [&](const TargetPattern& pattern) {
        const auto k = static_cast<std::size_t>(pattern.columns[0]);
        return marks_[k] == marks_[j] && counts_[k] == counts_[j];
      });
      if (same == found.end()) {
        found.push_back({{static_cast<Index>(j)}, rows - counts_[j], copies - copies_[j]});
      } else {
        same->columns.push_back(static_cast<Index>(j));
      }
    }
    return found;
  }

 private:
  Random random_{0, Stream::rows};
  std::vector<std::uint64_t> marks_;
  std::vector<Index> counts_;
  std::vector<double> copies_;
};

// Covariances of targets, each pair over the rows that have both, about the means of those rows.
class PairSums {
 public:
  explicit PairSums(Index p) : weight_(Matrix<double>::Zero(p, p)), sum_(weight_), product_(weight_) {}

  // y less anything that does not change
  void add(const Vector<double>& y, double w) {
    for (Index j = 0; j < y.size(); ++j) {
      if (std::isnan(y[j])) continue;
      for (Index k = 0; k < y.size(); ++k) {
        if (std::isnan(y[k])) continue;
        weight_(j, k) += w;
        sum_(j, k) += w * y[j];
        product_(j, k) += w * y[j] * y[k];
      }
    }
  }
  // The nearest matrix without negative eigenvalues, which different rows of different pairs may cause; a pair that no
  // two rows have counts as uncorrelated.
  Matrix<double> covariance() const {
    Matrix<double> C = Matrix<double>::Zero(weight_.rows(), weight_.cols());
    for (Index j = 0; j < C.rows(); ++j) {
      require(weight_(j, j) > 1, "fit: the covariance of the targets needs at least 2 rows of each, column {} has {}",
              j + 1, weight_(j, j));
      for (Index k = 0; k < C.cols(); ++k) {
        if (weight_(j, k) > 1) {
          C(j, k) = (product_(j, k) - sum_(j, k) * sum_(k, j) / weight_(j, k)) / (weight_(j, k) - 1);
        }
      }
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Eigen::MatrixXd((C + C.transpose()) / 2));
    return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).asDiagonal() * eigen.eigenvectors().transpose();
  }

 private:
  Matrix<double> weight_, sum_, product_;  // (p, p); sum_ jk: of y_j where y_k is there too
};

}  // namespace carmina
