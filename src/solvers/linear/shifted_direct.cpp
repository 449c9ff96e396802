// solvers/linear/shifted_direct.cpp -- shifted systems by Cholesky factors or by one eigendecomposition.
#include "backends/tiled.hpp"
#include "solvers/linear/shifted_systems.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// An eigendecomposition costs about as much as this many Cholesky factorisations (mathematics.md 1d, measured).
constexpr std::size_t choleskys_per_eigen = 8;

// Columns that share one delta share one factor.
struct Group {
  double delta;
  std::vector<Index> columns;
};

std::vector<Group> group_columns(const Vector<double>& delta) {
  std::vector<Group> groups;
  for (Index j = 0; j < delta.size(); ++j) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return std::abs(g.delta - delta[j]) <= 1e-15 * std::abs(g.delta);
    });
    if (same == groups.end()) {
      groups.push_back({delta[j], {j}});
    } else {
      same->columns.push_back(j);
    }
  }
  return groups;
}

// H itself is kept in the strict upper triangle and `diagonal`, which a factorisation of the lower triangle spares.
class KeptMatrix {
 public:
  KeptMatrix(double* H, Index m, Index ldh, int threads)
      : H_(H, m, m, Eigen::OuterStride<>(ldh)), threads_(threads), diagonal_(H_.diagonal()) {
    for_pairs([](double& lower, double& upper) { upper = lower; });
  }
  double largest() const { return diagonal_.maxCoeff(); }
  // Lower triangle = delta H + alpha I.
  void restore(double delta, double alpha) {
    for_pairs([delta](double& lower, double& upper) { lower = delta * upper; });
    H_.diagonal() = (delta * diagonal_).array() + alpha;
  }
  // Of the factor in the lower triangle: whether no number on its diagonal is what rounding has left of the matrix's.
  bool regular(double delta, double alpha, double rounding) const {
    const auto entries = delta * diagonal_.array() + alpha;
    return (H_.diagonal().array().square() > 4 * (epsilon * entries + delta * rounding)).all();
  }

 private:
  // f(H_ij, H_ji) for all j < i, in tiles that stay in cache.
  template <class F>
  void for_pairs(F f) {
    constexpr Index side = 64;
    const Index m = H_.rows();
    parallel_for((m + side - 1) / side, threads_, [&](Index task, int) {
      const Index first = task * side, last = std::min(m, first + side);
      for (Index begin = 0; begin <= first; begin += side) {
        for (Index i = first; i < last; ++i) {
          for (Index j = begin; j < std::min(begin + side, i); ++j) f(H_(i, j), H_(j, i));
        }
      }
    });
  }

  Eigen::Map<Matrix<double>, 0, Eigen::OuterStride<>> H_;
  int threads_;
  Vector<double> diagonal_;
};

// Whether the rounding of H x, with numbers of these digits, is above 3 sqrt(digits) of R: what that costs is an
// eigendecomposition.
bool much_larger(const Matrix<double>& X, const Matrix<double>& R, double largest, double digits) {
  const double seen = 3 * std::sqrt(digits);
  for (Index j = 0; j < X.cols(); ++j) {
    if (digits * largest * X.col(j).stableNorm() > seen * R.col(j).stableNorm()) return true;
  }
  return false;
}

