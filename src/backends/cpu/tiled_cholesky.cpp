// backends/cpu/tiled_cholesky.cpp -- Cholesky factors as tasks over tiles, each begun as soon as what it needs is
// there: threads wait for tiles, not for each other.
#include "backends/cpu/column_panels.hpp"
#include "backends/cuda/backend.hpp"
#include "backends/tiled.hpp"

#include <algorithm>
#include <concepts>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <queue>
#include <vector>

namespace carmina::backend {
namespace {

// The order of the tiles: large enough for products, small enough for tasks to be many.
Index factor_tile(Index n) { return n < 3072 ? 128 : 192; }

// Tile (i, j) of the lower triangle takes its steps in their order, whoever does them: for k < j it loses
// L_ik L_jkᵀ, which needs these two tiles; in step j it becomes L_ij, which below the diagonal needs L_jj.
class FactorSteps {
 public:
  struct Run {
    Index i = 0, j = 0, first = 0, last = 0;  // steps [first, last) of a tile; none: the factor is done, or given up
  };

  explicit FactorSteps(Index tiles) : tiles_(tiles), done_(static_cast<std::size_t>(tiles * tiles), 0) {
    open_ = tiles * (tiles + 1) / 2;
    busy_.assign(done_.size(), false);
    if (tiles > 0) offer(0, 0);
    for (Index i = 1; i < tiles; ++i) offer(i, 0);
  }

  // Waits until a tile has a step that can be done.
  Run take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || open_ == 0 || !ready_.empty(); });
    if (stopped_ || open_ == 0) return {};
    const auto [column, row] = ready_.top();
    ready_.pop();
    const Index first = done_[at(row, column)];
    Index last = first;
    while (can(row, column, last)) ++last;
    return {row, column, first, last};
  }
  void finish(const Run& run) {
    std::lock_guard lock(mutex_);
    busy_[at(run.i, run.j)] = false;
    done_[at(run.i, run.j)] = run.last;
    if (run.last <= run.j) {
      offer(run.i, run.j);
    } else {
      --open_;
      // What may have waited for L_ij: the rest of row i, column i, and below the diagonal tile its own column.
      for (Index c = run.j + 1; c <= run.i; ++c) offer(run.i, c);
      for (Index r = run.i + 1; r < tiles_; ++r) offer(r, run.i);
    }
    changed_.notify_all();
  }
  void stop(bool failed) {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    failed_ = failed_ || failed;
    changed_.notify_all();
  }
  bool failed() const { return failed_; }

 private:
  std::size_t at(Index i, Index j) const { return static_cast<std::size_t>(i * tiles_ + j); }
  bool whole(Index i, Index j) const { return done_[at(i, j)] > j; }
  bool can(Index i, Index j, Index step) const {
    if (step < j) return whole(i, step) && whole(j, step);
    return step == j && (i == j || whole(j, j));
  }
  void offer(Index i, Index j) {
    if (busy_[at(i, j)] || !can(i, j, done_[at(i, j)])) return;
    busy_[at(i, j)] = true;
    ready_.push({j, i});
  }

  Index tiles_, open_ = 0;
  std::vector<Index> done_;  // steps of each tile
  std::vector<bool> busy_;   // offered, or under way
  // The first column comes first: the others wait for it.
  using Place = std::pair<Index, Index>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false, failed_ = false;
};

template <Real T>
class Factor {
 public:
  Factor(Index n, T* A, Index lda) : n_(n), A_(A), lda_(lda) {}

  // False where a diagonal tile has no factor.
  bool run(const FactorSteps::Run& run) const {
    const Index i = run.i, j = run.j;
    for (Index k = run.first; k < std::min(run.last, j); ++k) {
      if (i == j) {
        subtract_own_product(size(i), size(k), tile(i, k), lda_, tile(i, i), lda_);
      } else {
        gemm<T>(Transpose::no, Transpose::yes, size(i), size(j), size(k), T(-1), tile(i, k), lda_, tile(j, k), lda_,
                T(1), tile(i, j), lda_);
      }
    }
    if (run.last <= j) return true;
    if (i == j) return cholesky(size(i), tile(i, i), lda_);
    right_solve_transposed(size(i), size(j), tile(j, j), lda_, tile(i, j), lda_);
    return true;
  }

 private:
  Index size(Index i) const { return std::min(side_, n_ - i * side_); }
  T* tile(Index i, Index j) const { return A_ + i * side_ * lda_ + j * side_; }

  Index n_;
  T* A_;
  Index lda_, side_ = factor_tile(n_);
};

}  // namespace

template <Real T>
bool cholesky(Index n, T* A, Index lda, const Execution& execution) {
  if constexpr (std::same_as<T, double>) {
    if (const std::optional<bool> positive = factor_on_device(n, A, lda, execution)) return *positive;
  }
  const Index tiles = count_of(n, factor_tile(n));
  const Factor<T> factor(n, A, lda);
  FactorSteps steps(tiles);
  // A thread that comes alone does all of it.
  const Index threads = std::min<Index>(execution.thread_count(), tiles);
  parallel_for(threads, static_cast<int>(threads), [&](Index, int worker) {
    try {
      for (FactorSteps::Run run = steps.take(); run.last > run.first; run = steps.take()) {
        execution.poll(worker);
        if (!factor.run(run)) return steps.stop(true);
        steps.finish(run);
      }
    } catch (...) {
      steps.stop(false);
      throw;
    }
  });
  return !steps.failed();
}
template bool cholesky(Index, float*, Index, const Execution&);
template bool cholesky(Index, double*, Index, const Execution&);

}  // namespace carmina::backend
