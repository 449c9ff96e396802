// sketches/dense.cpp -- sketches that fill all of S, rows of it in parallel.
#include "sketches/checks.hpp"

#include <carmina/random/philox.hpp>
#include <carmina/sketches/distribution.hpp>

#include <bit>
#include <cmath>
#include <numeric>

namespace carmina::sketches {
namespace {

// entry(i, j) for all of S.
template <class Entry>
Sketch fill(Index s, Index n, const Execution& execution, Entry entry) {
  Sketch sketch{.n = n, .anchors = std::vector<Index>(static_cast<std::size_t>(n)), .mixing = {}};
  std::iota(sketch.anchors.begin(), sketch.anchors.end(), Index(0));
  Matrix<double> mixing(s, n);
  parallel_for(s, execution.thread_count(), [&](Index i, int worker) {
    execution.poll(worker);
    for (Index j = 0; j < n; ++j) mixing(i, j) = entry(i, j);
  });
  sketch.mixing = std::move(mixing);
  return sketch;
}

}  // namespace

Gaussian::Gaussian(Index components) : n_components(components) { check_components("Gaussian", n_components); }

Sketch Gaussian::sample(Index n, std::uint64_t seed, const Execution& execution) const {
  check_rows("Gaussian", n);
  const Random random(seed, Stream::sketch);
  const double scale = 1 / std::sqrt(static_cast<double>(n_components));
  return fill(n_components, n, execution, [&](Index i, Index j) {
    return scale * random.normal(static_cast<std::uint64_t>(j), static_cast<std::uint32_t>(i));
  });
}

Hadamard::Hadamard(Index components) : n_components(components) { check_components("Hadamard", n_components); }

Sketch Hadamard::sample(Index n, std::uint64_t seed, const Execution& execution) const {
  check_rows("Hadamard", n);
  const auto order = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  require(n_components <= order,
          "Hadamard: n_components must be at most {}, the power of two at or above n = {}, found {}", order, n,
          n_components);
  const Random random(seed, Stream::sketch), signs = random.child(0);
  const std::vector<Index> rows = choose_rows(order, n_components, random);
  const double scale = 1 / std::sqrt(static_cast<double>(n_components));
  std::vector<char> negative(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < negative.size(); ++j) negative[j] = static_cast<char>(signs.bits(j) & 1);
  return fill(n_components, n, execution, [&](Index i, Index j) {
    // Sylvester's matrix has (-1)^(common bits of row and column).
    const auto common = static_cast<std::uint64_t>(rows[static_cast<std::size_t>(i)] & j);
    const bool minus = ((std::popcount(common) & 1) != 0) != (negative[static_cast<std::size_t>(j)] != 0);
    return minus ? -scale : scale;
  });
}

}  // namespace carmina::sketches