// x_j = U diag(1 / (delta_j g + alpha)) Uᵀ r_j. Eigenvalues below the rounding of H are zero, and where alpha is below
// it too the direction drops out: what the right-hand side has there is rounding, or no function. (A matrix of random
// errors of that size has a norm of 2 sqrt(m) times it.)
void solve_by_eigen(double* H, Index m, Index ldh, const Vector<double>& delta, double alpha, Matrix<double>& R,
                    double rounding, const Execution& execution, const FactorUse& use, const RangeOnly* range) {
  Vector<double> g(m);
  backend::symmetric_eigen(m, H, ldh, g.data(), execution);
  const auto order = static_cast<double>(m);
  const double noise = std::max(order * epsilon * g.cwiseAbs().maxCoeff(), 2 * std::sqrt(order) * rounding);
  const auto reciprocal = [&](double eigenvalue, double scale) {
    const double divisor = scale * (eigenvalue > noise ? eigenvalue : 0.0) + alpha;
    return divisor > scale * noise ? 1 / divisor : 0.0;
  };
  const Index q = R.cols();
  Matrix<double> rotated(m, q);
  using backend::Transpose;
  backend::gemm<double>(Transpose::no, Transpose::no, m, q, m, 1, H, ldh, R.data(), q, 0, rotated.data(), q, execution);
  if (range) {
    Matrix<double> flat = (g.array() > noise).replicate(1, q).select(0.0, rotated);
    for (Index j = 0; j < q; ++j) {  // what is rounding of R is none of it
      if (flat.col(j).stableNorm() <= 4 * order * epsilon * R.col(j).stableNorm()) flat.col(j).setZero();
    }
    range->beyond.resize(m, q);
    backend::gemm<double>(Transpose::yes, Transpose::no, m, q, m, 1, H, ldh, flat.data(), q, 0, range->beyond.data(), q,
                          execution);
  }
  for (Index i = 0; i < m; ++i) {
    const bool flat = range && !(g[i] > noise);
    for (Index j = 0; j < q; ++j) rotated(i, j) *= flat ? 0.0 : reciprocal(g[i], delta[j]);
  }
  backend::gemm<double>(Transpose::yes, Transpose::no, m, q, m, 1, H, ldh, rotated.data(), q, 0, R.data(), q,
                        execution);
  if (!use) return;
  for (const Group& group : group_columns(delta)) {
    const Vector<double> roots = g.unaryExpr([&](double one) { return std::sqrt(reciprocal(one, group.delta)); });
    const auto apply = [&](Index first, Matrix<double>& Z) {
      Matrix<double> out(m, Z.cols());
      backend::gemm<double>(Transpose::no, Transpose::no, m, Z.cols(), Z.rows(), 1, H + first, ldh, Z.data(),
                            Z.outerStride(), 0, out.data(), out.outerStride(), execution);
      Z = roots.asDiagonal() * out;
    };
    const auto transposed = [&](Matrix<double>& Z) {
      const Matrix<double> scaled = roots.asDiagonal() * Z;
      backend::gemm<double>(Transpose::yes, Transpose::no, m, Z.cols(), m, 1, H, ldh, scaled.data(),
                            scaled.outerStride(), 0, Z.data(), Z.outerStride(), execution);
    };
    use(group.delta, {apply, transposed});
  }
}

}  // namespace

void solve_shifted(double* H, Index m, Index ldh, const Vector<double>& delta, double alpha, Matrix<double>& R,
                   const Execution& execution, SolveReport& report, const FactorUse& use, double rounding,
                   const RangeOnly* range) {
  require(R.rows() == m && R.cols() == delta.size(), "solve: right-hand side is {} x {}, expected {} x {}", R.rows(),
          R.cols(), m, delta.size());
  const auto groups = group_columns(delta);
  if (alpha == 0 || groups.size() > choleskys_per_eigen) {
    solve_by_eigen(H, m, ldh, delta, alpha, R, rounding, execution, use, range);
    return;
  }
  KeptMatrix kept(H, m, ldh, execution.thread_count());
  const double largest = kept.largest() * delta.maxCoeff();
  Matrix<double> solved = R, part;
  for (const Group& group : groups) {
    kept.restore(group.delta, alpha);
    if (!backend::cholesky(m, H, ldh, execution) || !kept.regular(group.delta, alpha, rounding)) {
      report.message =
          "the system is singular to rounding: the solution of least norm was taken; a larger alpha is advised";
      kept.restore(1, 0);
      solve_by_eigen(H, m, ldh, delta, alpha, R, rounding, execution, use, range);
      return;
    }
    const auto count = static_cast<Index>(group.columns.size());
    part.resize(m, count);
    for (Index c = 0; c < count; ++c) part.col(c) = R.col(group.columns[static_cast<std::size_t>(c)]);
    backend::cholesky_solve(m, count, H, ldh, part.data(), count, execution);
    for (Index c = 0; c < count; ++c) solved.col(group.columns[static_cast<std::size_t>(c)]) = part.col(c);
    if (use) {
      const auto apply = [&](Index first, Matrix<double>& Z) {
        backend::lower_solve(m - first, Z.cols(), H + first * (ldh + 1), ldh, Z.data(), Z.outerStride(), execution);
      };
      const auto transposed = [&](Matrix<double>& Z) {
        backend::lower_transposed_solve(m, Z.cols(), H, ldh, Z.data(), Z.outerStride(), execution);
      };
      use(group.delta, {apply, transposed});
    }
  }
  if (range && much_larger(solved, R, largest, range->digits)) {
    kept.restore(1, 0);
    solve_by_eigen(H, m, ldh, delta, alpha, R, rounding, execution, use, range);
    return;
  }
  R = std::move(solved);
}

}  // namespace carmina
