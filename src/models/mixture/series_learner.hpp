// models/mixture/series_learner.hpp -- an exact process learnt from a series: starts with and without a trend, what
// each says by its evidence, bands by forecasts from earlier origins.
#pragma once
#include "models/mixture/mixture_learner.hpp"

namespace carmina {

constexpr Index longest_series = 4000;  // rows that inference 'auto' takes as one

// What inference 'auto' stands for, of `rows` with targets, all of weight one or not, in one process or several.
Inference chosen_inference(const SpectralMixtureOptions& options, Index d, Index p, Index rows, bool weighted,
                           bool several_processes);

// Whether a fit with inference 'exact' goes this way: it was chosen, or a trend or periods are asked for.
bool learns_series(const SpectralMixtureOptions& asked, Inference inference);

// Rows in any order, targets NaN where there are none. `options` with inference 'exact'; trend as asked for. Parameters
// are learnt from `learning_rows` (0: 1,000) of more rows, the posterior is of all. `combines`: mixtures stand beside
// levels, seasons and random walks (structural_climb.hpp), in shares by the errors of earlier forecasts.
LearntMixture learn_series(const Matrix<double>& X, const Matrix<double>& Y, const SpectralMixtureOptions& options,
                           Index learning_rows, bool combines, Vector<double>& mean, Checkpoint* checkpoint);

}  // namespace carmina
