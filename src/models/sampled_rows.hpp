// models/sampled_rows.hpp -- all rows of a source, or an even sample of many, in one pass.
//
// A weight means repetition, so a row of integer weight w stands for w copies, which are numbered through the whole
// source. The copies are divided into stretches of equal length, and from each stretch one run of consecutive copies is
// taken, at a random place: the sample is spread over all rows, its distances are irregular, and it is a function of
// the seed and the rows alone.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/rows.hpp>
#include <carmina/random/philox.hpp>

#include <algorithm>
#include <cmath>

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

// body(block, i, weight) for each row of the sample, in order; rows of weight 0 are left out.
template <Real T, class Body>
void for_sampled_rows(RowSource<T>& rows, RowSampler sampler, Index rows_at_once, const Execution& execution,
                      const Body& body) {
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    for (Index i = 0; i < block.rows; ++i) {
      const T weight = block.weights ? block.weights[i] : T(1);
      if (weight == 0) continue;
      const Index copies = weight_copies(static_cast<double>(weight)), taken = sampler.take(copies);
      if (taken > 0) body(block, i, taken == copies ? weight : static_cast<T>(taken));
    }
    execution.checkpoint({"reading", block.first_row + block.rows, rows.rows().value_or(0)});
  }
}

}  // namespace carmina
