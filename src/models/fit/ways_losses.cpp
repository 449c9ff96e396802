// models/fit/ways_losses.cpp -- losses other than the squared one, for Fourier, exact and sketched machines alike; and
// sketches of kernels that are not separable, with any loss.
#include "models/fit/kernel_matrices.hpp"
#include "models/fit/sketched_rows.hpp"
#include "models/fit/ways.hpp"
#include "solvers/losses/convex_loss.hpp"
#include "solvers/losses/loss_rows.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace carmina {
namespace {

enum class Method { newton, lbfgs, adam };
constexpr const char* words[] = {"newton", "lbfgs", "adam"};  // of Method, in its order

bool of_loss(const FitTask& t) { return !t.squared && !t.path && t.folds == 0; }
bool smooth_or(const FitTask& t, Method method) { return method != Method::lbfgs || t.smooth; }

template <Real T>
LinearSolution minimise(FitPipeline<T>& fit, Method method, const FeatureRows& features, const CoefficientSpace& space,
                        Matrix<double> targets, Vector<double> weights, double least_alpha = 0) {
  const FitOptions& o = fit.options;
  const double alpha = std::max(fit.task.alpha, least_alpha);
  ConvexLossProblem problem{o.loss, std::move(targets), std::move(weights), alpha, o.fit_intercept};
  PhaseTimer timer(fit.report, "solve");
  const auto solved = [&](LinearSolution solution) {
    require(std::isfinite(fit.report.objective),
            "fit: the sum of the losses is not a finite number; divide the targets, or the weights and alpha, by one "
            "number");
    if (alpha > fit.task.alpha && fit.report.message.empty()) {
      fit.report.message =
          "alpha is below the rounding of the kernel: as much as that was taken; a larger alpha is advised";
    }
    return solution;
  };
  const std::string reason = fit.report.reason;
  if (method == Method::adam) {
    const AdamOptions adam = AdamOptions::with(o, o.seed);
    LinearSolution solution =
        solve_convex_loss_adam(features, space, std::move(problem), adam, fit.iterations(), fit.execution, fit.report);
    fit.report.reason =
        reason + (fit.report.reason == reason || fit.report.reason.empty() ? "" : "; " + fit.report.reason);
    return solved(std::move(solution));
  }
  const Direction direction = method == Method::lbfgs ? Direction::lbfgs : Direction::newton;
  return solved(
      solve_convex_loss(features, space, std::move(problem), direction, fit.iterations(), fit.execution, fit.report));
}

// ---- what they hold

// Vectors over the rows and Newton's matrices, of systems of this order.
void add_loss(MemoryUse& use, const FitTask& t, double order, Method method) {
  use.add("vectors over the rows", t.n * (12 * t.p + 4) * number_bytes);
  const double width = std::min(order, t.kernel_order()) + t.p + 1;
  if (method != Method::adam) {
    use.add("Newton's matrices", (method == Method::newton ? 5 : 3) * number_bytes * square(width));
    use.add("weighted features", std::min(4096.0, t.n) * (t.separable ? 1 : t.p) * width * number_bytes);
  }
  add_vectors(use, order, method == Method::newton ? 28 * t.p : 60 * t.p);
}

// Fourier or sketched features: what makes them, and all of them where they are stored.
MemoryUse features_memory(const FitTask& t, Method method, bool stored) {
  MemoryUse use;
  if (t.sketched()) {
    add_sketch(use, t);
  } else {
    add_map(use, t);
  }
  add_products(use, t);
  if (stored) use.add("features", t.n * t.m * t.scalar_bytes);
  add_loss(use, t, t.order, method);
  if (method == Method::adam)
    use.add("a window of rows", std::min(t.n * (t.d + 1), std::pow(2.0, 20)) * t.scalar_bytes);
  return use;
}

// A kernel matrix of the rows; eigenvectors and features of them where Newton's method cannot take the rows as they
// are.
MemoryUse matrix_memory(const FitTask& t, Method method) {
  MemoryUse use;
  const double order = t.kernel_order();
  if (t.fourier()) {
    add_map(use, t);
    use.add("features", t.n * t.m * (t.scalar_bytes + number_bytes));
  }
  add_rows(use, t, 3);
  use.add(format_text("matrices of order {:.0f}", order), 2 * number_bytes * square(order));
  add_loss(use, t, order, method);
  if (method != Method::newton) use.add("workspace of the eigendecomposition", number_bytes * square(order));
  return use;
}

MemoryUse blocks_memory(const FitTask& t, Method method) {
  if (t.exact()) return matrix_memory(t, method);
  MemoryUse use;
  const double anchors = anchors_of(*t.sketch, t.n);
  add_rows(use, t, 2);
  use.add(format_text("{:.0f} anchors", anchors), anchors * t.d * (3 * t.scalar_bytes + 2 * number_bytes));
  use.add("matrices of anchors", 2 * number_bytes * square(anchors * t.p));
  use.add("features", number_bytes * t.n * t.p * t.m * t.p);
  add_loss(use, t, t.m, method);
  return use;
}

// ---- how they run

template <Real T>
KernelMachine<T> run_features(FitPipeline<T>& fit, Method method, FeatureStorage storage) {
  const Index p = fit.rows.dim_out();
  const auto minimum = [&](const FeatureRows& features, const CoefficientSpace& space) {
    LinearSolution solution = minimise(fit, method, features, space, features.targets(), features.weights());
    fit.report.device = features.on_device();
    return solution;
  };
  if (fit.task.sketched()) {
    const SketchedRows<T> sketched(fit);
    const auto features = sketched.features(fit.rows, storage);
    LinearSolution solution = minimum(*features, CoefficientSpace(fit.outputs, features->features(), p));
    solution.coefficients = sketched.map().anchor_coefficients(solution.coefficients);
    return fit.finish(sketched.map().kernel_map(), solution);
  }
  const FourierMap<T> map = fit.sample_map();
  const auto features = rows_of(map, fit.rows, storage, fit.execution);
  if (fit.task.separable)
    return fit.finish(map, minimum(*features, CoefficientSpace(fit.outputs, map.n_features(), p)));
  const Expansion expansion(*fit.kernel, map.unit_frequencies(), p);
  return fit.finish(map, minimum(*features, CoefficientSpace(expansion, map.n_features())));
}

// Coefficients of the rows are w_i l'(f_i) / alpha: with slopes as they are at the best constant, the alpha that makes
// their values as large as the targets. Where alpha is a part e of it, coefficients may cancel but for e of their size.
template <Real T>
double alpha_of_targets(const FitPipeline<T>& fit, double largest, const Matrix<double>& targets,
                        const Vector<double>& weights) {
  const LossRows rows(fit.options.loss, targets, weights, fit.execution);
  std::vector<Index> numbers(static_cast<std::size_t>(targets.rows()));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  Matrix<double> F = Matrix<double>::Zero(targets.rows(), rows.outputs()), slopes;
  if (fit.options.fit_intercept) F.rowwise() += rows.target_means().transpose();
  rows.slopes(F, numbers.data(), slopes);
  slopes = slopes.array().isNaN().select(0.0, slopes);  // of targets that are missing
  rows.apply_weights(slopes);
  const double reach = fit.summary.target_reach.maxCoeff() + fit.summary.target_mean.cwiseAbs().maxCoeff();
  return reach > 0 ? largest * (slopes.stableNorm() / reach) : 0.0;
}

// f = K Theta Bᵀ + b for K given by its lower triangle, Theta (n, rank). Newton's method takes K itself where outputs
// are separate and coefficients of rows do not cancel. Otherwise K = U diag(mu) Uᵀ gives features U sqrt(mu) = K P with
// P = U / sqrt(mu), and coefficients P Theta of the rows.
template <Real T>
LinearSolution minimise_by_rows(FitPipeline<T>& fit, Method method, Matrix<double> K, Matrix<double> targets,
                                Vector<double> weights) {
  const CoefficientSpace rows(fit.outputs, K.rows(), fit.rows.dim_out());
  require(K.diagonal().maxCoeff() > 0, "fit: the kernel matrix is zero");
  mirror_lower(K, fit.execution);
  constexpr double digits = std::numeric_limits<T>::epsilon(), cancels = 5e-8;
  const double largest = K.diagonal().maxCoeff(), own_alpha = alpha_of_targets(fit, largest, targets, weights);
  if (method == Method::newton && by_rows(rows, fit.options.loss) && fit.task.alpha >= cancels * own_alpha) {
    const auto products = kernel_rows(K, fit.execution);
    LinearSolution solution = minimise(fit, method, *products, rows, std::move(targets), std::move(weights));
    Matrix<double> values;
    products->forward(solution.coefficients, values);
    const double reach = fit.summary.target_reach.maxCoeff() + values.cwiseAbs().maxCoeff();
    shorten(solution.coefficients, values, std::move(K), digits, reach, fit.execution);
    return solution;
  }
  // An alpha below the rounding of K is none: coefficients without bound would look for more there.
  Matrix<double> P, phi;
  {
    PhaseTimer timer(fit.report, "eigenvectors");
    P = whitening(K, fit.execution, 64 * digits * largest);
    phi = backend::product(backend::Transpose::no, K, P, fit.execution);
  }
  LinearSolution solution = minimise(fit, method, *stored_rows(phi, fit.execution), rows.with_features(phi.cols()),
                                     std::move(targets), std::move(weights), digits * own_alpha);
  solution.coefficients = backend::product(backend::Transpose::no, P, solution.coefficients, fit.execution);
  return solution;
}

template <Real T>
KernelMachine<T> run_matrix(FitPipeline<T>& fit, Method method) {
  HeldRows<T> held = fit.held_rows();
  Matrix<double> targets = held.Y.template cast<double>();
  Vector<double> weights = held.weights.template cast<double>();
  if (fit.task.exact()) {
    Matrix<double> K;
    {
      PhaseTimer timer(fit.report, "kernel");
      K = finite_kernel_matrix(
          exact_gram<double>(fit.scalar(), held.X.template cast<double>(), fit.transform, fit.execution));
    }
    const LinearSolution solution = minimise_by_rows(fit, method, std::move(K), std::move(targets), std::move(weights));
    return fit.finish(KernelMap<T>(fit.scalar(), std::move(held.X), fit.transform), solution);
  }
  FourierMap<T> map = fit.sample_map();
  Matrix<double> phi(held.rows(), map.n_features()), K;
  {
    PhaseTimer timer(fit.report, "features");
    Matrix<T> narrow(held.rows(), map.n_features());
    evaluate(map, held.X, View<T>(narrow), fit.execution);
    // In double: rounding of float in K would be small negative eigenvalues, which a small penalty lets grow without
    // bound.
    phi = narrow.template cast<double>();
    K = dual_gram<double>(phi, fit.execution);
  }
  LinearSolution solution = minimise_by_rows(fit, method, std::move(K), std::move(targets), std::move(weights));
  solution.coefficients = transposed_product(phi, solution.coefficients, fit.execution);
  return fit.finish(std::move(map), solution);
}

// (S (x) I_p)ᵀ V for V (s p, r): rows a of the anchors, p at a time.
Matrix<double> mix_transposed(const Mixing& mixing, const Matrix<double>& V, Index p) {
  const Index anchors = columns_of(mixing), r = V.cols();
  Matrix<double> out = Matrix<double>::Zero(anchors * p, r);
  const auto add = [&](Index component, Index anchor, double value) {
    out.middleRows(anchor * p, p) += value * V.middleRows(component * p, p);
  };
  if (const auto* sparse = std::get_if<SparseMixing>(&mixing)) {
    for (Index a = 0; a < anchors; ++a) {
      for (SparseMixing::InnerIterator it(*sparse, a); it; ++it) add(it.row(), a, it.value());
    }
  } else {
    const auto& dense = std::get<Matrix<double>>(mixing);
    for (Index a = 0; a < anchors; ++a) {
      for (Index i = 0; i < dense.rows(); ++i) add(i, a, dense(i, a));
    }
  }
  return out;
}

// Kernels that are not separable. With anchors a and S (x) I_p for the sketch, H = (S (x) I) K (S (x) I)ᵀ = U diag(mu)
// Uᵀ gives a row of features for each output, Phi(x) = K(x, a) P with P = (S (x) I)ᵀ U / sqrt(mu), and f = K(., a) P
// theta. The exact machine has every row as an anchor and S = I.
template <Real T>
KernelMachine<T> run_blocks(FitPipeline<T>& fit, Method method) {
  using backend::Transpose;
  const Index p = fit.rows.dim_out();
  const HeldRows<T> held = fit.held_rows();
  const Index n = held.rows();
  Matrix<double> P;  // (anchors p, r)
  Matrix<T> anchors;
  if (fit.task.sketch) {
    require(!needs_data(*fit.task.sketch),
            "fit: the {} sketch is for one scalar kernel, with or without an output matrix",
            sketch_name(*fit.task.sketch));
    PhaseTimer timer(fit.report, "sketch");
    const sketches::Sketch sketch = sample(*fit.task.sketch, n, fit.options.seed, fit.execution);
    anchors = sketch.anchor_rows<T>(held.X);
    const Matrix<double> I = Matrix<double>::Identity(sketch.rows() * p, sketch.rows() * p);
    const Matrix<double> St = mix_transposed(sketch.mixing, I, p);  // (anchors p, s p)
    Matrix<double> K = finite_kernel_matrix(OperatorMap<T>(*fit.kernel, anchors, p, fit.transform).gram(fit.execution));
    mirror_lower(K, fit.execution);
    const Matrix<double> KSt = backend::product(Transpose::no, K, St, fit.execution);
    P = mix_transposed(sketch.mixing,
                       whitening(backend::product(Transpose::yes, St, KSt, fit.execution), fit.execution), p);
  } else {
    anchors = held.X;
    PhaseTimer timer(fit.report, "kernel");
    P = whitening(finite_kernel_matrix(OperatorMap<T>(*fit.kernel, anchors, p, fit.transform).gram(fit.execution)),
                  fit.execution);
  }
  OperatorMap<T> map(*fit.kernel, std::move(anchors), p, fit.transform);
  const Index columns = map.n_features() * p;
  Matrix<double> phi(n * p, P.cols());
  {
    PhaseTimer timer(fit.report, "features");
    const Index step = std::max<Index>(1, 4'000'000 / (columns * p));  // rows whose blocks take 32 MB
    std::vector<double> blocks;
    for (Index first = 0; first < n; first += step) {
      const Index count = std::min(step, n - first);
      blocks.resize(static_cast<std::size_t>(count * columns * p));
      map.blocks(held.X.middleRows(first, count), blocks.data(), fit.execution);
      // (row, anchor, a, b) -> (row a, anchor b)
      Matrix<double> K(count * p, columns);
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < map.n_features(); ++j) {
          K.block(i * p, j * p, p, p) =
              Eigen::Map<const Matrix<double>>(blocks.data() + (i * map.n_features() + j) * p * p, p, p);
        }
      }
      phi.middleRows(first * p, count * p) = backend::product(Transpose::no, K, P, fit.execution);
      fit.execution.checkpoint({"features", first + count, n});
    }
  }
  const LinearSolution found =
      minimise(fit, method, *stored_blocks(phi, p, fit.execution), CoefficientSpace::of_blocks(P.cols()),
               held.Y.template cast<double>(), held.weights.template cast<double>());
  const Matrix<double> c = backend::product(Transpose::no, P, found.coefficients, fit.execution);
  return fit.finish(std::move(map), {Eigen::Map<const Matrix<double>>(c.data(), columns / p, p), found.intercept});
}

