// models/fit/missing_targets.hpp -- what the first pass makes of targets that are missing: patterns, and a covariance
// of pairs.
#pragma once
#include "models/fit/row_statistics.hpp"
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
      auto& mark = marks_[static_cast<std::size_t>(j)];  // modulo 2^64
      mark = static_cast<std::int64_t>(static_cast<std::uint64_t>(mark) +
                                       random_.bits(static_cast<std::uint64_t>(number)));
      ++counts_[static_cast<std::size_t>(j)];
      copies_[static_cast<std::size_t>(j)] += copies;
    }
  }
  // Of so many rows and copies in all; so many rows of other processes are not here.
  std::vector<TargetPattern> patterns(Index rows, double copies, Index own_rows, const Communicator* processes) {
    std::vector<TargetPattern> found;
    const std::vector<std::int64_t> own = counts_;
    if (processes) {
      const auto p = static_cast<Index>(marks_.size());
      processes->sum(marks_.data(), p);
      processes->sum(counts_.data(), p);
      processes->sum(copies_.data(), p);
    }
    for (std::size_t j = 0; j < marks_.size(); ++j) {
      const auto same = std::find_if(found.begin(), found.end(), [&](const TargetPattern& pattern) {
        const auto k = static_cast<std::size_t>(pattern.columns[0]);
        return marks_[k] == marks_[j] && counts_[k] == counts_[j];
      });
      if (same == found.end()) {
        found.push_back({{static_cast<Index>(j)}, rows - counts_[j], copies - copies_[j], own_rows - own[j]});
      } else {
        same->columns.push_back(static_cast<Index>(j));
      }
    }
    return found;
  }

 private:
  Random random_{0, Stream::rows};
  std::vector<std::int64_t> marks_, counts_;
  std::vector<double> copies_;
};

// Covariances of targets from those of pairs: where some are missing, the nearest matrix without negative eigenvalues,
// which different rows of different pairs may cause; a pair that no two rows have counts as uncorrelated.
inline Matrix<double> covariance_of(const PairStatistics& pairs, bool missing) {
  Matrix<double> C = Matrix<double>::Zero(pairs.weight.rows(), pairs.weight.cols());
  for (Index j = 0; j < C.rows(); ++j) {
    require(pairs.weight(j, j) > 1,
            "fit: the covariance of the targets needs at least 2 rows of each, column {} has {}", j + 1,
            pairs.weight(j, j));
    for (Index k = 0; k < C.cols(); ++k) {
      if (pairs.weight(j, k) > 1) C(j, k) = pairs.product(j, k) / (pairs.weight(j, k) - 1);
    }
  }
  if (!missing) return C;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Eigen::MatrixXd((C + C.transpose()) / 2));
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).asDiagonal() * eigen.eigenvectors().transpose();
}

}  // namespace carmina
