// models/choose/approximations.cpp -- what costs no more and errs less.
#include "models/choose/approximations.hpp"
#include "models/choose/choose.hpp"
#include "models/choose/field_errors.hpp"
#include "models/choose/left_open.hpp"
#include "models/choose/missing_choice.hpp"
#include "models/choose/search.hpp"
#include "models/fit/fit_pipeline.hpp"
#include "models/fit/resolve_kernel.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/fit/ways.hpp"
#include "models/plan/memory_limit.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

constexpr double exact_rows = 8000, exact_rows_other_losses = 2000;
constexpr double products = 2.5e11;
constexpr Index fewest = 1000, most = 4096;
constexpr Index compared_rows = 16000, compared_components = 1000, alpha_rows = 1000;
constexpr double width_rows = 400;      // of which fields take their width, divided by the outputs
constexpr double alpha_targets = 1500;  // where targets are missing and outputs coupled: the order of a system

// Half powers of ten around a value.
std::vector<double> alphas_around(double alpha, int below, int above) {
  std::vector<double> alphas;
  for (int i = -below; i <= above; ++i) alphas.push_back(alpha * std::pow(10.0, 0.5 * i));
  return alphas;
}

// The best point of paths with left-out rows, points(alphas); the grid moves on while its end is best.
template <Real T, class Points>
PathPoint best_of_points(std::vector<double> alphas, const Points& points_at) {
  PathPoint best{0, 0, 0, 0, std::numeric_limits<double>::infinity()};
  for (int extension = 0; extension < 5; ++extension) {
    const std::vector<PathPoint> points = points_at(alphas);
    const std::size_t at = best_point(points, AlphaScore::leave_one_out);
    const PathPoint& point = points[at];
    if (*point.leave_one_out < *best.leave_one_out) best = point;
    if (at > 0 && at + 1 < alphas.size()) break;
    alphas = at == 0 ? alphas_around(alphas.front(), 10, 0) : alphas_around(alphas.back(), 0, 10);
    // Below it the system is singular to rounding, and its error too.
    std::erase_if(alphas, [](double alpha) { return alpha < least_alpha<T>; });
    if (alphas.size() < 2) break;
  }
  return best;
}

template <Real T>
PathPoint best_of_path(const HeldRows<T>& held, const FitOptions& options, std::vector<double> alphas) {
  FitOptions apart = options;  // each row by itself
  apart.groups.clear();
  apart.contiguous = false;
  return best_of_points<T>(std::move(alphas), [&](const std::vector<double>& at) {
    return std::vector<PathPoint>(fit_path<T>(held.X, held.Y, apart, at, true, held.weights_or_null()).points());
  });
}

// What is known of all rows.
struct AllRows {
  const DataSummary& summary;
  Index rows;
  Kernel kernel(const FitOptions& options) const { return resolve_kernel(summary, *options.transform, options); }
};

// The same with groups left out together, by the whole kernel matrix.
template <Real T>
PathPoint best_by_rows(const HeldRows<T>& held, const AllRows& all, const FitOptions& options,
                       std::vector<double> alphas) {
  const std::vector<Index> groups = groups_of(held.numbers, all.rows, options);
  if (groups.empty()) return best_of_path(held, options, std::move(alphas));
  const FieldSystem<T> system(held, all.kernel(options), options);
  return best_of_points<T>(std::move(alphas), [&](const std::vector<double>& at) {
    std::vector<PathPoint> points;
    double least = std::numeric_limits<double>::infinity();
    for (const double alpha : at) {  // a larger one must be better by a thousandth: the error of the mean is a limit
      const double error = system.error(alpha, groups);
      points.push_back({alpha, 0, 0, 0, error > 0.999 * least ? std::max(error, least) : error});
      least = std::min(least, error);
    }
    return points;
  });
}

template <Real T>
HeldRows<T> some_rows(const DataRows<T>& rows, const DataSummary& summary, Index wanted, const FitOptions& options) {
  const RowSampler sampler(summary.copies, wanted, 1, Random(options.seed, Stream::evidence_rows));
  return sample_rows(rows, sampler, options.execution, std::min(summary.rows, wanted));
}

