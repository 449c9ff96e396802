// features/sketched_map.cpp -- kernel values at tiles of anchors, mixed as they come, then whitened.
#include "features/sketched_map.hpp"
#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {
namespace {

using backend::Transpose;

constexpr Index block_rows = 128;   // rows whose values are mixed together
constexpr Index anchor_tile = 256;  // anchors at a time: a tile of values in double has a quarter of a megabyte
constexpr Index gather_tiles = 16;  // row blocks of K Sᵀ that wait for their product with S
constexpr double floor_double = 1e-12, floor_float = 1e-9;

// g (k, rows) += M K for the tile K (count, rows) of values at anchors [first, first + count).
void add_mixed(const SparseMixing& M, Index first, const Matrix<double>& K, Matrix<double>& g) {
  for (Index a = 0; a < K.rows(); ++a) {
    for (SparseMixing::InnerIterator entry(M, first + a); entry; ++entry)
      g.row(entry.row()) += entry.value() * K.row(a);
  }
}
void add_mixed(const Matrix<double>& M, Index first, const Matrix<double>& K, Matrix<double>& g) {
  backend::gemm<double>(Transpose::no, Transpose::no, M.rows(), K.cols(), K.rows(), 1.0, M.data() + first, M.cols(),
                        K.data(), K.cols(), 1.0, g.data(), g.cols());
}

// M k(x) over the anchors [0, anchors) for up to block_rows rows: (k, rows).
template <Real T, class M>
Matrix<double> mixed_values(const KernelMap<T>& map, const M& mixing, const typename KernelMap<T>::Prepared& in,
                            Index anchors) {
  Matrix<double> g = Matrix<double>::Zero(mixing.rows(), in.rows), wide;
  Matrix<T> values;
  const auto turned = map.turn(in);
  for (Index first = 0; first < anchors; first += anchor_tile) {
    const Index count = std::min(anchor_tile, anchors - first);
    values.resize(count, in.rows);
    map.turned_tile(in, turned, first, count, values.data(), in.rows);
    if constexpr (std::same_as<T, double>) {
      add_mixed(mixing, first, values, g);
    } else {
      wide = values.template cast<double>();
      add_mixed(mixing, first, wide, g);
    }
  }
  return g;
}

// Columns [first, first + count) of H += M Gᵀ for the anchors that begin at `begin`, one for each column of G (s,
// anchors).
void add_product(const SparseMixing& M, Index begin, const Matrix<double>& G, Index first, Index count,
                 Matrix<double>& H) {
  for (Index a = 0; a < G.cols(); ++a) {
    for (SparseMixing::InnerIterator entry(M, begin + a); entry; ++entry) {
      H.row(entry.row()).segment(first, count) += entry.value() * G.col(a).segment(first, count).transpose();
    }
  }
}
void add_product(const Matrix<double>& M, Index begin, const Matrix<double>& G, Index first, Index count,
                 Matrix<double>& H) {
  backend::gemm<double>(Transpose::no, Transpose::yes, M.rows(), count, G.cols(), 1.0, M.data() + begin, M.cols(),
                        G.row(first).data(), G.cols(), 1.0, H.data() + first, H.cols());
}

// H = S K Sᵀ (s, s). K is symmetric: with L its blocks below the diagonal and half of those on it, H = S L Sᵀ + its
// transpose. Blocks of columns of S Lᵀ, a few at a time, are each at once multiplied by Sᵀ.
template <class M>
Matrix<double> sketched_gram(const KernelMap<double>& map, const M& mixing, const Execution& execution) {
  constexpr Index strip = 64;
  const Index s = mixing.rows(), anchors = map.units(), blocks = (anchors + block_rows - 1) / block_rows;
  const int threads = execution.thread_count();
  Matrix<double> H = Matrix<double>::Zero(s, s);
  std::vector<Matrix<double>> waiting(static_cast<std::size_t>(std::min(gather_tiles, blocks)));
  for (Index begin = 0; begin < blocks; begin += gather_tiles) {
    execution.checkpoint({"sketching", begin * block_rows, anchors});
    const Index count = std::min(gather_tiles, blocks - begin);
    parallel_for(count, threads, [&](Index task, int worker) {
      execution.poll(worker);
      const Index first = (begin + task) * block_rows, rows = std::min(block_rows, anchors - first);
      std::vector<double> scratch(static_cast<std::size_t>(map.prepared_size(rows)));
      const auto in = map.prepare(map.anchors().row(first).data(), map.dim_in(), rows, scratch.data());
      Matrix<double> g = mixed_values(map, mixing, in, first);
      Matrix<double> own(rows, rows);
      map.turned_tile(in, map.turn(in), first, rows, own.data(), rows);
      own /= 2;
      add_mixed(mixing, first, own, g);
      waiting[static_cast<std::size_t>(task)] = std::move(g);
    });
    parallel_for((s + strip - 1) / strip, threads, [&](Index task, int) {
      const Index first = task * strip, rows = std::min(strip, s - first);
      for (Index k = 0; k < count; ++k) {
        add_product(mixing, (begin + k) * block_rows, waiting[static_cast<std::size_t>(k)], first, rows, H);
      }
    });
  }
  return H + H.transpose();
}

// Of many components by a factor L of H + epsilon I, epsilon their rounding: L⁻ᵀ gives the same products of features to
// that rounding, in a tenth of the time of eigenvectors. Empty where H is not positive definite even so.
constexpr Index many_components = 128;

Matrix<double> triangular_whitening(Matrix<double> H, double floor, const Execution& execution) {
  const Index s = H.rows();
  const double scale = H.diagonal().mean();
  H.diagonal().array() += scale * std::max(static_cast<double>(s) * std::numeric_limits<double>::epsilon(), floor);
  if (!(scale > 0) || !backend::cholesky(s, H.data(), s, execution)) return {};
  Matrix<double> whitening = Matrix<double>::Identity(s, s);
  backend::lower_transposed_solve(s, s, H.data(), s, whitening.data(), s, execution);
  return whitening;
}

// U_r D_r^(-1/2) (s, r) of H = U D Uᵀ.
Matrix<double> whitening_of(Matrix<double> H, double floor, const Execution& execution) {
  for (Index i = 0; i < H.rows(); ++i) {
    require(
        H.row(i).head(i + 1).allFinite(),
        "fit: the kernel's values at the sketch's anchors are not finite numbers; scale the inputs, or take a wider "
        "kernel or one of a lower degree");
  }
  const Index s = H.rows();
  if (s > many_components) {
    Matrix<double> whitening = triangular_whitening(H, floor, execution);
    if (whitening.size() > 0) return whitening;
  }
  Vector<double> values(s);
  {
    backend::small_symmetric_eigen(s, H.data(), s, values.data(), execution);
  }
  const double largest = values[s - 1];
  require(std::isfinite(largest) && largest > 0, "the sketched kernel matrix S K Sᵀ has no positive eigenvalue");
  const double least = largest * std::max(static_cast<double>(s) * std::numeric_limits<double>::epsilon(), floor);
  const Index r = s - (std::upper_bound(values.begin(), values.end(), least) - values.begin());
  // Largest first: a map of fewer columns would begin with the same ones.
  Matrix<double> whitening(s, r);
  for (Index j = 0; j < r; ++j) whitening.col(j) = H.row(s - 1 - j).transpose() / std::sqrt(values[s - 1 - j]);
  return whitening;
}

void check_mixing(const Mixing& mixing, Index anchors) {
  require(columns_of(mixing) > 0 && rows_of(mixing) > 0,
          "the sketch has no entries ({} x {}): more components or a higher density are needed", rows_of(mixing),
          columns_of(mixing));
  require(anchors == columns_of(mixing), "SketchedMap: {} anchor rows, the mixing matrix has {} columns", anchors,
          columns_of(mixing));
}

template <Real T>
KernelMap<T> checked_map(ScalarKernel kernel, Matrix<T> anchors, const Mixing& mixing, InputTransform transform) {
  check_mixing(mixing, anchors.rows());
  return {std::move(kernel), std::move(anchors), std::move(transform)};
}

}  // namespace

