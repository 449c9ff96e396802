// models/mixture/mixture_learner.hpp -- a spectral mixture learnt from rows in memory: starts, steps, and what is kept.
#pragma once
#include "models/fit/merged_rows.hpp"
#include "models/mixture/mixture_state.hpp"
#include "solvers/evidence/mixture_processes.hpp"
#include "solvers/evidence/streamed_posterior.hpp"

#include <carmina/models/spectral_mixture.hpp>

#include <vector>

namespace carmina {

// What SpectralMixtureOptions' solver is a word for.
enum class MixtureSolver { automatic, adam, natural_gradient, lbfgs };
MixtureSolver parse_mixture_solver(const std::string& name);
std::string mixture_solver_name(MixtureSolver solver);

// All in the units of the targets.
struct LearntMixture {
  SpectralParameters parameters;
  MixtureState state;
  double evidence = 0;  // of the rows that the posterior is of
  std::vector<double> curve, start_evidences;
  SolveReport report;
};

// `groups`: outputs whose targets are there in the same rows.

// The best of the starts, with the posterior of these rows; targets are taken about `mean`. `longest_grid`: places of a
// series whose spectrum is the start (models/mixture/empirical_spectrum.hpp). The steps' state is kept in `checkpoint`.
template <Real T>
LearntMixture learn_mixture(const MergedRows<T>& rows, const std::vector<std::vector<Index>>& groups,
                            const SpectralMixtureOptions& options, Index longest_grid, Vector<double>& mean,
                            Checkpoint* checkpoint = nullptr);

// The posterior of all rows at parameters and points that are there, in the place of the one that is.
template <Real T>
void set_posterior(const CountedRows<T>& rows, const std::vector<std::vector<Index>>& groups,
                   const Vector<double>& mean, const SpectralMixtureOptions& options, LearntMixture& learnt,
                   Checkpoint* checkpoint = nullptr);

}  // namespace carmina
