// solvers/evidence/series_evidence.hpp -- the exact evidence of a series: what mixture_processes.hpp has for any rows,
// for one input, where many pairs of rows have the same distance.
#pragma once
#include "solvers/evidence/mixture_processes.hpp"

#include <cstdint>
#include <vector>

namespace carmina {

// y ~ N(0, K + F + noise I), K of the mixture that is learnt and F of a fixed one, such as a trend.
//
// A covariance is a table of values at the lags that occur, looked up by the lag of each pair: times on a grid of G
// places, gaps or not, have G lags, for which cosines and exponentials are taken, and not n^2 / 2. Times within a
// fiftieth of a step of a grid are taken as on it: dates as decimal years are rounded that much.
class SeriesEvidence {
 public:
  // x ascending. `fixed` may have no components.
  SeriesEvidence(Vector<double> x, Vector<double> y, const Mixture& fixed, const Execution& execution);

  Index rows() const { return y_.size(); }
  bool on_grid() const { return grid_; }
  Index lags() const { return lags_.size(); }  // that occur
  // log p(y), -infinity where rounding leaves no factor, and its gradient by the learnt mixture and the noise.
  MixtureEvidence operator()(const Mixture& mixture, double noise, bool gradient, const Execution& execution) const;
  // The factor L of the covariance, its upper triangle zero; empty where rounding leaves none.
  Matrix<double> factor(const Mixture& mixture, double noise, const Execution& execution) const;

 private:
  void find_lags();
  Vector<double> values(const Mixture& mixture, const Execution& execution) const;  // k at the lags
  // sum_l by_lag_l dk(l) / d log w, mu, log sigma: (3 Q)
  Vector<double> slopes(const Mixture& mixture, const Vector<double>& by_lag, const Execution& execution) const;
  bool factored(const Vector<double>& table, double noise, Matrix<double>& L, const Execution& execution) const;

  Vector<double> x_, y_, lags_, fixed_;
  std::vector<std::int32_t> lag_of_;  // of the pairs (i, j), j <= i, row after row
  bool grid_ = false;
};

}  // namespace carmina