template <Real T>
SketchedMap<T>::SketchedMap(ScalarKernel kernel, Matrix<T> anchors, Mixing mixing, InputTransform transform,
                            const Execution& execution)
    : kernel_map_(checked_map(std::move(kernel), std::move(anchors), mixing, std::move(transform))),
      mixing_(std::move(mixing)) {
  Matrix<double> H;
  if constexpr (std::same_as<T, double>) {
    H = std::visit([&](const auto& m) { return sketched_gram(kernel_map_, m, execution); }, mixing_);
  } else {
    const KernelMap<double> wide(kernel_map_.kernel(), kernel_map_.anchors().template cast<double>(),
                                 kernel_map_.transform());
    H = std::visit([&](const auto& m) { return sketched_gram(wide, m, execution); }, mixing_);
  }
  whitening_ = whitening_of(std::move(H), std::same_as<T, double> ? floor_double : floor_float, execution);
  fold();
}

template <Real T>
SketchedMap<T>::SketchedMap(KernelMap<T> kernel_map, Mixing mixing, Matrix<double> whitening)
    : kernel_map_(std::move(kernel_map)), mixing_(std::move(mixing)), whitening_(std::move(whitening)) {
  check_mixing(mixing_, kernel_map_.units());
  require(whitening_.rows() == n_components() && whitening_.cols() > 0,
          "SketchedMap: a whitening of {} x {} for a mixing matrix of {} rows", whitening_.rows(), whitening_.cols(),
          n_components());
  fold();
}

