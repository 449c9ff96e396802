// models/machine/posterior_system.hpp -- the posterior of f for each kind of map, in units in which the noise has
// variance alpha / weight.
#pragma once
#include "features/derived_features.hpp"
#include "models/machine/machine_map.hpp"

#include <carmina/models/kernel_machine.hpp>
#include <carmina/random/philox.hpp>

#include <memory>
#include <vector>

namespace carmina {

// Covariances and draws of f with a flat prior on the intercept; the noise is not in them.
template <Real T>
struct PosteriorSystem {
  virtual ~PosteriorSystem() = default;
  // At each row by itself, (rows, p p).
  virtual Matrix<double> covariance(ConstView<T> X, const Execution& execution) const = 0;
  // Of each term of the kernel by itself, without the intercept: (rows, p).
  virtual std::vector<Matrix<double>> part_variances(ConstView<T> X, const Execution& execution) const = 0;
  // Of the plan's quantities, without the intercept, outputs times `scale` first: (rows, quantities).
  virtual Matrix<double> derived_variances(const DerivedPlan& plan, const Vector<double>& scale, ConstView<T> X,
                                           const Execution& execution) const = 0;
  // f less its mean, drawn at all rows together: (rows, p) for each stream.
  virtual std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                            const Execution& execution) const = 0;
};

// Factors what it needs once. Error where the system is singular to rounding.
template <Real T>
std::unique_ptr<PosteriorSystem<T>> feature_posterior(const KernelMachine<T>& machine, const FourierMap<T>& map,
                                                      const Execution& execution);
// Of a sub-sample, by the features of its anchors.
template <Real T>
std::unique_ptr<PosteriorSystem<T>> anchor_posterior(const KernelMachine<T>& machine, const KernelMap<T>& map,
                                                     const Execution& execution);
template <Real T>
std::unique_ptr<PosteriorSystem<T>> row_posterior(const KernelMachine<T>& machine, const KernelMap<T>& map,
                                                  const Execution& execution);
template <Real T>
std::unique_ptr<PosteriorSystem<T>> row_posterior(const KernelMachine<T>& machine, const OperatorMap<T>& map,
                                                  const Execution& execution);

}  // namespace carmina