double loss_order(const FitTask& t) { return t.exact() ? t.kernel_order() : t.order; }

// Rows of the table for one of them.
template <Real T, Method method>
void add_ways(std::vector<Way<T>>& table) {
  constexpr bool by_itself = method == Method::newton;
  const auto add = [&](const char* name, bool (*applies)(const FitTask&), MemoryUse (*memory)(const FitTask&),
                       KernelMachine<T> (*run)(FitPipeline<T>&, const Way<T>&)) {
    constexpr bool batches = method == Method::adam;
    table.push_back(
        {{name, {words[static_cast<int>(method)], false, batches}, applies, memory, loss_order, nullptr, by_itself},
         run});
  };
  add(
      "a loss over a kernel matrix",
      [](const FitTask& t) {
        return of_loss(t) && smooth_or(t, method) && t.separable && (t.exact() || (t.fourier() && t.fewer_rows()));
      },
      [](const FitTask& t) { return matrix_memory(t, method); },
      [](FitPipeline<T>& fit, const Way<T>&) { return run_matrix(fit, method); });
  const auto has_features = [](const FitTask& t) {
    return of_loss(t) && smooth_or(t, method) && (t.fourier() || (t.sketched() && t.separable));
  };
  add(
      "a loss over stored features", has_features, [](const FitTask& t) { return features_memory(t, method, true); },
      [](FitPipeline<T>& fit, const Way<T>&) { return run_features(fit, method, FeatureStorage::memory); });
  add(
      "a loss over streamed features", has_features, [](const FitTask& t) { return features_memory(t, method, false); },
      [](FitPipeline<T>& fit, const Way<T>&) { return run_features(fit, method, FeatureStorage::none); });
  add(
      "a loss over blocks of features",
      [](const FitTask& t) {
        return smooth_or(t, method) && !t.separable && !t.path && t.folds == 0 &&
               (t.sketched() || (t.exact() && !t.squared));
      },
      [](const FitTask& t) { return blocks_memory(t, method); },
      [](FitPipeline<T>& fit, const Way<T>&) { return run_blocks(fit, method); });
}

}  // namespace

