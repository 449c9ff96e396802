// sketches/adaptive.cpp -- leverage scores from a few rows, and randomly pivoted Cholesky; all in double.
#include "backends/tiled.hpp"
#include "features/map_operations.hpp"
#include "sketches/checks.hpp"

#include <carmina/sketches/distribution.hpp>

#include <algorithm>
#include <cmath>

namespace carmina::sketches {
namespace {

constexpr Index tile_rows = 256;

Index tiles_of(Index n) { return (n + tile_rows - 1) / tile_rows; }

template <Real T>
void check_data(const char* owner, Index n, ConstView<T> X) {
  check_rows(owner, n);
  require(X.rows() == n, "{}: a sketch of {} rows, but X has {}", owner, n, X.rows());
}

// Values of a few rows at once, in the calling thread: (rows, anchors).
Matrix<double> values(const KernelMap<double>& map, const Matrix<double>& X) {
  Matrix<double> K(X.rows(), map.units());
  evaluate_few(map, X.data(), X.cols(), X.rows(), K.data(), map.units());
  return K;
}

// The row at which the running sum of d passes u times its total; the sum of each tile of d is in `sums`.
Index draw(const Vector<double>& d, const Vector<double>& sums, double u) {
  double rest = u * sums.sum();
  Index tile = 0;
  while (tile + 1 < sums.size() && rest >= sums[tile]) rest -= sums[tile++];
  const Index first = tile * tile_rows, last = std::min(d.size(), first + tile_rows);
  Index chosen = -1;
  for (Index i = first; i < last; ++i) {
    if (d[i] <= 0) continue;
    chosen = i;
    if (rest < d[i]) break;
    rest -= d[i];
  }
  if (chosen < 0) d.maxCoeff(&chosen);  // rounding led past the last row that counts
  return chosen;
}

}  // namespace

LeverageScores::LeverageScores(Index components, double ridge) : n_components(components), alpha(ridge) {
  check_components("LeverageScores", n_components);
  require(alpha > 0 && std::isfinite(alpha), "LeverageScores: alpha must be positive and finite, found {}", alpha);
}

// With q rows J chosen at random, S = sqrt(n / q) times their selection has E[Sᵀ S] = I, so in feature space
//   phi_iᵀ (sum_j phi_j phi_jᵀ + alpha I)^-1 phi_i  ~  phi_iᵀ ((n / q) sum_J phi_j phi_jᵀ + alpha I)^-1 phi_i
//                                                   =  (k_ii - k_iJ (K_JJ + alpha q / n I)^-1 k_Ji) / alpha
// [Rudi2018]. A score is at most 1, its estimate need not be.
template <Real T>
Vector<double> LeverageScores::scores(std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
                                      const InputTransform& transform, const Execution& execution) const {
  const Index n = X.rows(), q = std::min(n, n_components);
  const std::vector<Index> chosen = choose_rows(n, q, Random(seed, Stream::sketch).child(0));
  Matrix<double> few(q, X.cols());
  for (Index a = 0; a < q; ++a) few.row(a) = X.row(chosen[static_cast<std::size_t>(a)]).template cast<double>();
  const KernelMap<double> map(kernel, few, transform);
  Matrix<double> L = values(map, few);
  const double size = L.diagonal().mean(), ridge = alpha * static_cast<double>(q) / static_cast<double>(n);
  // Repeated rows leave K_JJ singular; a smaller ridge than this is lost in its rounding.
  L.diagonal().array() += std::max(ridge, 1e-12 * static_cast<double>(q) * size);
  {
    require(backend::cholesky(q, L.data(), q, execution), "LeverageScores: the kernel is not positive semi-definite");
  }
  Vector<double> scores = kernel_diagonal<T>(kernel, X, transform);
  parallel_for(tiles_of(n), execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * tile_rows, rows = std::min(tile_rows, n - first);
    Matrix<double> V = values(map, X.middleRows(first, rows).template cast<double>()).transpose();  // (q, rows)
    backend::lower_solve(q, rows, L.data(), q, V.data(), rows);
    for (Index i = 0; i < rows; ++i) {
      const double left = scores[first + i] - V.col(i).squaredNorm();
      scores[first + i] = std::min(1.0, std::max(left, 1e-12 * scores[first + i]) / alpha);
    }
  });
  return scores;
}

template <Real T>
Sketch LeverageScores::sample(Index n, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
                              const InputTransform& transform, const Execution& execution) const {
  check_data("LeverageScores", n, X);
  return draw_rows("LeverageScores", scores(seed, X, kernel, transform, execution), n_components,
                   Random(seed, Stream::sketch));
}

PivotedCholesky::PivotedCholesky(Index components) : n_components(components) {
  check_components("PivotedCholesky", n_components);
}

// [Chen2022]: F Fᵀ is the approximation so far and d the diagonal of what it leaves of K.
template <Real T>
Sketch PivotedCholesky::sample(Index n, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
                               const InputTransform& transform, const Execution& execution) const {
  check_data("PivotedCholesky", n, X);
  check_no_more_than_rows("PivotedCholesky", n_components, n);
  const Random random(seed, Stream::sketch);
  const int threads = execution.thread_count();
  Vector<double> d = kernel_diagonal<T>(kernel, X, transform), sums(tiles_of(n));
  for (Index t = 0; t < sums.size(); ++t) {
    sums[t] = d.segment(t * tile_rows, std::min(tile_rows, n - t * tile_rows)).sum();
  }
  const double enough = 1e-12 * sums.sum();
  Matrix<double> F(n, n_components);
  std::vector<Index> pivots;
  for (std::uint64_t step = 0; static_cast<Index>(pivots.size()) < n_components && sums.sum() > enough; ++step) {
    execution.checkpoint({"pivots", static_cast<Index>(pivots.size()), n_components});
    const Index pivot = draw(d, sums, random.uniform(step)), done = static_cast<Index>(pivots.size());
    const KernelMap<double> map(kernel, X.row(pivot).template cast<double>(), transform);
    const double scale = 1 / std::sqrt(d[pivot]);
    const Eigen::RowVectorXd before = F.row(pivot).head(done);
    parallel_for(sums.size(), threads, [&](Index task, int) {
      const Index first = task * tile_rows, rows = std::min(tile_rows, n - first);
      auto column = F.col(done).segment(first, rows);
      column = values(map, X.middleRows(first, rows).template cast<double>());
      column -= F.block(first, 0, rows, done).lazyProduct(before.transpose());
      column *= scale;
      auto left = d.segment(first, rows);
      left = (left.array() - column.array().square()).max(0.0);
      if (pivot >= first && pivot < first + rows) d[pivot] = 0;
      sums[task] = left.sum();
    });
    pivots.push_back(pivot);
  }
  std::sort(pivots.begin(), pivots.end());
  const auto s = static_cast<Index>(pivots.size());
  SparseMixing mixing(s, s);
  mixing.setIdentity();
  return {n, std::move(pivots), std::move(mixing)};
}

#define CARMINA_INSTANTIATE(T)                                                                     \
  template Sketch LeverageScores::sample(Index, std::uint64_t, ConstView<T>, const ScalarKernel&,  \
                                         const InputTransform&, const Execution&) const;           \
  template Vector<double> LeverageScores::scores(std::uint64_t, ConstView<T>, const ScalarKernel&, \
                                                 const InputTransform&, const Execution&) const;   \
  template Sketch PivotedCholesky::sample(Index, std::uint64_t, ConstView<T>, const ScalarKernel&, \
                                          const InputTransform&, const Execution&) const;
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina::sketches
