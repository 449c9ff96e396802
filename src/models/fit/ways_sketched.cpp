// models/fit/ways_sketched.cpp -- sketched kernels: whitened features, then the same solvers, then back to anchors.
//
// mathematics.md 2b: with z(x) = D^(-1/2) Uᵀ S k(x), f = B Thetaᵀ z is a combination of kernels at the anchor rows
// alone, so what is kept is a kernel map of the anchors and its coefficients.
#include "models/fit/leave_out.hpp"
#include "models/fit/sketched_rows.hpp"
#include "models/fit/ways.hpp"

#include <carmina/core/error.hpp>

namespace carmina {
namespace {

bool sketched(const FitTask& t) { return t.sketched() && t.squared && t.separable && t.apart(); }
bool kept(const FitTask& t) { return sketched(t) && !t.missing && !t.divided && may_keep_products(t); }
double sketched_order(const FitTask& t) { return t.m; }

MemoryUse memory(const FitTask& t) {
  MemoryUse use;
  add_sketch(use, t);
  add_moments(use, t, t.m + t.p + 1, t.path ? 2 : 1);
  add_many_alphas(use, t, t.m);
  add_left_out(use, t, t.m, t.m);
  add_kept_patterns(use, t);
  return use;
}

MemoryUse kept_memory(const FitTask& t) {
  MemoryUse use = memory(t);
  use.add("mixed rows", 2 * number_bytes * t.n * t.m);
  return use;
}

template <Real T, bool keep>
PosedProblem<T> pose(FitPipeline<T>& fit) {
  const auto sketched = std::make_shared<const SketchedRows<T>>(fit, keep);
  fit.report.reason = format_text("direct: a sketch leaves a matrix of order {}", sketched->map().n_features());
  PosedProblem<T> posed{sketched->map().kernel_map()};
  posed.features = [sketched, few = rows_left_out(fit.task)](const DataRows<T>& rows) {
    return sketched->features(rows, rows.rows() <= few ? FeatureStorage::memory : FeatureStorage::none);
  };
  posed.to_map = [sketched](const Matrix<double>& Theta) { return sketched->map().anchor_coefficients(Theta); };
  return posed;
}

}  // namespace

template <Real T>
std::vector<Way<T>> sketched_ways() {
  return {{{"normal equations of a sketch that is kept", Solver::direct, kept, kept_memory, sketched_order},
           run_posed<T>,
           pose<T, true>},
          {{"normal equations of a sketch", Solver::direct, sketched, memory, sketched_order},
           run_posed<T>,
           pose<T, false>}};
}
template std::vector<Way<float>> sketched_ways<float>();
template std::vector<Way<double>> sketched_ways<double>();

}  // namespace carmina
