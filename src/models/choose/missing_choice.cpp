// models/choose/missing_choice.cpp -- the systems of the patterns, one after the other, and samples of their rows.
#include "models/choose/missing_choice.hpp"
#include "models/choose/left_out_groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace carmina {
namespace {

ChoiceRows part_of(const ChoiceRows& rows, const SeenOutputs& seen) {
  ChoiceRows part = rows.at(seen.rows);
  part.Y = Matrix<double>(part.Y(Eigen::all, seen.columns));
  return part;
}

// Of the rows that one system may have, where there are so many.
double share_of_each(std::size_t patterns) { return std::cbrt(std::min(1.0, 4.0 / static_cast<double>(patterns))); }

}  // namespace

std::vector<SeenOutputs> seen_outputs(const Matrix<double>& Y) {
  std::map<std::vector<Index>, std::vector<Index>> columns_of;
  for (Index j = 0; j < Y.cols(); ++j) {
    std::vector<Index> rows;
    for (Index i = 0; i < Y.rows(); ++i) {
      if (!std::isnan(Y(i, j))) rows.push_back(i);
    }
    columns_of[std::move(rows)].push_back(j);
  }
  std::vector<SeenOutputs> found;
  for (const auto& [rows, columns] : columns_of) found.push_back({columns, rows});
  return found;
}

double seen_share(const DataSummary& summary) {
  if (!summary.has_missing_targets()) return 1;
  double seen = 0, outputs = 0;
  for (const TargetPattern& pattern : summary.patterns) {
    seen += static_cast<double>(pattern.rows) * static_cast<double>(pattern.columns.size());
    outputs += static_cast<double>(pattern.columns.size());
  }
  return seen / (outputs * static_cast<double>(summary.rows));
}

ExactErrors pooled_errors(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha,
                          const Execution& execution) {
  const Index n = rows.rows(), p = rows.Y.cols();
  ExactErrors all{0, Vector<double>::Zero(n), Matrix<double>::Zero(n, p), Matrix<double>::Zero(n, p)};
  double weight = 0;
  for (const SeenOutputs& seen : seen_outputs(rows.Y)) {
    if (seen.rows.size() < 2) continue;  // nothing is left when one is left out
    const ChoiceRows part = part_of(rows, seen);
    if (!part.groups.empty() && members_of(part.groups).size() < 2) continue;
    const ExactErrors found = exact_errors(part, kernel, alpha, execution);
    if (!std::isfinite(found.error)) return found;
    all.residuals(seen.rows, seen.columns) = found.residuals;
    all.coefficients(seen.rows, seen.columns) = found.coefficients;
    const auto outputs = static_cast<double>(seen.columns.size());
    all.squares(seen.rows) += outputs * found.squares;
    weight += outputs * part.weights.sum();
  }
  if (!(weight > 0)) {
    all.error = std::numeric_limits<double>::infinity();
    return all;
  }
  all.squares *= rows.weights.sum() / weight;
  all.error = all.squares.dot(rows.weights) / rows.weights.sum();
  return all;
}

ExactEvidence pooled_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha,
                              const Execution& execution) {
  ExactEvidence all{0, Vector<double>::Zero(rows.Z.cols()), 0};
  for (const SeenOutputs& seen : seen_outputs(rows.Y)) {
    if (seen.rows.size() < 2) continue;
    const ExactEvidence found = exact_evidence(part_of(rows, seen), kernel, alpha, execution);
    if (!std::isfinite(found.value)) return found;
    all.value += found.value;
    all.by_factor += found.by_factor;
    all.by_alpha += found.by_alpha;
  }
  return all;
}

void limit_targets(ChoiceRows& rows, double most) {
  const std::vector<SeenOutputs> patterns = seen_outputs(rows.Y);
  most *= share_of_each(patterns.size());
  for (const SeenOutputs& seen : patterns) {
    std::vector<char> kept(seen.rows.size(), 0);
    for (const Index i : hashed_rows(part_of(rows, seen), most)) kept[static_cast<std::size_t>(i)] = 1;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) continue;
      for (const Index j : seen.columns) rows.Y(seen.rows[i], j) = std::numeric_limits<double>::quiet_NaN();
    }
  }
}

double rows_for_one(const ChoiceRows& rows) {
  if (!rows.Y.hasNaN()) return 1;
  const auto seen = static_cast<double>((!rows.Y.array().isNaN()).count());
  return std::min(2.5, static_cast<double>(rows.Y.size()) / std::max(1.0, seen)) *
         share_of_each(seen_outputs(rows.Y).size());
}

}  // namespace carmina
