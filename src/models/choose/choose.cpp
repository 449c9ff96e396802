// models/choose/choose.cpp -- the steps of a choice: rows to choose on, search, approximation and size, words.
#include "models/choose/choose.hpp"
#include "models/choose/approximations.hpp"
#include "models/choose/equal_rows.hpp"
#include "models/choose/left_open.hpp"
#include "models/choose/left_out_groups.hpp"
#include "models/choose/missing_choice.hpp"
#include "models/choose/search.hpp"
#include "models/fit/resolve_kernel.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/plan/memory_plan.hpp"

#include <carmina/core/error.hpp>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr Index choice_rows = 2000;

// Rows whose kernel matrix, its factor and inverse take half of the budget; at most choice_rows.
Index rows_to_hold(const Execution& execution) {
  const double rows = std::sqrt(memory_limit(execution) / 2 / (4 * sizeof(double)));
  return std::clamp<Index>(static_cast<Index>(rows), 50, choice_rows);
}

// Whether family, width or metric of a scalar kernel are open.
bool searches_kernel(const FitOptions& options) {
  if (!options.width_from_data() || options.differential()) return false;
  if (!kernel_open(options) &&
      !is_stationary(make_scalar_kernel(options.kernel_name, std::nullopt, options.kernel_parameters))) {
    return false;
  }
  return kernel_open(options) || options.width != WidthRule::median || options.metric == MetricRule::learn;
}

// c where alpha of a kernel k A is c times that of k: independent outputs, an A whose eigenvalues are c or 0, and joint
// quantiles, whose levels have a kernel with 1 on its diagonal. Nothing for others.
std::optional<double> output_scale(const FitOptions& options) {
  if (options.kernel && !options.kernel->separable()) return std::nullopt;
  const OutputCoupling& coupling = options.kernel ? options.kernel->separable()->coupling : options.coupling;
  const double weight = options.kernel ? options.kernel->separable()->weight : 1;
  if (std::holds_alternative<Independent>(coupling)) return weight;
  const auto* matrix = std::get_if<OutputMatrix>(&coupling);
  if (!matrix) return std::nullopt;
  if (std::holds_alternative<Pinball>(options.loss)) return weight * matrix->A().diagonal().mean();
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> eigen(matrix->A(), Eigen::EigenvaluesOnly);
  const double largest = eigen.eigenvalues().maxCoeff();
  for (const double value : eigen.eigenvalues()) {
    if (std::abs(value) > 1e-9 * largest && std::abs(value - largest) > 1e-9 * largest) return std::nullopt;
  }
  return weight * largest;
}

// What a search has to find; nothing where it is of no use.
std::optional<SearchSpace> space_of(const FitOptions& options) {
  SearchSpace space;
  space.alpha = options.alpha;
  if (searches_kernel(options)) {
    space.families = {{options.kernel_name, options.kernel_parameters}};
    if (kernel_open(options)) space.families = automatic_families();
    // The Laplacian kernel's frequencies are products of Cauchy variables: features for sums of it are poor.
    const bool features = (!approximation_open(options) && options.fourier()) || options.n_components;
    if (kernel_open(options) && features) {
      std::erase_if(space.families, [](const auto& family) { return family.first == Laplacian::name; });
    }
    if (options.metric == MetricRule::learn) {  // a metric is for Euclidean distances
      std::erase_if(space.families, [](const auto& family) { return family.first == Laplacian::name; });
      require(!space.families.empty(),
              "metric 'learn' is for kernels of Euclidean distances, found {}; gamma 'ard' "
              "learns a width for each input",
              options.kernel_name);
    }
    space.metric = options.metric;
    space.per_input = options.width == WidthRule::per_input;
    const bool fixed = options.width == WidthRule::median && options.metric == MetricRule::automatic;
    if (fixed) space.metric = MetricRule::identity;
    return space;
  }
  const bool scaled = options.automatic_loss && has_scale(options.loss);
  if ((options.alpha && !scaled) || options.differential() || !output_scale(options)) return std::nullopt;
  space.families = {{options.kernel ? "given" : options.kernel_name, options.kernel_parameters}};
  space.width = 1;
  space.metric = MetricRule::identity;
  return space;
}

// Targets about their mean, in units of their deviations, those that are there; those that do not vary are 0.
void standardize(Matrix<double>& Y, const Vector<double>& weights, Vector<double>& mean, Vector<double>& deviation) {
  Vector<double> total = Vector<double>::Constant(Y.cols(), weights.sum());
  if (Y.hasNaN()) total = Matrix<double>(Y.array().isNaN().select(0.0, weights.replicate(1, Y.cols()))).colwise().sum();
  const auto mean_of = [&](const Matrix<double>& values) -> Vector<double> {
    const Matrix<double> filled = values.array().isNaN().select(0.0, values);
    return (filled.transpose() * weights).cwiseQuotient(total.cwiseMax(std::numeric_limits<double>::min()));
  };
  mean = mean_of(Y);
  Y.rowwise() -= mean.transpose();
  deviation = mean_of(Y.cwiseAbs2()).cwiseSqrt();
  for (Index j = 0; j < Y.cols(); ++j) {
    if (deviation[j] <= 1e-13 * std::abs(mean[j])) deviation[j] = 0;
    Y.col(j) *= deviation[j] > 0 ? 1 / deviation[j] : 0;
  }
}

