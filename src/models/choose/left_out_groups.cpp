// models/choose/left_out_groups.cpp -- errors of groups by blocks of the inverse, and what stretches say of the rows.
#include "models/choose/left_out_groups.hpp"
#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>
#include <carmina/core/format.hpp>
#include <carmina/data/splits.hpp>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace carmina {
namespace {

constexpr Index stretches = 10;
constexpr Index fewest_rows = 50;  // that say anything of stretches
constexpr double far_above = 1.5;

// Of n rows in their order.
Index stretch_of(Index row, Index n) { return row * std::min(stretches, n) / n; }

}  // namespace

std::vector<std::vector<Index>> members_of(const std::vector<Index>& groups) {
  std::vector<std::vector<Index>> members;
  std::map<Index, std::size_t> places;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [at, is_new] = places.emplace(groups[i], members.size());
    if (is_new) members.emplace_back();
    members[at->second].push_back(static_cast<Index>(i));
  }
  return members;
}

std::vector<Index> groups_of(const std::vector<Index>& numbers, Index rows, const FitOptions& options) {
  if (!options.leaves_groups_out()) return {};
  std::vector<Index> groups;
  if (options.contiguous) {
    for (const Index number : numbers) groups.push_back(stretch_of(number, rows));
  } else {
    require(std::ssize(options.groups) == rows, "fit: groups must have a number for each of the {} rows, found {}",
            rows, options.groups.size());
    for (const Index number : numbers) groups.push_back(options.groups[static_cast<std::size_t>(number)]);
  }
  require(members_of(groups).size() >= 2, "fit: to be left out in turn, rows must be of at least 2 groups, found {}",
          members_of(groups).size());
  return groups;
}

std::optional<WithoutGroups> leave_groups_out(Matrix<double> M, const Matrix<double>& Y, const Matrix<double>& E,
                                              const std::vector<std::vector<Index>>& groups,
                                              const Execution& execution) {
  const Index n = M.rows(), p = Y.cols(), q = E.cols();
  if (!backend::cholesky(n, M.data(), n, execution)) return std::nullopt;
  const Matrix<double> U = backend::lower_inverse(n, M.data(), n, execution);  // M^-1 = UᵀU
  Matrix<double> right(n, p + q);
  right << Y, E;
  right = U * right;
  right = U.transpose() * right;
  WithoutGroups out{Matrix<double>(n, p), right.leftCols(p)};
  const Matrix<double> S = right.rightCols(q);  // M^-1 E
  Matrix<double> Q;
  if (q > 0) {
    const Eigen::LLT<Eigen::MatrixXd> information(E.transpose() * S);
    if (information.info() != Eigen::Success) return std::nullopt;
    Q = information.solve(Eigen::MatrixXd(S.transpose()));
    out.coefficients -= Q.transpose() * (E.transpose() * out.coefficients);
  }
  for (const std::vector<Index>& group : groups) {
    const Index first = *std::min_element(group.begin(), group.end());  // U is zero above the diagonal
    const Matrix<double> columns = U.bottomRows(n - first)(Eigen::all, group);
    Matrix<double> P = columns.transpose() * columns;
    if (q > 0) P -= S(group, Eigen::all) * Q(Eigen::all, group);
    const Eigen::LLT<Eigen::MatrixXd> factor(P);
    if (factor.info() != Eigen::Success) return std::nullopt;
    const Eigen::MatrixXd missed = factor.solve(Eigen::MatrixXd(out.coefficients(group, Eigen::all)));
    out.residuals(group, Eigen::all) = missed;
  }
  return out;
}

ExactErrors errors_of_groups(const ChoiceRows& rows, Matrix<double> M, const Execution& execution) {
  ExactErrors out;
  out.error = std::numeric_limits<double>::infinity();
  const Matrix<double> E = Matrix<double>::Ones(rows.rows(), rows.intercept ? 1 : 0);
  auto found = leave_groups_out(std::move(M), rows.Y, E, members_of(rows.groups), execution);
  if (!found) return out;
  out.residuals = std::move(found->residuals);
  out.coefficients = std::move(found->coefficients);
  out.squares = out.residuals.rowwise().squaredNorm() / static_cast<double>(rows.Y.cols());
  out.squares.array() += rounding_error(rows, out.coefficients);
  out.set_error(rows.weights);
  return out;
}

std::optional<double> ratio_of_stretches(Index rows, const Vector<double>& weights, const SquaresWithout& squares) {
  if (rows < fewest_rows) return std::nullopt;
  std::vector<Index> in_order, at_random(static_cast<std::size_t>(rows));
  for (Index i = 0; i < rows; ++i) in_order.push_back(stretch_of(i, rows));
  const std::vector<Index> order = shuffled_rows(rows, Random(0, Stream::split));
  for (std::size_t i = 0; i < order.size(); ++i) {
    at_random[static_cast<std::size_t>(order[i])] = stretch_of(static_cast<Index>(i), rows);
  }
  const Vector<double> ordered = squares(in_order), shuffled = squares(at_random);
  if (ordered.size() != rows || shuffled.size() != rows) return std::nullopt;
  std::vector<double> ratios;
  for (const std::vector<Index>& stretch : members_of(in_order)) {
    const Vector<double> w = weights(stretch);
    ratios.push_back(std::sqrt(ordered(stretch).dot(w) / shuffled(stretch).dot(w)));
  }
  std::nth_element(ratios.begin(), ratios.begin() + stretches / 2, ratios.end());
  const double ratio = ratios[static_cast<std::size_t>(stretches / 2)];
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

std::string stretches_text(std::optional<double> ratio) {
  if (!ratio || *ratio < far_above) return "";
  return format_text(
      "; stretches of consecutive rows are missed by {:.2g} times as much as rows at random: rows of a track or a "
      "series tell of their neighbours, and what was chosen is for places between these; groups, or contiguous "
      "stretches, that are left out together choose for places farther away",
      *ratio);
}

}  // namespace carmina
