// models/choose/left_out_groups.hpp -- rows left out together, in closed form: groups, such as tracks, and stretches.
#pragma once
#include "models/choose/exact_errors.hpp"

#include <carmina/models/fit_options.hpp>

#include <functional>
#include <optional>
#include <string>

namespace carmina {

// The rows of each group, groups by their first row.
std::vector<std::vector<Index>> members_of(const std::vector<Index>& groups);

// Groups of rows by their global numbers, of `rows` in all: those of the options, or stretches; empty: none were asked
// for. Error where there are fewer than two, or another number of groups than of rows.
std::vector<Index> groups_of(const std::vector<Index>& numbers, Index rows, const FitOptions& options);

// With M = K + alpha W^-1 (its lower triangle), E the columns of what is not penalised (n, q) and
// P = M^-1 - M^-1 E (Eᵀ M^-1 E)^-1 Eᵀ M^-1, a group G of entries is missed by the fit to the others by
//   e_G = (P_GG)^-1 (P Y)_G,
// exactly: (P Y)_G = P_GG (y_G - f_G) in terms of that fit. Nothing where a system is singular.
struct WithoutGroups {
  Matrix<double> residuals, coefficients;  // (n, p): e, P Y
};
std::optional<WithoutGroups> leave_groups_out(Matrix<double> M, const Matrix<double>& Y, const Matrix<double>& E,
                                              const std::vector<std::vector<Index>>& groups,
                                              const Execution& execution);

// exact_errors of rows that have groups.
ExactErrors errors_of_groups(const ChoiceRows& rows, Matrix<double> M, const Execution& execution);

// Readings of a track tell of their neighbours: where such rows are left out one by one, a width that is right between
// neighbours is chosen, and between tracks predictions may be of nothing. `squares(groups)` gives the squared errors
// (n) with these groups left out. Ten stretches of consecutive rows are compared with as many parts of as many rows at
// random: the median over the stretches of the ratio of root mean squares. 1 to a few per cent where the order of rows
// tells nothing, whatever they are; the median, since a table that is sorted has two ends. Nothing for few rows.
using SquaresWithout = std::function<Vector<double>(const std::vector<Index>& groups)>;
std::optional<double> ratio_of_stretches(Index rows, const Vector<double>& weights, const SquaresWithout& squares);
// A sentence where that is far above 1, else empty.
std::string stretches_text(std::optional<double> ratio);

}  // namespace carmina
