// models/mixture/produced_evidence.hpp -- the evidence of weighted frequencies as a function of what they are made of:
// the widths of an ordinary kernel, or the components of a spectral mixture.
#pragma once
#include "solvers/evidence/fourier_evidence.hpp"

#include <cmath>

namespace carmina {

// The evidence of the points that make() gives. Where a gradient is asked for and the evidence is finite,
// pull_back(points, by) turns its derivatives by the points into those by whatever made them.
template <class Evidence, class Make, class PullBack>
double produced_evidence(const Evidence& evidence, const Make& make, bool gradient, const PullBack& pull_back) {
  const WeightedFrequencies points = make();
  WeightedFrequencies by;
  const double value = evidence(points, gradient ? &by : nullptr);
  if (gradient && std::isfinite(value)) pull_back(points, by);
  return value;
}

}  // namespace carmina
