// tests/support/row_sources.hpp -- rows that fail, and rows in parts.
#pragma once
#include "data/data_rows.hpp"

#include <stdexcept>
#include <vector>

namespace carmina::testing {

// The same rows, but the n-th block that is asked for, counted through all passes, throws.
template <Real T>
class FaultyRows final : public RowSource<T> {
 public:
  FaultyRows(RowSource<T>& rows, Index fails_at) : rows_(rows), fails_at_(fails_at) {}

  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return rows_.dim_out(); }
  std::optional<Index> rows() const override { return rows_.rows(); }
  RowBlock<T> next(Index most) override {
    if (++asked_ == fails_at_) throw Error("rows.csv: line 17: the disk is gone");
    return rows_.next(most);
  }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override { return rows_.held_bytes(rows_at_once); }

  Index asked() const { return asked_; }

 private:
  RowSource<T>& rows_;
  Index fails_at_, asked_ = 0;
};

// A table in memory as k parts, each with a source of its own.
template <Real T>
class Parts {
 public:
  Parts(ConstView<T> X, ConstView<T> Y, const T* weights, Index k) {
    MemoryRows<T> whole(X, Y, weights);
    for (const RowRange<T>& range : divide_rows(whole, k)) {
      memory_.push_back(std::make_unique<MemoryRows<T>>(
          X.middleRows(at_, *range.rows()), Y.middleRows(at_, *range.rows()), weights ? weights + at_ : nullptr));
      sources.push_back(memory_.back().get());
      at_ += *range.rows();
    }
  }
  std::vector<RowSource<T>*> sources;

 private:
  Index at_ = 0;
  std::vector<std::unique_ptr<MemoryRows<T>>> memory_;
};

}  // namespace carmina::testing
