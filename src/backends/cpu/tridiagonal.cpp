// backends/cpu/tridiagonal.cpp -- eigenvectors of a tridiagonal matrix from those of its halves.
#include "backends/cpu/tridiagonal.hpp"
#include "backends/cpu/column_panels.hpp"
#include "backends/cpu/secular.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace carmina::backend {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr Index leaf = 32;           // an order that is not halved
constexpr Index joined_alone = 256;  // halves up to here are tasks of their own

// T = diag(T_1, T_2) + |e| u uᵀ, where u has 1 at the end of the first half and the sign of e at the start of the
// second, and the numbers of the halves beside e lose |e| each. With T_i = Q_i D_i Q_iᵀ, z = Qᵀ u and rho = |e|:
// T = Q (D + rho z zᵀ) Qᵀ.
class Join {
 public:
  // Rows of V (n, n), stride ldv: eigenvectors of the first `half` rows, then of the others; d: the eigenvalues.
  Join(Index n, Index half, double e, double* d, double* V, Index ldv, const Execution& execution)
      : n_(n),
        half_(half),
        d_(d),
        V_(V),
        ldv_(ldv),
        execution_(execution),
        z_(n),
        kind_(as_size(n)),
        order_(as_size(n)) {
    for (Index i = 0; i < n; ++i) {
      const bool first = i < half;
      z_[i] = (first ? V[i * ldv + half - 1] : std::copysign(1.0, e) * V[i * ldv + half]) * std::sqrt(0.5);
      kind_[as_size(i)] = first ? Kind::first : Kind::second;
    }
    rho_ = 2 * std::abs(e);  // |z| = 1
    std::iota(order_.begin(), order_.end(), Index{0});
    std::inplace_merge(order_.begin(), order_.begin() + half, order_.end(),
                       [&](Index a, Index b) { return d[a] < d[b]; });
    deflate();
    solve();
  }

 private:
  enum class Kind : char { first, both, second };
  static std::size_t as_size(Index i) { return static_cast<std::size_t>(i); }
  double* row(Index i) const { return V_ + i * ldv_; }

  // Where z is zero to rounding, (d, row) is an eigenpair already; where two d are equal to rounding, a rotation of
  // their rows makes it so. What is left, ascending, in kept_; the others in done_.
  void deflate() {
    double largest = 0;
    for (Index i = 0; i < n_; ++i) largest = std::max({largest, std::abs(d_[i]), std::abs(z_[i])});
    const double negligible = 8 * epsilon * largest;
    Index before = -1;  // the last one that is kept, if nothing equals it
    for (const Index i : order_) {
      if (rho_ * std::abs(z_[i]) <= negligible) {
        done_.push_back(i);
        continue;
      }
      if (before >= 0 && rotate(before, i, negligible)) {
        done_.push_back(before);
      } else if (before >= 0) {
        kept_.push_back(before);
      }
      before = i;
    }
    if (before >= 0) kept_.push_back(before);
  }

  // (c, s) = (z_b, -z_a) / |(z_a, z_b)| takes z to (0, .) and leaves (d_b - d_a) c s beside the diagonal.
  bool rotate(Index a, Index b, double negligible) {
    const double length = std::hypot(z_[a], z_[b]), c = z_[b] / length, s = -z_[a] / length, gap = d_[b] - d_[a];
    if (std::abs(gap * c * s) > negligible) return false;
    z_[b] = length, z_[a] = 0;
    const double da = d_[a], db = d_[b];
    d_[a] = da * c * c + db * s * s;
    d_[b] = da * s * s + db * c * c;
    double *x = row(a), *y = row(b);
    for (Index i = 0; i < n_; ++i) {
      const double xi = x[i], yi = y[i];
      x[i] = c * xi + s * yi;
      y[i] = c * yi - s * xi;
    }
    Kind &ka = kind_[as_size(a)], &kb = kind_[as_size(b)];
    if (ka != kb) ka = kb = Kind::both;
    return true;
  }

  void solve() {
    const Index k = static_cast<Index>(kept_.size());
    std::vector<double> values(as_size(k));
    Matrix<double> U = roots(k, values.data());
    // Rows of V as they are multiplied: of the first half, of both, of the second. The columns of U follow them.
    std::vector<Index> grouped(as_size(k));
    std::iota(grouped.begin(), grouped.end(), Index{0});
    const auto kind = [&](Index i) { return kind_[as_size(kept_[as_size(i)])]; };
    std::stable_sort(grouped.begin(), grouped.end(), [&](Index a, Index b) { return kind(a) < kind(b); });
    const auto start_of = [&](Kind of) {
      return std::count_if(grouped.begin(), grouped.end(), [&](Index i) { return kind(i) < of; });
    };
    const Index both = start_of(Kind::both), second = start_of(Kind::second);
    eigenvectors(U, grouped);
    Matrix<double> finished(static_cast<Index>(done_.size()), n_);  // rows whose place others take
    for (Index i = 0; i < finished.rows(); ++i) {
      const Index from = done_[as_size(i)];
      std::copy_n(row(from), n_, finished.row(i).data());
      values.push_back(d_[from]);
    }
    // Columns [first, first + columns) of the new rows are those of the rows [begin, end) times U's columns.
    const auto multiply = [&](Index begin, Index end, Index first, Index columns) {
      Matrix<double> old(end - begin, columns);
      for (Index i = begin; i < end; ++i) {
        std::copy_n(row(kept_[as_size(grouped[as_size(i)])]) + first, columns, old.row(i - begin).data());
      }
      gemm<double>(Transpose::no, Transpose::no, k, columns, end - begin, 1, U.data() + begin, k, old.data(), columns,
                   0, V_ + first, ldv_, execution_);
    };
    multiply(0, second, 0, half_);
    multiply(both, k, half_, n_ - half_);
    for (Index i = k; i < n_; ++i) std::copy_n(finished.row(i - k).data(), n_, row(i));
    sort(values);
  }

