// models/fit_options.hpp -- everything a user can choose about a fit, with its defaults.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/data/input_transform.hpp>
#include <carmina/kernels/kernel.hpp>
#include <carmina/kernels/spectrum.hpp>
#include <carmina/losses/loss.hpp>
#include <carmina/models/adam_options.hpp>
#include <carmina/models/checkpoint_options.hpp>
#include <carmina/sketches/distribution.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace carmina {

// What alphas are compared by: generalised cross-validation, or the exact error of rows left out one by one
// (models/alpha_path.hpp).
enum class AlphaScore { gcv, leave_one_out };
std::vector<std::string> alpha_score_names();
AlphaScore parse_alpha_score(const std::string& name);
std::string alpha_score_name(AlphaScore score);

// What inputs are scaled by: nothing; mean and deviation of each column; its quartiles, far values being limited; or
// what the data suggest.
class InputScaling {
 public:
  enum Rule { none, standard, robust, automatic };
  InputScaling(bool scaled) : rule_(scaled ? standard : none) {}  // NOLINT: yes or no
  InputScaling(Rule rule) : rule_(rule) {}                        // NOLINT: one of the rules
  Rule rule() const { return rule_; }
  bool operator==(const InputScaling&) const = default;

 private:
  Rule rule_;
};
const std::vector<std::string>& input_scaling_names();  // in the order of the rules
InputScaling parse_input_scaling(const std::string& name);
std::string input_scaling_name(const InputScaling& scaling);

// Where a kernel by name gets its width when none is given: chosen with alpha by the errors of rows left out; the
// median distance between rows; or chosen, one for each input.
enum class WidthRule { automatic, median, per_input };
// Whether distances are taken in a metric that is learnt from the gradients of a first fit.
enum class MetricRule { automatic, identity, learn };
std::vector<std::string> metric_names();
MetricRule parse_metric(const std::string& name);
std::string metric_name(MetricRule rule);

constexpr Index usual_components = 1000;
constexpr double usual_alpha = 1;  // where nothing can choose

struct FitOptions : EarlyStopping {
  // What is "auto", or has no value, is chosen by the data (models/choose/choose.hpp); with a kernel, a width, an alpha
  // and a number of components given, "auto" is a Gaussian kernel and Fourier features.

  // The kernel: a value, or a name with a width. A kernel that has no width takes none; Polynomial's gamma, when not
  // given, is then 1 / number of inputs.
  std::optional<Kernel> kernel;
  std::string kernel_name = "auto";
  KernelParameters kernel_parameters;  // with a name: Matern's nu, Polynomial's degree, ...
  std::optional<LengthScale> length_scale;
  WidthRule width = WidthRule::automatic;  // with a name and no length_scale
  MetricRule metric = MetricRule::automatic;
  OutputCoupling coupling;  // with a name: how outputs go together

  // "auto", "fourier", "exact", or a sketch's name, with n_components and its defaults
  std::string approximation = "auto";
  std::optional<sketches::Distribution> sketch;  // a sketch as it is, in the place of approximation
  std::optional<Index> n_components;             // feature columns of a Fourier map: twice the number of frequencies
  Sampling sampling = Sampling::iid;             // of a Fourier map's frequencies
  Loss loss;                                     // l; several levels of Pinball and one target: all of them jointly
  bool automatic_loss = false;                   // Huber's kappa, epsilon: from the residuals of left-out rows
  bool non_crossing = false;                     // quantiles of ascending levels: predictions are put in order
  std::optional<double> alpha;                   // J = sum_i w_i l(f(x_i) + b, y_i) + alpha |f|^2 / 2
  // Widths, multiples of the terms and alpha (the noise variance) are learnt by the evidence of the Fourier features
  // (models/fit/learn_kernel.hpp), the kernel's widths being where that starts: on all rows, or some `evidence_rows` of
  // more.
  bool by_evidence = false;
  Index evidence_rows = 20000;
  // Squared loss: alpha is the best of these by a score of their path, in the place of the one above.
  std::optional<AlphaScore> alpha_by;
  std::vector<double> alphas;  // none: path_alphas()
  // What is chosen by errors of left-out rows: rows with one number, such as a track or a station, are left out
  // together, or stretches of consecutive rows, a tenth each. Else each row by itself.
  std::vector<Index> groups;  // a number for each row, or none
  bool contiguous = false;
  bool fit_intercept = true;
  InputScaling scale_inputs = InputScaling::automatic;
  // The first of each pair of inputs that stand for a number that wraps round (data/input_encoder.hpp): both are scaled
  // by one factor, and a vector field is not of them.
  std::vector<Index> wrapped_inputs;
  std::optional<InputTransform> transform;  // in the place of scale_inputs and fill_missing
  // Mean squared errors over those of rows left out in closed form, where the kernel was learnt from these rows too.
  double optimism = 1;
  bool fill_missing = false;  // missing inputs take the training mean
  // "auto"; squared loss: "direct", "cg", of Fourier models also "lsmr", "idr", "sgd", "adam"; other losses: "newton",
  // "lbfgs", "adam"
  std::string solver = "auto";
  Index max_iter = 1000;  // iterations; of sgd and adam: passes over the rows
  // Relative residual of an iterative solver; sgd and adam stop at its square root. Other losses: relative duality gap.
  double tol = 1e-6;
  std::uint64_t seed = 0;

