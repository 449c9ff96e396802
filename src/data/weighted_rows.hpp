// data/weighted_rows.hpp -- rows whose last target is their weight.
#pragma once
#include "data/last_target_rows.hpp"

namespace carmina {

template <Real T>
class WeightedRows final : public LastTargetRows<T> {
 public:
  using LastTargetRows<T>::LastTargetRows;

 private:
  T weight(const RowBlock<T>& block, Index i) const override {
    const T weight = this->last_target(block, i);
    require(std::isfinite(weight) && weight >= 0, "{}: column '{}': a weight must be a number from 0, found {}",
            this->place(i), this->name(), std::isnan(weight) ? std::string("none") : format_text("{}", weight));
    return weight;
  }
};

}  // namespace carmina
