// kernels/length_scale.hpp -- the width of a kernel: one number, or one per input dimension.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace carmina {

class LengthScale {
 public:
  LengthScale(double value) : values_{value} {}                            // NOLINT: a number is a width
  LengthScale(std::vector<double> values) : values_(std::move(values)) {}  // NOLINT: so is a list of numbers

  bool isotropic() const { return values_.size() == 1; }
  const std::vector<double>& values() const { return values_; }
  double operator[](Index dimension) const {
    return isotropic() ? values_[0] : values_[static_cast<std::size_t>(dimension)];
  }
  bool operator==(const LengthScale&) const = default;

  void check(std::string_view owner) const {
    require(!values_.empty(), "{}: length_scale is empty", owner);
    for (const double value : values_) {
      require(value > 0 && std::isfinite(value), "{}: length_scale must be positive and finite, found {}", owner,
              value);
    }
  }
  void check_dimension(std::string_view owner, Index d) const {
    require(isotropic() || static_cast<Index>(values_.size()) == d,
            "{}: {} length scales given for inputs of {} columns", owner, values_.size(), d);
  }

 private:
  std::vector<double> values_;
};

}  // namespace carmina
