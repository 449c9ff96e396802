// models/fit/leave_out.hpp -- which rows of a fit are left out, and what their errors say: the variance of the noise
// and the quantiles that intervals are made of.
#pragma once
#include "models/fit/fit_pipeline.hpp"
#include "models/fit/sampled_rows.hpp"
#include "solvers/squared/left_out.hpp"

namespace carmina {

// Rows that are left out: all up to 5,000, of more an even sample by their numbers; fewer where a quarter of the memory
// budget does not hold what is kept of them.
Index rows_left_out(const FitTask& task);

// The noise of each output, sum w e^2 / v / sum w unless it is known (p); and for each of interval_levels() the
// quantile of |e| / sqrt(noise v), of each output and of the largest of a row: the smallest that rows of weight (sum w
// + 1) level do not exceed. Nothing when no row's error is finite.
struct NoiseTable {
  Vector<double> noise;
  Matrix<double> quantiles;  // (levels, p + 1)
};
NoiseTable noise_table(const LeftOutErrors& found, std::optional<double> known);

// From sums over rows alone: the residuals' squares over the weight less the degrees of freedom (p), for coefficients
// (features, p). Nothing when no weight is left.
Vector<double> noise_of_sums(const Moments& moments, const Matrix<double>& coefficients,
                             const Vector<double>& intercept, const Vector<double>& freedom);

// Beside the solution of a posed problem: leverages while there is a factor, errors when there is a solution.
template <Real T>
class RowsLeftOut {
 public:
  // `sums` are those of a primal problem, before it is solved. Nothing happens where the options do not ask for it or
  // alpha is 0.
  RowsLeftOut(FitPipeline<T>& fit, const PosedSystem<T>& posed, double alpha, const Moments* sums);
  RowsLeftOut(const RowsLeftOut&) = delete;

  FactorUse use();
  // Noise and quantiles of the pipeline, by the solution before it is taken to the map.
  void finish(const LinearSolution& solution);

 private:
  void of_features(const Moments& sums);
  void of_dual();
  RowSampler sampler() const;

  FitPipeline<T>& fit_;
  const PosedSystem<T>& posed_;
  double alpha_;
  std::optional<LeftOut> left_out_;
  // Primal: the rows and their features.
  HeldRows<T> held_;
  std::optional<MemoryRows<T>> source_;
  std::optional<DataRows<T>> data_;
  std::unique_ptr<FeatureRows> features_;
  Vector<double> mean_;
  // Dual: the rows' places, and roots of all weights.
  std::vector<Index> places_;
  Vector<double> root_weights_;
};

}  // namespace carmina
