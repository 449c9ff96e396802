// models/tune/tune.cpp -- the grid of a cross-validation, its trials one after the other, and the best of them.
#include "losses/row_functions.hpp"
#include "models/fit/repeated_targets.hpp"
#include "models/fit/resolve_kernel.hpp"
#include "models/plan/memory_plan.hpp"
#include "models/tune/tune_rows.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/alpha_path.hpp>
#include <carmina/models/tune.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

void check_list(const char* name, const std::vector<double>& values) {
  for (const double value : values) {
    require(value > 0 && std::isfinite(value), "tune: {} must be positive and finite, found {}", name, value);
  }
}

bool has_width(const Kernel& kernel) {
  return std::any_of(kernel.terms().begin(), kernel.terms().end(),
                     [](const Term& term) { return has_width(term.scalar); });
}

// change(width) for the width of every term that has one.
template <class F>
Kernel with_widths(const Kernel& kernel, F change) {
  std::vector<Term> terms = kernel.terms();
  for (Term& term : terms) term.scalar = carmina::with_widths(std::move(term.scalar), change);
  return Kernel(std::move(terms));
}

std::vector<Kernel> kernel_grid(const Kernel& kernel, const TuneOptions& options) {
  std::vector<Kernel> grid;
  if (!options.length_scales.empty()) {
    const ScalarKernel& scalar = kernel.terms()[0].scalar;
    require(has_width(kernel), "tune: the {} kernel has no length scale", kernel_name(scalar));
    require(kernel.terms().size() == 1 && is_stationary(scalar) && length_scale(scalar).isotropic(),
            "tune: length_scales are for a kernel of one width; a sum, a product, or one width per input, takes "
            "width_factors");
    for (const double width : options.length_scales) {
      grid.push_back(with_widths(kernel, [&](const LengthScale&) { return LengthScale(width); }));
    }
    return grid;
  }
  if (!has_width(kernel) || options.width_factors.empty()) return {kernel};
  for (const double factor : options.width_factors) {
    grid.push_back(with_widths(kernel, [&](const LengthScale& width) {
      std::vector<double> values = width.values();
      for (double& value : values) value *= factor;
      return LengthScale(std::move(values));
    }));
  }
  return grid;
}

template <Real T>
TuneRows read_rows(const DataRows<T>& rows, const DataSummary& summary, const InputTransform& transform,
                   const std::vector<Loss>& losses, const Execution& execution) {
  const Index n = summary.rows, d = rows.dim_in();
  TuneRows all{Matrix<double>(n, d), Matrix<double>(n, rows.dim_out()), Vector<double>(n), {}};
  Index at = 0;
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      const double weight = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
      if (weight == 0) continue;
      require(at < n, "tune: the rows changed while they were read");
      all.X.row(at) = block.inputs().row(i).template cast<double>();
      all.Y.row(at) = block.targets().row(i).template cast<double>();
      for (const Loss& loss : losses) {
        check_targets(loss, all.Y.row(at).data(), all.Y.cols(), [&] { return "tune: " + rows.place(i); });
      }
      all.weights[at++] = weight;
    }
  });
  transform.apply(all.X.data(), d, n, d, all.X.data());
  return all;
}

// What folds leave of the memory for each fit: all rows are held, their numbers in each fold, and copies of the rows of
// one fold. Error, before they are read, where that is nothing.
double memory_for_fits(Index n, Index columns, Index folds, bool paths, const Execution& execution) {
  const auto rows = static_cast<double>(n), parts = static_cast<double>(folds);
  const double all = rows * static_cast<double>(columns + 1) * sizeof(double), numbers = rows * parts * sizeof(Index);
  const double held = all + numbers + (paths ? all / parts : all), limit = memory_limit(execution);
  require(held < limit,
          "tune: {} folds hold {} rows, which takes {}, and the memory budget is {}; leave-one-out and gcv, for the "
          "squared loss, read the rows again instead, and fewer rows take less",
          folds, n, format_bytes(held), format_bytes(limit));
  return limit - held;
}

class Trials {
 public:
  Trials(const TuneRows& rows, const TuneOptions& options, Index total, double memory)
      : rows_(rows), measure_(options.measure.value_or(options.fit.loss)), fit_(options.fit), total_(total) {
    fit_.execution.memory_budget = static_cast<std::size_t>(memory);
    fit_.scale_inputs = fit_.fill_missing = fit_.keep_moments = fit_.estimate_noise = false;
    progress_ = fit_.execution;
    fit_.execution.progress = {};  // one bar for all fits
    std::visit([&](const auto& loss) { loss.check(rows.Y.cols()); }, measure_);
  }

