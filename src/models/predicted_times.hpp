// models/predicted_times.hpp -- how long a squared-loss fit with Fourier features would take, direct or by cg.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/features/fourier_map.hpp>

namespace carmina {

struct PredictedTimes {
  double direct = 0, cg = 0;  // seconds
  Index sample_rows = 0;      // of the preconditioner that makes cg fastest; 0: there is none
  Index passes = 0;           // over the rows that take as long as direct does

  bool cg_is_faster() const { return sample_rows > 0 && cg < direct; }
};

// From the machine's rates on small parts of the same work, measured on the spot (some tens of milliseconds). `tol` is
// the relative residual at which cg would stop.
template <Real T>
PredictedTimes predict_times(const FourierMap<T>& map, Index rows, Index dim_out, double tol, double alpha,
                             const Execution& execution);

}  // namespace carmina
