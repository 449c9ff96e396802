// models/mixture/mixture_state.hpp -- what the predictions of a spectral mixture are made of.
#pragma once
#include "solvers/evidence/fourier_evidence.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <carmina/models/spectral_mixture.hpp>

#include <vector>

namespace carmina {

// A process with the kernel that it is of: that of the learnt mixture, or with a trend as one more component.
struct MixtureMember {
  Mixture mixture;
  double noise = 0;
  MixtureProcess process;
};

// What rolling origins have shown: the deviation of a forecast is multiplied by a factor, 1 up to the end of the
// series, linear between the places and constant beyond.
struct ForecastBands {
  Vector<double> places, factors;  // the first: the end of the series and 1; empty: 1 everywhere

  double factor(double x) const {
    const Index count = places.size();
    if (count == 0 || x <= places[0]) return 1;
    for (Index k = 1; k < count; ++k) {
      if (x > places[k]) continue;
      return factors[k - 1] + (factors[k] - factors[k - 1]) * (x - places[k - 1]) / (places[k] - places[k - 1]);
    }
    return factors[count - 1];
  }
};

struct MixtureState {
  std::vector<WeightedFrequencies> points;  // of each draw (fourier)
  std::vector<FourierPosterior> posteriors;
  std::vector<MixtureMember> members;  // exact, inducing
  Vector<double> shares;               // of the draws or members in predictions; they sum to 1
  ForecastBands bands;
};

}  // namespace carmina
