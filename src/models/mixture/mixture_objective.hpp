// models/mixture/mixture_objective.hpp -- what learning a spectral mixture maximises, for each kind of inference.
#pragma once
#include "solvers/evidence/fourier_evidence.hpp"

#include <carmina/models/spectral_mixture.hpp>

#include <memory>

namespace carmina {

class MixtureObjective {
 public:
  virtual ~MixtureObjective() = default;
  // A start: its components are the prior, random numbers come from this stream.
  virtual void begin(const Mixture& prior, const Random& random) = 0;
  // Spectral points for step t, or for good; nothing to do where there are none.
  virtual void redraw(const SpectralParameters& at, Index step, double temperature) = 0;
  virtual void freeze(const SpectralParameters& at) = 0;
  // The objective for the points drawn last.
  virtual double value(const SpectralParameters& at, SpectralParameters* gradient) = 0;
  // How often each component counts in the divergence; the natural gradient is divided by it.
  virtual std::vector<Index> copies() const = 0;
  // The sets of spectral points that predictions are averaged over, in the targets' units: outputs multiplied by
  // `scale`. None where there are no points.
  virtual std::vector<WeightedFrequencies> points(const SpectralParameters& at, const Vector<double>& scale) const = 0;
};

// X must outlive the objective; Y is kept. Of float rows features are made in float, unless their phases need more
// digits.
template <Real T>
std::unique_ptr<MixtureObjective> make_fourier_objective(ConstView<T> X, const Matrix<double>& Y, const T* weights,
                                                         const SpectralMixtureOptions& options);
// `weights` empty: all one.
std::unique_ptr<MixtureObjective> make_process_objective(ConstView<double> X, const Matrix<double>& Y,
                                                         const Vector<double>& weights,
                                                         const SpectralMixtureOptions& options);

}  // namespace carmina
