// features/map_rows.hpp -- the door for a map and the rows it is applied to: features streamed, or stored.
#pragma once
#include "features/feature_rows.hpp"
#include "features/moments_builder.hpp"
#include "features/segmented_sum.hpp"
#include "features/tile_products.hpp"

#include <cmath>
#include <limits>
#include <memory>

namespace carmina {

template <ScalarMap M>
class MapRows : public FeatureRows {
 public:
  using T = typename M::Scalar;

  MapRows(const M& map, const DataRows<T>& rows, const Matrix<T>* stored, const Execution& execution)
      : FeatureRows(rows.rows(), map.n_features(), rows.dim_out(), std::numeric_limits<T>::epsilon() / 2.0),
        map_(map),
        data_(rows),
        grid_(rows.grid()),
        execution_(execution),
        stored_(stored) {}

  // Features made once and kept here.
  void store() {
    own_.resize(data_.own_rows(), features());
    data_.for_blocks("features", execution_, [&](const RowBlock<T>& block) {
      evaluate(map_, block.inputs(), View<T>(own_.middleRows(own_row(block.first_row), block.rows)), execution_);
    });
    stored_ = &own_;
  }

  void moments(Moments& into, const SavedLoop& saved) const override;
  RowSums sums(const Vector<double>& origin) const override;
  void adjoint(const Matrix<double>& R, Matrix<double>& out) const override;
  void normal(const Matrix<double>& P, Matrix<double>& out) const override;
  void gram(const Vector<double>& u, Matrix<double>& out) const override;
  Vector<double> squares(const Matrix<double>& C, const Vector<double>& b) const override;
  Vector<double> sum_rotated(const Vector<double>& mean, const Matrix<double>& rotation, Index count,
                             const AddRotated& add) const override;
  ResidualSums residuals(const Matrix<double>& Theta, const Matrix<double>* S,
                         const Vector<double>& noise) const override;
  SubsetGram subset_gram(Index wanted, backend::Reduced precision) const override;
  // The rows of that.
  HeldRows<T> subset(Index wanted) const;
  void forward(const Matrix<double>& C, Matrix<double>& F) const override;
  Matrix<double> targets() const override;
  Vector<double> weights() const override;
  void windows(const Window& body) const override;

 protected:
  const M& map_;
  const DataRows<T>& data_;
  RowGrid grid_;
  const Execution execution_;

  // Fills in the rows of other processes where each has its own: (rows, columns).
  void gather_rows(Matrix<double>& all) const;

 private:
  // Some features of consecutive rows: phi, row stride ld.
  struct Tile {
    const T* phi;
    Index ld;
  };
  // All features of rows [first, first + count) of a block, in scratch (count, features) unless they are stored.
  Tile tile(const RowBlock<T>& block, Index first, Index count, T* scratch) const {
    if (stored_) return {stored_features(block.first_row + first), features()};
    evaluate_few(map_, block.X + first * block.x_stride, block.x_stride, count, scratch, features());
    return {scratch, features()};
  }
  Index own_row(Index row) const { return row - data_.first_row(); }
  const T* stored_features(Index row) const { return stored_->row(own_row(row)).data(); }
  void gather_features(const Index* numbers, Index count, Matrix<double>& out) const;
  // Scratch for that.
  T* scratch_for(Index count, Index more = 0) const {
    thread_local std::vector<T> scratch;
    const auto size = static_cast<std::size_t>((stored_ ? 0 : count * features()) + more + 1);
    if (scratch.size() < size) scratch.resize(size);
    return scratch.data();
  }
  // Rows whose features stay in cache.
  Index cached_rows() const {
    return std::clamp<Index>(tile_bytes / (features() * static_cast<Index>(sizeof(T))), 16, tile_rows);
  }

  // Sums (q, features) in T of a stretch: residual(tile, block, first, rows, out) writes R (rows, q) for each tile.
  using Residual = std::function<void(const Tile& tile, const RowBlock<T>& block, Index first, Index rows, T* out)>;
  void accumulate(const RowBlock<T>& block, Index q, const Residual& residual, SegmentedSum& sum) const;
  Matrix<double> accumulated(const char* phase, Index q, const Residual& residual) const;

  void pack(const RowBlock<T>& block, const Index* chosen, Index count, const Vector<double>& u, double* out) const;
  void gram_of_few(const Vector<double>& u, Matrix<double>& out) const;
  void multiply(const RowBlock<T>& block, const Matrix<T>& transposed,
                const std::function<void(Index, Index, const T*)>& each) const;

  const Matrix<T>* stored_;
  Matrix<T> own_;
};

}  // namespace carmina
