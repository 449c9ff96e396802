// models/mixture/periodogram.hpp -- the power of several outputs over one input column, summed.
#pragma once
#include "models/mixture/empirical_spectrum.hpp"

#include <vector>

namespace carmina {

// Half the inverse of a short step of x (a tenth of them are shorter): beyond it evenly spaced inputs would repeat. 0
// where all x are equal.
double highest_frequency(Vector<double> x);

// Whether x are places of one regular grid, to 1e-6 of its step; repetitions are allowed, and gaps, as long as the grid
// has no more than four places for each x, or no more than `cells`.
bool on_regular_grid(const Vector<double>& x, Index cells = 0);

// Rows whose x is within the middle `cells` of the shortest step.
std::vector<Index> middle_rows(const Vector<double>& x, Index cells);

// As `periodogram`, of the columns of Y (n, p), each centred; missing entries are NaN. Power is in units of variance: a
// sinusoid's amplitude^2 / 2 stands at its frequency.
Periodogram summed_periodogram(const Vector<double>& x, const Matrix<double>& Y, double highest, Index limit,
                               Index cells = 0);

}  // namespace carmina