// As the kernel sees them.
template <Real T>
Matrix<double> inputs_of(const HeldRows<T>& held, const InputTransform& transform) {
  const Matrix<double> X = held.X.template cast<double>();
  Matrix<double> Z(X.rows(), X.cols());
  transform.apply(X.data(), X.cols(), X.rows(), X.cols(), Z.data());
  return Z;
}

template <Real T>
ChoiceRows rows_to_choose_on(const HeldRows<T>& held, const InputTransform& transform, const FitOptions& options,
                             std::vector<Index> groups, Vector<double>& mean, Vector<double>& deviation) {
  ChoiceRows rows{inputs_of(held, transform),
                  held.Y.template cast<double>(),
                  Vector<double>::Ones(held.rows()),
                  options.fit_intercept,
                  std::is_same_v<T, float> ? std::numeric_limits<float>::epsilon() / 2.0 : 0.0,
                  std::move(groups)};
  if (held.weights.size() > 0) rows.weights = held.weights.template cast<double>();
  standardize(rows.Y, rows.weights, mean, deviation);
  if (rows.Y.hasNaN()) limit_targets(rows, static_cast<double>(rows_to_hold(options.execution)));
  return rows;
}

// Scaling by quartiles, where the choice is open and a column has values farther than that many deviations.
constexpr double far_deviations = 6;

std::optional<InputTransform> robust_alternative(const DataSummary& summary, const FitOptions& options,
                                                 const InputTransform& transform) {
  const bool open = options.scale_inputs == InputScaling::automatic && transform.shift.size() > 0 &&
                    searches_kernel(options) && options.width != WidthRule::median;
  if (!open) return std::nullopt;
  Matrix<double> Z(summary.sample.rows(), summary.sample.cols());
  transform.apply(summary.sample.data(), Z.cols(), Z.rows(), Z.cols(), Z.data());
  if (!(Z.cwiseAbs().maxCoeff() > far_deviations)) return std::nullopt;
  FitOptions robust = options;
  robust.scale_inputs = InputScaling::robust;
  return input_transform(summary, robust, options.differential());
}

void take_kernel(const Setting& setting, FitOptions& options) {
  options.kernel_name = setting.kernel;
  options.kernel_parameters = setting.parameters;
  options.length_scale = setting.width;
  if (setting.metric == "per input") {
    std::vector<double> widths;
    for (Index j = 0; j < setting.P.rows(); ++j) widths.push_back(setting.width / std::max(setting.P(j, j), 1e-6));
    options.length_scale = LengthScale(widths);
  } else if (setting.P.size() > 0) {
    options.transform->metric = setting.P.transpose();
  }
}

// How much worse stretches of these rows are predicted than rows at random; of more than a thousand, each second one.
std::optional<double> ratio_for(const ChoiceRows& all, const Matrix<double>* alternative, const Setting& setting,
                                const Execution& execution) {
  constexpr Index enough = 1000;
  std::vector<Index> some;
  const Index step = (all.rows() + enough - 1) / enough;
  for (Index i = 0; i < all.rows(); i += step) some.push_back(i);
  ChoiceRows rows = all.at(some);
  if (alternative) rows.Z = (*alternative)(some, Eigen::all);
  rows = in_metric(rows, setting.P);
  return ratio_of_stretches(rows.rows(), rows.weights, [&](const std::vector<Index>& groups) {
    rows.groups = groups;
    return exact_errors(rows, setting.scalar(), setting.alpha, execution).squares;
  });
}

std::string words(const TriedSetting& best, const char* scaling, std::optional<double> alpha, double rows,
                  std::size_t tried) {
  const Setting& setting = best.setting;
  std::string text;
  if (!setting.given) {
    text = format_text("{} kernel of width {:.3g}", setting.text(), setting.width);
    if (setting.metric == "per input") text += ", with a factor for each input";
    if (setting.metric == "learnt") text += ", in a metric learnt from gradients";
    text += scaling;
    text += "; ";
  }
  if (alpha) text += format_text("alpha {:.3g}: ", *alpha);
  return text + format_text(
                    "the smallest error for left-out rows, {:.3g} deviations of the targets, of {} settings tried on "
                    "up to {:.0f} rows",
                    std::sqrt(best.error()), tried, rows);
}

}  // namespace

bool leaves_choices(const FitOptions& options) {
  if (options.by_evidence) return false;
  if (searches_kernel(options) || (!options.alpha && !options.alpha_by)) return true;
  if (options.automatic_loss && has_scale(options.loss)) return true;
  return approximation_open(options) && !options.n_components && !options.alpha_by;
}

