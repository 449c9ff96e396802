// models/fit_sketched.cpp -- a sketched machine: whitened sketched features, then the same solvers, then back to
// anchors.
//
// SPEC 2b: with z(x) = D^(-1/2) Uᵀ S k(x), f = B Thetaᵀ z is a combination of kernels at the anchor rows alone, so what
// is kept is a kernel map of the anchors and its coefficients.
#include "fit_path.hpp"

#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/sketched_map.hpp>

namespace carmina {
namespace {

// `count` rows of a block, from the one at `begin`.
template <Real T>
RowBlock<T> some_rows(RowBlock<T> block, Index begin, Index count) {
  block.X += begin * block.x_stride;
  block.Y += begin * block.y_stride;
  if (block.weights) block.weights += begin;
  block.rows = count;
  block.first_row += begin;
  return block;
}

}  // namespace

// Rows by their number among those of positive weight, in order.
template <Real T>
Matrix<T> FitPath<T>::rows_at(const std::vector<Index>& numbers) {
  Matrix<T> found(static_cast<Index>(numbers.size()), rows_.dim_in());
  Index at = 0, number = 0;
  rows_.rewind();
  for (auto block = rows_.next(at_once_); block.rows > 0; block = rows_.next(at_once_)) {
    for (Index i = 0; i < block.rows; ++i) {
      if (block.weights && block.weights[i] == 0) continue;
      if (at < found.rows() && numbers[static_cast<std::size_t>(at)] == number) found.row(at++) = block.inputs().row(i);
      ++number;
    }
  }
  require(at == found.rows(), "fit: the rows changed while they were read");
  return found;
}

// Whether K Sᵀ of all rows is kept, so that no kernel value is computed twice. In float, S K Sᵀ needs values in double;
// where there are no more anchors than components, it is cheap by itself.
template <Real T>
bool FitPath<T>::keeps_mixed_rows(const sketches::Sketch& sketch) const {
  constexpr double most_bytes = 256e6;
  const double bytes = 8.0 * static_cast<double>(summary_.rows) * static_cast<double>(sketch.rows());
  return std::same_as<T, double> && squared_loss() && sketch.mixing.index() == 0 &&
         columns_of(sketch.mixing) > sketch.rows() && rows_.rows() == summary_.rows &&
         bytes <= std::min(most_bytes, memory_limit(execution_) / 8);
}

// The sums of the features, and the map, from K Sᵀ of all rows.
template <Real T>
SketchedMap<T> FitPath<T>::sum_mixed_rows(KernelMap<T> kernel_map, const sketches::Sketch& sketch,
                                          std::optional<Moments>& sums) {
  if constexpr (std::same_as<T, double>) {
    constexpr Index tile_rows = 256, rows_at_once = 1024;  // few enough to stay in cache
    const Index n = summary_.rows;
    Matrix<double> G(n, sketch.rows());
    const auto for_blocks = [&](const auto& body) {
      rows_.rewind();
      for (auto block = rows_.next(at_once_); block.rows > 0; block = rows_.next(at_once_)) {
        body(block, G.middleRows(block.first_row, block.rows));
        execution_.checkpoint({"fitting", block.first_row + block.rows, n});
      }
    };
    {
      PhaseTimer timer(report_, "kernel");
      for_blocks([&](const auto& block, auto part) {
        mixed_kernel(kernel_map, sketch.mixing, block.inputs(), part, execution_);
      });
    }
    SketchedMap<T> map = [&] {
      PhaseTimer timer(report_, "whitening");
      Matrix<double> at_anchors(columns_of(sketch.mixing), sketch.rows());
      for (Index a = 0; a < at_anchors.rows(); ++a) {
        at_anchors.row(a) = G.row(sketch.anchors[static_cast<std::size_t>(a)]);
      }
      Matrix<double> whitening = whitening_from(sketch.mixing, at_anchors, execution_);
      return SketchedMap<T>(std::move(kernel_map), sketch.mixing, std::move(whitening));
    }();
    PhaseTimer timer(report_, "gram");
    sums.emplace(map.n_features(), origin_);
    MomentsBuilder builder(map, *sums, execution_);
    const Matrix<double>& W = map.whitening();
    Matrix<double> Z;
    for_blocks([&](const RowBlock<T>& block, const auto& part) {
      for (Index begin = 0; begin < block.rows; begin += rows_at_once) {
        const RowBlock<T> some = some_rows(block, begin, std::min(rows_at_once, block.rows - begin));
        Z.resize(some.rows, W.cols());
        parallel_for((some.rows + tile_rows - 1) / tile_rows, execution_.thread_count(), [&](Index task, int) {
          const Index first = task * tile_rows, rows = std::min(tile_rows, some.rows - first);
          backend::gemm<double>(backend::Transpose::no, backend::Transpose::no, rows, W.cols(), W.rows(), 1.0,
                                part.row(begin + first).data(), part.outerStride(), W.data(), W.cols(), 0.0,
                                Z.row(first).data(), W.cols());
        });
        builder.add(some, Z);
      }
    });
    return map;
  } else {
    fail("fit: K Sᵀ is kept in double alone");
  }
}

template <Real T>
SketchedMap<T> FitPath<T>::sketched_map(const ScalarKernel& scalar, std::optional<Moments>& moments) {
  const Index n = summary_.rows;
  follow(plan_.ways.front().solver);
  const sketches::Sketch sketch = [&] {
    PhaseTimer timer(report_, "sketch");
    if (!needs_data(*sketch_)) return sample(*sketch_, n, options_.seed, execution_);
    const auto all = gather(rows_, summary_, origin_, at_once_);
    return sample<T>(*sketch_, options_.seed, all.X, scalar, transform_, execution_);
  }();
  Matrix<T> anchors = rows_at(sketch.anchors);
  if (keeps_mixed_rows(sketch)) return sum_mixed_rows({scalar, std::move(anchors), transform_}, sketch, moments);
  PhaseTimer timer(report_, "whitening");
  return SketchedMap<T>(scalar, std::move(anchors), sketch.mixing, transform_, execution_);
}

template <Real T>
KernelMachine<T> FitPath<T>::fit_sketched(const ScalarKernel& scalar) {
  std::optional<Moments> moments;
  const SketchedMap<T> map = sketched_map(scalar, moments);
  LinearSolution solution;
  if (squared_loss()) {
    if (!moments) sum(map, moments.emplace(map.n_features(), origin_));
    PhaseTimer timer(report_, "solve");
    report_.solver = "direct";
    report_.reason = format_text("direct: a sketch leaves a matrix of order {}", map.n_features());
    solution = solve_primal(*moments, problem(), execution_, report_);
  } else {
    solution = minimise_loss(map, CoefficientSpace(outputs_, map.n_features(), rows_.dim_out()));
  }
  solution.coefficients = map.anchor_coefficients(solution.coefficients);
  return finish(map.kernel_map(), solution);
}

template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