// Targets about their means, in units that make the error of the means 1: each in its own deviation, so that units do
// not matter, or all in one where a matrix couples them.
template <Real T>
void in_deviations(Matrix<T>& Y, bool each) {
  Matrix<double> centred = Y.template cast<double>();
  const Eigen::RowVectorXd mean = centred.colwise().mean();
  centred.rowwise() -= mean;
  Eigen::RowVectorXd variance = centred.colwise().squaredNorm() / static_cast<double>(Y.rows());
  if (each) {
    variance *= static_cast<double>(Y.cols());
  } else {
    variance.setConstant(variance.sum());
  }
  for (Index j = 0; j < Y.cols(); ++j) {
    const bool varies = variance[j] > 1e-26 * mean[j] * mean[j];
    Y.col(j) = (centred.col(j) * (varies ? 1 / std::sqrt(variance[j]) : 0.0)).template cast<T>();
  }
}

// The kernel of the options is of the form k A, k by name or given.
bool stationary(const FitOptions& options) {
  if (!options.kernel) {
    return has_fourier_features(
        make_scalar_kernel(options.settled_kernel_name(), options.length_scale, options.kernel_parameters));
  }
  return std::all_of(options.kernel->terms().begin(), options.kernel->terms().end(),
                     [](const Term& term) { return has_fourier_features(term.scalar); });
}

bool couples_outputs(const FitOptions& options) {
  if (options.kernel && !options.kernel->separable()) return true;
  return !std::holds_alternative<Independent>(options.kernel ? options.kernel->separable()->coupling
                                                             : options.coupling);
}

// Of targets that are missing in patterns, two columns with the most rows say enough of independent outputs. They are
// taken about their means, in units that make the error of the means 1: each counts as much, whatever its unit.
template <Real T>
void keep_two_patterns(HeldRows<T>& held, std::vector<TargetPattern> patterns) {
  std::stable_sort(patterns.begin(), patterns.end(),
                   [](const TargetPattern& a, const TargetPattern& b) { return a.rows > b.rows; });
  std::vector<Index> columns = {patterns[0].columns[0], patterns[1].columns[0]};
  Matrix<double> Y = held.Y(Eigen::all, columns).template cast<double>();
  for (auto y : Y.colwise()) {
    const auto there = !y.array().isNaN();
    const double mean = there.select(y, 0.0).sum() / static_cast<double>(std::max<Index>(1, there.count()));
    y.array() -= mean;
    const double squares = 2 * there.select(y, 0.0).squaredNorm() / static_cast<double>(Y.rows());
    y *= squares > 1e-26 * mean * mean ? 1 / std::sqrt(squares) : 0.0;
  }
  held.Y = Y.cast<T>();
}

// For errors of left-out rows: exactly, by the squared loss.
FitOptions exact_squared(FitOptions options) {
  options.loss = Squared{};
  options.non_crossing = false;
  options.solver = "auto";
  options.approximation = "exact";
  options.sketch.reset();
  return options;
}

Index even(double count) { return static_cast<Index>(count / 2) * 2; }

// The width of a field with the smallest errors of left-out rows, each with its own alpha: in steps of a factor of two
// from the median distance, then of its root.
template <Real T>
void width_of_field(const HeldRows<T>& held, const AllRows& all, double median, FitOptions& chosen,
                    SolveReport& report) {
  FitOptions options = exact_squared(chosen);
  options.kernel_name = options.settled_kernel_name();
  double best = std::numeric_limits<double>::infinity(), width = median;
  const auto better = [&](double at) {
    options.length_scale = at;
    const PathPoint point = best_by_rows(held, all, options, alphas_around(1e-2, 8, 4));
    report.choices.push_back({options.kernel_name, at, "identity", point.alpha, "exact",
                              static_cast<double>(held.rows()), std::sqrt(2 * *point.leave_one_out), false});
    if (!(*point.leave_one_out < best)) return false;
    best = *point.leave_one_out;
    width = at;
    return true;
  };
  better(width);
  for (const double step : {2.0, std::sqrt(2.0)}) {
    for (const double factor : {step, 1 / step}) {
      int moves = 0;
      while (moves < 8 && better(width * factor)) ++moves;
      if (moves > 0) break;
    }
  }
  chosen.kernel_name = options.kernel_name;
  chosen.length_scale = width;
  report.text += format_text("{}{} kernel of width {:.3g} by errors of left-out rows", report.text.empty() ? "" : "; ",
                             chosen.kernel_name, width);
}