  // The rows in the order of their eigenvalues: along the cycles of what goes where.
  void sort(const std::vector<double>& values) {
    std::iota(order_.begin(), order_.end(), Index{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index a, Index b) { return values[as_size(a)] < values[as_size(b)]; });
    for (Index i = 0; i < n_; ++i) d_[i] = values[as_size(order_[as_size(i)])];
    std::vector<double> first(as_size(n_));
    for (Index start = 0; start < n_; ++start) {
      if (order_[as_size(start)] == start) continue;
      std::copy_n(row(start), n_, first.data());
      Index to = start;
      for (Index from = order_[as_size(to)]; from != start; from = order_[as_size(to)]) {
        std::copy_n(row(from), n_, row(to));
        order_[as_size(to)] = to;
        to = from;
      }
      std::copy_n(first.data(), n_, row(to));
      order_[as_size(to)] = to;
    }
  }

  // values: the roots; row j of what is returned: d_i - root_j.
  Matrix<double> roots(Index k, double* values) const {
    Matrix<double> gaps(k, k);
    Vector<double> d(k), z(k);
    for (Index i = 0; i < k; ++i) d[i] = d_[kept_[as_size(i)]], z[i] = z_[kept_[as_size(i)]];
    for_panels(k, 16, execution_, [&](Index begin, Index count) {
      for (Index j = begin; j < begin + count; ++j) {
        const SecularRoot root = secular_root(k, d.data(), z.data(), rho_, j);
        values[j] = d[root.nearest] + root.distance;
        gaps.row(j) = ((d.array() - d[root.nearest]) - root.distance).transpose();
      }
    });
    return gaps;
  }

  // The roots are those of D + rho w wᵀ exactly, with w_i² = prod_j (root_j - d_i) / prod_{j != i} (d_j - d_i) / rho,
  // and w near z: its vectors, w_i / (d_i - root_j), are orthogonal to rounding. Gaps become vectors, their columns
  // grouped.
  void eigenvectors(Matrix<double>& U, const std::vector<Index>& grouped) const {
    const Index k = U.rows();
    Vector<double> w(k);
    for_panels(k, 64, execution_, [&](Index begin, Index count) {
      for (Index i = begin; i < begin + count; ++i) w[i] = -U(i, i);
      for (Index j = 0; j < k; ++j) {
        const double dj = d_[kept_[as_size(j)]];
        for (Index i = begin; i < begin + count; ++i) {
          if (i != j) w[i] *= U(j, i) / (d_[kept_[as_size(i)]] - dj);
        }
      }
      for (Index i = begin; i < begin + count; ++i) {
        w[i] = std::copysign(std::sqrt(std::abs(w[i])), z_[kept_[as_size(i)]]);
      }
    });
    for_panels(k, 64, execution_, [&](Index begin, Index count) {
      Vector<double> vector(k);
      for (Index j = begin; j < begin + count; ++j) {
        vector = w.array() / U.row(j).transpose().array();
        vector.normalize();
        for (Index i = 0; i < k; ++i) U(j, i) = vector[grouped[as_size(i)]];
      }
    });
  }

  Index n_, half_;
  double *d_, *V_;
  Index ldv_;
  const Execution& execution_;
  double rho_ = 0;
  Vector<double> z_;
  std::vector<Kind> kind_;
  std::vector<Index> order_, kept_, done_;
};

struct Part {
  Index begin, end;
  Index half() const { return begin + (end - begin) / 2; }
};

class Halves {
 public:
  Halves(double* d, double* e, double* V, Index n, const Execution& execution)
      : d_(d), e_(e), V_(V), n_(n), execution_(execution) {}

  void solve() {
    split({0, n_});
    parallel_for(static_cast<Index>(small_.size()), execution_.thread_count(), [&](Index task, int worker) {
      execution_.poll(worker);
      Execution alone;
      alone.threads = 1;
      solve(small_[static_cast<std::size_t>(task)], alone);
    });
    join_large({0, n_});
  }

 private:
  // Numbers beside those that link halves lose what the link takes; parts that are solved alone.
  void split(Part part) {
    if (part.end - part.begin <= leaf) {
      small_.push_back(part);
      return;
    }
    const Index half = part.half();
    d_[half - 1] -= std::abs(e_[half - 1]);
    d_[half] -= std::abs(e_[half - 1]);
    const std::size_t before = small_.size();
    split({part.begin, half});
    split({half, part.end});
    if (part.end - part.begin <= joined_alone) {
      small_.resize(before);
      small_.push_back(part);
    }
  }

