// solvers/kernel_products.cpp -- a kernel matrix in the place of features: products with the few rows that matter.
#include <carmina/solvers/any_loss.hpp>

#include <algorithm>
#include <vector>

namespace carmina {
namespace {

constexpr Index tile_columns = 1024, together = 4;

}  // namespace

// K is symmetric: K C is the sum of its rows, each times a row of C, over the rows of C that are not zero. Tiles are of
// columns of K, so that the sums of a tile stay in cache.
FeatureProducts kernel_products(const Matrix<double>& K, const Execution& execution) {
  const Index n = K.rows();
  FeatureProducts products{n, n, {}, {}, {}};
  products.kernel = &K;
  products.forward = [&K, execution, n](const Matrix<double>& C, Matrix<double>& F) {
    const Index q = C.cols();
    F.setZero(n, q);
    std::vector<Index> rows;
    for (Index j = 0; j < q; ++j) {
      rows.clear();
      for (Index i = 0; i < n; ++i) {
        if (C(i, j) != 0) rows.push_back(i);
      }
      const auto count = static_cast<Index>(rows.size());
      parallel_for((n + tile_columns - 1) / tile_columns, execution.thread_count(), [&](Index tile, int) {
        const Index first = tile * tile_columns, width = std::min(tile_columns, n - first);
        const auto row = [&](Index k) { return K.row(rows[static_cast<std::size_t>(k)]).segment(first, width); };
        const auto factor = [&](Index k) { return C(rows[static_cast<std::size_t>(k)], j); };
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
  };
  products.backward = [](const Matrix<double>& R, Matrix<double>& out) { out = R; };
  return products;
}

bool by_rows(const CoefficientSpace& space, const Loss& loss) {
  const bool radial = std::visit([]<class L>(const L&) { return L::radial; }, loss);
  return space.separate() && space.rank() == space.dim_out() && (space.dim_out() == 1 || !radial);
}

}  // namespace carmina
