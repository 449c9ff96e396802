// models/mixture/structural_climb.hpp -- mixtures of many components and few parameters: a level, a season, noise,
// beside a constant or a line; what the ascent of their evidence from a start finds.
#pragma once
#include "models/mixture/series_climb.hpp"

#include <string>

namespace carmina {

// Which parts there are. A level's spectrum falls as a power b + 1 of the frequency: b = 1 is a random walk, whose
// forecast is near the last value, b = 3 one that keeps its slope; `walk` says b = 1, else it is learnt.
struct StructuralForm {
  double period = 0;  // of the season; 0: none
  bool linear = false, walk = false;

  std::string text() const;
};

// Those that forecasts are made of, for each trend that may be.
std::vector<StructuralForm> structural_forms(double period, const std::vector<bool>& trends);

// Steps of a start: few parameters need few.
constexpr Index structural_steps = 40;

class StructuralClimb {
 public:
  StructuralClimb(const Times& times, const SpectralMixtureOptions& options, bool linear);

  // From `at`, what another climb of the same form has found, or from the usual place where it is empty.
  Climbed from(const StructuralForm& form, const Vector<double>& at, const SavedLoop& saved,
               const AscentStep& on_step) const;
  // Coordinates of a form: log level, b unless it walks, of a season (log steady, log changing, its power c, log width
  // of what changes), log noise.
  Vector<double> start(const StructuralForm& form) const;
  // The evidence with a prior of b, c and the width, less squares of what goes beyond numbers that a series of variance
  // 1 can tell.
  double value(const StructuralForm& form, const Vector<double>& at, Vector<double>* gradient) const;

 private:
  struct Parts;  // the mixture at some coordinates, part by part
  Parts parts(const StructuralForm& form, const Vector<double>& at) const;

  const Times& times_;
  MixtureFamily family_;
  Index most_steps_;
  double tol_;
  Execution quiet_;
  Mixture beside_;
  SeriesEvidence evidence_;
};

}  // namespace carmina
