// models/machine/probabilities.cpp -- scores of classes to probabilities.
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {

void Calibration::check() const {
  require(scale > 0 && std::isfinite(scale), "calibration: scale must be positive and finite, found {}", scale);
  require(power >= 0 && std::isfinite(power), "calibration: power must be finite and not negative, found {}", power);
  require(floor > 0 && std::isfinite(floor), "calibration: floor must be positive and finite, found {}", floor);
}

void Calibration::apply(const double* f, Index p, double* out) const {
  if (p == 1) {
    const double halves[] = {-f[0] / 2, f[0] / 2};
    return apply(halves, 2, out);
  }
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (Index j = 0; j < p; ++j) {
    out[j] = scale * f[j] + (power > 0 ? power * std::log(std::max(f[j], floor)) : 0.0);
    largest = std::max(largest, out[j]);
  }
  for (Index j = 0; j < p; ++j) sum += out[j] = std::exp(out[j] - largest);
  for (Index j = 0; j < p; ++j) out[j] /= sum;
}

std::string why_no_probabilities(const FitRecord& record) {
  if (record.calibration || has_probabilities(record.loss)) return {};
  return format_text("probabilities are known for the logistic loss and for calibrated scores, the model has loss '{}'",
                     loss_name(record.loss));
}

Matrix<double> probabilities_of(const FitRecord& record, const Matrix<double>& scores) {
  if (const std::string reason = why_no_probabilities(record); !reason.empty()) fail("probabilities: {}", reason);
  const Calibration calibration = record.calibration.value_or(Calibration{});
  const Index p = scores.cols();
  Matrix<double> out(scores.rows(), std::max<Index>(p, 2));
  for (Index i = 0; i < scores.rows(); ++i) calibration.apply(scores.row(i).data(), p, out.row(i).data());
  return out;
}

template <Real T>
Matrix<T> KernelMachine<T>::probabilities(ConstView<T> X, const Execution& execution) const {
  if (const std::string reason = why_no_probabilities(record_); !reason.empty()) fail("probabilities: {}", reason);
  return probabilities_of(record_, predict(X, execution).template cast<double>()).template cast<T>();
}

template <Real T>
KernelMachine<T> KernelMachine<T>::calibrated(std::optional<Calibration> calibration) const {
  if (calibration) calibration->check();
  KernelMachine copy = *this;
  copy.record_.calibration = calibration;
  return copy;
}

#define CARMINA_INSTANTIATE(T)                                                              \
  template Matrix<T> KernelMachine<T>::probabilities(ConstView<T>, const Execution&) const; \
  template KernelMachine<T> KernelMachine<T>::calibrated(std::optional<Calibration>) const;
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
