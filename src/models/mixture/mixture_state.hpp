// models/mixture/mixture_state.hpp -- what the predictions of a spectral mixture are made of.
#pragma once
#include "solvers/evidence/fourier_evidence.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <carmina/models/spectral_mixture.hpp>

#include <vector>

namespace carmina {

struct MixtureState {
  std::vector<WeightedFrequencies> points;  // of each draw (fourier)
  std::vector<FourierPosterior> posteriors;
  MixtureProcess process;  // exact, inducing
};

}  // namespace carmina
