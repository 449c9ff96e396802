// features/feature_rows.cpp -- blocks of features and rows of a kernel behind the same door.
#include "features/feature_rows.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace carmina {

namespace {

[[noreturn]] void unknown(const char* what) { fail("fit: these rows have no {}", what); }

}  // namespace

void FeatureRows::moments(Moments&, const SavedLoop&) const { unknown("moments"); }
RowSums FeatureRows::sums(const Vector<double>&) const { unknown("sums with their targets"); }
void FeatureRows::adjoint(const Matrix<double>&, Matrix<double>&) const { unknown("adjoint product"); }
void FeatureRows::normal(const Matrix<double>&, Matrix<double>&) const { unknown("normal product"); }
void FeatureRows::gram(const Vector<double>&, Matrix<double>&) const { unknown("Gram matrix"); }
Vector<double> FeatureRows::squares(const Matrix<double>&, const Vector<double>&) const { unknown("targets"); }
Vector<double> FeatureRows::sum_rotated(const Vector<double>&, const Matrix<double>&, Index, const AddRotated&) const {
  unknown("rotated features");
}
ResidualSums FeatureRows::residuals(const Matrix<double>&, const Matrix<double>*, const Vector<double>&) const {
  unknown("frequencies");
}
SubsetGram FeatureRows::subset_gram(Index, backend::Reduced) const { unknown("Gram matrix of some rows"); }
FeatureRows::SubsetSolve FeatureRows::subset_solve(Index, double, bool, double, double) const { return {}; }
void FeatureRows::forward(const Matrix<double>&, Matrix<double>&) const { unknown("products"); }
Matrix<double> FeatureRows::targets() const { unknown("targets"); }
Vector<double> FeatureRows::weights() const { unknown("weights"); }
void FeatureRows::windows(const Window&) const { unknown("features one by one"); }

namespace {

// The products of n p rows, F and R seen as (n, p).
class BlockRows final : public FeatureRows {
 public:
  BlockRows(const Matrix<double>& phi, Index outputs, const Execution& execution)
      : FeatureRows(phi.rows() / outputs, phi.cols(), outputs, std::numeric_limits<double>::epsilon() / 2, outputs),
        phi_(phi),
        tall_(stored_rows(phi, execution)) {}

  void forward(const Matrix<double>& C, Matrix<double>& F) const override {
    Matrix<double> column;
    tall_->forward(C, column);
    F = Eigen::Map<const Matrix<double>>(column.data(), rows(), outputs());
  }
  void adjoint(const Matrix<double>& R, Matrix<double>& out) const override {
    tall_->adjoint(Matrix<double>(Eigen::Map<const Matrix<double>>(R.data(), R.size(), 1)), out);
  }
  void gram(const Vector<double>& u, Matrix<double>& out) const override { tall_->gram(u, out); }
  void windows(const Window& body) const override {
    body(0, rows(), [&](const Index* places, Index count, Matrix<double>& out) {
      const Index p = outputs();
      out.resize(count * p, features());
      for (Index k = 0; k < count; ++k) out.middleRows(k * p, p) = phi_.middleRows(places[k] * p, p);
    });
  }

 private:
  const Matrix<double>& phi_;
  std::unique_ptr<FeatureRows> tall_;
};

// K is symmetric: K C is the sum of its rows, each times a row of C, over the rows of C that are not zero. Tiles are of
// columns of K, so that the sums of a tile stay in cache.
class KernelRows final : public FeatureRows {
 public:
  KernelRows(const Matrix<double>& K, const Execution& execution)
      : FeatureRows(K.rows(), K.rows(), 0, std::numeric_limits<double>::epsilon() / 2), K_(K), execution_(execution) {}

  const Matrix<double>* kernel() const override { return &K_; }

  void forward(const Matrix<double>& C, Matrix<double>& F) const override {
    constexpr Index tile_columns = 1024, together = 4;
    const Index n = rows(), q = C.cols();
    F.setZero(n, q);
    std::vector<Index> chosen;
    for (Index j = 0; j < q; ++j) {
      chosen.clear();
      for (Index i = 0; i < n; ++i) {
        if (C(i, j) != 0) chosen.push_back(i);
      }
      const auto count = static_cast<Index>(chosen.size());
      parallel_for((n + tile_columns - 1) / tile_columns, execution_.thread_count(), [&](Index tile, int) {
        const Index first = tile * tile_columns, width = std::min(tile_columns, n - first);
        const auto row = [&](Index k) { return K_.row(chosen[static_cast<std::size_t>(k)]).segment(first, width); };
        const auto factor = [&](Index k) { return C(chosen[static_cast<std::size_t>(k)], j); };
        Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(width);
        Index k = 0;
        for (; k + together <= count; k += together) {
          sum +=
              factor(k) * row(k) + factor(k + 1) * row(k + 1) + factor(k + 2) * row(k + 2) + factor(k + 3) * row(k + 3);
        }
        for (; k < count; ++k) sum += factor(k) * row(k);
        F.col(j).segment(first, width) = sum.transpose();
      });
    }
  }
  void adjoint(const Matrix<double>& R, Matrix<double>& out) const override { out = R; }

 private:
  const Matrix<double>& K_;
  const Execution execution_;
};

}  // namespace

std::unique_ptr<FeatureRows> stored_blocks(const Matrix<double>& phi, Index outputs, const Execution& execution) {
  return std::make_unique<BlockRows>(phi, outputs, execution);
}

std::unique_ptr<FeatureRows> kernel_rows(const Matrix<double>& K, const Execution& execution) {
  return std::make_unique<KernelRows>(K, execution);
}

}  // namespace carmina
