// features/map_rows_residuals.hpp -- second passes: rows left out one by one, and the gradient of an evidence.
#pragma once
#include "backends/tiled.hpp"
#include "features/map_rows.hpp"

namespace carmina {

template <ScalarMap M>
Vector<double> MapRows<M>::sum_rotated(const Vector<double>& mean, const Matrix<double>& rotation, Index count,
                                       const AddRotated& add) const {
  constexpr Index together = 128;
  const Index m = features(), c = rotation.cols();
  const Matrix<T> narrow = rotation.cast<T>();
  const Vector<T> centre = mean.cast<T>();
  SegmentedSum sum(data_, {{count, 1}});
  data_.for_blocks("leaving out", execution_, [&](const RowBlock<T>& block) {
    sum.add(block, grid_, execution_, [&](Index begin, Index end, std::vector<Matrix<double>>& part) {
      Matrix<T> phi(together, m), Z(together, c);
      for (Index first = begin; first < end; first += together) {
        const Index rows = std::min(together, end - first);
        const Tile from = tile(block, first, rows, phi.data());
        for (Index i = 0; i < rows; ++i) {
          for (Index j = 0; j < m; ++j) phi(i, j) = from.phi[i * from.ld + j] - centre[j];
        }
        backend::gemm<T>(backend::Transpose::no, backend::Transpose::no, rows, c, m, T(1), phi.data(), m, narrow.data(),
                         c, T(0), Z.data(), c);
        const Matrix<double> wide = Z.topRows(rows).template cast<double>();
        const Matrix<double> Y = block.targets().middleRows(first, rows).template cast<double>();
        Vector<double> w = Vector<double>::Ones(rows), sums = Vector<double>::Zero(count);
        for (Index i = 0; block.weights && i < rows; ++i) w[i] = static_cast<double>(block.weights[first + i]);
        add({wide, Y, w}, sums);
        part[0] += sums;
      }
    });
  });
  return sum.total()[0].col(0);
}

template <ScalarMap M>
ResidualSums MapRows<M>::residuals(const Matrix<double>& Theta, const Matrix<double>* S,
                                   const Vector<double>& noise) const {
  using backend::Transpose;
  if constexpr (std::same_as<M, FourierMap<T>>) {
    constexpr Index together = 128;
    const Index m = features(), units = map_.units(), p = outputs(), d = data_.dim_in();
    const Matrix<T> theta = Theta.transpose().cast<T>();  // (p, m)
    Matrix<T> narrow, scaled;
    if (S) {
      narrow = S->cast<T>();
      scaled = (noise.cwiseInverse().asDiagonal() * Theta.transpose()).template cast<T>();
    }
    SegmentedSum sum(data_, {{p, 1}, {m, p}, {units, d}});
    data_.for_blocks("evidence", execution_, [&](const RowBlock<T>& block) {
      sum.add(block, grid_, execution_, [&](Index begin, Index end, std::vector<Matrix<double>>& part) {
        thread_local Matrix<T> F, U, R, V;
        F.resize(together, m), U.resize(together, m), R.resize(together, p), V.resize(together, units);
        for (Index first = begin; first < end; first += together) {
          const Index rows = std::min(together, end - first);
          const T* x = block.X + first * block.x_stride;
          evaluate_few(map_, x, block.x_stride, rows, F.data(), m);
          R.topRows(rows) = block.targets().middleRows(first, rows);
          backend::gemm<T>(Transpose::no, Transpose::yes, rows, p, m, T(-1), F.data(), m, theta.data(), m, T(1),
                           R.data(), p);
          for (Index i = 0; i < rows; ++i) {
            const T w = block.weights ? block.weights[first + i] : T(1);
            for (Index a = 0; a < p; ++a) {
              const auto r = static_cast<double>(R(i, a));
              part[0](a, 0) += static_cast<double>(w) * r * r;
              R(i, a) *= w;
            }
          }
          if (!S) continue;
          part[1] += (F.topRows(rows).transpose() * R.topRows(rows)).template cast<double>();
          backend::gemm<T>(Transpose::no, Transpose::no, rows, m, m, T(-1), F.data(), m, narrow.data(), m, T(0),
                           U.data(), m);
          for (Index i = 0; block.weights && i < rows; ++i) U.row(i) *= block.weights[first + i];
          backend::gemm<T>(Transpose::no, Transpose::no, rows, m, p, T(1), R.data(), p, scaled.data(), m, T(1),
                           U.data(), m);
          V.topRows(rows) = U.topRows(rows).rightCols(units).cwiseProduct(F.topRows(rows).leftCols(units)) -
                            U.topRows(rows).leftCols(units).cwiseProduct(F.topRows(rows).rightCols(units));
          const auto X = block.inputs().middleRows(first, rows);
          part[2] += (V.topRows(rows).transpose() * X).template cast<double>();
        }
      });
    });
    auto& total = sum.total();
    return {total[0].col(0), std::move(total[1]), std::move(total[2])};
  } else {
    return FeatureRows::residuals(Theta, S, noise);
  }
}

}  // namespace carmina
