// data/noise_rows.hpp -- rows whose last target is the variance of their noise, which says what they weigh.
#pragma once
#include "data/last_target_rows.hpp"

namespace carmina {

// Their weights are those of the source times unit over the variance, unit being that of a row of weight 1
// (models/row_noise.hpp).
template <Real T>
class NoiseRows final : public LastTargetRows<T> {
 public:
  using LastTargetRows<T>::LastTargetRows;
  void set_unit(double unit) { unit_ = unit; }

  // Of row i of a block of the source.
  double variance(const RowBlock<T>& block, Index i) const {
    const auto value = static_cast<double>(this->last_target(block, i));
    require(value > 0 && std::isfinite(value),
            "{}: column '{}': the variance of a row's noise must be positive and finite, found {}", this->place(i),
            this->name(), std::isnan(value) ? std::string("none") : format_text("{}", value));
    return value;
  }

 private:
  T weight(const RowBlock<T>& block, Index i) const override {
    const double given = block.weights ? static_cast<double>(block.weights[i]) : 1;
    return static_cast<T>(given * (unit_ / variance(block, i)));
  }

  double unit_ = 1;
};

}  // namespace carmina
