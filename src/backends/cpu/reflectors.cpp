// backends/cpu/reflectors.cpp -- reflectors that reduce a symmetric matrix to tridiagonal form, made and applied.
#include "backends/cpu/reflectors.hpp"
#include "backends/cpu/column_panels.hpp"
#include "backends/vector_math.hpp"

#include <algorithm>
#include <cmath>

namespace carmina::backend {
namespace {

using ConstRow = Eigen::Map<const Eigen::VectorXd>;
using Row = Eigen::Map<Eigen::VectorXd>;

// x (n) becomes v with v[n-1] = 1 and (I - scale v vᵀ) x = (0, ..., 0, beta). By numbers of about 1: squares of x may
// be out of range.
struct Reflector {
  double scale, beta;
};
Reflector make_reflector(Index n, double* x) {
  Row rest(x, n - 1);
  double& last = x[n - 1];
  const double largest = n > 1 ? rest.cwiseAbs().maxCoeff() : 0;
  if (!(largest > 0)) {
    const double beta = last;
    last = 1;
    return {0, beta};
  }
  const double unit = std::max(largest, std::abs(last)), pivot = last / unit;
  rest /= unit;
  const double length = std::sqrt(rest.squaredNorm() + pivot * pivot);
  const double beta = pivot > 0 ? -length : length;
  rest /= pivot - beta;
  last = 1;
  return {(beta - pivot) / beta, beta * unit};
}

// w (n) = A v, A symmetric by its lower triangle, which is read once, in tiles that stay in the caches. Strips of rows
// follow from n alone and are summed in their order.
class SymmetricProduct {
 public:
  SymmetricProduct(Index n, const Execution& execution) : execution_(execution), parts_(strips(n), n) {}

  void operator()(Index n, const double* A, Index lda, const double* v, double* w) {
    const Index count = std::min(strips(n), parts_.rows());
    const auto begin = [&](Index strip) {  // equal areas of the triangle
      if (strip == count) return n;
      const double share = static_cast<double>(strip) / static_cast<double>(count);
      return static_cast<Index>(std::sqrt(share) * static_cast<double>(n)) / tile_rows * tile_rows;
    };
    const auto add_strip = [&](Index strip) {
      double* const out = parts_.row(strip).data();
      const Index end = begin(strip + 1);
      std::fill_n(out, end, 0.0);
      for (Index i = begin(strip); i < end; i += tile_rows) add_rows(i, std::min(tile_rows, end - i), A, lda, v, out);
    };
    if (count == 1) {
      add_strip(0);
    } else {
      parallel_for(count, execution_.thread_count(), [&](Index strip, int) { add_strip(strip); });
    }
    std::copy_n(parts_.row(count - 1).data(), n, w);
    for (Index strip = 0; strip + 1 < count; ++strip) {
      const Index end = begin(strip + 1);
      Row(w, end) += ConstRow(parts_.row(strip).data(), end);
    }
  }

 private:
  static constexpr Index tile_rows = 8, tile_columns = 512, rows_a_strip = 192, most_strips = 16;
  static Index strips(Index n) { return std::clamp<Index>(n / rows_a_strip - 1, 1, most_strips); }

  // Rows [i, i + rows), with what they are as columns.
  static void add_rows(Index i, Index rows, const double* A, Index lda, const double* v, double* out) {
    const double* const from = A + i * lda;
    for (Index j = 0; j < i; j += tile_columns) {
      const Index columns = std::min(tile_columns, i - j);
      add_product_few(from + j, lda, rows, columns, v + j, columns, Index{1}, out + i, Index{1});
      add_transposed_few(from + j, lda, rows, columns, v + i, Index{1}, Index{1}, out + j, columns);
    }
    for (Index r = 0; r < rows; ++r) {  // the diagonal tile
      const double* const row = from + r * lda + i;
      for (Index c = 0; c < r; ++c) {
        out[i + r] += row[c] * v[i + c];
        out[i + c] += row[c] * v[i + r];
      }
      out[i + r] += row[r] * v[i + r];
    }
  }

