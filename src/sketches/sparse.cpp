// sketches/sparse.cpp -- non-zero entries one by one, in O(non-zeros) steps and memory.
#include "sketches/checks.hpp"

#include <carmina/random/philox.hpp>
#include <carmina/sketches/distribution.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace carmina::sketches {
namespace {

// Which numbers of an entry are for what.
constexpr std::uint32_t place = 0, value = 1;

double sign(const Random& random, std::uint64_t entry) { return random.bits(entry, value) & 1 ? 1.0 : -1.0; }

void check_density(const char* owner, const std::optional<double>& density) {
  require(!density || (*density > 0 && *density <= 1), "{}: density must be in (0, 1], found {}", owner,
          density.value_or(0));
}

// Columns with their entries, in the order of the columns.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(Index rows) : rows_(rows) {}

  void add(Index column, Index row, double entry) {
    if (anchors_.empty() || anchors_.back() != column) {
      anchors_.push_back(column);
      begins_.push_back(static_cast<int>(values_.size()));
    }
    indices_.push_back(static_cast<int>(row));
    values_.push_back(entry);
  }

  Sketch finish(Index n) {
    begins_.push_back(static_cast<int>(values_.size()));
    const auto columns = static_cast<Index>(anchors_.size()), entries = static_cast<Index>(values_.size());
    SparseMixing mixing =
        Eigen::Map<const SparseMixing>(rows_, columns, entries, begins_.data(), indices_.data(), values_.data());
    return {n, std::move(anchors_), std::move(mixing)};
  }

 private:
  Index rows_;
  std::vector<Index> anchors_;
  std::vector<int> begins_, indices_;
  std::vector<double> values_;
};

// mathematics.md 2a: entry (i, j) of S is number i + s j of s n; the distance to the next one that is there is
// geometric, 1 + floor(log(1 - u) / log(1 - p)). unit(k) is the k-th entry before its scale 1 / sqrt(s p).
template <class Unit>
Sketch sample_entries(const char* owner, Index s, std::optional<double> given, Index n, const Random& random,
                      Unit unit) {
  check_rows(owner, n);
  const double p = given.value_or(std::min(1.0, static_cast<double>(usual_entries) / static_cast<double>(n)));
  const double scale = 1 / std::sqrt(static_cast<double>(s) * p), log_absent = std::log1p(-p);
  require(p * static_cast<double>(s) * static_cast<double>(n) < 0x1p30,
          "{}: density {} of {} x {} makes more than 10^9 entries; lower the density", owner, p, s, n);
  ColumnBuilder builder(s);
  const auto total = static_cast<double>(s) * static_cast<double>(n);
  Index at = -1;
  for (std::uint64_t k = 0;; ++k) {
    const double gap = 1 + std::floor(std::log1p(-random.uniform(k, place)) / log_absent);
    if (!(static_cast<double>(at) + gap < total)) break;
    at += static_cast<Index>(gap);
    builder.add(at / s, at % s, scale * unit(k));
  }
  return builder.finish(n);
}

}  // namespace

SparseRademacher::SparseRademacher(Index components, std::optional<double> p) : n_components(components), density(p) {
  check_components("SparseRademacher", n_components);
  check_density("SparseRademacher", density);
}

Sketch SparseRademacher::sample(Index n, std::uint64_t seed, const Execution&) const {
  const Random random(seed, Stream::sketch);
  return sample_entries("SparseRademacher", n_components, density, n, random,
                        [&](std::uint64_t k) { return sign(random, k); });
}

SparseGaussian::SparseGaussian(Index components, std::optional<double> p) : n_components(components), density(p) {
  check_components("SparseGaussian", n_components);
  check_density("SparseGaussian", density);
}

Sketch SparseGaussian::sample(Index n, std::uint64_t seed, const Execution&) const {
  const Random random(seed, Stream::sketch);
  return sample_entries("SparseGaussian", n_components, density, n, random,
                        [&](std::uint64_t k) { return random.normal(k, value); });
}

Accumulation::Accumulation(Index components, Index draws) : n_components(components), m(draws) {
  check_components("Accumulation", n_components);
  require(m > 0, "Accumulation: m must be positive, found {}", m);
}

Sketch Accumulation::sample(Index n, std::uint64_t seed, const Execution&) const {
  check_rows("Accumulation", n);
  const Random random(seed, Stream::sketch);
  struct Draw {
    Index column, row;
    int sign;
  };
  std::vector<Draw> draws(static_cast<std::size_t>(n_components * m));
  for (std::size_t k = 0; k < draws.size(); ++k) {
    const auto column = static_cast<Index>(random.uniform(k, place) * static_cast<double>(n));
    draws[k] = {std::min(n - 1, column), static_cast<Index>(k) / m, sign(random, k) > 0 ? 1 : -1};
  }
  std::sort(draws.begin(), draws.end(),
            [](const Draw& a, const Draw& b) { return std::pair(a.column, a.row) < std::pair(b.column, b.row); });
  const double scale = std::sqrt(static_cast<double>(n) / static_cast<double>(n_components * m));
  ColumnBuilder builder(n_components);
  for (auto draw = draws.begin(); draw != draws.end();) {
    // Draws of the same place add up; where they cancel there is no entry.
    const auto [column, row, first] = *draw;
    int sum = 0;
    for (; draw != draws.end() && draw->column == column && draw->row == row; ++draw) sum += draw->sign;
    if (sum != 0) builder.add(column, row, scale * sum);
  }
  return builder.finish(n);
}

CountSketch::CountSketch(Index components) : n_components(components) { check_components("CountSketch", n_components); }

Sketch CountSketch::sample(Index n, std::uint64_t seed, const Execution&) const {
  check_rows("CountSketch", n);
  const Random random(seed, Stream::sketch);
  ColumnBuilder builder(n_components);
  for (Index j = 0; j < n; ++j) {
    const auto k = static_cast<std::uint64_t>(j);
    const auto row = static_cast<Index>(random.uniform(k, place) * static_cast<double>(n_components));
    builder.add(j, std::min(n_components - 1, row), sign(random, k));
  }
  return builder.finish(n);
}

}  // namespace carmina::sketches
