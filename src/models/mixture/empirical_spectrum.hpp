// models/mixture/empirical_spectrum.hpp -- where the learning of a spectral mixture starts: from the data's own
// spectrum.
#pragma once
#include "kernels/mixture_math.hpp"

namespace carmina {

// Power at frequencies (cycles), all positive, ascending.
struct Periodogram {
  Vector<double> frequencies, power;
  double resolution = 0;  // 1 / range of the inputs
};

// Of one input column x (n) and targets y (n), which are centred, in units of variance: a sinusoid's amplitude^2 / 2
// stands at its frequency. By fast Fourier transform where x is evenly spaced (in any order, with gaps or repetitions,
// to 1e-6 of the step), of which the `limit` strongest frequencies stay; else Lomb-Scargle's at half resolutions up to
// `highest` (0: half the inverse of a short step, the tenth percentile), `limit` of them at most.
Periodogram periodogram(const Vector<double>& x, const Vector<double>& y, double highest = 0, Index limit = 4096);

// A start of Q components for rows X (n, d) and targets Y (n, p), missing ones NaN: per input column a weighted EM for
// a mixture of Q normal distributions over the periodogram (its power summed over the outputs), sigma at least half the
// resolution, w_q = pi_q Var(Y) (mathematics.md 3h); differs: a uniform distribution beside them takes what is noise,
// so the w_q sum to less than Var(Y). Component q joins the q-th of each column. `random` decides where EM starts:
// several starts take several streams; the first (start 0) begins at the largest well-separated peaks. `longest_grid`:
// places of an evenly spaced column that may be mostly empty, as of a sample of a long series, so that its fast Fourier
// transform still finds the lines; of a longer one the middle.
Mixture empirical_start(ConstView<double> X, ConstView<double> Y, Index components, Index start, const Random& random,
                        Index longest_grid = 0);

}  // namespace carmina
