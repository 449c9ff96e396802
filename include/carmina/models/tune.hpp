// models/tune.hpp -- kernel width, alpha, loss parameters and the size of mixtures chosen by the data.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <optional>
#include <string>
#include <vector>

namespace carmina {

struct TuneOptions {
  FitOptions fit;  // what all trials have in common; its alpha is not used

  // Widths to try: those given, of a kernel that has a single one; else the kernel's own (given, or the median
  // distance between rows) times each factor, all terms of a sum by the same. Kernels without a width are tried as
  // they are. A list that is empty is ours, and goes on where its best value is at an end of it: of widths up to 64
  // times as far as it began, of alphas 4 powers of ten.
  std::vector<double> length_scales;
  std::vector<double> width_factors;  // none: 1/4, 1/2, 1, 2, 4
  std::vector<double> alphas;         // none: default_alphas(fit.loss), or path_alphas() with `by`
  std::vector<Loss> losses;           // none: fit.loss alone

  // What trials are compared by: its mean over the rows left out. None: fit.loss. It is one for all trials, since a
  // smaller kappa or a larger epsilon makes a loss smaller without making predictions better.
  std::optional<Loss> measure;

  // In the place of folds: the error of rows left out one by one, or generalised cross-validation, of the squared loss.
  // Each width costs one path over all rows (models/alpha_path.hpp), which are streamed in their own precision.
  std::optional<AlphaScore> by;

  Index folds = 5;
  bool contiguous = false;  // folds of consecutive rows, as suits a time series; else by fit.seed
  // A number for each row, in their order: rows of one number are left out together (data/splits.hpp). None: rows are
  // left out one by one.
  std::vector<Index> groups;
};

// The first width of a kernel, of a product that of its first factor that has one; empty for kernels without.
std::vector<double> first_width(const Kernel& kernel);

// Half powers of ten from 1e-6 to 100 for the squared loss, whose whole path costs little; else powers from 1e-4.
std::vector<double> default_alphas(const Loss& loss);

struct Trial {
  Kernel kernel;
  Loss loss;
  double alpha;
  std::vector<double>
      fold_losses;         // mean over the rows of each fold, by a machine fitted to the others; none with `by`
  double mean, deviation;  // over the folds, deviation the root mean squared distance from the mean; or the score and 0
  double width_factor = 1;  // of the kernel's own width
};

struct CrossValidation {
  std::vector<Trial> trials;  // by width, then loss, then alpha; those that a list went on to after them
  std::size_t best = 0;       // the first with the smallest mean
  std::string message;        // what the user should know: a best value at the end of its list
  FitOptions chosen;          // fit, with the best kernel, alpha and loss
};

// Fits every combination to all folds but one and compares predictions for that one with its targets.
//
// Means, scales and the kernel's own width are those of all rows. With the squared loss a whole path of alphas costs
// one decomposition of a matrix for each fold and width, and all folds share one Fourier or sketched map (a sketch's
// anchors come from all rows); other losses, and exact kernels that are not separable, are fitted one by one.
// Trials are computed in double. Rows are held in memory; those of weight 0 are left out.
template <Real T>
CrossValidation cross_validate(RowSource<T>& rows, const TuneOptions& options);

template <Real T>
struct TuneResult {
  CrossValidation validation;
  KernelMachine<T> machine;  // fitted to all rows as chosen
};

template <Real T>
TuneResult<T> tune(RowSource<T>& rows, const TuneOptions& options) {
  CrossValidation validation = cross_validate(rows, options);
  KernelMachine<T> machine = KernelMachine<T>::fit(rows, validation.chosen);
  return {std::move(validation), std::move(machine)};
}
template <Real T>
TuneResult<T> tune(ConstView<T> X, ConstView<T> Y, const TuneOptions& options, const T* weights = nullptr) {
  MemoryRows<T> rows(X, Y, weights);
  return tune(rows, options);
}

// How many components a spectral mixture has, and its start, chosen by evidence.
struct MixtureTrial {
  Index n_mixtures = 0;
  double evidence = 0;  // of the rows that were learnt from, with the best of the starts
  Index iterations = 0;
  bool converged = false;
};

struct MixtureTuneResult {
  SpectralMixtureMachine machine;    // of the trial with the largest evidence
  std::vector<MixtureTrial> trials;  // in the order of the counts
  std::string message;               // when the best count is the largest that was tried
};

// 1, 2, 4, 8, 16, as many of them as n_components has spectral points for.
std::vector<Index> usual_mixture_counts(const SpectralMixtureOptions& options);

// Learns a mixture of each number of components, from options.n_starts starts each. All trials learn from the same
// rows, so their evidences can be compared; it is the evidence of learnt parameters, which does not count how many
// there are. None given: the usual counts.
template <Real T>
MixtureTuneResult tune_mixture(RowSource<T>& rows, const SpectralMixtureOptions& options, std::vector<Index> counts);

}  // namespace carmina
