// models/fit/sampled_rows.hpp -- all rows of a source, or an even sample of many, in one pass.
//
// A weight means repetition, so a row of integer weight w stands for w copies, which are numbered through the whole
// source. The copies are divided into stretches of equal length, and from each stretch one run of consecutive copies is
// taken, at a random place: the sample is spread over all rows, its distances are irregular, and it is a function of
// the seed and the rows alone.
#pragma once
#include "data/data_rows.hpp"

#include <carmina/core/execution.hpp>
#include <carmina/random/philox.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {

// Copies that a weight stands for, for samples: a weight that is no whole number is one row with this weight.
inline Index weight_copies(double weight) {
  return weight == std::floor(weight) && weight <= 1e9 ? static_cast<Index>(weight) : 1;
}

class RowSampler {
 public:
  // At most `wanted` of `copies` (all, where they are no more), in runs of up to `run`.
  RowSampler(Index copies, Index wanted, Index run, const Random& random)
      : copies_(copies), all_(copies <= wanted), run_(std::clamp<Index>(run, 1, wanted)), random_(random) {
    stretches_ = std::max<Index>(1, wanted / run_);
    if (!all_) begin_stretch();
  }

  bool all() const { return all_; }
  // Of the next `count` copies: how many are in the sample.
  Index take(Index count) {
    if (all_) return count;
    Index taken = 0;
    for (const Index end = at_ + count; at_ < end;) {
      if (stretch_ == stretches_) {
        at_ = end;
      } else {
        taken += std::max<Index>(0, std::min(end, first_ + run_) - std::max(at_, first_));
        at_ = std::min(end, stretch_end(stretch_));
        if (at_ == stretch_end(stretch_)) ++stretch_, begin_stretch();
      }
    }
    return taken;
  }

 private:
  // End of stretch k; exact, as copies are far fewer than 2^53.
  Index stretch_end(Index k) const {
    return k + 1 == stretches_ ? copies_
                               : static_cast<Index>(static_cast<double>(copies_) * static_cast<double>(k + 1) /
                                                    static_cast<double>(stretches_));
  }
  void begin_stretch() {
    if (stretch_ == stretches_) return;
    const Index begin = stretch_ == 0 ? 0 : stretch_end(stretch_ - 1);
    const Index places = std::max<Index>(1, stretch_end(stretch_) - begin - run_ + 1);
    const double u = random_.uniform(static_cast<std::uint64_t>(stretch_));
    first_ = begin + std::min(places - 1, static_cast<Index>(u * static_cast<double>(places)));
  }

  Index copies_;
  bool all_;
  Index run_, stretches_ = 1, stretch_ = 0, first_ = 0, at_ = 0;
  Random random_;
};

// The rows of the sample, each with the weight of its copies that are in it; so many are expected.
template <Real T>
HeldRows<T> sample_rows(const DataRows<T>& rows, RowSampler sampler, const Execution& execution, Index expected = 0) {
  std::vector<T> weights;
  bool weighted = false;
  HeldRows<T> held = rows.gather(
      [&](Index, double weight) {
        if (weight == 0) return false;
        const Index copies = weight_copies(weight), taken = sampler.take(copies);
        if (taken == 0) return false;
        weights.push_back(static_cast<T>(taken == copies ? weight : static_cast<double>(taken)));
        weighted = weighted || weights.back() != 1;
        return true;
      },
      execution, expected);
  held.weights.resize(0);
  if (weighted) held.weights = Eigen::Map<const Vector<T>>(weights.data(), held.rows());
  return held;
}

}  // namespace carmina
