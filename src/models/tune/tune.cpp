// models/tune/tune.cpp -- trials of a cross-validation one after the other, and the best of them.
#include "losses/row_functions.hpp"
#include "models/fit/repeated_targets.hpp"
#include "models/fit/resolve_kernel.hpp"
#include "models/plan/memory_plan.hpp"
#include "models/tune/tune_grid.hpp"
#include "models/tune/tune_rows.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/alpha_path.hpp>
#include <carmina/models/tune.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace carmina {
namespace {

void check_list(const char* name, const std::vector<double>& values) {
  for (const double value : values) {
    require(value > 0 && std::isfinite(value), "tune: {} must be positive and finite, found {}", name, value);
  }
}

template <Real T>
TuneRows read_rows(const DataRows<T>& rows, const DataSummary& summary, const InputTransform& transform,
                   const std::vector<Loss>& losses, const std::vector<Index>& groups, const Execution& execution) {
  const Index n = summary.rows, d = rows.dim_in();
  TuneRows all{Matrix<double>(n, d), Matrix<double>(n, rows.dim_out()), Vector<double>(n), {}, {}};
  Index at = 0, read = 0;
  const auto check_groups = [&](bool enough) {
    require(groups.empty() || enough, "tune: groups must have a number for each of the {} rows, found {}", read,
            groups.size());
  };
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    read += block.rows;
    check_groups(static_cast<Index>(groups.size()) >= read);
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
      if (!groups.empty()) all.groups.push_back(groups[static_cast<std::size_t>(block.first_row + i)]);
    }
  });
  check_groups(static_cast<Index>(groups.size()) == read);
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
  Trials(const TuneRows& rows, const TuneOptions& options, double memory)
      : rows_(rows), measure_(options.measure.value_or(options.fit.loss)), fit_(options.fit) {
    fit_.execution.memory_budget = static_cast<std::size_t>(memory);
    fit_.scale_inputs = fit_.fill_missing = fit_.keep_moments = fit_.estimate_noise = false;
    progress_ = fit_.execution;
    fit_.execution.progress = {};  // one bar for all fits
    std::visit([&](const auto& loss) { loss.check(rows.Y.cols()); }, measure_);
  }

  // So many trials are about to come.
  void expect(std::size_t trials) { total_ += static_cast<Index>(trials) * rows_.fold_count(); }

  void add(const TriedKernel& tried, const Loss& loss, const std::vector<double>& alphas, std::vector<Trial>& trials) {
    fit_.kernel = tried.kernel;
    fit_.loss = loss;
    const auto count = static_cast<Index>(alphas.size());
    Matrix<double> losses;
    const bool squared = std::holds_alternative<Squared>(loss) && std::holds_alternative<Squared>(measure_);
    if (squared) {  // those of other solvers are not posed
      losses = squared_loss_paths(rows_, tried.kernel, fit_, alphas, [&] { advance(count); });
    }
    if (losses.size() == 0) losses = fit_each(alphas);
    for (Index i = 0; i < count; ++i) {
      const auto row = losses.row(i);
      const double mean = row.mean();
      trials.push_back({tried.kernel,
                        loss,
                        alphas[static_cast<std::size_t>(i)],
                        {row.begin(), row.end()},
                        mean,
                        std::sqrt((row.array() - mean).square().mean()),
                        tried.factor});
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
  Index done_ = 0, total_ = 0;
};

// The score of every alpha for every width, from all rows.
template <Real T>
void score_paths(RowSource<T>& rows, const TuneOptions& options, const std::vector<TriedKernel>& kernels,
                 const std::vector<double>& alphas, std::vector<Trial>& trials) {
  const auto total = static_cast<Index>(trials.size() + kernels.size() * alphas.size());
  FitOptions fit = options.fit;
  fit.execution.progress = {};  // one bar for all paths
  for (const TriedKernel& tried : kernels) {
    fit.kernel = tried.kernel;
    const auto path = fit_path(rows, fit, alphas, *options.by == AlphaScore::leave_one_out);
    for (const PathPoint& point : path.points()) {
      trials.push_back({tried.kernel, fit.loss, point.alpha, {}, score_of(point, *options.by), 0.0, tried.factor});
    }
    options.fit.execution.checkpoint({"tuning", static_cast<Index>(trials.size()), total});
  }
}

// Lists that nobody gave go on where the best of the trials is at their end: alphas at its width, widths at all alphas.
template <class Run>
void go_on_at_the_ends(const TuneOptions& options, const Kernel& own, const std::vector<Loss>& losses,
                       std::vector<double> alphas, const Run& run, std::vector<Trial>& trials) {
  constexpr double farthest_width = 64, farthest_alpha = 1e4;
  const std::vector<double> began = alphas, usual = usual_factors();
  const bool own_widths = options.length_scales.empty() && options.width_factors.empty() && has_width(own);
  std::vector<double> factors = usual;
  for (bool more = true; more;) {
    const Trial best = trials[best_of(trials)];
    if (!std::isfinite(best.mean)) return;
    std::vector<double> next;
    if (options.alphas.empty()) next = beyond(alphas, best.alpha, alphas[1] / alphas[0], 2, farthest_alpha, began);
    more = !next.empty();
    if (more) run({{best.kernel, best.width_factor}}, {best.loss}, next);
    alphas.insert(alphas.end(), next.begin(), next.end());
    if (more || !own_widths) continue;
    next = beyond(factors, best.width_factor, 2, 1, farthest_width, usual);
    more = !next.empty();
    if (more) run({widened(own, next[0])}, losses, alphas);
    factors.insert(factors.end(), next.begin(), next.end());
  }
}

template <Real T>
CrossValidation validate(RowSource<T>& source, const TuneOptions& options) {
  const FitOptions& fit = options.fit;
  DataRows<T> data(source);
  data.read_at_once(block_rows(source.dim_in() + source.dim_out(), fit.execution));
  const DataSummary summary = summarize(data, fit.fill_missing, fit.needs_covariance(), fit.execution);
  check_input_values(summary, fit.input_names);
  const InputTransform transform = input_transform(summary, fit, fit.differential());
  const Kernel own = resolve_kernel(summary, transform, fit);
  const std::vector<TriedKernel> kernels = kernel_grid(own, options);
  kernels[0].kernel.check_dimensions(source.dim_in(), source.dim_out());
  std::vector<double> alphas = options.alphas;
  if (alphas.empty()) alphas = options.by ? path_alphas() : default_alphas(fit.loss);
  const std::vector<Loss> losses = options.losses.empty() ? std::vector<Loss>{fit.loss} : options.losses;
  CrossValidation result;
  std::optional<TuneRows> rows;
  std::optional<Trials> trials;
  if (!options.by) {
    require(options.folds >= 2 && options.folds <= summary.rows,
            "tune: the number of folds must be from 2 to the {} rows, found {}", summary.rows, options.folds);
    std::vector<Loss> of_targets = losses;
    if (options.measure) of_targets.push_back(*options.measure);
    const bool paths = std::all_of(of_targets.begin(), of_targets.end(),
                                   [](const Loss& loss) { return std::holds_alternative<Squared>(loss); });
    const double memory =
        memory_for_fits(summary.rows, data.dim_in() + data.dim_out(), options.folds, paths, fit.execution);
    rows = read_rows(data, summary, transform, of_targets, options.groups, fit.execution);
    const auto seed = options.contiguous ? std::nullopt : std::optional<std::uint64_t>(fit.seed);
    rows->folds = options.groups.empty() ? k_fold(summary.rows, options.folds, seed)
                                         : group_k_fold(rows->groups, options.folds, seed);
    trials.emplace(*rows, options, memory);
  }
  const auto run = [&](const std::vector<TriedKernel>& some, const std::vector<Loss>& of,
                       const std::vector<double>& at) {
    if (options.by) return score_paths(source, options, some, at, result.trials);
    trials->expect(some.size() * of.size() * at.size());
    for (const TriedKernel& tried : some) {
      for (const Loss& loss : of) trials->add(tried, loss, at, result.trials);
    }
  };
  run(kernels, losses, alphas);
  go_on_at_the_ends(options, own, losses, alphas, run, result.trials);
  result.best = best_of(result.trials);
  const Trial& best = result.trials[result.best];
  require(std::isfinite(best.mean), "tune: no trial has a finite loss");
  result.message = end_of_grid(best, result.trials);
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
  require(options.groups.empty() || (!options.by && !options.contiguous),
          "tune: groups are for folds, in the place of contiguous ones");
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
