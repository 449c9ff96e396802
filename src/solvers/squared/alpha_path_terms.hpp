// solvers/squared/alpha_path_terms.hpp -- what primal and dual paths share.
#pragma once
#include "solvers/squared/alpha_path_solve.hpp"

#include <algorithm>
#include <limits>

namespace carmina {

inline double smallest_of(const std::vector<double>& alphas) { return *std::min_element(alphas.begin(), alphas.end()); }

// numerator / denominator where the latter is positive beyond doubt.
inline double left_out_ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : std::numeric_limits<double>::infinity();
}

// Which of the different deltas each one is; those of a multiple of the identity are all one.
struct DeltaGroups {
  std::vector<double> values;
  std::vector<Index> of;  // of each output

  explicit DeltaGroups(const Vector<double>& delta) {
    for (const double value : delta) {
      const auto same = std::find(values.begin(), values.end(), value);
      of.push_back(static_cast<Index>(same - values.begin()));
      if (same == values.end()) values.push_back(value);
    }
  }
  Index count() const { return static_cast<Index>(values.size()); }
};

// The targets in the range of A, rotated, and the squared length of what is outside it.
struct RotatedTargets {
  Vector<double> inside;
  double outside = 0;

  RotatedTargets(const Vector<double>& y, const OutputFactor& outputs) : inside(y) {
    if (outputs.identity()) return;
    inside = outputs.vectors.transpose() * y;
    outside = (y - outputs.vectors * inside).squaredNorm();
  }
};

}  // namespace carmina
