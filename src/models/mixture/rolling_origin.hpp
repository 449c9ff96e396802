// models/mixture/rolling_origin.hpp -- forecasts of a series from many of its own times, beside what came.
#pragma once
#include "models/mixture/mixture_state.hpp"

#include <string>
#include <vector>

namespace carmina {

// Forecasts from some origins: of origin o the rows o, o + 1, ... by those before it.
struct RollingForecasts {
  std::vector<Index> origins;
  std::vector<Vector<double>> mean, variance;  // of each origin, of new observations
};

// Origins from row `first` on, evenly spread.
std::vector<Index> rolling_origins(Index first, Index rows);

// All of them from one factor: with L Lᵀ the covariance of all rows and z = L^-1 y, given the rows before o
//   E y_i = sum_(j < o) L_ij z_j,   var y_i = sum_(o <= j <= i) L_ij^2,
// since the leading block of L is the factor of the rows before o.
RollingForecasts rolling_forecasts(const Matrix<double>& L, const Vector<double>& y, const std::vector<Index>& origins);

// A mean of several by their shares; variances with that of the means.
RollingForecasts combined(const std::vector<RollingForecasts>& members, const Vector<double>& shares);

// Shares of members by what they miss within a fifth of the rows after each origin, in proportion to the inverse of the
// square of the mean square; those of the four largest, from a twentieth on.
Vector<double> shares_by_errors(const Vector<double>& y, const std::vector<RollingForecasts>& members);

// The factor at horizons that double: the 95 % quantile of |residual| / deviation over 1.96, at least 1.
ForecastBands forecast_bands(const Vector<double>& x, const Vector<double>& y, const RollingForecasts& forecasts);

// Root mean squares of errors, over all rows of all origins: of the forecasts, of the last value, of the value at the
// same place of the period before (0: not known).
struct RollingErrors {
  double model = 0, last = 0, seasonal = 0, period = 0;
  // In words, with what to do where a naive forecast is better.
  std::string text(std::size_t origins) const;
};
RollingErrors rolling_errors(const Vector<double>& x, const Vector<double>& y, const RollingForecasts& forecasts,
                             double period);

// The row of the last x seen (rows before `origin`) whose place in the period is that of `at`.
Index seasonal_row(const Vector<double>& x, Index origin, double at, double period);

}  // namespace carmina