  const Execution& execution_;
  Matrix<double> parts_;
};

}  // namespace

// As LAPACK's dlatrd. With v the reflector of row r, p = scale A'v and w = p - (scale / 2) <p, v> v:
// H A' H = A' - v wᵀ - w vᵀ, where A' = A - sum over later rows s of (v_s w_sᵀ + w_s v_sᵀ) is not formed.
void reduce_last_rows(Index n, Index count, double* A, Index lda, double* off_diagonal, double* scales, double* W,
                      const Execution& execution) {
  SymmetricProduct product(n, execution);
  const Index first = n - count;
  std::vector<double> along_v(static_cast<std::size_t>(count)), along_w(along_v);
  for (Index r = n - 1; r >= first; --r) {
    const Index later = n - 1 - r;
    const double *V = A + (r + 1) * lda, *later_W = W + (r + 1 - first) * n;
    double *const x = A + r * lda, *const w = W + (r - first) * n;
    // out (columns) -= a combination of the later v_s by along_w and of w_s by along_v
    const auto subtract = [&](Index columns, double* out) {
      for (double& number : along_v) number = -number;
      for (double& number : along_w) number = -number;
      add_transposed_few(V, lda, later, columns, along_w.data(), Index{1}, Index{1}, out, columns);
      add_transposed_few(later_W, n, later, columns, along_v.data(), Index{1}, Index{1}, out, columns);
    };
    for (Index k = 0; k < later; ++k) {
      along_v[static_cast<std::size_t>(k)] = V[k * lda + r];
      along_w[static_cast<std::size_t>(k)] = later_W[k * n + r];
    }
    subtract(r + 1, x);
    if (r == 0) break;
    const Reflector reflector = make_reflector(r, x);
    off_diagonal[r - 1] = reflector.beta;
    scales[r - 1] = reflector.scale;
    if (reflector.scale == 0) {
      std::fill_n(w, r, 0.0);
      continue;
    }
    product(r, A, lda, x, w);
    std::fill(along_v.begin(), along_v.end(), 0.0);
    std::fill(along_w.begin(), along_w.end(), 0.0);
    add_product_few(V, lda, later, r, x, r, Index{1}, along_v.data(), Index{1});
    add_product_few(later_W, n, later, r, x, r, Index{1}, along_w.data(), Index{1});
    subtract(r, w);
    const ConstRow v(x, r);
    Row p(w, r);
    p *= reflector.scale;
    p -= (0.5 * reflector.scale * p.dot(v)) * v;
  }
}

// (I - VᵀSV) H_r for a row r before those of V: rows of S grow at their front by (scale, 0) and -scale S V v_r.
Reflectors::Reflectors(Index n, const double* rows, Index ld, const double* scales, const Execution& execution)
    : ld_(ld), rows_(rows) {
  constexpr Index together = 32;
  for (Index begin = 1; begin < n; begin += together) blocks_.push_back({begin, std::min(begin + together, n), {}, {}});
  parallel_for(static_cast<Index>(blocks_.size()), execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    Block& block = blocks_[static_cast<std::size_t>(task)];
    const Index count = block.end - block.begin, before = block.begin - 1;
    const double* const V = rows + block.begin * ld;
    block.corner.setIdentity(count, count);
    for (Index k = 1; k < count; ++k) {
      std::copy_n(V + k * ld + before, k, block.corner.row(k).data());
    }
    Matrix<double> products = block.corner * block.corner.transpose();  // V Vᵀ
    gemm<double>(Transpose::no, Transpose::yes, count, count, before, 1, V, ld, V, ld, 1, products.data(), count);
    block.S.setZero(count, count);
    for (Index k = count - 1; k >= 0; --k) {
      const double scale = scales[block.begin + k - 1];
      const Index later = count - 1 - k;
      block.S(k, k) = scale;
      block.S.col(k).tail(later) = -scale * (block.S.bottomRightCorner(later, later) * products.col(k).tail(later));
    }
  });
}

// Q X takes the blocks from the first on, QᵀX from the last: X <- X - Vᵀ S V X, or with Sᵀ.
void Reflectors::apply(Transpose transpose, Index m, double* X, Index ldx) const {
  constexpr auto no = Transpose::no, yes = Transpose::yes;
  Matrix<double> Y, SY;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const Block& block = blocks_[transpose == yes ? blocks_.size() - 1 - k : k];
    const Index count = block.end - block.begin, before = block.begin - 1;
    const double *const V = rows_ + block.begin * ld_, *const corner = block.corner.data();
    double* const here = X + before * ldx;
    Y.resize(count, m), SY.resize(count, m);
    gemm<double>(no, no, count, m, count, 1, corner, count, here, ldx, 0, Y.data(), m);
    gemm<double>(no, no, count, m, before, 1, V, ld_, X, ldx, 1, Y.data(), m);
    gemm<double>(transpose, no, count, m, count, 1, block.S.data(), count, Y.data(), m, 0, SY.data(), m);
    gemm<double>(yes, no, count, m, count, -1, corner, count, SY.data(), m, 1, here, ldx);
    gemm<double>(yes, no, before, m, count, -1, V, ld_, SY.data(), m, 1, X, ldx);
  }
}

void Reflectors::apply_to_rows(Index m, double* X, Index ldx) const {
  constexpr auto no = Transpose::no, yes = Transpose::yes;
  Matrix<double> Y, YS;
  for (const Block& block : blocks_) {
    const Index count = block.end - block.begin, before = block.begin - 1;
    const double *const V = rows_ + block.begin * ld_, *const corner = block.corner.data();
    double* const here = X + before;
    Y.resize(m, count), YS.resize(m, count);
    gemm<double>(no, yes, m, count, count, 1, here, ldx, corner, count, 0, Y.data(), count);
    gemm<double>(no, yes, m, count, before, 1, X, ldx, V, ld_, 1, Y.data(), count);
    gemm<double>(no, yes, m, count, count, 1, Y.data(), count, block.S.data(), count, 0, YS.data(), count);
    gemm<double>(no, no, m, count, count, -1, YS.data(), count, corner, count, 1, here, ldx);
    gemm<double>(no, no, m, before, count, -1, YS.data(), count, V, ld_, 1, X, ldx);
  }
}

}  // namespace carmina::backend
