// features/map_rows_gram.hpp -- Gram matrices of rows with weights of their own, and of a sample of the rows.
#pragma once
#include "backends/tiled.hpp"
#include "features/map_rows.hpp"

namespace carmina {

// Rows without weight are left out, the others multiplied by sqrt(u) and packed, up to `packed_rows` at a time. Few of
// them need no segments: wherever they are, they are one product.
template <ScalarMap M>
void MapRows<M>::gram(const Vector<double>& u, Matrix<double>& out) const {
  constexpr Index packed_rows = 4096, few = 8192;
  const Index m = features(), width = m + 1, active = (u.array() > 0).count();
  out.setZero(width, width);
  if (data_.processes() && active <= few) return gram_of_few(u, out);
  Matrix<double> packed(std::min(packed_rows, std::max<Index>(active, 1)), width), segment;
  if (active > few) segment.setZero(width, width);
  Index held = 0;
  const auto flush = [&] {
    Matrix<double>& sums = segment.size() > 0 ? segment : out;
    if (held > 0) backend::add_gram(width, held, packed.data(), width, sums.data(), width, execution_);
    held = 0;
  };
  ApartTriangles closed(width);
  const auto close = [&] {
    flush();
    if (data_.sums_apart()) {
      closed.close(segment);
    } else {
      out += segment;
    }
    segment.setZero();
  };
  bool open = false;
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
      open = (block.first_row + end) % grid_.segment != 0;
      if (segment.size() > 0 && !open) close();
    }
  });
  if (segment.size() == 0) return flush();
  if (open) close();
  if (data_.processes()) closed.add_to(out, *data_.processes());
}

// The rows go to all processes: their features do not depend on where they are made.
template <ScalarMap M>
void MapRows<M>::gram_of_few(const Vector<double>& u, Matrix<double>& out) const {
  constexpr Index packed_rows = 4096, together = 128;
  std::vector<Index> numbers;
  for (Index row = 0; row < u.size(); ++row) {
    if (u[row] > 0) numbers.push_back(row);
  }
  const HeldRows<T> some = data_.gather_numbers(numbers, false, execution_);
  const Index m = features(), width = m + 1, d = some.X.cols();
  Matrix<double> packed(std::min(packed_rows, std::max<Index>(some.rows(), 1)), width);
  for (Index begin = 0; begin < some.rows(); begin += packed_rows) {
    const Index rows = std::min(packed_rows, some.rows() - begin);
    parallel_for((rows + together - 1) / together, execution_.thread_count(), [&](Index task, int) {
      const Index first = task * together, count = std::min(together, rows - first);
      thread_local std::vector<T> phi;
      phi.resize(static_cast<std::size_t>(count * m));
      evaluate_few(map_, some.X.row(begin + first).data(), d, count, phi.data(), m);
      for (Index k = 0; k < count; ++k) {
        const double root = std::sqrt(u[some.numbers[static_cast<std::size_t>(begin + first + k)]]);
        for (Index j = 0; j < m; ++j) packed(first + k, j) = root * static_cast<double>(phi[std::size_t(k * m + j)]);
        packed(first + k, m) = root;
      }
    });
    backend::add_gram(width, rows, packed.data(), width, out.data(), width, execution_);
  }
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
      const T* from = stored_ ? stored_features(row) : phi + k * m;
      const double root = std::sqrt(u[row]);
      double* to = out + (first + k) * (m + 1);
      for (Index j = 0; j < m; ++j) to[j] = root * static_cast<double>(from[j]);
      to[m] = root;
    }
  });
}

// Every row whose number times wanted / count passes a whole number.
template <ScalarMap M>
HeldRows<typename M::Scalar> MapRows<M>::subset(Index wanted) const {
  const double step = std::min(1.0, static_cast<double>(wanted) / static_cast<double>(rows()));
  const auto passed = [&](Index number) { return std::floor(static_cast<double>(number) * step); };
  std::vector<Index> numbers;
  for (Index row = 0; row < rows(); ++row) {
    // The next that may: up to one before it by rounding.
    row = std::max(row, static_cast<Index>((passed(row) + 1) / step) - 2);
    while (row < rows() && passed(row + 1) == passed(row)) ++row;
    if (row < rows()) numbers.push_back(row);
  }
  return data_.gather_numbers(numbers, true, execution_);
}

template <ScalarMap M>
SubsetGram MapRows<M>::subset_gram(Index wanted, backend::Reduced precision) const {
  const HeldRows<T> some = subset(wanted);
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

}  // namespace carmina
