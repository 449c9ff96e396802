// features/map_rows.cpp -- passes over the rows: every sum of features that a solver asks for.
#include "map_rows.hpp"

#include <carmina/backends/tiled.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/sketched_map.hpp>

#include <algorithm>

namespace carmina {

template <ScalarMap M>
void MapRows<M>::accumulate(const RowBlock<T>& block, Index q, const Residual& residual, SegmentedSum& sum) const {
  constexpr Index wave = 16;  // sums under way at once, whatever the number of threads
  const Index m = features(), step = cached_rows();
  const Stretches stretches(block, grid_);
  const int threads = execution_.thread_count();
  std::vector<Matrix<T>> partial(static_cast<std::size_t>(std::min(wave, stretches.count())));
  Matrix<double>&open = sum.open()[0], &total = sum.total()[0];
  for (Index begin = 0; begin < stretches.count(); begin += wave) {
    const Index count = std::min(wave, stretches.count() - begin);
    parallel_for(count, threads, [&](Index task, int worker) {
      Matrix<T>& part = partial[static_cast<std::size_t>(task)];
      part.setZero(q, m);
      for (Index i = stretches.begin(begin + task); i < stretches.end(begin + task); i += step) {
        execution_.poll(worker);
        const Index rows = std::min(step, stretches.end(begin + task) - i);
        T* const R = scratch_for(step, step * q);
        const Tile features = tile(block, i, rows, R + step * q);
        residual(features, block, i, rows, R);
        add_transposed(features.phi, features.ld, rows, m, R, q, q, part.data(), m);
      }
    });
    // Added in the order of the rows.
    constexpr Index strip = 256;
    parallel_for((m + strip - 1) / strip, threads, [&](Index task, int) {
      const Index first = task * strip, rows = std::min(strip, m - first);
      for (Index k = 0; k < count; ++k) {
        const auto& part = partial[static_cast<std::size_t>(k)];
        open.middleRows(first, rows) += part.middleCols(first, rows).transpose().template cast<double>();
        if (stretches.closes_segment(begin + k)) {
          total.middleRows(first, rows) += open.middleRows(first, rows);
          open.middleRows(first, rows).setZero();
        }
      }
    });
  }
}

template <ScalarMap M>
Matrix<double> MapRows<M>::accumulated(const char* phase, Index q, const Residual& residual) const {
  SegmentedSum sum({{features(), q}});
  data_.for_blocks(phase, execution_, [&](const RowBlock<T>& block) { accumulate(block, q, residual, sum); });
  sum.close();
  return std::move(sum.total()[0]);
}

template <ScalarMap M>
void MapRows<M>::moments(Moments& into) const {
  MomentsBuilder<T> builder(into, rows(), grid_, execution_);
  data_.for_blocks("fitting", execution_, [&](const RowBlock<T>& block) {
    builder.add(block, [&](Index first, Index count, T* out, Index ld, int) {
      if (!stored_) return evaluate_few(map_, block.X + first * block.x_stride, block.x_stride, count, out, ld);
      for (Index i = 0; i < count; ++i) {
        std::copy_n(stored_->row(block.first_row + first + i).data(), features(), out + i * ld);
      }
    });
  });
  builder.finish();
}

template <ScalarMap M>
RowSums MapRows<M>::sums(const Vector<double>& origin) const {
  const Index p = outputs();
  SegmentedSum of_features({{features(), p + 1}}), of_targets({{1, p + 1}});
  const Residual weighted = [&](const Tile&, const RowBlock<T>& block, Index first, Index count, T* out) {
    for (Index i = 0; i < count; ++i) {
      const double w = block.weights ? static_cast<double>(block.weights[first + i]) : 1.0;
      const T* y = block.Y + (first + i) * block.y_stride;
      for (Index j = 0; j < p; ++j) out[i * (p + 1) + j] = static_cast<T>(w * (static_cast<double>(y[j]) - origin[j]));
      out[i * (p + 1) + p] = static_cast<T>(w);
    }
  };
  data_.for_blocks("summing", execution_, [&](const RowBlock<T>& block) {
    accumulate(block, p + 1, weighted, of_features);
    of_targets.add(block, grid_, execution_, [&](Index first, Index last, std::vector<Matrix<double>>& part) {
      for (Index i = first; i < last; ++i) {
        const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
        const T* y = block.Y + i * block.y_stride;
        for (Index j = 0; j < p; ++j) part[0](0, j) += w * (static_cast<double>(y[j]) - origin[j]);
        part[0](0, p) += w;
      }
    });
  });
  of_features.close();
  of_targets.close();
  const Matrix<double>&all = of_features.total()[0], &targets = of_targets.total()[0];
  return {all.leftCols(p), all.col(p), targets.row(0).head(p).transpose(), targets(0, p), rows()};
}

template <ScalarMap M>
void MapRows<M>::adjoint(const Matrix<double>& R, Matrix<double>& out) const {
  const Index q = R.cols();
  require(R.rows() == rows(), "adjoint: R has {} rows, there are {}", R.rows(), rows());
  out = accumulated("summing", q, [&](const Tile&, const RowBlock<T>& block, Index first, Index count, T* to) {
    const double* from = R.row(block.first_row + first).data();
    for (Index k = 0; k < count * q; ++k) to[k] = static_cast<T>(from[k]);
  });
}

template <ScalarMap M>
void MapRows<M>::normal(const Matrix<double>& P, Matrix<double>& out) const {
  const Index q = P.cols(), m = features();
  const Matrix<T> transposed = P.transpose().template cast<T>();  // (q, features)
  out = accumulated("iterating", q, [&](const Tile& tile, const RowBlock<T>& block, Index first, Index count, T* to) {
    std::fill(to, to + count * q, T(0));
    add_product(tile.phi, tile.ld, count, m, transposed.data(), m, q, to, q);
    for (Index i = 0; block.weights && i < count; ++i) {
      for (Index j = 0; j < q; ++j) to[i * q + j] *= block.weights[first + i];
    }
  });
}

// Rows without weight are left out, the others multiplied by sqrt(u) and packed, up to `packed_rows` at a time. Few of
// them need no segments: wherever they are, they are one product.
template <ScalarMap M>
void MapRows<M>::gram(const Vector<double>& u, Matrix<double>& out) const {
  constexpr Index packed_rows = 4096, few = 8192;
  const Index m = features(), width = m + 1, active = (u.array() > 0).count();
  out.setZero(width, width);
  Matrix<double> packed(std::min(packed_rows, std::max<Index>(active, 1)), width), segment;
  if (active > few) segment.setZero(width, width);
  Index held = 0;
  const auto flush = [&] {
    Matrix<double>& sums = segment.size() > 0 ? segment : out;
    if (held > 0) backend::add_gram(width, held, packed.data(), width, sums.data(), width, execution_);
    held = 0;
  };
  const auto close = [&] {
    flush();
    out += segment;
    segment.setZero();
  };
  std::vector<Index> chosen;
  data_.for_blocks("weighing", execution_, [&](const RowBlock<T>& block) {
    for (Index begin = 0, end = 0; begin < block.rows; begin = end) {
      end = std::min(block.rows, begin + grid_.segment - (block.first_row + begin) % grid_.segment);
      chosen.clear();
      for (Index i = begin; i < end; ++i) {
        if (u[block.first_row + i] > 0) chosen.push_back(i);
      }
      const auto count = static_cast<Index>(chosen.size());
      for (Index at = 0, now = 0; at < count; at += now) {
        now = std::min(count - at, packed.rows() - held);
        pack(block, chosen.data() + at, now, u, packed.data() + held * width);
        held += now;
        if (held == packed.rows()) flush();
      }
      if (segment.size() > 0 && (block.first_row + end) % grid_.segment == 0) close();
    }
  });
  flush();
  if (segment.size() > 0) out += segment;
}

// sqrt(u) [phi, 1] of chosen rows of a block: (count, features + 1)
template <ScalarMap M>
void MapRows<M>::pack(const RowBlock<T>& block, const Index* chosen, Index count, const Vector<double>& u,
                      double* out) const {
  constexpr Index together = 128;
  const Index m = features(), d = block.dim_in;
  parallel_for((count + together - 1) / together, execution_.thread_count(), [&](Index task, int worker) {
    execution_.poll(worker);
    const Index first = task * together, some = std::min(together, count - first);
    T* const X = scratch_for(together, together * d);
    T* const phi = X + together * d;
    if (!stored_) {
      for (Index k = 0; k < some; ++k) std::copy_n(block.X + chosen[first + k] * block.x_stride, d, X + k * d);
      evaluate_few(map_, X, d, some, phi, m);
    }
    for (Index k = 0; k < some; ++k) {
      const Index row = block.first_row + chosen[first + k];
      const T* from = stored_ ? stored_->row(row).data() : phi + k * m;
      const double root = std::sqrt(u[row]);
      double* to = out + (first + k) * (m + 1);
      for (Index j = 0; j < m; ++j) to[j] = root * static_cast<double>(from[j]);
      to[m] = root;
    }
  });
}

template <ScalarMap M>
void MapRows<M>::forward(const Matrix<double>& C, Matrix<double>& F) const {
  F.resize(rows(), C.cols());
  const Matrix<T> transposed = C.transpose().template cast<T>();  // (q, features)
  data_.for_blocks("predicting", execution_, [&](const RowBlock<T>& block) {
    multiply(block, transposed, [&](Index first, Index count, const T* values) {
      F.middleRows(block.first_row + first, count) = map_rows(values, count, C.cols()).template cast<double>();
    });
  });
}

// Rows [first, first + count) of phi C, in T, to each(first, count, values (count, q)) on several threads.
template <ScalarMap M>
void MapRows<M>::multiply(const RowBlock<T>& block, const Matrix<T>& transposed,
                          const std::function<void(Index, Index, const T*)>& each) const {
  const Index q = transposed.rows(), m = features(), step = cached_rows();
  const Stretches stretches(block, grid_);
  const Index in_stretch = (grid_.stretch + step - 1) / step;
  parallel_for(stretches.count() * in_stretch, execution_.thread_count(), [&](Index task, int worker) {
    const Index k = task / in_stretch, first = stretches.begin(k) + task % in_stretch * step;
    const Index count = std::min(step, stretches.end(k) - first);
    if (count <= 0) return;
    execution_.poll(worker);
    T* const values = scratch_for(step, step * q);
    std::fill(values, values + count * q, T(0));
    const Tile phi = tile(block, first, count, values + step * q);
    add_product(phi.phi, phi.ld, count, m, transposed.data(), m, q, values, q);
    each(first, count, values);
  });
}

template <ScalarMap M>
Vector<double> MapRows<M>::squares(const Matrix<double>& C, const Vector<double>& b) const {
  const Index p = outputs(), models = C.cols() / p;
  const Matrix<T> transposed = C.transpose().template cast<T>();
  SegmentedSum sum({{1, models}});
  Matrix<double> of_row;
  data_.for_blocks("measuring", execution_, [&](const RowBlock<T>& block) {
    of_row.resize(block.rows, models);
    multiply(block, transposed, [&](Index first, Index count, const T* values) {
      for (Index i = 0; i < count; ++i) {
        const T* y = block.Y + (first + i) * block.y_stride;
        for (Index a = 0; a < models; ++a) {
          double square = 0;
          for (Index j = 0; j < p; ++j) {
            const double e = static_cast<double>(values[i * C.cols() + a * p + j]) + b[a * p + j];
            square += (e - static_cast<double>(y[j])) * (e - static_cast<double>(y[j]));
          }
          of_row(first + i, a) = square;
        }
      }
    });
    sum.add(block, grid_, execution_, [&](Index first, Index last, std::vector<Matrix<double>>& part) {
      for (Index i = first; i < last; ++i) {
        part[0] += (block.weights ? static_cast<double>(block.weights[i]) : 1.0) * of_row.row(i);
      }
    });
  });
  sum.close();
  return sum.total()[0].row(0).transpose();
}

template <ScalarMap M>
Vector<double> MapRows<M>::sum_rotated(const Vector<double>& mean, const Matrix<double>& rotation, Index count,
                                       const AddRotated& add) const {
  constexpr Index together = 128;
  const Index m = features(), c = rotation.cols();
  const Matrix<T> narrow = rotation.cast<T>();
  const Vector<T> centre = mean.cast<T>();
  SegmentedSum sum({{count, 1}});
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
  sum.close();
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
    SegmentedSum sum({{p, 1}, {m, p}, {units, d}});
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
    sum.close();
    auto& total = sum.total();
    return {total[0].col(0), std::move(total[1]), std::move(total[2])};
  } else {
    return FeatureRows::residuals(Theta, S, noise);
  }
}