  // Squared loss, direct solution: the variance of the noise and the errors of rows left out, for deviations and
  // intervals of predictions (models/posterior.hpp); of many rows from a sample.
  bool estimate_noise = true;
  bool keep_moments = false;  // of a Fourier fit, for the variance of its predictions: memory for one more matrix

  std::vector<std::string> input_names, target_names;  // kept in the model, so that columns are found by name again
  CheckpointOptions checkpoint;                        // where the state of the fit is kept while it runs
  Execution execution;

  void check() const;  // Error for a value out of range
  Index components() const { return n_components.value_or(usual_components); }
  // What the words stand for where nothing is chosen: a Gaussian kernel, Fourier features, alpha 1, inputs scaled where
  // the width is the median.
  FitOptions without_choices() const;
  std::string settled_kernel_name() const;  // of the kernel by name that without_choices() has
  // The same fit with Fourier features, as many as are usual where it has another approximation.
  FitOptions with_fourier_features() const;
  // The same fit with its sums kept, by a solver that has them; Error, beginning with `what`, where no way does.
  FitOptions with_moments(const std::string& what) const;
  // What is approximated by; where that is open, what without_choices() has. A sketch is neither.
  bool fourier() const;
  bool exact() const;
  bool leaves_groups_out() const { return contiguous || !groups.empty(); }
  bool learns_in_parts() const;  // fit_further() and merge() take its machines, whatever the data choose
  // Whether the width of the kernel comes from the data.
  bool width_from_data() const { return !kernel && !length_scale; }
  // Of the sums over rows that keep_moments keeps, with p targets.
  double moment_bytes(Index p) const;
  // The sketch given or named; none for "fourier" and "exact".
  std::optional<sketches::Distribution> chosen_sketch() const;
  // Whether the kernel is, or contains, a curl-free or divergence-free one, or one of the user's own that may be such.
  bool differential() const { return kernel ? kernel->keeps_directions() : is_differential(coupling); }
  // Whether the kernel needs the covariance of the targets.
  bool needs_covariance() const { return std::holds_alternative<TargetCovariance>(coupling); }
};

// What `solver` and `approximation` may be: of the latter "fourier", "exact" and the names of sketches.
std::vector<std::string> solver_names();
std::vector<std::string> solver_names(const Loss& loss);  // that some way has for it
std::vector<std::string> approximation_names();

// Options that are one number, under one name in the program (--max-iter) and in Python (max_iter), which both take
// them from here; `help` is for the program.
struct NumberOption {
  const char* name;
  std::variant<Index FitOptions::*, double FitOptions::*> value;
  const char* help;
};
const std::vector<NumberOption>& number_options();

// The width of a kernel when nobody gave one: the median distance between rows.

// The width that a fit on these inputs, without weights or scaling, takes for its kernel.
template <Real T>
double median_heuristic(ConstView<T> X, const Execution& execution = {});

}  // namespace carmina
