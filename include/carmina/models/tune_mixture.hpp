// models/tune_mixture.hpp -- how many components a spectral mixture has, and its start, chosen by evidence.
#pragma once
#include <carmina/models/spectral_mixture.hpp>
#include <string>
#include <vector>

namespace carmina {

struct MixtureTrial {
  Index n_mixtures = 0;
  double evidence = 0;  // of the rows that were learnt from, with the best of the starts
  Index iterations = 0;
  bool converged = false;
};

struct MixtureTuneResult {
  SpectralMixtureMachine machine;    // of the trial with the largest evidence
  std::vector<MixtureTrial> trials;  // in the order of the counts
  std::string message;               // when the best count is the largest that was tried
};

// 1, 2, 4, 8, 16, as many of them as n_components has spectral points for.
std::vector<Index> usual_mixture_counts(const SpectralMixtureOptions& options);

// Learns a mixture of each number of components, from options.n_starts starts each. All trials learn from the same
// rows, so their evidences can be compared; it is the evidence of learnt parameters, which does not count how many
// there are. None given: the usual counts.
template <Real T>
MixtureTuneResult tune_mixture(RowSource<T>& rows, const SpectralMixtureOptions& options, std::vector<Index> counts);

}  // namespace carmina
