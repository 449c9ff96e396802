// features/map_rows.cpp -- passes over the rows: every sum of features that a solver asks for.
#include "features/device_rows.hpp"
#include "features/map_rows_gram.hpp"
#include "features/map_rows_residuals.hpp"
#include "features/scalar_maps.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>

namespace carmina {

template <ScalarMap M>
void MapRows<M>::accumulate(const RowBlock<T>& block, Index q, const Residual& residual, SegmentedSum& sum) const {
  const Index m = features(), step = cached_rows();
  const Index wave = sums_under_way(static_cast<double>(q * m) * sizeof(T));
  const Stretches stretches(block, grid_);
  const int threads = execution_.thread_count();
  std::vector<Matrix<T>> partial(static_cast<std::size_t>(std::min(wave, stretches.count())));
  Matrix<double>& open = sum.open()[0];
  std::vector<Matrix<double>*> closed(partial.size());
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
    for (Index k = 0; k < count; ++k) {
      closed[static_cast<std::size_t>(k)] = stretches.closes_segment(begin + k) ? &sum.closing()[0] : nullptr;
    }
    // Added in the order of the rows.
    constexpr Index strip = 64;
    parallel_for((m + strip - 1) / strip, threads, [&](Index task, int) {
      const Index first = task * strip, rows = std::min(strip, m - first);
      for (Index k = 0; k < count; ++k) {
        const auto& part = partial[static_cast<std::size_t>(k)];
        open.middleRows(first, rows) += part.middleCols(first, rows).transpose().template cast<double>();
        if (Matrix<double>* into = closed[static_cast<std::size_t>(k)]) {
          into->middleRows(first, rows) += open.middleRows(first, rows);
          open.middleRows(first, rows).setZero();
        }
      }
    });
  }
}

template <ScalarMap M>
Matrix<double> MapRows<M>::accumulated(const char* phase, Index q, const Residual& residual) const {
  SegmentedSum sum(data_, {{features(), q}});
  data_.for_blocks(phase, execution_, [&](const RowBlock<T>& block) { accumulate(block, q, residual, sum); });
  return std::move(sum.total()[0]);
}

// A state is that of closed segments. Rows that an earlier run has summed are read, not made features of.
template <ScalarMap M>
void MapRows<M>::moments(Moments& into, const SavedLoop& saved) const {
  Index done = 0;  // rows
  Resumable loop(saved, [&](LoopState& state) { state("sums", into.sums), state("rows", done); });
  into.rows += done;
  if (loop.ended()) return loop.end();
  MomentsBuilder<T> builder(into, data_, execution_);
  const auto add = [&](const RowBlock<T>& block) {
    builder.add(block, [&](Index first, Index count, T* out, Index ld, int) {
      if (!stored_) return evaluate_few(map_, block.X + first * block.x_stride, block.x_stride, count, out, ld);
      for (Index i = 0; i < count; ++i) {
        std::copy_n(stored_features(block.first_row + first + i), features(), out + i * ld);
      }
    });
  };
  const bool by_segments = saved.in != nullptr;
  data_.for_blocks("fitting", execution_, [&](const RowBlock<T>& block) {
    for (Index begin = 0, end = 0; begin < block.rows; begin = end) {
      end = block.rows;
      if (by_segments) end = std::min(end, begin + grid_.segment - (block.first_row + begin) % grid_.segment);
      if (block.first_row + end <= done) continue;
      add(block.part(begin, end - begin));
      done = block.first_row + end;
      if (done % grid_.segment == 0 && !data_.processes()) loop.step();
    }
  });
  builder.finish();
  done = rows();
  loop.end();
}

