// models/machine/predictor.cpp -- rows into the model's precision, predictions back into the caller's.
#include "random/quantiles.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/model_inputs.hpp>
#include <carmina/models/posterior.hpp>
#include <carmina/models/predictor.hpp>

#include <cmath>
#include <mutex>
#include <utility>
#include <variant>

namespace carmina {
namespace {

// X in the model's precision; the caller's own where it is the same.
template <Real M, Real T>
decltype(auto) in_precision(const ConstView<T>& X) {
  if constexpr (std::same_as<M, T>) {
    return (X);
  } else {
    return Matrix<M>(X.template cast<M>());
  }
}

// Rows as the model takes them: those of the encoder's table are encoded.
template <Real T>
struct ModelRows {
  ModelRows(const ConstView<T>& given, const InputEncoder* encoder)
      : own(encoder && encoder->takes_numbers() && given.cols() != encoder->dim_in() ? encoder->encode<T>(given)
                                                                                     : Matrix<T>()),
        X(own.cols() > 0 ? ConstView<T>(own) : given) {}
  Matrix<T> own;
  ConstView<T> X;
};

template <Real M>
M scalar_of(const KernelMachine<M>& machine);
template <class Machine>
using ScalarOf = decltype(scalar_of(std::declval<const Machine&>()));

template <Real T>
void check_rows(const ConstView<T>& X, Index dim_in, bool fills, bool narrow) {
  require(X.cols() == dim_in, "predict: X has {} columns, the model takes {}", X.cols(), dim_in);
  if (X.allFinite() && !narrow) return;
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < X.cols(); ++j) {
      const T x = X(i, j);
      if (std::isfinite(x) && (!narrow || std::isfinite(static_cast<float>(x)))) continue;
      if (std::isnan(x) && fills) continue;
      if (std::isfinite(x)) fail("predict: row {}, column {}: {} is too large for a float32 model", i + 1, j + 1, x);
      fail("predict: row {}, column {}: expected a finite number, found {}", i + 1, j + 1, x);
    }
  }
}

// In the caller's precision, where a number of the model's may be none. Ends of intervals may be infinite.
template <Real T, Real M>
Matrix<T> finite_in(const Matrix<M>& values, const char* what, const char* of_what, bool may_be_infinite = false) {
  Matrix<T> out = values.template cast<T>();
  for (Index i = 0; i < out.rows(); ++i) {
    if (may_be_infinite ? !out.row(i).hasNaN() : out.row(i).allFinite()) continue;
    throw RowError(what, i, format_text("the inputs are too large: the {} is not a finite number", of_what));
  }
  return out;
}

}  // namespace

struct Predictor::State {
  std::variant<AnyKernelMachine, SpectralMixtureMachine> model;

  // Made by the first call that needs it.
  mutable std::mutex mutex;
  mutable std::shared_ptr<const Posterior<float>> posterior_float;
  mutable std::shared_ptr<const Posterior<double>> posterior_double;

  std::shared_ptr<const InputEncoder> encoder;

  template <class Machine>
  State(Machine machine, std::shared_ptr<const InputEncoder> inputs)
      : model(std::move(machine)), encoder(std::move(inputs)) {
    const Index d = visit([](const auto& m) { return m.dim_in(); });
    require(!encoder || encoder->dim_in() == d, "an encoder of {} numbers for a model of {} inputs",
            encoder ? encoder->dim_in() : 0, d);
  }

  // f(machine), of whichever kind and precision
  template <class F>
  auto visit(F&& f) const {
    if (const auto* mixture = std::get_if<SpectralMixtureMachine>(&model)) return f(*mixture);
    return std::visit(f, std::get<AnyKernelMachine>(model));
  }

  template <Real M>
  std::shared_ptr<const Posterior<M>> posterior(const KernelMachine<M>& machine, const Execution& execution) const {
    const std::lock_guard lock(mutex);
    auto& kept = [this]() -> auto& {
      if constexpr (std::same_as<M, float>) {
        return posterior_float;
      } else {
        return posterior_double;
      }
    }();
    if (!kept) kept = std::make_shared<const Posterior<M>>(machine, execution);
    return kept;
  }