  void solve(Part part, const Execution& execution) {
    const Index n = part.end - part.begin;
    double* const V = V_ + part.begin * n_ + part.begin;
    if (n > leaf) {
      const Index half = part.half();
      solve({part.begin, half}, execution);
      solve({half, part.end}, execution);
      Join(n, half - part.begin, e_[half - 1], d_ + part.begin, V, n_, execution);
      return;
    }
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
    solver.computeFromTridiagonal(Eigen::Map<Eigen::VectorXd>(d_ + part.begin, n),
                                  Eigen::Map<Eigen::VectorXd>(e_ + part.begin, std::max<Index>(n - 1, 0)));
    require(solver.info() == Eigen::Success, "the eigenvalues of a tridiagonal matrix did not converge");
    for (Index j = 0; j < n; ++j) {
      d_[part.begin + j] = solver.eigenvalues()[j];
      for (Index i = 0; i < n; ++i) V[j * n_ + i] = solver.eigenvectors()(i, j);
    }
  }

  void join_large(Part part) {
    if (part.end - part.begin <= std::max(joined_alone, leaf)) return;
    const Index half = part.half();
    join_large({part.begin, half});
    join_large({half, part.end});
    Join(part.end - part.begin, half - part.begin, e_[half - 1], d_ + part.begin, V_ + part.begin * n_ + part.begin, n_,
         execution_);
  }

  double *d_, *e_, *V_;
  Index n_;
  const Execution& execution_;
  std::vector<Part> small_;
};

// A power of two that takes the largest number to [1, 2), or 0 where all are zero.
double scale_of(Index n, const double* diagonal, const double* off_diagonal) {
  double largest = 0;
  for (Index i = 0; i < n; ++i) {
    const double beside = i + 1 < n ? off_diagonal[i] : 0;
    require(std::isfinite(diagonal[i]) && std::isfinite(beside),
            "a matrix of order {} holds NaN or infinity: it has no eigenvalues", n);
    largest = std::max({largest, std::abs(diagonal[i]), std::abs(beside)});
  }
  return largest > 0 ? std::ldexp(1.0, -std::ilogb(largest)) : 0;
}

}  // namespace

void tridiagonal_eigenvectors(Index n, double* diagonal, double* off_diagonal, double* vectors,
                              const Execution& execution) {
  if (n == 0) return;
  const double scale = scale_of(n, diagonal, off_diagonal);
  std::fill_n(vectors, n * n, 0.0);
  if (scale == 0) {
    for (Index i = 0; i < n; ++i) vectors[i * n + i] = 1;
    return;
  }
  Eigen::Map<Eigen::ArrayXd>(diagonal, n) *= scale;
  Eigen::Map<Eigen::ArrayXd>(off_diagonal, n - 1) *= scale;
  Halves(diagonal, off_diagonal, vectors, n, execution).solve();
  Eigen::Map<Eigen::ArrayXd>(diagonal, n) /= scale;
}

// By the QL algorithm without square roots (Pal, Walker and Kahan): squares of the off-diagonal are kept.
void tridiagonal_eigenvalues(Index n, double* diagonal, double* off_diagonal) {
  if (n == 0) return;
  const double scale = scale_of(n, diagonal, off_diagonal);
  if (scale == 0) return;
  Eigen::Map<Eigen::ArrayXd> d(diagonal, n), e(off_diagonal, n - 1);
  d *= scale;
  e = (e * scale).square();
  const auto negligible = [&](Index i) {
    return e[i] <= epsilon * epsilon * std::max(std::abs(d[i] * d[i + 1]), 1e-30);
  };
  for (Index begin = 0; begin < n; ++begin) {
    for (int step = 0;; ++step) {
      Index end = begin;  // rows [begin, end] are linked
      while (end < n - 1 && !negligible(end)) ++end;
      if (end == begin) break;
      require(step < 300, "the eigenvalues of a tridiagonal matrix of order {} did not converge", n);
      const double root = std::sqrt(e[begin]), slope = (d[begin + 1] - d[begin]) / (2 * root);
      const double shift = d[begin] - root / (slope + std::copysign(std::hypot(slope, 1.0), slope));
      double c = 1, s = 0, gamma = d[end] - shift, p = gamma * gamma;
      for (Index i = end - 1; i >= begin; --i) {
        const double square = e[i], r = p + square;
        if (i != end - 1) e[i + 1] = s * r;
        const double before = c, old = gamma;
        c = p / r;
        s = square / r;
        gamma = c * (d[i] - shift) - s * old;
        d[i + 1] = old + (d[i] - gamma);
        p = c != 0 ? gamma * gamma / c : before * square;
      }
      e[begin] = s * p;
      d[begin] = shift + gamma;
    }
  }
  std::sort(diagonal, diagonal + n);
  d /= scale;
}

}  // namespace carmina::backend
