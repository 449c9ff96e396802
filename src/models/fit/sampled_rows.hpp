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

class RowSampler {
 public:
  // At most `wanted` of `copies` (all, where they are no more), in runs of up to `run`.
  RowSampler(double copies, Index wanted, Index run, const Random& random)
      : copies_(copies),
        all_(copies <= static_cast<double>(wanted)),
        run_(static_cast<double>(std::clamp<Index>(run, 1, wanted))),
        random_(random) {
    stretches_ = std::max<Index>(1, wanted / std::clamp<Index>(run, 1, wanted));
    if (!all_) begin_stretch();
  }

  bool all() const { return all_; }
  // Of the next `count` copies: how many are in the sample.
  double take(double count) {
    if (all_) return count;
    double taken = 0;
    for (const double end = at_ + count; at_ < end;) {
      if (stretch_ == stretches_) {
        at_ = end;
      } else {
        // As differences to `first_`, which are exact where first_ + run_ may not be.
        taken += std::max(0.0, std::min(end - first_, run_) - std::max(at_ - first_, 0.0));
        at_ = std::min(end, stretch_end(stretch_));
        if (at_ == stretch_end(stretch_)) ++stretch_, begin_stretch();
      }
    }
    return taken;
  }

 private:
  double stretch_end(Index k) const {
    if (k + 1 == stretches_) return copies_;
    const double share = static_cast<double>(k + 1) / static_cast<double>(stretches_);
    // The product first, which is exact, unless it is too large.
    const double product = copies_ * static_cast<double>(k + 1);
    return std::floor(product < 0x1p53 ? product / static_cast<double>(stretches_) : copies_ * share);
  }
  void begin_stretch() {
    if (stretch_ == stretches_) return;
    const double begin = stretch_ == 0 ? 0 : stretch_end(stretch_ - 1);
    const double places = std::max(1.0, stretch_end(stretch_) - begin - run_ + 1);
    const double u = random_.uniform(static_cast<std::uint64_t>(stretch_));
    first_ = begin + std::min(places - 1, std::floor(u * places));
  }

  double copies_;
  bool all_;
  double run_, first_ = 0, at_ = 0;
  Index stretches_ = 1, stretch_ = 0;
  Random random_;
};

// The rows of the sample, each with the weight of its copies that are in it; so many are expected.
template <Real T>
HeldRows<T> sample_rows(const DataRows<T>& rows, RowSampler sampler, const Execution& execution, Index expected = 0) {
  sampler.take(rows.before(execution).copies);
  return rows.gather(
      [&](Index, double weight) {
        if (weight == 0) return 0.0;
        const double copies = weight_copies(weight), taken = sampler.take(copies);
        return taken == copies ? weight : taken;
      },
      execution, expected);
}

}  // namespace carmina
