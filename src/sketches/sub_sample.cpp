// sketches/sub_sample.cpp -- choosing rows: a set of different ones, or draws by weight.
#include "sketches/checks.hpp"

#include <carmina/sketches/distribution.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

namespace carmina::sketches {

SubSample::SubSample(Index components, Vector<double> row_weights)
    : n_components(components), weights(std::move(row_weights)) {
  check_components("SubSample", n_components);
}

bool SubSample::operator==(const SubSample& other) const {
  return n_components == other.n_components && weights.size() == other.weights.size() && weights == other.weights;
}

// Floyd's algorithm: after step j every set of that many rows of [0, j] is equally likely.
std::vector<Index> choose_rows(Index n, Index s, const Random& random) {
  std::unordered_set<Index> chosen;
  chosen.reserve(static_cast<std::size_t>(s));
  for (Index j = n - s; j < n; ++j) {
    const double u = random.uniform(static_cast<std::uint64_t>(j - (n - s)));
    const Index row = std::min(j, static_cast<Index>(u * static_cast<double>(j + 1)));
    if (!chosen.insert(row).second) chosen.insert(j);
  }
  std::vector<Index> rows(chosen.begin(), chosen.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

Sketch draw_rows(const char* owner, const Vector<double>& weights, Index draws, const Random& random) {
  const Index n = weights.size();
  require(weights.allFinite() && (weights.array() >= 0).all() && weights.sum() > 0,
          "{}: weights must be finite, not negative and not all zero", owner);
  std::vector<double> below(static_cast<std::size_t>(n));  // sums of the weights up to and with each row
  double sum = 0;
  for (Index j = 0; j < n; ++j) below[static_cast<std::size_t>(j)] = sum += weights[j];
  // The first row whose sum exceeds u: never one of weight zero.
  std::vector<std::pair<Index, Index>> entries;  // (row of the data, row of S)
  for (Index i = 0; i < draws; ++i) {
    const double u = random.uniform(static_cast<std::uint64_t>(i)) * sum;
    auto at = std::upper_bound(below.begin(), below.end(), u);
    if (at == below.end()) at = std::lower_bound(below.begin(), below.end(), sum);  // u rounded up to the sum
    entries.emplace_back(at - below.begin(), i);
  }
  std::sort(entries.begin(), entries.end());
  Sketch sketch{.n = n, .anchors = {}, .mixing = {}};
  std::vector<Eigen::Triplet<double>> triplets;
  for (const auto& [row, i] : entries) {
    if (sketch.anchors.empty() || sketch.anchors.back() != row) sketch.anchors.push_back(row);
    const double probability = weights[row] / sum;
    triplets.emplace_back(i, sketch.anchors.size() - 1, 1 / std::sqrt(static_cast<double>(draws) * probability));
  }
  SparseMixing mixing(draws, sketch.anchor_count());
  mixing.setFromTriplets(triplets.begin(), triplets.end());
  sketch.mixing = std::move(mixing);
  return sketch;
}

Sketch SubSample::sample(Index n, std::uint64_t seed, const Execution&) const {
  const Random random(seed, Stream::sketch);
  if (weights.size() > 0) {
    require(weights.size() == n, "SubSample: {} weights for {} rows", weights.size(), n);
    return draw_rows("SubSample", weights, n_components, random);
  }
  check_no_more_than_rows("SubSample", n_components, n);
  SparseMixing mixing(n_components, n_components);
  mixing.setIdentity();
  mixing *= std::sqrt(static_cast<double>(n) / static_cast<double>(n_components));
  return {n, choose_rows(n, n_components, random), std::move(mixing)};
}

}  // namespace carmina::sketches
