// tuning.cpp -- cross-validation of widths, alphas and losses; the estimator around it is refitted in Python.
#include <carmina/models/tune.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "fit_rows.hpp"
#include "loss_values.hpp"

namespace carmina::python {
namespace {

nb::dict to_dict(const Trial& trial) {
  nb::dict result;
  result["width_factor"] = trial.width_factor;
  result["length_scale"] = first_width(trial.kernel);
  result["loss"] = to_python(trial.loss);
  result["alpha"] = trial.alpha;
  result["mean"] = trial.mean;
  result["std"] = trial.deviation;
  result["folds"] = trial.fold_losses;
  return result;
}

// (trials, number of the best, message)
nb::tuple cross_validate(nb::handle X, nb::handle Y, nb::handle weights, const FitOptions& fit,
                         std::vector<double> length_scales, std::vector<double> width_factors,
                         std::vector<double> alphas, const nb::list& losses, nb::handle measure, const std::string& by,
                         Index folds, bool contiguous, std::vector<Index> groups, int threads,
                         std::size_t memory_budget, nb::handle progress) {
  TuneOptions options;
  options.fit = fit;
  take_execution(options.fit, threads, memory_budget, progress);
  options.length_scales = std::move(length_scales);
  options.width_factors = std::move(width_factors);
  options.alphas = std::move(alphas);
  for (nb::handle loss : losses) options.losses.push_back(nb::cast<const LossValue&>(loss).known());
  if (!measure.is_none()) options.measure = nb::cast<const LossValue&>(measure).known();
  if (by != "cv") options.by = parse_alpha_score(by);
  options.folds = folds;
  options.contiguous = contiguous;
  options.groups = std::move(groups);
  const auto result = in_precision_of(X, [&]<class T>(T) -> CrossValidation {
    return with_rows<T>("tune", X, Y, weights, options.fit.execution,
                        [&](RowSource<T>& rows) { return carmina::cross_validate(rows, options); });
  });
  nb::list trials;
  for (const Trial& trial : result.trials) trials.append(to_dict(trial));
  return nb::make_tuple(trials, result.best, result.message);
}

}  // namespace

void bind_tuning(nb::module_& m) {
  m.def("cross_validate", &cross_validate, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("options"),
        nb::arg("length_scales"), nb::arg("width_factors"), nb::arg("alphas"), nb::arg("losses"),
        nb::arg("measure").none(), nb::arg("by"), nb::arg("folds"), nb::arg("contiguous"), nb::arg("groups"),
        nb::arg("threads") = 0, nb::arg("memory_budget") = 0, nb::arg("progress") = nb::none());
}

}  // namespace carmina::python
