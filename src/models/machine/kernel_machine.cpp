// models/machine/kernel_machine.cpp -- prediction: the map's product, the output root, the intercept.
#include "backends/tiled.hpp"
#include "features/map_operations.hpp"
#include "models/machine/machine_map.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/device_prediction.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>

namespace carmina {
namespace {

template <class T>
using Slot = DeviceSlot<T>;

template <ScalarMap M, class T>
void multiply(const M& map, Slot<T>& slot, ConstView<T> X, const Matrix<T>& coefficients, View<T> out,
              const Execution& execution) {
  if (!apply_on_device(map, slot, X, ConstView<T>(coefficients), out, execution)) {
    apply(map, X, coefficients, out, execution);
  }
}
template <class T>
void multiply(const OperatorMap<T>& map, Slot<T>&, ConstView<T> X, const Matrix<T>& coefficients, View<T> out,
              const Execution& execution) {
  map.apply(X, coefficients, out, execution);
}

// Plain loops: this source is compiled for size. Error for the first row that is no number.
template <Real T>
void add_intercept(const Vector<T>& intercept, View<T> out, const Execution& execution) {
  constexpr Index together = 8192;
  const Index n = out.rows(), p = out.cols();
  std::atomic<Index> wrong = n;
  parallel_for((n + together - 1) / together, execution.thread_count(), [&](Index task, int) {
    for (Index i = task * together; i < std::min(n, (task + 1) * together); ++i) {
      T* const row = out.data() + i * out.outerStride();
      T zero = 0;  // x - x is 0 of numbers alone
      for (Index j = 0; j < p; ++j) {
        row[j] += intercept[j];
        zero += row[j] - row[j];
      }
      if (zero == 0) continue;
      for (Index before = wrong; i < before && !wrong.compare_exchange_weak(before, i);) {
      }
      break;
    }
  });
  if (wrong < n) throw RowError("predict", wrong, "the inputs are too large: the prediction is not a finite number");
}

// From products with the coefficients, product(result), to predictions.
template <Real T, class Product>
void finish_predictions(const KernelMachine<T>& machine, View<T> out, const Execution& execution,
                        const Product& product) {
  const Matrix<T>& root = machine.output_root();
  if (root.size() == 0) {
    product(out);
  } else {
    Matrix<T> turned(out.rows(), root.cols());
    product(turned);
    out.setZero();
    constexpr Index together = 256;
    parallel_for((out.rows() + together - 1) / together, execution.thread_count(), [&](Index task, int) {
      const Index first = task * together, rows = std::min(together, out.rows() - first);
      backend::add_product_few(turned.row(first).data(), turned.cols(), rows, turned.cols(), root.data(), root.cols(),
                               out.cols(), out.row(first).data(), out.outerStride());
    });
  }
  add_intercept(machine.intercept(), out, execution);
  // Monotone rearrangement [Chernozhukov2010]. Its pinball loss is never larger: with max(tau e, (tau - 1) e) =
  // tau e + max(0, -e), exchanging q > q' at levels tau < tau' takes off (tau' - tau)(q - q').
  if (machine.record().non_crossing) {
    for (Index i = 0; i < out.rows(); ++i) std::sort(out.row(i).begin(), out.row(i).end());
  }
}

// A number that is not finite is no answer: which step gave it, and what may help.
template <Real T>
void require_finite_fit(const Matrix<T>& coefficients, const Vector<T>& intercept, const FitRecord& record) {
  const std::string& solver = record.report.solver;
  require(coefficients.allFinite() && intercept.allFinite(),
          "fit: solver '{}' ended in coefficients that are not finite numbers: inputs or targets are too large for "
          "{}; scale both, or take a larger alpha",
          solver, std::same_as<T, float> ? "float32" : "float64");
  require(std::isfinite(record.report.residual),
          "fit: solver '{}' ended where its residual is not a finite number; scale the targets, or take a larger alpha",
          solver);
  require(record.noise.allFinite() && !record.left_out.array().isNaN().any(),
          "fit: the variance of the noise is not a finite number; divide the targets by one number");
}

}  // namespace

template <Real T>
KernelMachine<T>::KernelMachine(Kernel kernel, std::shared_ptr<const Map> map, Matrix<T> coefficients,
                                Matrix<T> output_root, Vector<T> intercept, FitRecord record)
    : kernel_(std::move(kernel)),
      map_(std::move(map)),
      coefficients_(std::move(coefficients)),
      output_root_(std::move(output_root)),
      intercept_(std::move(intercept)),
      record_(std::move(record)) {
  require_finite_fit(coefficients_, intercept_, record_);
  const Index features = std::visit([](const auto& m) { return m.n_features(); }, *map_);
  require(coefficients_.rows() == features, "model: {} rows of coefficients for {} features", coefficients_.rows(),
          features);
  if (output_root_.size() == 0) {
    require(coefficients_.cols() == dim_out(), "model: {} columns of coefficients for {} outputs", coefficients_.cols(),
            dim_out());
  } else {
    require(output_root_.rows() == dim_out() && output_root_.cols() == coefficients_.cols(),
            "model: the output root is {} x {}, expected {} x {}", output_root_.rows(), output_root_.cols(), dim_out(),
            coefficients_.cols());
  }
}

template <Real T>
Index KernelMachine<T>::dim_in() const {
  return std::visit([](const auto& m) { return m.dim_in(); }, *map_);
}

template <Real T>
Matrix<T> KernelMachine<T>::predict(ConstView<T> X, const Execution& execution) const {
  Matrix<T> out(X.rows(), dim_out());
  predict(X, out, execution);
  return out;
}

template <Real T>
void KernelMachine<T>::predict(ConstView<T> X, View<T> out, const Execution& execution) const {
  require(X.cols() == dim_in(), "predict: X has {} columns, the model was fitted with {}", X.cols(), dim_in());
  require(out.rows() == X.rows() && out.cols() == dim_out(), "predict: the result is {} x {}, expected {} x {}",
          out.rows(), out.cols(), X.rows(), dim_out());
  finish_predictions(*this, out, execution, [&](View<T> result) {
    std::visit([&](const auto& map) { multiply(map, *map_->on_device, X, coefficients_, result, execution); }, *map_);
  });
}

template <Real T>
Matrix<T> predict_on_device(const KernelMachine<T>& machine, const DeviceArray<T>& X, const Execution& execution) {
  require(X.columns == machine.dim_in(), "predict: X has {} columns, the model was fitted with {}", X.columns,
          machine.dim_in());
  Matrix<T> out(X.rows, machine.dim_out());
  const auto* const fourier = std::get_if<FourierMap<T>>(&machine.map());
  bool done = false;
  if (fourier) {
    Matrix<T> product(X.rows, machine.coefficients().cols());
    done = apply_on_device(*fourier, *machine.map().on_device, X, ConstView<T>(machine.coefficients()),
                           View<T>(product), execution);
    if (done) finish_predictions(machine, View<T>(out), execution, [&](View<T> result) { result = product; });
  }
  constexpr Index together = Index{1} << 16;
  for (Index first = 0; !done && first < X.rows; first += together) {
    const Index count = std::min(together, X.rows - first);
    const Matrix<T> some = rows_from_device(X, first, count, execution);
    machine.predict(some, out.middleRows(first, count), execution);
  }
  return out;
}
template Matrix<float> predict_on_device(const KernelMachine<float>&, const DeviceArray<float>&, const Execution&);
template Matrix<double> predict_on_device(const KernelMachine<double>&, const DeviceArray<double>&, const Execution&);

template <Real T>
std::vector<Matrix<T>> KernelMachine<T>::predict_parts(ConstView<T> X, const Execution& execution) const {
  const auto terms = static_cast<Index>(kernel_.terms().size());
  require(!record_.non_crossing, "predict_parts: quantiles that are put in order are not a sum of parts");
  std::vector<Matrix<T>> parts;
  if (terms == 1) {
    parts.push_back(predict(X, execution).rowwise() - intercept_.transpose());
    return parts;
  }
  std::vector<Index> counts;  // units of each term
  if (const auto* fourier = std::get_if<FourierMap<T>>(map_.get())) {
    counts = term_units_of(kernel_.terms(), dim_in(), fourier->units());
  }
  Index first = 0;
  for (Index i = 0; i < terms; ++i) {
    Matrix<T> part(X.rows(), dim_out());
    if (const auto* fourier = std::get_if<FourierMap<T>>(map_.get())) {
      // The term's own frequencies and rows of coefficients; a map of fewer units has larger features.
      const Index units = fourier->units(), count = counts[static_cast<std::size_t>(i)];
      const FourierMap<T> map = fourier->units_from(first, count);
      Matrix<T> coefficients(2 * count, dim_out());
      coefficients << coefficients_.middleRows(first, count), coefficients_.middleRows(units + first, count);
      coefficients *= static_cast<T>(std::sqrt(static_cast<double>(count) / static_cast<double>(units)));
      first += count;
      apply(map, X, coefficients, View<T>(part), execution);
    } else {
      const auto& map = std::get<OperatorMap<T>>(*map_);
      const Kernel term(kernel_.terms()[static_cast<std::size_t>(i)]);
      OperatorMap<T>(term, map.anchors(), dim_out(), map.transform()).apply(X, coefficients_, part, execution);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

template class KernelMachine<float>;
template class KernelMachine<double>;

}  // namespace carmina
