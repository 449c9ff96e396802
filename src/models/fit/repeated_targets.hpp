// models/fit/repeated_targets.hpp -- one target as several equal columns: a joint fit of several quantiles sees it so.
#pragma once
#include <carmina/data/rows.hpp>

#include <algorithm>

namespace carmina {

template <Real T>
class RepeatedTargets final : public RowSource<T> {
 public:
  RepeatedTargets(RowSource<T>& rows, Index times) : rows_(rows), times_(times) {}

  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return times_; }
  std::optional<Index> rows() const override { return rows_.rows(); }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override {
    return rows_.held_bytes(rows_at_once) + static_cast<double>(rows_at_once * times_) * sizeof(T);
  }

  RowBlock<T> next(Index max_rows) override {
    RowBlock<T> block = rows_.next(max_rows);
    Y_ = block.targets().replicate(1, times_);
    block.Y = Y_.data();
    block.dim_out = block.y_stride = times_;
    return block;
  }

 private:
  RowSource<T>& rows_;
  Index times_;
  Matrix<T> Y_;
};

}  // namespace carmina
