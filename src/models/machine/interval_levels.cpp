// models/machine/interval_levels.cpp -- the levels of a model's quantiles, and what a model lacks for intervals.
#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>

#include <algorithm>

namespace carmina {

const std::vector<double>& interval_levels() {
  static const std::vector<double> levels = [] {
    std::vector<double> all;
    for (int i = 1; i <= 90; ++i) all.push_back(i / 100.0);
    for (int i = 901; i <= 990; ++i) all.push_back(i / 1000.0);
    for (int i = 9901; i <= 9999; ++i) all.push_back(i / 10000.0);
    return all;
  }();
  return levels;
}

std::size_t interval_level(double coverage) {
  const std::vector<double>& levels = interval_levels();
  require(coverage > 0 && coverage <= levels.back(), "interval: coverage must be above 0 and at most {}, found {}",
          levels.back(), coverage);
  return static_cast<std::size_t>(std::lower_bound(levels.begin(), levels.end(), coverage * (1 - 1e-12)) -
                                  levels.begin());
}

std::string why_no_deviation(const FitRecord& record) {
  if (!std::holds_alternative<Squared>(record.loss)) {
    return format_text("deviations are known for the squared loss, the model has '{}'", loss_name(record.loss));
  }
  if (!record.has_deviations()) {
    return format_text(
        "deviations are known for Fourier features, sub-samples and exact machines, found a sketch ('{}')",
        record.approximation);
  }
  if (!(record.alpha > 0)) return "alpha must be positive for deviations, the model has 0";
  if (record.missing_targets && record.patterns.empty()) {
    return "where rows lack some of their targets, deviations are known for outputs that no coupling joins, fitted "
           "with solver 'direct', in files with their variances; fit the outputs one by one";
  }
  const bool sums = record.patterns.empty() ? record.moments != nullptr : record.patterns[0].moments != nullptr;
  if (!record.exact() && !sums && !record.factored()) {
    return format_text("deviations with approximation '{}' need solver 'direct', the model is of '{}'",
                       record.approximation, record.report.solver);
  }
  if (!record.exact() && !sums) {
    return format_text(
        "a model file with approximation '{}' does not hold the sums that deviations need unless they are asked for, "
        "with solver 'direct': carmina fit --variances, Python save(path, variances=True), C++ keep_moments",
        record.approximation);
  }
  if (record.noise.size() == 0) {
    return format_text(
        "the variance of the noise is not known; it is estimated by a fit of more than one row with the "
        "solver 'direct', the model is of '{}' and {}",
        record.report.solver, record.rows == 1 ? "1 row" : format_text("{} rows", record.rows));
  }
  return {};
}

std::string why_no_interval(const FitRecord& record) {
  std::string reason = why_no_deviation(record);
  if (reason.empty() && record.left_out.size() == 0) {
    reason =
        "the model holds no errors of rows left out; they are measured by one fit to all rows, not by fits in parts "
        "or paths of alphas";
  }
  return reason;
}

}  // namespace carmina
