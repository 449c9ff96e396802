// data/seen_rows.hpp -- the rows of a table that have targets in given columns, and those columns alone.
#pragma once
#include <carmina/core/format.hpp>
#include <carmina/data/rows.hpp>

#include <cmath>
#include <vector>

namespace carmina {

// Rows of consecutive parts of one table that have a positive weight and a target in the first of `columns`; the others
// of them must be missing in the same rows. The rows are packed: they are those of a table in which the others were
// never there, whatever the parts.
template <Real T>
class SeenRows final : public RowSource<T> {
 public:
  SeenRows(const std::vector<RowSource<T>*>& parts, std::vector<Index> columns, Index rows)
      : parts_(parts), columns_(std::move(columns)), count_(rows) {}

  Index dim_in() const override { return parts_[0]->dim_in(); }
  Index dim_out() const override { return static_cast<Index>(columns_.size()); }
  std::optional<Index> rows() const override { return count_; }
  std::string place(Index row) const override { return format_text("row {}", numbers_.at(std::size_t(row)) + 1); }
  double held_bytes(Index rows_at_once) const override {
    double most = 0;
    for (const RowSource<T>* part : parts_) most = std::max(most, part->held_bytes(rows_at_once));
    return most + static_cast<double>(rows_at_once * (dim_in() + dim_out() + 2)) * sizeof(T);
  }

  void rewind() override {
    part_ = 0;
    at_ = passed_ = given_ = 0;
    block_ = {};
    parts_[0]->rewind();
  }

  RowBlock<T> next(Index max_rows) override {
    const Index size = std::min(max_rows, count_ - given_), p = dim_out();
    X_.resize(size, dim_in());
    Y_.resize(size, p);
    weights_.setOnes(size);
    numbers_.clear();
    bool weighted = false;
    Index held = 0;
    while (held < size && advance(max_rows)) {
      const T* y = block_.Y + at_ * block_.y_stride;
      const T w = block_.weights ? block_.weights[at_] : T(1);
      if (w > 0 && !std::isnan(y[columns_[0]])) {
        X_.row(held) = block_.inputs().row(at_);
        for (Index j = 0; j < p; ++j) Y_(held, j) = y[columns_[static_cast<std::size_t>(j)]];
        weights_[held] = w;
        weighted = weighted || w != 1;
        numbers_.push_back(passed_ + at_);
        ++held;
      }
      ++at_;
    }
    require(held == size, "fit: the rows changed while they were read");
    RowBlock<T> block{X_.data(), Y_.data(), weighted ? weights_.data() : nullptr, held, dim_in(), p, dim_in(), p};
    block.first_row = given_;
    given_ += held;
    return block;
  }

 private:
  // Whether there is a row at at_ of block_, perhaps of the next block.
  bool advance(Index max_rows) {
    while (at_ == block_.rows) {
      passed_ += block_.rows;
      at_ = 0;
      block_ = parts_[part_]->next(max_rows);
      if (block_.rows > 0) return true;
      if (part_ + 1 == parts_.size()) return false;
      parts_[++part_]->rewind();
    }
    return true;
  }

  const std::vector<RowSource<T>*>& parts_;
  std::vector<Index> columns_;
  Index count_;
  std::size_t part_ = 0;
  RowBlock<T> block_;
  Index at_ = 0, passed_ = 0, given_ = 0;  // in the block; rows of the blocks before; rows given out
  Matrix<T> X_, Y_;
  Vector<T> weights_;
  std::vector<Index> numbers_;
};

}  // namespace carmina
