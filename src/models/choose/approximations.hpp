// models/choose/approximations.hpp -- exact, Fourier features or anchors, how many, and alpha of kernels that are
// given.
#pragma once
#include "data/data_rows.hpp"
#include "models/fit/summary.hpp"

#include <carmina/models/fit_options.hpp>
#include <carmina/models/report.hpp>

namespace carmina {

// Gives `options`, whose kernel is known, an approximation, a number of components and an alpha where it has none.
//
// Exact up to 2,000 rows, and up to 8,000 for the squared loss: a factorisation of that order takes no longer than
// features that do as well. Above, Fourier features and anchors (a sub-sample of the rows) are compared by errors of
// left-out rows among 16,000, 1,000 components each, with the alphas around the one chosen. As many components as give
// n m^2 = 2.5e11 products, some seconds of two cores, but 1,000 to 4,096. Other losses take 1,000
// of what is best for the squared one. `factor`: what their alpha is in that of the squared loss.
template <Real T>
void choose_approximation(DataRows<T>& rows, const DataSummary& summary, bool alpha_given, double factor,
                          FitOptions& options, SolveReport& report);

}  // namespace carmina
