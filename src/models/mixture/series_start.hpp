// models/mixture/series_start.hpp -- where the learning of a series starts: its level, its trend, every rhythm that its
// sampling can show.
#pragma once
#include "kernels/mixture_math.hpp"

#include <vector>

namespace carmina {

// Frequencies (cycles) of the strongest sinusoids in y over ascending x, one after the other: the largest of
// Lomb-Scargle's power, at half resolutions up to half the inverse of a short step, of what a least-squares fit of a
// constant, a line (where `linear`) and the sinusoids found before leaves. A strong line's skirt hides nothing then,
// and neither does a trend.
std::vector<double> strongest_rhythms(const Vector<double>& x, const Vector<double>& y, Index count, bool linear,
                                      const std::vector<double>& known, const Execution& execution);

// Components for y of variance 1: `levels` at frequency 0, from as wide as the series down to its steps, weights in
// proportion to the length that they vary over, so that their sum is near a random walk; the others narrow lines, at
// 1 / period of the periods that are given, then at the strongest rhythms.
Mixture series_start(const Vector<double>& x, const Vector<double>& y, Index components, Index levels, bool linear,
                     const std::vector<double>& periods, const Execution& execution);

// How many of so many components are for the level.
Index usual_levels(Index components);

// What stands beside the learnt mixture for series of the given range and variance 1, integrated out with it: a
// constant or, where `linear`, a line. sqrt(w) cos(omega x + phi) of an omega far below 1 / range is a line to rounding
// of its own kind (omega range)^2 / 6: of constants w is the variance, of slopes w omega^2 = (10 / range)^2. So a trend
// is one more component, of every kind of inference.
Mixture trend_component(double range, bool linear);

}  // namespace carmina
