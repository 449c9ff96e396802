// models/tune/tune_rows.hpp -- rows of a cross-validation, in memory, and the losses of a whole path of alphas over
// them.
#pragma once
#include <carmina/data/splits.hpp>
#include <carmina/models/tune.hpp>

#include <functional>

namespace carmina {

// Rows of positive weight in their order, inputs filled and scaled.
struct TuneRows {
  Matrix<double> X, Y;
  Vector<double> weights;  // (n)
  std::vector<Split> folds;
  std::vector<Index> groups;  // (n), or none

  Index fold_count() const { return static_cast<Index>(folds.size()); }
};

// Called after each fold.
using FoldDone = std::function<void()>;

// Mean squared losses (alphas, folds) by one decomposition for each fold; empty when the kernel, the approximation
// or the memory does not allow it. `fit` gives approximation, seed, intercept, resources.
Matrix<double> squared_loss_paths(const TuneRows& rows, const Kernel& kernel, const FitOptions& fit,
                                  const std::vector<double>& alphas, const FoldDone& done);

}  // namespace carmina
