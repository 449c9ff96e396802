// fuzz/small_models.cpp -- fits of some rows by every kind of map, loss, coupling and inference.
#include "fuzz/small_models.hpp"

#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/model_inputs.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <cmath>
#include <limits>

namespace carmina::fuzz {
namespace {

constexpr Index rows = 9, d = 2, p = 2;

Matrix<double> waves(Index columns, double phase) {
  return Matrix<double>::NullaryExpr(rows, columns, [&](Index i, Index j) {
    return std::sin(phase + 1.7 * static_cast<double>(i) + 2.3 * static_cast<double>(j));
  });
}

FitOptions options_for(const std::string& approximation) {
  FitOptions options;
  options.kernel_name = "gaussian";
  options.length_scale = 1.0;
  options.metric = MetricRule::identity;
  options.approximation = approximation;
  options.n_components = 4;
  options.alpha = 0.1;
  options.scale_inputs = false;
  options.execution.threads = 1;
  return options;
}

template <Real T = double>
ModelFile machine(const FitOptions& options, const Matrix<double>& Y = waves(p, 0.5), bool variances = false) {
  const Matrix<T> X = (1.5 + waves(d, 0.0).array()).matrix().template cast<T>(), targets = Y.cast<T>();
  return KernelMachine<T>::fit(X, targets, options).to_file(KernelStorage::in_file, variances);
}

ModelFile mixture(Inference inference, OutputCoupling coupling = LearntFactors{}) {
  SpectralMixtureOptions options;
  options.n_mixtures = 2;
  options.n_components = 4;
  options.n_inducing = 4;
  options.max_iter = 2;
  options.inference = inference;
  options.coupling = std::move(coupling);
  options.execution.threads = 1;
  const Matrix<double> X = waves(d, 0.0), Y = waves(p, 0.5);
  return SpectralMixtureMachine::fit(X, Y, options).to_file();
}

// Two members, and bands.
ModelFile series() {
  SpectralMixtureOptions options;
  options.n_mixtures = 2;
  options.max_iter = 2;
  options.inference = Inference::automatic;
  options.execution.threads = 1;
  Matrix<double> X(32, 1), Y(32, 1);
  for (Index i = 0; i < 32; ++i) {
    const auto t = static_cast<double>(i);
    X(i, 0) = t, Y(i, 0) = std::sin(t) + 0.3 * std::sin(2.7 * t * t);
  }
  return SpectralMixtureMachine::fit(X, Y, options).to_file();
}

std::vector<std::pair<std::string, ModelFile>> made() {
  std::vector<std::pair<std::string, ModelFile>> all;
  const auto with = [&](const std::string& name, const std::string& approximation, const auto& change,
                        const auto&... more) {
    FitOptions options = options_for(approximation);
    change(options);
    all.emplace_back(name, machine(options, more...));
  };
  const auto nothing = [](FitOptions&) {};
  all.emplace_back("float", machine<float>(options_for("fourier")));
  with("variances", "fourier", [](FitOptions& o) { o.keep_moments = true; }, waves(p, 0.5), true);
  with("exact", "exact", nothing);
  with("sketch", "sub_sample", nothing);
  with("scaled", "fourier", [](FitOptions& o) {
    o.scale_inputs = InputScaling::robust;
    o.fill_missing = true;
    o.input_names = {"a", "b"};
    o.target_names = {"u", "v"};
  });
  Matrix<double> gaps = waves(p, 0.5);
  gaps(1, 0) = gaps(4, 1) = gaps(5, 1) = std::numeric_limits<double>::quiet_NaN();
  with("missing", "exact", nothing, gaps);
  for (const Sampling sampling : {Sampling::hadamard, Sampling::phases}) {
    with(sampling_name(sampling), "fourier", [&](FitOptions& o) {
      o.sampling = sampling;
      o.n_components = 32;
    });
  }
  const Matrix<double> A = (Matrix<double>(2, 2) << 2, 1, 1, 2).finished();
  for (const char* approximation : {"fourier", "exact"}) {
    const auto of = [&](const char* what) { return std::string(what) + "_" + approximation; };
    with(of("matrix"), approximation, [&](FitOptions& o) { o.coupling = OutputMatrix(A); });
    with(of("curl_free"), approximation, [](FitOptions& o) { o.coupling = CurlFreeCoupling{}; });
    with(of("sum"), approximation, [&](FitOptions& o) {
      o.kernel = 0.5 * Kernel(CurlFree(Gaussian(1.0))) + Kernel(DivergenceFree(Gaussian(2.0))) +
                 Kernel(Decomposable(Matern(1.0, 2.5), A));
      o.n_components = 6;
    });
    with(of("product"), approximation, [](FitOptions& o) {  // of the same columns, of one, and with inputs as features
      const InputColumns first(std::vector<Index>{0});
      o.kernel = CurlFree(Gaussian(1.0), false, true) * Kernel(Gaussian(2.0)) +
                 Kernel(Linear{}).on(first) * Kernel(Periodic(0.8, 2.0)) + 0.5 * Kernel(Constant{});
      o.n_components = 6;
    });
    with(of("mixture_kernel"), approximation, [](FitOptions& o) {
      o.kernel = Kernel(SpectralMixture(Vector<double>::Ones(2), Matrix<double>::Constant(2, d, 0.3),
                                        Matrix<double>::Constant(2, d, 0.2)));
    });
  }
  with("categories", "exact", nothing);
  const InputColumn colour{"colour", ColumnKind::category, {"blue", "red"}};
  put_encoder(all.back().second, InputEncoder({colour}, UnseenLevel::zeros, DateUnit::days));
  with("polynomial", "exact", [](FitOptions& o) {
    o.kernel_name = "polynomial";
    o.length_scale.reset();
  });
  const Matrix<double> signs = waves(1, 0.5).unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
  with("logistic", "fourier", [](FitOptions& o) { o.loss = Logistic{}; }, signs);
  with(
      "quantiles", "fourier",
      [](FitOptions& o) {
        o.loss = make_loss("pinball", {{"levels", {0.1, 0.9}}});
        o.non_crossing = true;
      },
      waves(1, 0.5));
  for (const Inference inference : {Inference::fourier, Inference::exact, Inference::inducing}) {
    all.emplace_back("spectral_mixture_" + inference_name(inference), mixture(inference));
  }
  all.emplace_back("series", series());
  all.emplace_back("spectral_mixture_curl_free", mixture(Inference::fourier, CurlFreeCoupling{}));
  return all;
}

}  // namespace

const std::vector<std::pair<std::string, ModelFile>>& small_models() {
  static const auto all = made();
  return all;
}

}  // namespace carmina::fuzz
