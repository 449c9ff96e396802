// data/last_target_rows.hpp -- rows whose last target says what they weigh.
#pragma once
#include <carmina/data/rows.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace carmina {

// The rows of a source, which must outlive this, without the last of their targets: weight() makes their weights of it.
template <Real T>
class LastTargetRows : public RowSource<T> {
 public:
  // `name` of the column, for messages.
  LastTargetRows(RowSource<T>& rows, std::string name) : rows_(rows), name_(std::move(name)) {}

  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return rows_.dim_out() - 1; }
  std::optional<Index> rows() const override { return rows_.rows(); }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override {
    return rows_.held_bytes(rows_at_once) + static_cast<double>(rows_at_once) * sizeof(T);
  }

  RowBlock<T> next(Index max_rows) override {
    RowBlock<T> block = rows_.next(max_rows);
    weights_.resize(static_cast<std::size_t>(block.rows));
    for (Index i = 0; i < block.rows; ++i) weights_[static_cast<std::size_t>(i)] = weight(block, i);
    block.dim_out = dim_out();
    block.weights = weights_.data();
    return block;
  }

 protected:
  // Of row i of a block of the source.
  virtual T weight(const RowBlock<T>& block, Index i) const = 0;
  T last_target(const RowBlock<T>& block, Index i) const { return block.Y[i * block.y_stride + dim_out()]; }
  const std::string& name() const { return name_; }

 private:
  RowSource<T>& rows_;
  std::string name_;
  std::vector<T> weights_;
};

}  // namespace carmina
