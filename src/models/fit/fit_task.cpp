// models/fit/fit_task.cpp -- what the words of the options stand for, and the sizes of a fit.
#include "models/fit/fit_task.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace carmina {

std::vector<std::string> approximation_names() {
  std::vector<std::string> names = sketches::sketch_names();
  names.insert(names.begin(), approximation_words.begin(), approximation_words.end());
  names.insert(names.begin(), "auto");
  return names;
}

std::optional<sketches::Distribution> FitRecord::chosen_sketch() const {
  if (fourier() || exact()) return std::nullopt;
  return sketches::make_sketch(approximation, n_components, sketch);
}

std::optional<sketches::Distribution> FitOptions::chosen_sketch() const {
  if (sketch) return sketch;
  if (parse_approximation(approximation) != Approximation::sketch) return std::nullopt;
  const std::vector<std::string> names = approximation_names();
  require(std::find(names.begin(), names.end(), approximation) != names.end(),
          "approximation must be one of '{}', found '{}'", join_text(names, "', '"), approximation);
  return sketches::make_sketch(approximation, components());
}

bool FitOptions::fourier() const { return !sketch && parse_approximation(approximation) == Approximation::fourier; }
bool FitOptions::exact() const { return !sketch && parse_approximation(approximation) == Approximation::exact; }
bool FitOptions::learns_in_parts() const {
  return !sketch && approximation == fourier_word && std::holds_alternative<Squared>(loss);
}

FitOptions FitOptions::with_fourier_features() const {
  FitOptions other = *this;
  if (!fourier()) other.n_components.reset();  // those of a sketch
  other.approximation = fourier_word;
  other.sketch.reset();
  return other;
}

FitOptions FitOptions::without_choices() const {
  FitOptions fixed = *this;
  if (scale_inputs == InputScaling::automatic) fixed.scale_inputs = width_from_data();
  fixed.kernel_name = settled_kernel_name();
  fixed.approximation = FitTask(*this).approximation_name();
  fixed.width = WidthRule::median;
  fixed.metric = MetricRule::identity;
  fixed.n_components = components();
  fixed.alpha = alpha.value_or(usual_alpha);
  fixed.automatic_loss = false;
  fixed.groups.clear();
  fixed.contiguous = false;
  return fixed;
}

FitTask::FitTask(const FitOptions& given)
    : options(given),
      approximation(given.sketch ? Approximation::sketch : parse_approximation(given.approximation)),
      sketch(given.chosen_sketch()),
      solver(parse_solver(given.solver)),
      alpha(given.alpha.value_or(usual_alpha)),
      squared(std::holds_alternative<Squared>(given.loss)),
      smooth(carmina::smooth(given.loss)) {
  separable = given.kernel ? given.kernel->separable() != nullptr : !given.differential();
  // A sketch whose outputs are not separable has no normal equations: its squared loss is minimised as any other.
  if (sketch && squared && !separable && solver.factors) solver = Solver::automatic;
}

FitTask::FitTask(const FitOptions& given, Index dim_in, Index dim_out, double rows, std::size_t bytes)
    : FitTask(given) {
  n = rows;
  d = static_cast<double>(dim_in);
  p = static_cast<double>(dim_out);
  scalar_bytes = static_cast<double>(bytes);
  const auto components = static_cast<double>(sketch ? n_components(*sketch) : given.components());
  const OutputCoupling& coupling = given.kernel ? given.kernel->terms()[0].coupling : given.coupling;
  by_eigen = alpha == 0 || (!std::holds_alternative<Independent>(coupling) && dim_out > 8);
  m = components;
  order = components * static_cast<double>(factor_columns(given.coupling, dim_out));
  if (given.kernel) {
    const std::vector<Term>& terms = given.kernel->terms();
    std::vector<Index> features(terms.size(), static_cast<Index>(components));  // of each term
    if (fourier()) {
      features = term_units(terms, dim_in, static_cast<Index>(components) / 2);
      for (Index& count : features) count *= 2;
    }
    m = sketch ? components : 0;
    order = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const auto count = static_cast<double>(features[t]);
      if (!sketch) m += count;
      order += count * static_cast<double>(factor_columns(terms[t].coupling, dim_out));
    }
  }
  if (separable) order = m;
}

std::string FitTask::approximation_name() const {
  return sketch ? sketch_name(*sketch) : std::string(approximation_words[static_cast<std::size_t>(approximation)]);
}

void FitTask::check_divided() const {
  if (!divided) return;
  require(!exact(),
          "fit: an exact machine takes the kernel values of all pairs of rows, which several processes do not share; "
          "take approximation 'fourier' or 'sub_sample'");
  require(
      !sketch || !needs_data(*sketch),
      "fit: the sketch '{}' is drawn from the kernel values of all rows, which several processes do not share; take "
      "approximation 'sub_sample' or 'fourier'",
      sketch ? sketch_name(*sketch) : "");
  require(
      !sketch || separable,
      "fit: a sketch of a kernel that is not separable takes all rows in one process; take approximation 'fourier'");
  require(!solver.batches,
          "fit: solver '{}' takes one batch of rows after the other, which several processes do not share; take 'auto'",
          solver.word);
}

RowGrid FitTask::grid() const { return RowGrid::of(static_cast<Index>(std::min(n, 1e15)), static_cast<Index>(d + p)); }

}  // namespace carmina