// Every row whose number times wanted / count passes a whole number.
template <ScalarMap M>
SubsetGram MapRows<M>::subset_gram(Index wanted, backend::Reduced precision) const {
  const double step = std::min(1.0, static_cast<double>(wanted) / static_cast<double>(rows()));
  const HeldRows<T> some = data_.gather(
      [&](Index number, double weight) {
        const auto at = static_cast<double>(number);
        return weight > 0 && std::floor((at + 1) * step) != std::floor(at * step);
      },
      execution_, std::min(wanted + 1, rows()));
  const Index m = features();
  backend::ReducedGram gram(m, precision, execution_);
  gram.add(some.rows(), [&](Index first, Index count, float* out, int) {
    const T* x = some.X.row(first).data();
    thread_local std::vector<T> features;
    T* phi = nullptr;
    if constexpr (std::same_as<T, float>) {
      phi = out;
    } else {
      features.resize(static_cast<std::size_t>(count * m));
      phi = features.data();
    }
    evaluate_few(map_, x, some.X.cols(), count, phi, m);
    for (Index i = 0; i < count; ++i) {
      const T root = some.weights.size() > 0 ? std::sqrt(some.weights[first + i]) : T(1);
      if (std::same_as<T, float> && root == 1) continue;
      for (Index j = 0; j < m; ++j) out[i * m + j] = static_cast<float>(root * phi[i * m + j]);
    }
  });
  SubsetGram found{
      std::move(gram.sums),
      {},
      some.weights.size() > 0 ? some.weights.template cast<double>().sum() : static_cast<double>(some.rows())};
  const Matrix<T> none(some.rows(), 0);
  MemoryRows<T> memory(some.X, none, some.weights_or_null());
  const DataRows<T> chosen(memory);
  found.feature_sums = MapRows<M>(map_, chosen, nullptr, execution_).sums(Vector<double>(0)).feature_sums;
  return found;
}

