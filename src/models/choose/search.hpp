// models/choose/search.hpp -- family, width, metric and alpha of a kernel by the errors of rows left out.
#pragma once
#include "models/choose/exact_errors.hpp"

#include <carmina/core/format.hpp>
#include <carmina/models/fit_options.hpp>
#include <carmina/models/report.hpp>

#include <optional>
#include <string>
#include <vector>

namespace carmina {

struct Setting {
  std::string kernel;  // a stationary kernel's name
  KernelParameters parameters;
  double width = 1, alpha = 1;
  std::string metric = "identity";  // "per input", "learnt"
  Matrix<double> P = {};            // (d, d), z -> z P before the kernel; empty: the identity

  std::optional<ScalarKernel> given = {};  // in the place of a name and a width

  // "gaussian", "matern (nu = 1.5)"
  std::string text() const {
    const auto nu = parameters.find("nu");
    return nu == parameters.end() ? kernel : format_text("{} (nu = {})", kernel, nu->second);
  }
  ScalarKernel scalar() const { return given ? *given : make_scalar_kernel(kernel, width, parameters); }
};

struct TriedSetting {
  Setting setting;
  ExactErrors result;
  double rows = 0;  // total weight of the rows that it was tried on
  double error() const { return result.error; }
};

// The smallest that kernel values of this precision allow.
template <Real T>
constexpr double least_alpha = sizeof(T) == sizeof(float) ? 1e-5 : 1e-9;

// What is to be chosen; a value that is given is not.
struct SearchSpace {
  std::vector<std::pair<std::string, KernelParameters>> families;
  std::optional<ScalarKernel> kernel;  // or this one, as it is
  std::optional<double> width, alpha;
  double least_alpha = 1e-9;
  MetricRule metric = MetricRule::automatic;
  bool per_input = false;  // of metrics, those with one factor for each input

  bool metric_asked() const { return metric == MetricRule::learn || per_input; }
};
// Matérn of smoothness 1/2, 3/2, 5/2, Gaussian, Laplacian.
std::vector<std::pair<std::string, KernelParameters>> automatic_families();

// Notes of all that was tried.
using ChoiceLog = std::vector<Choice>;

// The best setting for these rows, and whether it is for the inputs as the alternative has them (n, d).
// For each family coarse steps in width and alpha on some rows, fine ones on more for the best. Then metrics, which are
// taken where the rows that are left out become better by more than a standard error of the difference: a factor for
// each input by evidence, a matrix from average outer products of gradients. A last few steps are on all rows.
struct SearchResult {
  TriedSetting best;
  bool alternative = false;
  // With few rows for each input, a metric is judged by rows that it has not seen; their mean squared error over that
  // of rows left out in closed form, and the total weight of the rows that this is of.
  double optimism = 1, optimism_rows = 0;
};
SearchResult search_settings(const ChoiceRows& rows, const Matrix<double>* alternative, const SearchSpace& space,
                             const Execution& execution, ChoiceLog& log);

// The rows as a metric sees them.
ChoiceRows in_metric(const ChoiceRows& rows, const Matrix<double>& P);

}  // namespace carmina