  template <Real T>
  Matrix<T> predict(ConstView<T> given, const Execution& execution) const {
    const ModelRows<T> rows(given, encoder.get());
    const ConstView<T>& X = rows.X;
    return visit([&]<class Machine>(const Machine& machine) -> Matrix<T> {
      if constexpr (std::same_as<Machine, SpectralMixtureMachine>) {
        check_rows(X, machine.dim_in(), false, false);
        return finite_in<T>(machine.predict(in_precision<double>(X), execution), "predict", "prediction");
      } else {
        using M = ScalarOf<Machine>;
        check_rows(X, machine.dim_in(), machine.record().fill_missing, sizeof(M) < sizeof(T));
        return finite_in<T>(machine.predict(in_precision<M>(X), execution), "predict", "prediction");
      }
    });
  }

  template <Real T>
  Matrix<T> deviation(ConstView<T> given, const Execution& execution) const {
    const ModelRows<T> rows(given, encoder.get());
    const ConstView<T>& X = rows.X;
    return visit([&]<class Machine>(const Machine& machine) -> Matrix<T> {
      if constexpr (std::same_as<Machine, SpectralMixtureMachine>) {
        check_rows(X, machine.dim_in(), false, false);
        const Matrix<double> covariance = machine.predict_observation(in_precision<double>(X), execution).covariance;
        Matrix<double> out(X.rows(), machine.dim_out());
        for (Index a = 0; a < out.cols(); ++a) out.col(a) = covariance.col(a * (out.cols() + 1)).cwiseSqrt();
        return finite_in<T>(out, "predict_std", "deviation");
      } else {
        using M = ScalarOf<Machine>;
        check_rows(X, machine.dim_in(), machine.record().fill_missing, sizeof(M) < sizeof(T));
        return finite_in<T>(posterior<M>(machine, execution)->deviation(in_precision<M>(X), execution), "predict_std",
                            "deviation");
      }
    });
  }

  // mean ± q deviations, q of the normal distribution; of p outputs together that of a p-th of what may fall outside.
  template <Real T>
  Matrix<T> normal_interval(ConstView<T> X, double coverage, bool joint, const Execution& execution) const {
    require(coverage > 0 && coverage < 1, "predict_interval: coverage must be between 0 and 1, found {}", coverage);
    const auto& machine = std::get<SpectralMixtureMachine>(model);
    const Index p = machine.dim_out();
    const Matrix<T> unit = deviation(X, execution);
    const ModelRows<T> rows(X, encoder.get());
    const Matrix<double> mean = machine.predict(in_precision<double>(rows.X), execution);
    const double q = normal_quantile(1 - (1 - coverage) / (joint ? 2 * static_cast<double>(p) : 2));
    Matrix<double> out(X.rows(), 2 * p);
    for (Index a = 0; a < p; ++a) {
      const Vector<double> half = q * unit.col(a).template cast<double>();
      out.col(2 * a) = mean.col(a) - half;
      out.col(2 * a + 1) = mean.col(a) + half;
    }
    return finite_in<T>(out, "predict_interval", "end of an interval");
  }

  template <Real T>
  Matrix<T> interval(ConstView<T> given, double coverage, bool joint, const Execution& execution) const {
    if (std::holds_alternative<SpectralMixtureMachine>(model))
      return normal_interval<T>(given, coverage, joint, execution);
    const ModelRows<T> rows(given, encoder.get());
    const ConstView<T>& X = rows.X;
    const auto ends = [&]<Real M>(const KernelMachine<M>& machine) -> Matrix<T> {
      check_rows(X, machine.dim_in(), machine.record().fill_missing, sizeof(M) < sizeof(T));
      const auto kept = posterior<M>(machine, execution);
      return finite_in<T>(kept->interval(in_precision<M>(X), coverage, joint, execution), "predict_interval",
                          "end of an interval", true);
    };
    return std::visit(ends, std::get<AnyKernelMachine>(model));
  }

