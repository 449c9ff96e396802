// data/splits.hpp -- rows for fitting and rows for testing, as row numbers in ascending order.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace carmina {

struct Split {
  std::vector<Index> train, test;
};

// The rows 0 .. n-1 in the order of their random keys random.bits(row, column).
std::vector<Index> shuffled_rows(Index n, const Random& random, std::uint32_t column = 0);

// round(n test_fraction) rows, at least one and not all, are for testing.
Split train_test_split(Index n, double test_fraction, std::uint64_t seed);

// Every row is tested in exactly one of the folds, whose sizes differ by one at most. Without a seed the
// folds are contiguous, as suits a time series.
std::vector<Split> k_fold(Index n, Index folds, std::optional<std::uint64_t> seed = std::nullopt);

// The same by groups, a number for each row: rows of one are tested together, in the fold with the fewest rows so far,
// the largest group first. Of groups of one size the order is that of the seed, or that of their first rows.
std::vector<Split> group_k_fold(const std::vector<Index>& groups, Index folds,
                                std::optional<std::uint64_t> seed = std::nullopt);

}  // namespace carmina
