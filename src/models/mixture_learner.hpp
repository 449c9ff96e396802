// models/mixture_learner.hpp -- a spectral mixture learnt from rows in memory: starts, steps, and what is kept.
#pragma once
#include "merged_rows.hpp"

#include <carmina/data/rows.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/solvers/streamed_posterior.hpp>

#include <vector>

namespace carmina {

// All in the units of the targets.
struct LearntMixture {
  SpectralParameters parameters;
  std::vector<WeightedFrequencies> points;  // of each draw (fourier)
  std::vector<FourierPosterior> posteriors;
  MixtureProcess process;  // exact, inducing
  double evidence = 0;     // of the rows that the posterior is of
  std::vector<double> curve, start_evidences;
  SolveReport report;
};

// What the learner and the posterior need to know of the rows besides themselves.
struct MixtureData {
  std::vector<std::vector<Index>> groups;  // outputs whose targets are there in the same rows
  PosteriorBlocks blocks;
  Index longest_grid = 0;  // places of a series whose spectrum is the start (models/empirical_spectrum.hpp)
};

// The best of the starts, with the posterior of these rows; targets are taken about `mean`.
template <Real T>
LearntMixture learn_mixture(const MergedRows<T>& rows, const MixtureData& data, const SpectralMixtureOptions& options,
                            Vector<double>& mean);

// The posterior of all rows of the source at parameters and points that are there, in the place of the one that is.
template <Real T>
void set_posterior(RowSource<T>& rows, const MixtureData& data, const Vector<double>& mean,
                   const SpectralMixtureOptions& options, LearntMixture& learnt);

}  // namespace carmina