template <Real T>
FitOptions choose(DataRows<T>& rows, const FitOptions& options, SolveReport& report) {
  PhaseTimer timer(report, "choice");
  const Execution& execution = options.execution;
  FitOptions chosen = options;
  rows.read_at_once(block_rows(rows.dim_in() + rows.dim_out(), execution));
  const bool squared = std::holds_alternative<Squared>(options.loss);
  const DataSummary summary = summarize(rows, options.fill_missing, options.needs_covariance(), execution, true,
                                        squared ? nullptr : &options.loss, options.target_names);
  check_input_values(summary, options.input_names);
  const InputTransform transform = input_transform(summary, options, options.differential());
  chosen.transform = transform;

  double factor = 1;  // of alpha, beside that of the squared loss
  if (std::optional<SearchSpace> space = space_of(options)) {
    // So many for each output, or nearly.
    const auto most =
        static_cast<Index>(static_cast<double>(rows_to_hold(execution)) * std::min(5.0, 1 / seen_share(summary)));
    const RowSampler sampler(summary.copies, most, 1, Random(options.seed, Stream::evidence_rows));
    HeldRows<T> held = sample_rows(rows, sampler, execution, std::min(summary.rows, most));
    std::vector<Index> groups = groups_of(held.numbers, rows.rows(), options);
    if (groups.empty()) merge_equal_rows(held);
    space->least_alpha = least_alpha<T>;
    Vector<double> mean, deviation;
    const ChoiceRows some = rows_to_choose_on(held, transform, options, std::move(groups), mean, deviation);
    if (!searches_kernel(options)) {
      space->kernel = resolve_kernel(summary, transform, options).terms()[0].scalar;
    } else if (options.width == WidthRule::median) {
      space->width = median_distance(some.Z, {some.weights.begin(), some.weights.end()}, execution);
    }
    const std::optional<InputTransform> robust = robust_alternative(summary, options, transform);
    const Matrix<double> other = robust ? inputs_of(held, *robust) : Matrix<double>();
    const SearchResult found = search_settings(some, robust ? &other : nullptr, *space, execution, report.choices);
    const TriedSetting& best = found.best;
    if (found.alternative) chosen.transform = *robust;
    const double seen_by_metric = std::min(1.0, found.optimism_rows / summary.copies);
    chosen.optimism = 1 + (found.optimism - 1) * seen_by_metric;
    const auto taken = std::find_if(report.choices.begin(), report.choices.end(), [&](const Choice& choice) {
      return choice.error == std::sqrt(best.error()) && choice.alpha == best.setting.alpha && choice.rows == best.rows;
    });
    if (taken != report.choices.end()) taken->chosen = true;
    if (searches_kernel(options)) take_kernel(best.setting, chosen);
    const Matrix<double> residuals = best.result.residuals * deviation.asDiagonal();
    if (options.automatic_loss) {
      chosen.loss = scaled_loss(options.loss, median_residual(residuals, some.weights), summary.copies);
    }
    if (const auto scale = output_scale(options); scale && !options.alpha) {
      chosen.alpha = *scale * best.setting.alpha;
      if (!squared) {
        Matrix<double> targets = some.Y * deviation.asDiagonal(), predictions = targets;
        targets.rowwise() += mean.transpose();
        predictions -= residuals;
        predictions.rowwise() += mean.transpose();
        factor = loss_alpha(chosen.loss, 1, predictions, targets, some.weights);
        chosen.alpha = factor * *chosen.alpha;
      }
    }
    const bool quartiles = found.alternative || options.scale_inputs == InputScaling::robust;
    const char* scaling = transform.shift.size() == 0 ? ""
                          : quartiles                 ? ", inputs scaled by quartiles"
                                                      : ", inputs scaled";
    report.text = words(best, scaling, chosen.alpha, some.weights.sum(), report.choices.size());
    if (!options.leaves_groups_out()) {
      report.text += stretches_text(ratio_for(some, found.alternative ? &other : nullptr, best.setting, execution));
    }
    if (chosen.optimism > 1.05) {
      report.text += format_text(
          "; rows that the metric has not seen are missed by {:.2g} times as much, and deviations "
          "and intervals are as much wider",
          std::sqrt(chosen.optimism));
    }
  }
  require(!options.alpha || !options.automatic_loss || !has_scale(options.loss) || space_of(options),
          "fit: '{}' with kappa or epsilon 'auto' needs alpha 'auto' with this kernel", loss_name(options.loss));
  choose_approximation(rows, summary, options.alpha.has_value(), factor, chosen, report);
  if (options.automatic_loss && has_scale(options.loss)) {
    const auto [name, values] = *loss_parameters(chosen.loss).begin();
    report.text += format_text("; {} {:.3g} from the residuals of left-out rows", name, values[0]);
  }
  chosen.automatic_loss = false;
  chosen.groups.clear();
  chosen.contiguous = false;
  return chosen;
}
template FitOptions choose(DataRows<float>&, const FitOptions&, SolveReport&);
template FitOptions choose(DataRows<double>&, const FitOptions&, SolveReport&);

}  // namespace carmina
