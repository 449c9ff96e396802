// models/fit/sketched_rows.cpp -- sampling, whitening, and kernel values that are computed once.
#include "models/fit/sketched_rows.hpp"
#include "backends/tiled.hpp"
#include "models/fit/ways.hpp"

#include <cmath>
#include <concepts>

namespace carmina {
namespace {

constexpr double most_kept_bytes = 256e6;

bool dense(const sketches::Distribution& sketch) {
  return std::holds_alternative<sketches::Gaussian>(sketch) || std::holds_alternative<sketches::Hadamard>(sketch);
}

}  // namespace

double anchors_of(const sketches::Distribution& sketch, double n) {
  const auto size = static_cast<double>(n_components(sketch));
  return std::visit(
      [&]<class S>(const S& one) {
        double anchors = n;
        if constexpr (requires { one.density; }) {
          const double share = one.density.value_or(std::min(1.0, sketches::usual_entries / n));
          anchors = 1 + n * (1 - std::pow(1 - std::min(share, 1.0), size)) + 3 * std::sqrt(n);
        } else if constexpr (requires { one.m; }) {
          anchors = size * static_cast<double>(one.m);
        } else if constexpr (std::same_as<S, sketches::SubSample> || std::same_as<S, sketches::LeverageScores> ||
                             std::same_as<S, sketches::PivotedCholesky>) {
          anchors = size;
        }
        return std::min(n, anchors);
      },
      sketch);
}

bool may_keep_products(const FitTask& t) {
  return t.scalar_bytes == number_bytes && !t.path && t.folds == 0 && !dense(*t.sketch) &&
         anchors_of(*t.sketch, t.n) > t.m && number_bytes * t.n * t.m <= most_kept_bytes;
}

void add_sketch(MemoryUse& use, const FitTask& t) {
  const double anchors = anchors_of(*t.sketch, t.n);
  if (needs_data(*t.sketch)) add_rows(use, t, 2);
  use.add(format_text("{:.0f} anchors", anchors), anchors * t.d * (3 * t.scalar_bytes + 2 * number_bytes));
  use.add("the sketch", dense(*t.sketch) ? 2 * number_bytes * t.m * anchors : 60 * anchors);
  add_system(use, "a matrix", t.m, true);
  use.add("features of the anchors", number_bytes * t.m * (t.m + 16 * 128));
  add_vectors(use, t.m + anchors, 4 * t.p);
}

template <Real T>
SketchedRows<T>::SketchedRows(FitPipeline<T>& fit, bool keep) : execution_(fit.execution), own_(&fit.rows) {
  const sketches::Distribution& distribution = *fit.task.sketch;
  const sketches::Sketch sketch = [&] {
    PhaseTimer timer(fit.report, "sketch");
    if (!needs_data(distribution)) return sample(distribution, fit.summary.rows, fit.options.seed, execution_);
    return sample<T>(distribution, fit.options.seed, fit.held_rows().X, fit.scalar(), fit.transform, execution_);
  }();
  Matrix<T> anchors = fit.rows.gather(sketch.anchors, execution_).X;
  const bool all_weighted = fit.rows.rows() == fit.summary.rows;
  if (keep && all_weighted && sketch.mixing.index() == 0 && anchors.rows() > sketch.rows()) {
    keep_products(fit, {fit.scalar(), std::move(anchors), fit.transform}, sketch);
    return;
  }
  PhaseTimer timer(fit.report, "whitening");
  map_.emplace(fit.scalar(), std::move(anchors), sketch.mixing, fit.transform, execution_);
}

template <Real T>
void SketchedRows<T>::keep_products(FitPipeline<T>& fit, KernelMap<T> kernel_map, const sketches::Sketch& sketch) {
  if constexpr (std::same_as<T, double>) {
    Matrix<double> G(fit.summary.rows, sketch.rows());
    {
      PhaseTimer timer(fit.report, "kernel");
      fit.rows.for_blocks("sketching", execution_, [&](const RowBlock<double>& block) {
        mixed_kernel(kernel_map, sketch.mixing, block.inputs(), G.middleRows(block.first_row, block.rows), execution_);
      });
    }
    PhaseTimer timer(fit.report, "whitening");
    const Matrix<double> at_anchors = G(sketch.anchors, Eigen::all);
    map_.emplace(std::move(kernel_map), sketch.mixing, whitening_from(sketch.mixing, at_anchors, execution_));
    kept_ = backend::product(backend::Transpose::no, G, map_->whitening(), execution_);
  } else {
    fail("fit: K Sᵀ is kept in double alone");
  }
}

template <Real T>
std::unique_ptr<FeatureRows> SketchedRows<T>::features(const DataRows<T>& rows, FeatureStorage storage) const {
  if (kept_.size() > 0 && &rows == own_) return rows_of(*map_, rows, kept_, execution_);
  return rows_of(*map_, rows, storage, execution_);
}

template class SketchedRows<float>;
template class SketchedRows<double>;

}  // namespace carmina