// The alpha with the smallest errors of left-out rows, exactly for the kernel of these options, on rows that are held.
// Grids extend themselves until the best is inside.
// Returns what alpha of the loss is in that of the squared one.
template <Real T>
double alpha_by_path(const HeldRows<T>& held, const AllRows& all, FitOptions& chosen, SolveReport& report) {
  FitOptions options = exact_squared(chosen);
  // A field is about as large as 1 / width^2: in units of its size alpha is the same in metres and in kilometres.
  const bool field = options.kernel && options.kernel->has_differential();
  const double unit = field ? kernel_size(*options.kernel, held.X.cols()) : 1;
  if (field) options.kernel = 1 / unit * *options.kernel;
  PathPoint best = best_by_rows(held, all, options, path_alphas());
  // Five matrices of all targets.
  const double held_bytes = 5 * sizeof(double) * std::pow(static_cast<double>(held.Y.size()), 2);
  if (!options.leaves_groups_out() && held_bytes <= memory_limit(options.execution) / 2) {
    const FieldSystem<T> system(held, all.kernel(options), options);
    report.text += stretches_text(
        ratio_of_stretches(held.rows(), Vector<double>::Ones(held.rows()),
                           [&](const std::vector<Index>& groups) { return system.squares(best.alpha, groups); }));
  }
  best.alpha *= unit;
  report.choices.push_back({options.kernel ? "given" : options.kernel_name, 0, "identity", best.alpha, "exact",
                            static_cast<double>(held.rows()), std::sqrt(2 * *best.leave_one_out), true});
  chosen.alpha = best.alpha;
  if (std::holds_alternative<Squared>(chosen.loss)) return 1;
  // Residuals as normal numbers of their variance would be.
  const auto seen = static_cast<double>((!held.Y.array().isNaN()).count());
  const double p = seen / static_cast<double>(held.Y.rows());  // targets of a row
  const double deviation = std::sqrt(2 * *best.leave_one_out / p);
  if (chosen.automatic_loss) {
    chosen.loss = scaled_loss(chosen.loss, 0.6745 * deviation * std::sqrt(p), static_cast<double>(held.rows()));
  }
  constexpr Index count = 199;
  Matrix<double> targets(count, 1);
  const Random random(options.seed, Stream::evidence_rows);
  for (Index i = 0; i < count; ++i) targets(i, 0) = deviation * random.normal(static_cast<std::uint64_t>(i));
  chosen.alpha =
      loss_alpha(chosen.loss, best.alpha, Matrix<double>::Zero(count, 1), targets, Vector<double>::Ones(count));
  return *chosen.alpha / best.alpha;
}

}  // namespace

