// data/weighted_rows.hpp -- rows whose last target is their weight.
#pragma once
#include <carmina/data/rows.hpp>

#include <cmath>

namespace carmina {

// The rows of a source, which must outlive this, with the last of its targets as their weights.
template <Real T>
class WeightedRows final : public RowSource<T> {
 public:
  // `name` of the column, for messages.
  WeightedRows(RowSource<T>& rows, std::string name) : rows_(rows), name_(std::move(name)) {}

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
    block.dim_out = dim_out();
    weights_.resize(static_cast<std::size_t>(block.rows));
    for (Index i = 0; i < block.rows; ++i) {
      const T weight = block.Y[i * block.y_stride + block.dim_out];
      require(std::isfinite(weight) && weight >= 0, "{}: column '{}': a weight must be a number from 0, found {}",
              place(i), name_, std::isnan(weight) ? std::string("none") : format_text("{}", weight));
      weights_[static_cast<std::size_t>(i)] = weight;
    }
    block.weights = weights_.data();
    return block;
  }

 private:
  RowSource<T>& rows_;
  std::string name_;
  std::vector<T> weights_;
};

}  // namespace carmina