  template <Real T>
  Matrix<T> derive(Derived what, ConstView<T> given, bool deviations, const Execution& execution) const {
    const ModelRows<T> rows(given, encoder.get());
    const ConstView<T>& X = rows.X;
    const auto* machines = std::get_if<AnyKernelMachine>(&model);
    require(machines, "{}: it is known of kernel machines, the model is a spectral mixture", derived_name(what));
    const auto of = [&]<Real M>(const KernelMachine<M>& machine) -> Matrix<T> {
      check_rows(X, machine.dim_in(), machine.record().fill_missing, sizeof(M) < sizeof(T));
      const Matrix<M> own = in_precision<M>(X);
      const bool wraps = encoder && !encoder->wrapped().empty();
      if (wraps) check_derived_inputs(machine.kernel(), *encoder, what, deviations);
      if (!deviations) {
        Matrix<double> found = carmina::derive<M>(machine, what, own, execution);
        if (wraps && what == Derived::gradient) found = encoder->by_columns(own.template cast<double>(), found);
        return finite_in<T>(found, "derive", "result");
      }
      return finite_in<T>(posterior<M>(machine, execution)->derived_deviation(what, own, execution), "derived_std",
                          "deviation");
    };
    return std::visit(of, *machines);
  }

  template <Real T>
  std::vector<Matrix<T>> sample(ConstView<T> given, Index draws, std::uint64_t seed, const Execution& execution) const {
    const ModelRows<T> rows(given, encoder.get());
    const ConstView<T>& X = rows.X;
    const auto drawn = visit([&]<class Machine>(const Machine& machine) -> std::vector<Matrix<double>> {
      if constexpr (std::same_as<Machine, SpectralMixtureMachine>) {
        check_rows(X, machine.dim_in(), false, false);
        return machine.sample(in_precision<double>(X), draws, seed, execution);
      } else {
        using M = ScalarOf<Machine>;
        check_rows(X, machine.dim_in(), machine.record().fill_missing, sizeof(M) < sizeof(T));
        return posterior<M>(machine, execution)->sample(in_precision<M>(X), draws, seed, execution);
      }
    });
    std::vector<Matrix<T>> out;
    for (const Matrix<double>& one : drawn) out.push_back(finite_in<T>(one, "sample", "function"));
    return out;
  }
};

Predictor::Predictor(AnyKernelMachine machine, std::shared_ptr<const InputEncoder> encoder)
    : state_(std::make_shared<const State>(std::move(machine), std::move(encoder))) {}
Predictor::Predictor(SpectralMixtureMachine machine, std::shared_ptr<const InputEncoder> encoder)
    : state_(std::make_shared<const State>(std::move(machine), std::move(encoder))) {}

Predictor Predictor::from_file(const ModelFile& file, const std::string& source) {
  const auto type = file.texts.find("type");
  require(type != file.texts.end() && (type->second == "kernel_machine" || type->second == "spectral_mixture"),
          "{}: not a model that predicts; expected a kernel machine or a spectral mixture, found '{}'", source,
          type == file.texts.end() ? "" : type->second);
  const auto with_encoder = [&](auto machine) {
    const Index d = Predictor(machine).dim_in();
    return Predictor(std::move(machine), get_encoder(file, d, source));
  };
  if (type->second == "spectral_mixture") return with_encoder(SpectralMixtureMachine::from_file(file, source));
  return with_encoder(kernel_machine_from_file(file, source));
}

const std::shared_ptr<const InputEncoder>& Predictor::encoder() const { return state_->encoder; }

std::string Predictor::kind() const { return kernel_machine() ? "kernel_machine" : "spectral_mixture"; }

std::string Predictor::precision() const {
  const AnyKernelMachine* machine = kernel_machine();
  return machine && std::holds_alternative<KernelMachine<float>>(*machine) ? "float32" : "float64";
}

Index Predictor::dim_in() const {
  return state_->visit([](const auto& machine) { return machine.dim_in(); });
}
Index Predictor::row_length() const {
  const auto& encoder = state_->encoder;
  return encoder && encoder->takes_numbers() ? static_cast<Index>(encoder->columns().size()) : dim_in();
}
Index Predictor::dim_out() const {
  return state_->visit([](const auto& machine) { return machine.dim_out(); });
}
const FitRecord& Predictor::record() const {
  return *state_->visit([](const auto& machine) { return &machine.record(); });
}
std::vector<std::string> Predictor::output_names() const { return carmina::output_names(record(), dim_out()); }

