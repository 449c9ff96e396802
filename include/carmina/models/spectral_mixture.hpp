// models/spectral_mixture.hpp -- Gaussian processes whose kernel, a spectral mixture, is learnt from the data
// [Jung2019].
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/coupling.hpp>
#include <carmina/kernels/mixture_kernel.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/report.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace carmina {

// K_0(delta) = sum_q w_q A_q k_q(delta), A_q = B_q B_q* (mathematics.md 4): each component has its B_q, or each
// frequency the factor of a differential coupling. One output: B_q = 1. Also the shape of a gradient by these
// parameters.
struct SpectralParameters {
  Mixture mixture;
  Matrix<double> real, imaginary;  // B_q (Q, p rank); imaginary empty: none
  Vector<double> noise;            // variances (p)
  Matrix<double> inducing;         // (m, d); empty unless points are learnt
  OutputCoupling coupling = LearntFactors{};
  // A constant or a line beside the mixture, whose coefficients are integrated out: one component of frequency near 0
  // and fixed parameters, for each output. No components: none.
  Mixture trend = {};

  Index dim_out() const { return noise.size(); }
  SpectralParameters zeros() const;
};

// Components in their means and deviations, or in the natural parameters of exponential families, of which the Gaussian
// is one [Jung2019, Example 2]. Both are taken about a start and in units of its widths: eta_1 = (mu - mu_0) sigma_0 /
// sigma^2, eta_2 = -sigma_0^2 / (2 sigma^2), or (mu - mu_0) / sigma_0, log(sigma / sigma_0). That is the same family,
// and steps of one length then suit components of any width.
enum class Parameterization { natural, general };
Parameterization parse_parameterization(const std::string& name);
std::string parameterization_name(Parameterization parameterization);

// Fourier features (any number of rows), the n x n matrix, or inducing points. Automatic: the matrix for a series of up
// to 4,000 rows (one input, one target, no weights), where the budget holds it and nothing is asked for that is of
// features alone; else Fourier features.
enum class Inference { fourier, exact, inducing, automatic };
Inference parse_inference(const std::string& name);
std::string inference_name(Inference inference);

// How often the prior of a component counts in the bound: for each of its spectral points, which makes it a bound
// (mathematics.md 3c); once; or not at all, which leaves the evidence alone.
enum class KlCopies { all, one, none };
KlCopies parse_kl_copies(const std::string& name);
std::string kl_copies_name(KlCopies copies);

// A line beside the mixture, for one input. Automatic: with inference automatic as the evidence says, of a series both
// by the errors of their forecasts; else none.
enum class Trend { none, linear, automatic };
Trend parse_trend(const std::string& name);
std::string trend_name(Trend trend);

struct SpectralMixtureOptions {
  Index n_mixtures = 10;
  Index n_components = 0;  // feature columns: twice the number of spectral points; 0: 600
  Inference inference = Inference::automatic;
  Trend trend = Trend::automatic;
  std::vector<double> periods = {};  // of one input, known: where means of the mixture start
  Parameterization parameterization = Parameterization::natural;
  Allocation allocation = Allocation::softmax;
  KlCopies kl_copies = KlCopies::all;
  MixtureFamily family;
  // "adam": spectral points drawn anew for each step; "natural_gradient": the same, steps of means and scales by the
  // true natural gradient; "lbfgs": points drawn once. "auto": lbfgs.
  std::string solver = "auto";  // one of mixture_solver_names()
  Index max_iter = 500;
  double tol = 1e-5;            // relative progress at which learning stops
  double learning_rate = 0.05;  // of adam, in units of the starting widths
  Index step_draws = 1;         // K of [Jung2019, (16)], for a step of adam
  Index n_draws = 1;            // sets of spectral points that predictions are averaged over
  Index n_starts = 1;           // of which the one with the largest evidence is kept
  Index n_inducing = 0;         // 0: n_components
  // How several outputs go together: by learnt factors, not at all with one mixture for all, as a field.
  OutputCoupling coupling = LearntFactors{};
  bool fit_intercept = true;
  // Rows that parameters are learnt from; the posterior is always that of all rows. Of more, an even sample by their
  // number is taken: runs of neighbours of a series (one input), else single rows. 0: 20,000, or fewer where the memory
  // budget asks for it; of a series with inference 'auto' 1,000.
  Index learning_rows = 0;
  std::optional<Mixture> start = {};  // in the place of the data's own spectrum
  std::uint64_t seed = 0;
  std::vector<std::string> input_names = {}, target_names = {};  // kept in the model
  CheckpointOptions checkpoint = {};                             // where the state of the fit is kept while it runs
  Execution execution = {};
  // Called after each step: start, step, the objective (evidence less divergence).
  std::function<void(Index start, Index step, double value)> on_step = {};

