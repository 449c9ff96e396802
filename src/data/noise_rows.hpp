// data/noise_rows.hpp -- rows whose last target is the variance of their noise, which says what they weigh.
#pragma once
#include <carmina/data/rows.hpp>

#include <cmath>

namespace carmina {

// The rows of a source, which must outlive this, without the last of their targets; their weights times unit over it,
// unit being the variance of a row of weight 1 (models/row_noise.hpp).
template <Real T>
class NoiseRows final : public RowSource<T> {
 public:
  // `name` of the column, for messages.
  NoiseRows(RowSource<T>& rows, std::string name) : rows_(rows), name_(std::move(name)) {}
  void set_unit(double unit) { unit_ = unit; }

  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return rows_.dim_out() - 1; }
  std::optional<Index> rows() const override { return rows_.rows(); }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override {
    return rows_.held_bytes(rows_at_once) + static_cast<double>(rows_at_once) * sizeof(T);
  }

  // Of row i of a block of the source.
  double variance(const RowBlock<T>& block, Index i) const {
    const auto value = static_cast<double>(block.Y[i * block.y_stride + dim_out()]);
    require(value > 0 && std::isfinite(value),
            "{}: column '{}': the variance of a row's noise must be positive and finite, found {}", place(i), name_,
            std::isnan(value) ? std::string("none") : format_text("{}", value));
    return value;
  }

  RowBlock<T> next(Index max_rows) override {
    RowBlock<T> block = rows_.next(max_rows);
    weights_.resize(static_cast<std::size_t>(block.rows));
    for (Index i = 0; i < block.rows; ++i) {
      const double given = block.weights ? static_cast<double>(block.weights[i]) : 1;
      weights_[static_cast<std::size_t>(i)] = static_cast<T>(given * (unit_ / variance(block, i)));
    }
    block.dim_out = dim_out();
    block.weights = weights_.data();
    return block;
  }

 private:
  RowSource<T>& rows_;
  std::string name_;
  double unit_ = 1;
  std::vector<T> weights_;
};

}  // namespace carmina