template <Real T>
std::vector<Way<T>> loss_ways() {
  std::vector<Way<T>> table;
  add_ways<T, Method::newton>(table);
  add_ways<T, Method::lbfgs>(table);
  add_ways<T, Method::adam>(table);
  return table;
}
template std::vector<Way<float>> loss_ways<float>();
template std::vector<Way<double>> loss_ways<double>();

// U (Uᵀ values / mu) over the largest mu, the others having less of the values than would be seen.
void shorten(Matrix<double>& c, const Matrix<double>& values, Matrix<double> K, double digits, double reach,
             const Execution& execution) {
  const double seen = std::sqrt(digits) / 10 * reach;
  if (!(digits * K.diagonal().maxCoeff() * c.stableNorm() > seen) || !values.allFinite()) return;
  const double least = 64 * digits * K.diagonal().maxCoeff();
  const Index n = K.rows();
  Vector<double> mu(n);
  backend::symmetric_eigen(n, K.data(), K.outerStride(), mu.data(), execution);  // row k: the k-th eigenvector
  Matrix<double> turned = backend::product(backend::Transpose::no, K, values, execution);
  double left = 0;
  for (Index k = 0; k < n; ++k) {
    const double here = turned.row(k).squaredNorm();
    const bool small = left + here <= seen * seen / 1000;
    left += small ? here : std::numeric_limits<double>::infinity();
    turned.row(k) *= small || mu[k] <= least ? 0.0 : 1 / mu[k];
  }
  c = backend::product(backend::Transpose::yes, K, turned, execution);
}

Matrix<double> whitening(Matrix<double> H, const Execution& execution, double floor) {
  const Index size = H.rows();
  Vector<double> mu(size);
  backend::symmetric_eigen(size, H.data(), H.outerStride(), mu.data(), execution);  // row k: the k-th eigenvector
  const double cutoff = std::max(floor, mu[size - 1] * std::max(static_cast<double>(size) * 2.2e-16, 1e-12));
  Index rank = 0;
  while (rank < size && mu[size - 1 - rank] > cutoff) ++rank;
  require(rank > 0, "fit: the kernel matrix is zero");
  return (mu.tail(rank).cwiseSqrt().cwiseInverse().asDiagonal() * H.bottomRows(rank)).transpose();
}

}  // namespace carmina