template <ScalarMap M>
Matrix<double> MapRows<M>::targets() const {
  Matrix<double> Y(rows(), outputs());
  data_.for_blocks("reading", execution_, [&](const RowBlock<T>& block) {
    Y.middleRows(block.first_row, block.rows) = block.targets().template cast<double>();
  });
  return Y;
}

template <ScalarMap M>
Vector<double> MapRows<M>::weights() const {
  Vector<double> w = Vector<double>::Ones(rows());
  bool weighted = false;
  data_.for_blocks("reading", execution_, [&](const RowBlock<T>& block) {
    weighted = weighted || block.weights;
    for (Index i = 0; block.weights && i < block.rows; ++i)
      w[block.first_row + i] = static_cast<double>(block.weights[i]);
  });
  return weighted && (w.array() != 1).any() ? w : Vector<double>();
}

template <ScalarMap M>
void MapRows<M>::windows(const Window& body) const {
  constexpr Index window_cells = Index{1} << 20;
  const Index m = features(), size = std::max(grid_.stretch, window_cells / (data_.dim_in() + 1));
  data_.for_windows(size, "batches", execution_, [&](const RowBlock<T>& block) {
    body(block.first_row, block.rows, [&](const Index* places, Index count, Matrix<double>& out) {
      out.resize(count, m);
      if (stored_) {
        for (Index k = 0; k < count; ++k) {
          out.row(k) = stored_->row(block.first_row + places[k]).template cast<double>();
        }
        return;
      }
      constexpr Index together = 128;
      const Index d = block.dim_in;
      parallel_for((count + together - 1) / together, execution_.thread_count(), [&](Index task, int) {
        const Index first = task * together, some = std::min(together, count - first);
        T* const X = scratch_for(together, together * d);
        T* const phi = X + together * d;
        for (Index k = 0; k < some; ++k) std::copy_n(block.X + places[first + k] * block.x_stride, d, X + k * d);
        evaluate_few(map_, X, d, some, phi, m);
        out.middleRows(first, some) = map_rows(phi, some, m).template cast<double>();
      });
    });
  });
}