  Index features() const { return n_components > 0 ? n_components : 600; }
  void check() const;
};

std::vector<std::string> mixture_solver_names();

struct WeightedFrequencies;  // spectral points and their factors
struct MixtureState;

class SpectralMixtureMachine {
 public:
  // NaN is a missing target, for Fourier features only; a weight means repetition. Rows are read two times (checks, the
  // rows to learn from), and again for the posterior where parameters are not learnt from all of them: once, or once
  // for each group of outputs that have their targets in the same rows. Of float rows features are made in float while
  // parameters are learnt; the posterior's features, sums, factors and parameters are in double.
  template <Real T>
  static SpectralMixtureMachine fit(RowSource<T>& rows, const SpectralMixtureOptions& options);
  // The same of a table whose rows several processes have, as KernelMachine::fit: inference 'fourier' alone.
  template <Real T>
  static SpectralMixtureMachine fit(const std::vector<RowSource<T>*>& parts, const SpectralMixtureOptions& options,
                                    const Communicator& processes);
  // X (n, d), Y (n, p), weights (n) or null.
  static SpectralMixtureMachine fit(ConstView<double> X, ConstView<double> Y, const SpectralMixtureOptions& options,
                                    const double* weights = nullptr) {
    MemoryRows<double> rows(X, Y, weights);
    return fit(rows, options);
  }
  static SpectralMixtureMachine fit(ConstView<float> X, ConstView<float> Y, const SpectralMixtureOptions& options,
                                    const float* weights = nullptr) {
    MemoryRows<float> rows(X, Y, weights);
    return fit(rows, options);
  }

  Index dim_in() const { return parameters_.mixture.dim_in(); }
  Index dim_out() const { return intercept_.size(); }

  // Mean (n, p) over the draws.
  Matrix<double> predict(ConstView<double> X, const Execution& execution = {}) const;
  // Mean of each draw and latent covariance (n, p p) of each draw; noise not included.
  struct DrawPrediction {
    Matrix<double> mean, covariance;
  };
  std::vector<DrawPrediction> predict_draws(ConstView<double> X, const Execution& execution = {}) const;
  // Mean, and covariance of a new observation: mean of covariances, covariance of the means, and noise (mathematics.md
  // 3e).
  DrawPrediction predict_observation(ConstView<double> X, const Execution& execution = {}) const;
  // Functions drawn from the posterior, without noise: each (n, p). Draws take turns among the sets of points, of a
  // series among its members as often as their shares say.
  std::vector<Matrix<double>> sample(ConstView<double> X, Index draws, std::uint64_t seed,
                                     const Execution& execution = {}) const;
  // -1/n* sum log of the density averaged over the draws, over all targets that are there (mathematics.md 3e).
  double negative_mean_log_likelihood(ConstView<double> X, ConstView<double> Y, const Execution& execution = {}) const;

  const SpectralParameters& parameters() const { return parameters_; }
  const Vector<double>& intercept() const { return intercept_; }
  Inference inference() const { return inference_; }
  const SpectralMixtureOptions& options() const { return options_; }  // without execution; learning_rows: of the fit
  // Evidence of all training targets, mean over the draws; the bound for inducing points.
  double log_marginal_likelihood() const { return evidence_; }
  const std::vector<double>& curve() const { return curve_; }  // the objective after each step of the start that won
  // Of the rows that were learnt from.
  const std::vector<double>& start_evidences() const { return start_evidences_; }
  const FitRecord& record() const { return record_; }
  const SolveReport& report() const { return record_.report; }
  // Spectral points in cycles of a set, (M, d), with their weights a^2 (M): what the features are made of.
  const std::vector<WeightedFrequencies>& points() const;
  // "linear" or "none": what is beside the mixture that `parameters` are of.
  Trend trend() const;
  // What predictions are made of; models/mixture/mixture_state.hpp.
  const MixtureState& state() const { return *state_; }

  ModelFile to_file() const;
  static SpectralMixtureMachine from_file(const ModelFile& file, const std::string& source);
  void save(const std::string& path) const { write_model_file(path, to_file()); }
  static SpectralMixtureMachine load(const std::string& path) { return from_file(read_model_file(path), path); }

 private:
  template <Real T>
  static SpectralMixtureMachine fit(DataRows<T>& rows, const SpectralMixtureOptions& options);

  SpectralMixtureOptions options_;
  SpectralParameters parameters_;
  Vector<double> intercept_;
  Inference inference_ = Inference::fourier;
  std::shared_ptr<const MixtureState> state_;  // what predictions are made of; shared by copies
  double evidence_ = 0;
  std::vector<double> curve_, start_evidences_;
  FitRecord record_;
};

}  // namespace carmina