  void add(const Kernel& kernel, const Loss& loss, const std::vector<double>& alphas, std::vector<Trial>& trials) {
    fit_.kernel = kernel;
    fit_.loss = loss;
    const auto count = static_cast<Index>(alphas.size());
    Matrix<double> losses;
    const bool squared = std::holds_alternative<Squared>(loss) && std::holds_alternative<Squared>(measure_);
    if (squared) {  // those of other solvers are not posed
      losses = squared_loss_paths(rows_, kernel, fit_, alphas, [&] { advance(count); });
    }
    if (losses.size() == 0) losses = fit_each(alphas);
    for (Index i = 0; i < count; ++i) {
      const auto row = losses.row(i);
      const double mean = row.mean();
      trials.push_back({kernel,
                        loss,
                        alphas[static_cast<std::size_t>(i)],
                        {row.begin(), row.end()},
                        mean,
                        std::sqrt((row.array() - mean).square().mean())});
    }
  }

 private:
  Matrix<double> fit_each(const std::vector<double>& alphas) {
    Matrix<double> losses(static_cast<Index>(alphas.size()), rows_.fold_count());
    for (Index k = 0; k < losses.cols(); ++k) {
      const Split& fold = rows_.folds[static_cast<std::size_t>(k)];
      const Matrix<double> X = rows_.X(fold.train, Eigen::all), Y = rows_.Y(fold.train, Eigen::all);
      const Matrix<double> Z = rows_.X(fold.test, Eigen::all), expected = rows_.Y(fold.test, Eigen::all);
      const Vector<double> w = rows_.weights(fold.train), w_test = rows_.weights(fold.test);
      for (Index i = 0; i < losses.rows(); ++i) {
        fit_.alpha = alphas[static_cast<std::size_t>(i)];
        const auto machine = KernelMachine<double>::fit(X, Y, fit_, w.data());
        losses(i, k) = mean_loss(machine.predict(Z, fit_.execution), expected, w_test);
        advance(1);
      }
    }
    return losses;
  }

  double mean_loss(const Matrix<double>& F, const Matrix<double>& Y, const Vector<double>& w) const {
    double sum = 0;
    std::visit(
        [&](const auto& loss) {
          for (Index i = 0; i < F.rows(); ++i)
            sum += w[i] * row_value(loss, F.row(i).data(), Y.row(i).data(), F.cols());
        },
        measure_);
    return sum / w.sum();
  }

  void advance(Index fits) {
    done_ += fits;
    progress_.checkpoint({"tuning", done_, total_});
  }

  const TuneRows& rows_;
  Loss measure_;
  FitOptions fit_;
  Execution progress_;
  Index done_ = 0, total_;
};

// The score of every alpha for every width, from all rows.
template <Real T>
std::vector<Trial> score_paths(RowSource<T>& rows, const TuneOptions& options, const std::vector<Kernel>& kernels,
                               const std::vector<double>& alphas) {
  std::vector<Trial> trials;
  FitOptions fit = options.fit;
  fit.execution.progress = {};  // one bar for all paths
  for (const Kernel& kernel : kernels) {
    fit.kernel = kernel;
    const auto path = fit_path(rows, fit, alphas, *options.by == AlphaScore::leave_one_out);
    for (const PathPoint& point : path.points()) {
      trials.push_back({kernel, fit.loss, point.alpha, {}, score_of(point, *options.by), 0.0});
    }
    options.fit.execution.checkpoint(
        {"tuning", static_cast<Index>(trials.size()), static_cast<Index>(kernels.size() * alphas.size())});
  }
  return trials;
}

// A best value at the end of its list may not be the best there is.
std::string end_of_grid(const Trial& best, const std::vector<double>& alphas, const std::vector<Kernel>& kernels) {
  std::string message;
  const auto say = [&](const char* what, double value, bool smallest) {
    message += format_text("{}the best {}, {:.6g}, is the {} tried", message.empty() ? "" : "; ", what, value,
                           smallest ? "smallest" : "largest");
  };
  const auto [low, high] = std::minmax_element(alphas.begin(), alphas.end());
  if (*low < *high && (best.alpha == *low || best.alpha == *high)) say("alpha", best.alpha, best.alpha == *low);
  std::vector<double> widths;
  for (const Kernel& kernel : kernels) {
    const auto values = first_width(kernel);
    if (!values.empty()) widths.push_back(values[0]);
  }
  if (widths.empty()) return message;
  const double width = first_width(best.kernel)[0];
  const auto [narrow, wide] = std::minmax_element(widths.begin(), widths.end());
  if (*narrow < *wide && (width == *narrow || width == *wide)) say("length scale", width, width == *narrow);
  return message;
}

