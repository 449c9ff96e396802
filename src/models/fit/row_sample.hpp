// models/fit/row_sample.hpp -- a uniform sample of rows whose number is not known, in one pass.
#pragma once
#include "models/fit/summary.hpp"

#include <carmina/core/communicator.hpp>
#include <carmina/random/philox.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace carmina {

// Keeps the rows with the smallest random keys: a uniform sample, in one pass, of rows whose number is not known. A row
// of integer weight w stands for w copies, each with a key of its own, so that weights and repetitions give samples of
// the same distribution, and the same sample while all copies have room. Keys are exponential, a function of the row's
// number in the whole source: the sample does not depend on how rows are divided into blocks, and samples of parts
// could be united by keeping the smallest keys of both.
//
// The keys of a row's copies are made in ascending order without the others [Renyi1953]: the j-th smallest of w
// exponential variables exceeds the one before by E_j / (w - j + 1), with E_j exponential too. The first that is too
// large ends the row, whatever its weight.
class RowSample {
 public:
  // Whether offering a row would change nothing; asked by several threads between offers.
  bool refuses(Index number, double weight) const {
    if (kept_.size() < sample_size) return false;
    const double u = random_.uniform(static_cast<std::uint64_t>(number), 0);
    const double copies = weight == std::floor(weight) ? weight : 1;
    // u >= limit means -log1p(-u) >= key, also after rounding; few rows are below it.
    if (copies == 1 && u >= limit_) return true;
    return -std::log1p(-u) / copies >= kept_.front().key;
  }

  template <class Row>
  void offer(const Row& row, Index number, double weight) {
    const bool whole = weight == std::floor(weight);
    const double copies = whole ? weight : 1;
    double key = 0;
    for (std::uint32_t j = 0; j < copies; ++j) {
      key -= std::log1p(-random_.uniform(static_cast<std::uint64_t>(number), j)) / (copies - j);
      if (kept_.size() == sample_size) {
        if (key >= kept_.front().key) return;
        std::pop_heap(kept_.begin(), kept_.end());
        kept_.pop_back();
      }
      kept_.push_back({key, whole ? 1.0 : weight, row.template cast<double>()});
      std::push_heap(kept_.begin(), kept_.end());
      limit_ = -std::expm1(-kept_.front().key) * (1 + 1e-12);
    }
  }
  // Unites it with those of other processes.
  void share(Index d, const Communicator& processes) {
    std::vector<double> own;
    for (const Kept& one : kept_) {
      own.insert(own.end(), {one.key, one.weight});
      own.insert(own.end(), one.row.data(), one.row.data() + d);
    }
    const std::vector<double> all = processes.gather(own);
    kept_.clear();
    for (const double* from = all.data(); from < all.data() + all.size(); from += d + 2) {
      kept_.push_back({from[0], from[1], Eigen::Map<const Eigen::RowVectorXd>(from + 2, d)});
    }
    std::sort(kept_.begin(), kept_.end());
    kept_.resize(std::min(kept_.size(), sample_size));
  }
  void move_to(DataSummary& summary, Index d) {
    std::sort(kept_.begin(), kept_.end());
    summary.sample.resize(static_cast<Index>(kept_.size()), d);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      summary.sample.row(static_cast<Index>(i)) = kept_[i].row;
      summary.sample_weights.push_back(kept_[i].weight);
    }
  }

 private:
  static constexpr auto sample_size = static_cast<std::size_t>(summary_sample_rows);

  struct Kept {
    double key;
    double weight;
    Eigen::RowVectorXd row;
    bool operator<(const Kept& other) const { return key < other.key; }
  };
  Random random_{0, Stream::rows};
  double limit_ = 0;  // of the uniform number of a row with weight 1; above it the row's key is too large
  std::vector<Kept> kept_;
};

}  // namespace carmina
