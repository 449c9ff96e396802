// tests/numbers/estimators_test.cpp -- fits without an exact minimum beside them, on the same tables: several outputs,
// choices by the data, mixtures, tuning. What they end in is finite, and no worse than a constant on its own rows.
#include "cases.hpp"
#include "counts.hpp"
#include "exact_minimum.hpp"

#include <gtest/gtest.h>
#include <carmina/models/posterior.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/models/tune.hpp>

#include <functional>

namespace carmina::numbers_test {
namespace {

// The loss of a whole fit may be more than that of the best constant by rounding alone: J(f) <= J(0), and the penalty
// is not negative. Of squared and pinball losses, which are sums over the outputs.
template <Real T>
std::string worse_than_nothing(const Loss& loss, const Matrix<T>& F, const Matrix<T>& y, const Vector<T>& w,
                               bool converged) {
  const double eps = std::numeric_limits<T>::epsilon();
  Exact found = 0, nothing = 0,
        slack = 64.0 * static_cast<double>(F.size()) * std::numeric_limits<double>::denorm_min();
  for (Index j = 0; j < F.cols(); ++j) {
    const auto* pinball = std::get_if<Pinball>(&loss);
    const Loss one = pinball ? Loss(Pinball({pinball->level(j)})) : loss;
    const Vector<double> target = y.col(std::min(j, y.cols() - 1)).template cast<double>();
    const double off = 64 * eps * target.cwiseAbs().maxCoeff() + 64.0 * std::numeric_limits<T>::denorm_min();
    nothing += objective_of_nothing({one, {}, target, w.template cast<double>(), 0, true});
    for (Index i = 0; i < F.rows(); ++i) {
      const Exact weight = w[i], f = F(i, j), here = loss_of(one, f, target[i]);
      found += weight * here;
      slack += weight * std::max<Exact>(loss_of(one, f + Exact(off), target[i]) - here, 0);
      slack += weight * std::max<Exact>(loss_of(one, f - Exact(off), target[i]) - here, 0);
      slack += Exact(64 * eps) * weight * loss_of(one, 0, target[i]);
    }
  }
  if (!F.allFinite()) return "a prediction is not finite";
  if (!converged || found <= nothing * Exact(1.01) + slack) return "";
  return "loss " + found.str(6) + ", of a constant " + nothing.str(6);
}

struct Estimator {
  std::string name;
  FitOptions options;
  Index outputs = 1;
};

std::vector<Estimator> estimators() {
  std::vector<Estimator> all;
  const auto with = [&](const std::string& name, const std::string& approximation, const auto& change, Index p) {
    FitOptions options = given_numbers();
    options.kernel = Kernel(Gaussian(1.0));
    options.approximation = approximation;
    options.n_components = approximation == "fourier" ? 32 : 3;
    options.execution.threads = 1;
    change(options);
    all.push_back({name + " " + approximation, options, p});
  };
  Matrix<double> A(2, 2);
  A << 2, 1, 1, 2;
  for (const char* approximation : {"fourier", "exact", "sub_sample"}) {
    with("two outputs", approximation, [](FitOptions&) {}, 2);
    with("coupled", approximation, [&](FitOptions& o) { o.kernel = Decomposable(Gaussian(1.0), A); }, 2);
    with("curl-free", approximation, [](FitOptions& o) { o.kernel = CurlFree(Gaussian(1.0)); }, 2);
    with(
        "sum", approximation, [](FitOptions& o) { o.kernel = CurlFree(Gaussian(1.0)) + DivergenceFree(Gaussian(2.0)); },
        2);
    with("joint quantiles", approximation, [](FitOptions& o) { o.loss = Pinball({0.1, 0.5, 0.9}); }, 1);
  }
  for (const Sampling sampling : {Sampling::orthogonal, Sampling::hadamard, Sampling::phases, Sampling::sobol}) {
    with(sampling_name(sampling), "fourier", [&](FitOptions& o) { o.sampling = sampling; }, 1);
  }
  for (const AlphaScore score : {AlphaScore::gcv, AlphaScore::leave_one_out}) {
    with(alpha_score_name(score), "fourier", [&](FitOptions& o) { o.alpha_by = score; }, 1);
    with(alpha_score_name(score), "exact", [&](FitOptions& o) { o.alpha_by = score; }, 1);
  }
  with("evidence", "fourier", [](FitOptions& o) { o.by_evidence = true; }, 1);
  Estimator open{"all chosen by the data", {}, 1};
  open.options.execution.threads = 1;
  all.push_back(open);
  for (const Loss& loss : {Loss(Huber(1)), Loss(Pinball({0.3}))}) {
    open.name = "chosen by the data, " + loss_name(loss), open.options.loss = loss;
    all.push_back(open);
  }
  return all;
}

template <class T>
class EstimatorNumbers : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EstimatorNumbers, Precisions);

// Two outputs: the target, and it against the rows.
template <Real T>
Matrix<T> targets_of(const Table<T>& table, Index outputs) {
  Matrix<T> y(table.y.rows(), outputs);
  y.col(0) = table.y.col(0);
  if (outputs > 1) y.col(1) = table.y.col(0).reverse();
  return y;
}

TYPED_TEST(EstimatorNumbers, AreNoWorseThanAConstantOrRefused) {
  using T = TypeParam;
  Counts counts;
  Share share(all_numbers, 41);
  for (const Estimator& estimator : estimators()) {
    for (const Table<T>& table : tables<T>()) {
      for (const double alpha : alphas) {
        const bool given = estimator.options.alpha && !estimator.options.alpha_by && !estimator.options.by_evidence;
        if (!given && alpha != 1) continue;
        if (!share.has_next()) continue;
        FitOptions options = estimator.options;
        if (given) options.alpha = alpha;
        const Matrix<T> y = targets_of(table, estimator.outputs);
        const std::string name = describe<T>(share, estimator.name, table.name, alpha);
        counts.take(name, [&] {
          const auto machine = KernelMachine<T>::fit(table.X, y, options, table.w.data());
          if (why_no_deviation(machine.record()).empty()) {
            const Matrix<double> deviation = Posterior<T>(machine).deviation(table.X);
            if (!deviation.allFinite() || deviation.minCoeff() < 0) return std::string("a deviation is not finite");
          }
          const bool converged = machine.record().report.status == SolveStatus::converged;
          return worse_than_nothing<T>(machine.record().loss, machine.predict(table.X), y, table.w, converged);
        });
      }
    }
  }
  counts.report(sizeof(T) == 4 ? "other estimators, float" : "other estimators, double");
}

TYPED_TEST(EstimatorNumbers, MixturesAndTuning) {
  using T = TypeParam;
  Counts counts;
  Share share(all_numbers, 7);
  for (const Table<T>& table : tables<T>()) {
    for (const Inference inference : {Inference::fourier, Inference::exact, Inference::inducing}) {
      if (!share.has_next()) continue;
      counts.take(describe<T>(share, "mixture " + inference_name(inference), table.name, 0), [&] {
        SpectralMixtureOptions options;
        options.n_mixtures = 2, options.n_components = 8, options.n_inducing = 4, options.max_iter = 5;
        options.inference = inference;
        options.execution.threads = 1;
        const auto machine = SpectralMixtureMachine::fit(table.X, table.y, options, table.w.data());
        const Matrix<double> X = table.X.template cast<double>(), y = table.y.template cast<double>();
        const auto found = machine.predict_observation(X);
        if (!found.covariance.allFinite() || found.covariance.minCoeff() < 0) return std::string("a variance is wrong");
        // In the data's precision: features of float rows are learnt from in float.
        return worse_than_nothing<T>(Squared{}, found.mean.template cast<T>(), table.y, table.w, true);
      });
    }
    for (const std::string approximation : {"fourier", "exact"}) {
      if (!share.has_next()) continue;
      counts.take(describe<T>(share, "tuned " + approximation, table.name, 0), [&] {
        TuneOptions options;
        options.fit = given_numbers();
        options.fit.approximation = approximation;
        options.fit.n_components = 16;
        options.fit.execution.threads = 1;
        options.alphas = {1e-6, 1, 1e6};
        options.folds = 2;
        const auto found = tune<T>(table.X, table.y, options);
        const Vector<T> ones = Vector<T>::Ones(table.y.rows());
        return worse_than_nothing<T>(Squared{}, found.machine.predict(table.X), table.y, ones, true);
      });
    }
  }
  counts.report(sizeof(T) == 4 ? "mixtures and tuning, float" : "mixtures and tuning, double");
}

}  // namespace
}  // namespace carmina::numbers_test