const AnyKernelMachine* Predictor::kernel_machine() const { return std::get_if<AnyKernelMachine>(&state_->model); }
const SpectralMixtureMachine* Predictor::spectral_mixture() const {
  return std::get_if<SpectralMixtureMachine>(&state_->model);
}

Matrix<double> Predictor::predict(ConstView<double> X, const Execution& execution) const {
  return state_->predict<double>(X, execution);
}
Matrix<float> Predictor::predict(ConstView<float> X, const Execution& execution) const {
  return state_->predict<float>(X, execution);
}

std::string Predictor::why_no_probabilities() const { return carmina::why_no_probabilities(record()); }
Matrix<double> Predictor::predict_probabilities(ConstView<double> X, const Execution& execution) const {
  return probabilities_of(record(), predict(X, execution));
}
Matrix<float> Predictor::predict_probabilities(ConstView<float> X, const Execution& execution) const {
  return probabilities_of(record(), predict(X, execution).cast<double>()).cast<float>();
}
std::vector<std::string> Predictor::class_names() const {
  std::vector<std::string> names = output_names();
  if (names.size() == 1) names = {names[0] + "=-1", names[0] + "=1"};
  return names;
}

std::string Predictor::why_no_std() const { return kernel_machine() ? why_no_deviation(record()) : std::string(); }
std::string Predictor::why_no_interval() const {
  return kernel_machine() ? carmina::why_no_interval(record()) : std::string();
}

Matrix<double> Predictor::predict_std(ConstView<double> X, const Execution& execution) const {
  if (const std::string reason = why_no_std(); !reason.empty()) fail("predict_std: {}", reason);
  return state_->deviation<double>(X, execution);
}
Matrix<float> Predictor::predict_std(ConstView<float> X, const Execution& execution) const {
  if (const std::string reason = why_no_std(); !reason.empty()) fail("predict_std: {}", reason);
  return state_->deviation<float>(X, execution);
}

Matrix<double> Predictor::predict_interval(ConstView<double> X, double coverage, bool joint,
                                           const Execution& execution) const {
  if (const std::string reason = why_no_interval(); !reason.empty()) fail("predict_interval: {}", reason);
  return state_->interval<double>(X, coverage, joint, execution);
}
Matrix<float> Predictor::predict_interval(ConstView<float> X, double coverage, bool joint,
                                          const Execution& execution) const {
  if (const std::string reason = why_no_interval(); !reason.empty()) fail("predict_interval: {}", reason);
  return state_->interval<float>(X, coverage, joint, execution);
}

Matrix<double> Predictor::derive(Derived what, ConstView<double> X, const Execution& execution) const {
  return state_->derive<double>(what, X, false, execution);
}
Matrix<float> Predictor::derive(Derived what, ConstView<float> X, const Execution& execution) const {
  return state_->derive<float>(what, X, false, execution);
}
Matrix<double> Predictor::derived_std(Derived what, ConstView<double> X, const Execution& execution) const {
  if (const std::string reason = why_no_std(); !reason.empty()) fail("derived_std: {}", reason);
  return state_->derive<double>(what, X, true, execution);
}
Matrix<float> Predictor::derived_std(Derived what, ConstView<float> X, const Execution& execution) const {
  if (const std::string reason = why_no_std(); !reason.empty()) fail("derived_std: {}", reason);
  return state_->derive<float>(what, X, true, execution);
}

std::vector<Matrix<double>> Predictor::sample(ConstView<double> X, Index draws, std::uint64_t seed,
                                              const Execution& execution) const {
  if (const std::string reason = why_no_std(); !reason.empty()) fail("sample: {}", reason);
  return state_->sample<double>(X, draws, seed, execution);
}
std::vector<Matrix<float>> Predictor::sample(ConstView<float> X, Index draws, std::uint64_t seed,
                                             const Execution& execution) const {
  if (const std::string reason = why_no_std(); !reason.empty()) fail("sample: {}", reason);
  return state_->sample<float>(X, draws, seed, execution);
}
bool Predictor::samples_in_parts() const {
  const SpectralMixtureMachine* mixture = spectral_mixture();
  return mixture ? mixture->inference() == Inference::fourier : !record().exact();
}

}  // namespace carmina
