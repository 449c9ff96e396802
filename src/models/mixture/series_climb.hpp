// models/mixture/series_climb.hpp -- a series in its own units, and the ascent of its evidence from a start.
#pragma once
#include "models/mixture/series_start.hpp"
#include "solvers/evidence/ascent.hpp"
#include "solvers/evidence/series_evidence.hpp"

#include <carmina/models/spectral_mixture.hpp>

#include <algorithm>
#include <limits>

namespace carmina {

// Steps of a start: more than sixty change the evidence and not the forecast.
inline Index series_steps(const SpectralMixtureOptions& options) { return std::min<Index>(options.max_iter, 60); }

// Rows by time, targets in deviations about their mean.
struct Times {
  Vector<double> x, y;
  double mean = 0, scale = 1;

  double range() const { return x[x.size() - 1] - x[0]; }
  Times first(Index rows, bool centre) const;  // standardised by themselves
  // About so many of them, in runs of neighbours that are evenly spread: near ones say what varies fast, distant ones
  // what lasts. In the units of all.
  Times in_runs(Index rows) const;
  void standardise(bool centre);
};
// Rows in any order; those without a target, NaN, are left out.
Times times_of(const Matrix<double>& X, const Matrix<double>& Y, bool centre);

// A start that has been climbed from, in deviations of the targets it was learnt from.
struct Climbed {
  Mixture mixture, beside;
  double noise = 0, evidence = -std::numeric_limits<double>::infinity();
  AscentResult ascent;

  bool linear() const { return beside.size() > 0 && beside.means(0, 0) != 0; }
  Mixture whole() const;  // with what is beside it as the last component
};

class SeriesClimb {
 public:
  // Learns from `times`; starts at what `all` show.
  SeriesClimb(const Times& times, const Times& all, const SpectralMixtureOptions& options, bool linear);

  // Starts differ in how many components are for the level: as usual, then one fewer, one more, two fewer, ...
  Climbed from(Index start, const SavedLoop& saved, const AscentStep& on_step) const;

 private:
  // Coordinates: log w, mu range, log(sigma range), log noise.
  void decode(const Vector<double>& at, Mixture& mixture, double& noise) const;
  // The evidence less squares of what goes beyond numbers that a series of variance 1 can tell: noise below 1e-5, lines
  // narrower than a fiftieth of the inverse of the range, weights above 1000.
  double value(const Vector<double>& at, Vector<double>* gradient) const;

  const Times &times_, &all_;
  const SpectralMixtureOptions& options_;
  Execution quiet_;
  Mixture beside_;
  SeriesEvidence evidence_;
};

}  // namespace carmina