template <Real T>
void choose_approximation(DataRows<T>& rows, const DataSummary& summary, bool alpha_given, double factor,
                          FitOptions& options, SolveReport& report) {
  const auto n = static_cast<double>(summary.rows), p = static_cast<double>(rows.dim_out());
  const bool coupled = couples_outputs(options), missing = summary.has_missing_targets();
  const double seen = seen_share(summary);
  const bool squared = std::holds_alternative<Squared>(options.loss);
  const auto table = way_table<T>();
  const AllRows whole{summary, rows.rows()};
  const auto fits = [&](const FitOptions& given, bool path = false) {
    FitTask task(given, rows.dim_in(), rows.dim_out(), n, sizeof(T));
    task.path = task.leave_one_out = path;
    task.divided = rows.processes() != nullptr && !path;
    if (missing) {
      task.missing = true, task.patterns_apart = !coupled;
      task.seen_share = seen, task.rank = p, task.patterns = static_cast<double>(summary.patterns.size());
    }
    return fits_budget(table, task, summary.rows, [&](Index count) { return rows.held_bytes(count); });
  };
  const bool width_open = options.width_from_data() && options.width == WidthRule::automatic;
  if (!options.alpha && options.differential() && width_open && !missing) {
    const auto wanted = static_cast<Index>(std::max(50.0, width_rows / p));
    const Kernel by_median = resolve_kernel(summary, *options.transform, options);
    const double median = length_scale(by_median.terms()[0].scalar)[0];
    width_of_field(some_rows(rows, summary, wanted, options), whole, median, options, report);
  }
  if (!options.alpha) {
    auto wanted = static_cast<Index>(std::max(50.0, alpha_rows / (options.differential() ? p : 1.0)));
    if (missing && coupled) wanted = static_cast<Index>(std::max(30.0, alpha_targets / (p * seen)));
    SolveReport found;
    factor = alpha_by_path(some_rows(rows, summary, wanted, options), whole, options, found);
    report.choices.insert(report.choices.end(), found.choices.begin(), found.choices.end());
    report.text += format_text("{}alpha {:.3g} by errors of left-out rows{}", report.text.empty() ? "" : "; ",
                               *options.alpha, found.text);
  }
  const auto say = [&](const std::string& what) { report.text += (report.text.empty() ? "" : "; ") + what; };
  if (approximation_open(options)) {
    FitTask task(options, rows.dim_in(), rows.dim_out(), n, sizeof(T));
    const double order = missing && coupled ? n * p * seen : task.separable ? n : n * p;
    FitOptions exact = options;
    exact.approximation = "exact";
    // A solver that exact machines lack, or a sampling of frequencies, that was asked for says which.
    const bool by_solver = !task.may_factor() || options.sampling != Sampling::iid;
    if (!rows.processes() && !by_solver && !options.n_components &&
        order <= (squared ? exact_rows : exact_rows_other_losses) && fits(exact)) {
      options.approximation = "exact";
      say(format_text("exact: {} rows", summary.rows));
      return;
    }
    if (!stationary(options)) {
      options.approximation = "sub_sample";
    } else if (options.n_components || !task.separable || by_solver || (missing && (coupled || !squared))) {
      options.approximation = "fourier";
    }
  }
  if (!options.n_components && !options.exact() && !options.sketch) {
    double count = std::clamp<double>(std::sqrt(products / n), fewest, most);
    if (options.chosen_sketch()) count = std::min(count, std::ceil(n / 2));
    if (rows.processes()) count = std::clamp(count, 2.0, std::max(2.0, n / 2));  // of few rows it would be exact
    if (options.alpha_by) count = fewest;                                        // eigenvectors of that order
    if (!squared) count = fewest;                                                // many passes over the rows
    FitOptions sized = options;
    if (approximation_open(sized)) sized = sized.with_fourier_features();
    for (sized.n_components = options.chosen_sketch() ? static_cast<Index>(count) : even(count);
         *sized.n_components > 64 && !fits(sized);) {
      sized.n_components = even(static_cast<double>(*sized.n_components) / 2);
    }
    options.n_components = sized.n_components;
  }
  if (!approximation_open(options)) return;

  HeldRows<T> held = some_rows(rows, summary, compared_rows, options);
  if (missing) {
    keep_two_patterns(held, summary.patterns);
  } else {
    const OutputCoupling& coupling = options.kernel ? options.kernel->terms()[0].coupling : options.coupling;
    in_deviations(held.Y, std::holds_alternative<Independent>(coupling));
  }
  FitOptions trial = exact_squared(options);
  trial.target_names.clear();
  trial.n_components = std::min(compared_components, even(static_cast<double>(held.rows()) / 2));
  std::optional<PathPoint> best;
  std::string errors;
  for (const char* approximation : {"sub_sample", "fourier"}) {
    trial.approximation = approximation;
    if (!fits(trial, true)) continue;
    // Rows by themselves tell which approximation is better; an alpha that groups have chosen stays.
    const bool chosen = options.leaves_groups_out();
    const std::vector<double> alphas =
        chosen ? std::vector<double>{*options.alpha / factor} : alphas_around(*options.alpha / factor, 4, 2);
    const PathPoint point = best_of_path(held, trial, alphas);
    report.choices.push_back({options.kernel ? "given" : options.kernel_name, 0, "as chosen", point.alpha,
                              approximation, static_cast<double>(held.rows()), std::sqrt(2 * *point.leave_one_out),
                              false});
    errors += format_text("{}{:.3g} with {}", errors.empty() ? "" : ", ", std::sqrt(2 * *point.leave_one_out),
                          trial.fourier() ? "Fourier features" : "anchors");
    if (best && *best->leave_one_out <= *point.leave_one_out) continue;
    best = point;
    options.approximation = approximation;
    for (Choice& choice : report.choices) choice.chosen = false;
    report.choices.back().chosen = true;
  }
  if (!best) {
    options.approximation = "fourier";
    return;
  }
  if (!alpha_given && !options.leaves_groups_out()) options.alpha = best->alpha * factor;
  say(format_text("{} {}: errors of left-out rows are {} on {} rows and {} components", *options.n_components,
                  options.fourier() ? "Fourier features" : "anchors", errors, held.rows(), *trial.n_components));
}

template void choose_approximation(DataRows<float>&, const DataSummary&, bool, double, FitOptions&, SolveReport&);
template void choose_approximation(DataRows<double>&, const DataSummary&, bool, double, FitOptions&, SolveReport&);

}  // namespace carmina