template <ScalarMap M>
RowSums MapRows<M>::sums(const Vector<double>& origin) const {
  // Of each row: w (y - origin), w, and where targets are missing w for each output that is there.
  const Index p = outputs();
  const bool missing = data_.has_missing_targets();
  const Index q = missing ? 2 * p + 1 : p + 1;
  SegmentedSum of_features(data_, {{features(), q}}), of_targets(data_, {{1, q}});
  const auto of_row = [&]<class Out>(const RowBlock<T>& block, Index i, Out* out) {
    const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
    const T* y = block.Y + i * block.y_stride;
    for (Index j = 0; j < p; ++j) {
      const bool seen = !missing || !std::isnan(y[j]);
      out[j] = static_cast<Out>(seen ? w * (static_cast<double>(y[j]) - origin[j]) : 0.0);
      if (missing) out[p + 1 + j] = static_cast<Out>(seen ? w : 0.0);
    }
    out[p] = static_cast<Out>(w);
  };
  const Residual weighted = [&](const Tile&, const RowBlock<T>& block, Index first, Index count, T* out) {
    for (Index i = 0; i < count; ++i) of_row(block, first + i, out + i * q);
  };
  data_.for_blocks("summing", execution_, [&](const RowBlock<T>& block) {
    accumulate(block, q, weighted, of_features);
    of_targets.add(block, grid_, execution_, [&](Index first, Index last, std::vector<Matrix<double>>& part) {
      Vector<double> row(q);
      for (Index i = first; i < last; ++i) {
        of_row(block, i, row.data());
        part[0].row(0) += row.transpose();
      }
    });
  });
  const Matrix<double>&all = of_features.total()[0], &targets = of_targets.total()[0];
  RowSums sums{all.leftCols(p), all.col(p), targets.row(0).head(p).transpose(), targets(0, p), rows()};
  if (missing) {
    sums.own_feature_sums = all.rightCols(p);
    sums.own_weight = targets.row(0).tail(p).transpose();
  }
  return sums;
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
  require(!data_.has_missing_targets() || q == outputs(),
          "fit: where targets are missing, a product takes a column for each of {} outputs, found {}", outputs(), q);
  const Matrix<T> transposed = P.transpose().template cast<T>();  // (q, features)
  out = accumulated("iterating", q, [&](const Tile& tile, const RowBlock<T>& block, Index first, Index count, T* to) {
    std::fill(to, to + count * q, T(0));
    add_product(tile.phi, tile.ld, count, m, transposed.data(), m, q, to, q);
    for (Index i = 0; block.weights && i < count; ++i) {
      for (Index j = 0; j < q; ++j) to[i * q + j] *= block.weights[first + i];
    }
    if (!data_.has_missing_targets()) return;
    for (Index i = 0; i < count; ++i) {
      const T* y = block.Y + (first + i) * block.y_stride;
      for (Index j = 0; j < q; ++j) {
        if (std::isnan(y[j])) to[i * q + j] = T(0);
      }
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
  gather_rows(F);
}

template <ScalarMap M>
void MapRows<M>::gather_rows(Matrix<double>& all) const {
  const Communicator* processes = data_.processes();
  if (!processes) return;
  const auto bytes = static_cast<std::int64_t>(sizeof(double)) * data_.own_rows() * all.cols();
  processes->gather_in_place(all.data(), processes->counts_of(bytes));
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
  SegmentedSum sum(data_, {{1, models}});
  Matrix<double> of_row;
  data_.for_blocks("measuring", execution_, [&](const RowBlock<T>& block) {
    of_row.resize(block.rows, models);
    multiply(block, transposed, [&](Index first, Index count, const T* values) {
      for (Index i = 0; i < count; ++i) {
        const T* y = block.Y + (first + i) * block.y_stride;
        for (Index a = 0; a < models; ++a) {
          double square = 0;
          for (Index j = 0; j < p; ++j) {
            if (std::isnan(y[j])) continue;
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
  return sum.total()[0].row(0).transpose();
}

template <ScalarMap M>
Matrix<double> MapRows<M>::targets() const {
  Matrix<double> Y(rows(), outputs());
  data_.for_blocks("reading", execution_, [&](const RowBlock<T>& block) {
    Y.middleRows(block.first_row, block.rows) = block.targets().template cast<double>();
  });
  gather_rows(Y);
  return Y;
}

template <ScalarMap M>
Vector<double> MapRows<M>::weights() const {
  Matrix<double> w = Matrix<double>::Ones(rows(), 1);
  data_.for_blocks("reading", execution_, [&](const RowBlock<T>& block) {
    for (Index i = 0; block.weights && i < block.rows; ++i)
      w(block.first_row + i, 0) = static_cast<double>(block.weights[i]);
  });
  gather_rows(w);
  return (w.array() != 1).any() ? Vector<double>(w.col(0)) : Vector<double>();
}

// Of rows by their ascending numbers, in all processes.
template <ScalarMap M>
void MapRows<M>::gather_features(const Index* numbers, Index count, Matrix<double>& out) const {
  const HeldRows<T> some = data_.gather_numbers(std::vector<Index>(numbers, numbers + count), false, execution_);
  Matrix<T> phi(some.rows(), features());
  evaluate(map_, some.X, View<T>(phi), execution_);
  out = phi.template cast<double>();
}

template <ScalarMap M>
void MapRows<M>::windows(const Window& body) const {
  constexpr Index window_cells = Index{1} << 20;
  const Index m = features(), size = std::max(grid_.stretch, window_cells / (data_.dim_in() + 1));
  if (data_.processes())
    return body(0, rows(),
                [&](const Index* places, Index count, Matrix<double>& out) { gather_features(places, count, out); });
  data_.for_windows(size, "batches", execution_, [&](const RowBlock<T>& block) {
    body(block.first_row, block.rows, [&](const Index* places, Index count, Matrix<double>& out) {
      out.resize(count, m);
      if (stored_) {
        for (Index k = 0; k < count; ++k) {
          out.row(k) = stored_->row(own_row(block.first_row + places[k])).template cast<double>();
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
  if constexpr (std::same_as<M, FourierMap<typename M::Scalar>>) {
    if (auto on_device = device_rows(map, rows, execution)) return on_device;
  }
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

template class MapRows<FourierMap<float>>;
template class MapRows<FourierMap<double>>;
#define CARMINA_INSTANTIATE_IN(M)                                                                               \
  template std::unique_ptr<FeatureRows> rows_of(const M&, const DataRows<M::Scalar>&, FeatureStorage,           \
                                                const Execution&);                                              \
  template std::unique_ptr<FeatureRows> rows_of(const M&, const DataRows<M::Scalar>&, const Matrix<M::Scalar>&, \
                                                const Execution&);
#define CARMINA_INSTANTIATE(Map) CARMINA_INSTANTIATE_IN(Map<float>) CARMINA_INSTANTIATE_IN(Map<double>)
CARMINA_SCALAR_MAPS(CARMINA_INSTANTIATE, )
#undef CARMINA_INSTANTIATE
#undef CARMINA_INSTANTIATE_IN
template std::unique_ptr<FeatureRows> stored_rows(const Matrix<float>&, const Execution&);
template std::unique_ptr<FeatureRows> stored_rows(const Matrix<double>&, const Execution&);

}  // namespace carmina