template <Real T>
CrossValidation validate(RowSource<T>& source, const TuneOptions& options) {
  const FitOptions& fit = options.fit;
  DataRows<T> data(source);
  data.read_at_once(block_rows(source.dim_in() + source.dim_out(), fit.execution));
  const DataSummary summary = summarize(data, fit.fill_missing, fit.needs_covariance(), fit.execution);
  check_input_values(summary, fit.input_names);
  const InputTransform transform = input_transform(summary, fit, fit.differential());
  const std::vector<Kernel> kernels = kernel_grid(resolve_kernel(summary, transform, fit), options);
  kernels[0].check_dimensions(source.dim_in(), source.dim_out());
  std::vector<double> alphas = options.alphas;
  if (alphas.empty()) alphas = options.by ? path_alphas() : default_alphas(fit.loss);
  CrossValidation result;
  if (options.by) {
    result.trials = score_paths(source, options, kernels, alphas);
  } else {
    require(options.folds >= 2 && options.folds <= summary.rows,
            "tune: the number of folds must be from 2 to the {} rows, found {}", summary.rows, options.folds);
    const std::vector<Loss> losses = options.losses.empty() ? std::vector<Loss>{fit.loss} : options.losses;
    std::vector<Loss> of_targets = losses;
    if (options.measure) of_targets.push_back(*options.measure);
    const bool paths = std::all_of(of_targets.begin(), of_targets.end(),
                                   [](const Loss& loss) { return std::holds_alternative<Squared>(loss); });
    const double memory =
        memory_for_fits(summary.rows, data.dim_in() + data.dim_out(), options.folds, paths, fit.execution);
    TuneRows rows = read_rows(data, summary, transform, of_targets, fit.execution);
    const auto seed = options.contiguous ? std::nullopt : std::optional<std::uint64_t>(fit.seed);
    require(options.groups.empty() || std::ssize(options.groups) == summary.rows,
            "tune: groups are given of {} rows, {} have a weight and a target; leave the others out",
            options.groups.size(), summary.rows);
    rows.folds = options.groups.empty() ? k_fold(summary.rows, options.folds, seed)
                                        : group_k_fold(options.groups, options.folds, seed);
    Trials trials(rows, options, static_cast<Index>(kernels.size() * losses.size() * alphas.size()) * options.folds,
                  memory);
    for (const Kernel& kernel : kernels) {
      for (const Loss& loss : losses) trials.add(kernel, loss, alphas, result.trials);
    }
  }
  const auto better = [](const Trial& a, const Trial& b) { return a.mean < b.mean || std::isnan(b.mean); };
  for (std::size_t i = 1; i < result.trials.size(); ++i) {
    if (better(result.trials[i], result.trials[result.best])) result.best = i;
  }
  const Trial& best = result.trials[result.best];
  require(std::isfinite(best.mean), "tune: no trial has a finite loss");
  result.message = end_of_grid(best, alphas, kernels);
  result.chosen = fit;
  result.chosen.kernel = best.kernel;
  result.chosen.loss = best.loss;
  result.chosen.alpha = best.alpha;
  return result;
}

// Outputs that a loss of so many levels has of one target.
Index levels_of(const Loss& loss) {
  const auto* pinball = std::get_if<Pinball>(&loss);
  return pinball ? static_cast<Index>(pinball->levels.size()) : 1;
}

}  // namespace

std::vector<double> first_width(const Kernel& kernel) {
  for (const Term& term : kernel.terms()) {
    for (const Product::Factor& factor : factors_of(term.scalar)) {
      if (is_stationary(factor.kernel)) return length_scale_values(factor.kernel);
    }
  }
  return {};
}

std::vector<double> default_alphas(const Loss& loss) {
  const bool squared = std::holds_alternative<Squared>(loss);
  const double step = squared ? 0.5 : 1, first = squared ? -6 : -4;
  std::vector<double> alphas;
  for (int i = 0; first + i * step <= 2; ++i) alphas.push_back(std::pow(10.0, first + i * step));
  return alphas;
}

template <Real T>
CrossValidation cross_validate(RowSource<T>& rows, const TuneOptions& given) {
  require(!given.fit.checkpoint, "tune: a checkpoint is for one fit, here are many");
  TuneOptions options = given;
  options.fit = given.fit.without_choices();
  options.fit.alpha_by.reset();  // trials have an alpha each
  check_list("alphas", options.alphas);
  check_list("length_scales", options.length_scales);
  check_list("width_factors", options.width_factors);
  FitOptions each = options.fit;
  each.alpha = 1;
  each.check();
  const Index levels = levels_of(options.fit.loss);
  for (const Loss& loss : options.losses) {
    each.loss = loss;
    each.check();
    require(levels_of(loss) == levels, "tune: losses must have as many levels as each other");
  }
  require(
      !options.by || (std::holds_alternative<Squared>(options.fit.loss) && options.losses.empty() && !options.measure),
      "tune: rows left out one by one, and gcv, are for the squared loss alone; other losses take folds");
  require(rows.dim_out() > 0, "fit: Y has no columns");
  if (rows.dim_out() == 1 && levels > 1) {
    RepeatedTargets<T> repeated(rows, levels);
    return validate(repeated, options);
  }
  std::visit([&](const auto& loss) { loss.check(rows.dim_out()); }, options.fit.loss);
  return validate(rows, options);
}
template CrossValidation cross_validate(RowSource<float>&, const TuneOptions&);
template CrossValidation cross_validate(RowSource<double>&, const TuneOptions&);

}  // namespace carmina