// One product with s' r numbers in place of two: always less for a dense mixing, and for a sparse one when there are no
// more anchors than components, as in sub-sampling.
template <Real T>
void SketchedMap<T>::fold() {
  const bool dense = std::holds_alternative<Matrix<double>>(mixing_);
  if (!dense && columns_of(mixing_) > rows_of(mixing_)) return;
  const Matrix<double> both =
      std::visit([&](const auto& m) -> Matrix<double> { return whitening_.transpose() * m; }, mixing_);
  direct_ = both.template cast<T>();
}

template <Real T>
Matrix<double> SketchedMap<T>::anchor_coefficients(const Matrix<double>& Theta) const {
  require(Theta.rows() == n_features(), "anchor_coefficients: Theta has {} rows, the map has {} features", Theta.rows(),
          n_features());
  const Matrix<double> gamma = whitening_ * Theta;
  return std::visit([&](const auto& m) -> Matrix<double> { return m.transpose() * gamma; }, mixing_);
}

template <Real T>
typename SketchedMap<T>::Prepared SketchedMap<T>::prepare(const T* X, Index ldx, Index rows, T* scratch) const {
  const Index r = n_features();
  T* const inner = scratch + rows * r;
  for (Index first = 0; first < rows; first += block_rows) {
    const Index count = std::min(block_rows, rows - first);
    auto z = map_rows(scratch + first * r, count, r);
    const auto in = kernel_map_.prepare(X + first * ldx, ldx, count, inner);
    if (direct_.size() > 0) {
      folded_values(in, z.data());
    } else {
      const auto mixed = [&](const auto& m) { return mixed_values(kernel_map_, m, in, kernel_map_.units()); };
      const Matrix<double> g = std::visit(mixed, mixing_);  // S k(x)
      Matrix<double> whitened(count, r);
      backend::gemm<double>(Transpose::yes, Transpose::no, count, r, g.rows(), 1.0, g.data(), count, whitening_.data(),
                            r, 0.0, whitened.data(), r);
      z = whitened.template cast<T>();
    }
  }
  return {scratch, rows};
}

// z (rows, r) = K directᵀ, in the precision of the kernel's values: in float these have lost digits already, most along
// eigenvectors of small eigenvalues, of which `floor_float` leaves out the smallest. An estimate, not a bound; tests
// compare float fits with the dense formula.
template <Real T>
void SketchedMap<T>::folded_values(const typename KernelMap<T>::Prepared& in, T* z) const {
  const Index r = n_features(), anchors = kernel_map_.units();
  const auto turned = kernel_map_.turn(in);
  Matrix<T> values(anchor_tile, in.rows);
  for (Index first = 0; first < anchors; first += anchor_tile) {
    const Index count = std::min(anchor_tile, anchors - first);
    kernel_map_.turned_tile(in, turned, first, count, values.data(), in.rows);
    backend::gemm<T>(Transpose::yes, Transpose::yes, in.rows, r, count, T(1), values.data(), in.rows,
                     direct_.data() + first, anchors, first > 0 ? T(1) : T(0), z, r);
  }
}

template <Real T>
void SketchedMap<T>::tile(const Prepared& in, Index first, Index count, T* out, Index, Index ldo) const {
  for (Index i = 0; i < in.rows; ++i) std::copy_n(in.z + i * n_features() + first, count, out + i * ldo);
}

void mixed_kernel(const KernelMap<double>& map, const Mixing& mixing, ConstView<double> X, View<double> out,
                  const Execution& execution) {
  check_mixing(mixing, map.units());
  const Index n = X.rows();
  parallel_for((n + block_rows - 1) / block_rows, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * block_rows, rows = std::min(block_rows, n - first);
    std::vector<double> scratch(static_cast<std::size_t>(map.prepared_size(rows)));
    const auto in = map.prepare(X.row(first).data(), X.outerStride(), rows, scratch.data());
    out.middleRows(first, rows) =
        std::visit([&](const auto& m) { return mixed_values(map, m, in, map.units()); }, mixing).transpose();
  });
}

Matrix<double> whitening_from(const Mixing& mixing, const Matrix<double>& at_anchors, const Execution& execution) {
  const Matrix<double> H = std::visit([&](const auto& m) -> Matrix<double> { return m * at_anchors; }, mixing);
  return whitening_of((H + H.transpose()) / 2, floor_double, execution);
}

template class SketchedMap<float>;
template class SketchedMap<double>;

}  // namespace carmina
