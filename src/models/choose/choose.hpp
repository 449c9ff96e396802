// models/choose/choose.hpp -- what a fit leaves to the data: scaling, family, width, metric, alpha, approximation,
// size.
#pragma once
#include "data/data_rows.hpp"

#include <carmina/models/fit_options.hpp>
#include <carmina/models/report.hpp>

namespace carmina {

// Whether these options leave anything to choose.
bool leaves_choices(const FitOptions& options);

// The options with everything chosen, numbers in the place of words; what was tried and why goes to the report.
//
// Up to 2,000 rows (by total weight) every choice is made on all of them, by errors of rows left out in closed form
// (exact_errors.hpp); above, on 2,000 rows by their global numbers, and approximations are compared on more. Everything
// is relative to the scale of inputs and targets: the choice does not depend on units. Other losses than the squared
// one take family and width from it, and their alpha from the residuals of left-out rows (loss_alpha).
template <Real T>
FitOptions choose(DataRows<T>& rows, const FitOptions& options, SolveReport& report);

// alpha of a loss l from that of the squared one. Near the solution l is a parabola of curvature E l'', and the fit
// that of a squared loss to targets with noise of variance E l'^2 / (E l'')^2. With the same share of noise to signal,
// alpha of l is alpha E l'^2 / (E r^2 E l''). The means are over rows that are left out: predictions and targets (n, p)
// in the units of the loss, r their difference. E l'' is a difference of E l' over a fifth of a deviation: kinks count.
double loss_alpha(const Loss& loss, double squared_alpha, const Matrix<double>& predictions,
                  const Matrix<double>& targets, const Vector<double>& weights);

// Whether the loss has a number in units of the targets: kappa or epsilon.
bool has_scale(const Loss& loss);
// The loss with that number from the median norm m of residuals of n rows. kappa = 2 m, which for normal residuals of
// one target is 1.35 deviations: 95 % of the precision of means [Huber 1964]. epsilon = 3 s sqrt(log n / n), at most
// s / 2, with s = m / 0.6745 [Cherkassky and Ma 2004].
double median_residual(const Matrix<double>& residuals, const Vector<double>& weights);
Loss scaled_loss(const Loss& loss, double median_residual, double rows);

}  // namespace carmina