template <ScalarMap M>
std::unique_ptr<FeatureRows> rows_of(const M& map, const DataRows<typename M::Scalar>& rows, FeatureStorage storage,
                                     const Execution& execution) {
  auto made = std::make_unique<MapRows<M>>(map, rows, nullptr, execution);
  if (storage == FeatureStorage::memory) made->store();
  return made;
}

template <ScalarMap M>
std::unique_ptr<FeatureRows> rows_of(const M& map, const DataRows<typename M::Scalar>& rows,
                                     const Matrix<typename M::Scalar>& known, const Execution& execution) {
  return std::make_unique<MapRows<M>>(map, rows, &known, execution);
}

namespace {

// Features by themselves: rows without inputs.
template <Real T>
struct Given {
  GivenFeatures<T> map;
  MemoryRows<T> memory;
  DataRows<T> data;
  explicit Given(const Matrix<T>& phi) : map(phi.cols()), memory(phi), data(memory) {}
};
template <Real T>
class GivenRows final : private Given<T>, public MapRows<GivenFeatures<T>> {
 public:
  GivenRows(const Matrix<T>& phi, const Execution& execution)
      : Given<T>(phi), MapRows<GivenFeatures<T>>(Given<T>::map, Given<T>::data, &phi, execution) {}
};

}  // namespace

template <Real T>
std::unique_ptr<FeatureRows> stored_rows(const Matrix<T>& phi, const Execution& execution) {
  return std::make_unique<GivenRows<T>>(phi, execution);
}

#define CARMINA_INSTANTIATE(M)                                                                                  \
  template std::unique_ptr<FeatureRows> rows_of(const M&, const DataRows<M::Scalar>&, FeatureStorage,           \
                                                const Execution&);                                              \
  template std::unique_ptr<FeatureRows> rows_of(const M&, const DataRows<M::Scalar>&, const Matrix<M::Scalar>&, \
                                                const Execution&);
CARMINA_INSTANTIATE(FourierMap<float>)
CARMINA_INSTANTIATE(FourierMap<double>)
CARMINA_INSTANTIATE(SketchedMap<float>)
CARMINA_INSTANTIATE(SketchedMap<double>)
CARMINA_INSTANTIATE(KernelMap<float>)
CARMINA_INSTANTIATE(KernelMap<double>)
#undef CARMINA_INSTANTIATE
template std::unique_ptr<FeatureRows> stored_rows(const Matrix<float>&, const Execution&);
template std::unique_ptr<FeatureRows> stored_rows(const Matrix<double>&, const Execution&);

}  // namespace carmina
