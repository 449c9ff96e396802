// features/device_product.cpp -- blocks of rows to a device and their products back.
#include "features/device_product.hpp"
#include "backends/cuda/backend.hpp"
#include "features/map_operations.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace carmina {

// Nanoseconds of a frequency of a row on a core, and picoseconds on an H200 (docs/gpu.md); half a second starts it.
PredictedSeconds predict_seconds(double rows, double inputs, double units, double outputs, double scalar_bytes,
                                 double passes) {
  constexpr double cores = 16, bus = 10e9, start = 0.5;
  const double pairs = rows * units, bytes = rows * (inputs + outputs + 1) * scalar_bytes;
  const bool narrow = scalar_bytes < 8;
  const double cpu = (narrow ? 0.3 + 0.019 * inputs + 0.1 * outputs : 0.65 + 0.045 * inputs + 0.2 * outputs) * 1e-9;
  const double device = (narrow ? 2 + 0.02 * inputs + 0.5 * outputs : 12 + 0.3 * inputs + outputs) * 1e-12;
  return {passes * pairs * cpu / cores, start + bytes / bus + passes * pairs * device};
}

namespace {

// What a map is made of on a device: (units, d) in turns, or anchors as the kernel's distances take them.
struct Made {
  Matrix<double> W;
  carmina_cuda_precision precision = carmina_cuda_double;
  carmina_cuda_profile profile = carmina_cuda_fourier;
  double shape = 0, scale = 1;
  Index features = 0;  // rows of coefficients
};

template <Real T>
Made made_of(const FourierMap<T>& map) {
  Made made;
  made.W = map.frequencies().template cast<double>() * (std::numbers::inv_pi / 2);
  made.precision = precision_on_device(map);
  made.scale = 1 / std::sqrt(static_cast<double>(map.units()));
  made.features = map.n_features();
  return made;
}

// The profile of a kernel; nothing where a device has none.
std::optional<std::pair<carmina_cuda_profile, double>> profile_of(const ScalarKernel& kernel) {
  using Found = std::optional<std::pair<carmina_cuda_profile, double>>;
  return std::visit(
      []<class K>(const K& k) -> Found {
        if constexpr (std::same_as<K, Gaussian>) return {{carmina_cuda_gaussian, 0.0}};
        if constexpr (std::same_as<K, Laplacian>) return {{carmina_cuda_laplacian, 0.0}};
        if constexpr (std::same_as<K, RationalQuadratic>) return {{carmina_cuda_rational, k.shape}};
        if constexpr (std::same_as<K, Matern>) {
          if (k.nu == 0.5 || k.nu == 1.5 || k.nu == 2.5) return {{carmina_cuda_matern, k.nu}};
        }
        return std::nullopt;
      },
      kernel);
}

template <Real T>
Matrix<T> placed(const KernelMap<T>& map, ConstView<T> X) {
  std::vector<T> scratch(static_cast<std::size_t>(map.prepared_size(X.rows())));
  const auto in = map.prepare(X.data(), X.outerStride(), X.rows(), scratch.data());
  return map_rows(in.x, X.rows(), map.dim_in());
}

template <Real T>
Made made_of(const KernelMap<T>& map) {
  Made made;
  made.W = placed<T>(map, map.anchors()).template cast<double>();
  made.precision = std::same_as<T, double> ? carmina_cuda_double : carmina_cuda_wide;
  std::tie(made.profile, made.shape) = *profile_of(map.kernel());
  made.features = map.units();
  return made;
}

// Inputs as the map sees them, dense.
template <Real T>
void bring(const FourierMap<T>& map, ConstView<T> X, T* out) {
  const Index d = X.cols();
  if (!map.transform().identity()) return map.transform().apply(X.data(), X.outerStride(), X.rows(), d, out);
  map_rows(out, X.rows(), d) = X;
}
template <Real T>
void bring(const KernelMap<T>& map, ConstView<T> X, T* out) {
  map_rows(out, X.rows(), X.cols()) = placed(map, X);
}

}  // namespace

template <Real T>
bool made_on_devices(const KernelMap<T>& map) {
  return profile_of(map.kernel()).has_value();
}

// Frequencies, or anchors, and room for a block of rows on one device.
template <Real T>
class ProductOnDevice {
 public:
  ProductOnDevice(Made made, const InputTransform& transform, const backend::Device& device, const Execution& execution)
      : asked_(execution.device), library_(execution.device_library), device_(device), made_(std::move(made)) {
    constexpr Index slice = carmina_cuda_slice;
    const Index d = made_.W.cols(),
                fit = static_cast<Index>(block_bytes / (sizeof(T) * static_cast<double>(d + 1))) / slice;
    together_ = slice * std::max<Index>(fit, 1);
    const carmina_cuda_task task{device.number,  made_.precision, together_, d, 0,
                                 made_.W.rows(), made_.W.data(),  together_, 0, 0,
                                 made_.profile,  made_.shape};
    handle_ = backend::open_rows(device_, task);
    const auto data = [](const auto& numbers) { return numbers.size() > 0 ? numbers.data() : nullptr; };
    const carmina_cuda_transform there{data(transform.fill), data(transform.shift), data(transform.factor),
                                       data(transform.metric), transform.limit};
    done(device_.api->set_transform(handle_.get(), &there));
    split_ = task.precision == carmina_cuda_split;
    // Inputs times the largest frequency's power of two, as the device has it.
    const Vector<double> largest = made_.W.cwiseAbs().colwise().maxCoeff();
    reach_ = largest.unaryExpr([](double w) {
      int power = 0;
      if (w > 0) std::frexp(w, &power);
      return std::ldexp(1.0, std::clamp(power, -100, 100));
    });
  }

  bool is_of(const Execution& execution) const {
    return asked_ == execution.device && library_ == execution.device_library;
  }
  const backend::Device& device() const { return device_; }

  // Blocks with inputs that halves do not hold go by the host.
  void apply(const FourierMap<T>& map, const DeviceArray<T>& X, ConstView<T> theta, View<T> out,
             const Execution& execution) {
    set_coefficients(theta);
    Matrix<double> F(std::min(together_, X.rows), theta.cols());
    for (Index first = 0; first < X.rows; first += together_) {
      const Index count = std::min(together_, X.rows - first);
      int large = 0;
      if (!seen_large_) {
        done(device_.api->submit_held(handle_.get(), 0, count, X.data + first * X.stride, X.stride, nullptr, 0,
                                      nullptr));
        done(device_.api->too_large(handle_.get(), &large));
      }
      seen_large_ = seen_large_ || (split_ && large != 0);
      if (seen_large_) {
        apply(map, ConstView<T>(rows_from_device(X, first, count, execution)), theta, out.middleRows(first, count),
              execution);
        continue;
      }
      done(device_.api->forward_block(handle_.get(), 0, count, F.data()));
      out.middleRows(first, count) = F.topRows(count).template cast<T>();
    }
  }

  template <class M>
  void apply(const M& map, ConstView<T> X, ConstView<T> theta, View<T> out, const Execution& execution) {
    const Index d = map.dim_in();
    set_coefficients(theta);
    Matrix<double> F(std::min(together_, X.rows()), theta.cols());
    for (Index first = 0; first < X.rows(); first += together_) {
      const Index count = std::min(together_, X.rows() - first);
      void *inputs = nullptr, *targets = nullptr, *weights = nullptr;
      done(device_.api->stage(handle_.get(), &inputs, &targets, &weights));
      T *const x = static_cast<T*>(inputs), *const w = static_cast<T*>(weights);
      std::fill_n(w, count, T(1));
      std::vector<char> large(static_cast<std::size_t>(count), 0);
      const Index tasks = (count + copied_together - 1) / copied_together;
      parallel_for(tasks, execution.thread_count(), [&](Index task, int worker) {
        execution.poll(worker);
        const Index begin = task * copied_together, some = std::min(copied_together, count - begin);
        bring(map, ConstView<T>(X.middleRows(first + begin, some)), x + begin * d);
        for (Index i = begin; split_ && i < begin + some; ++i)
          large[static_cast<std::size_t>(i)] = too_large(x + i * d);
      });
      done(device_.api->submit(handle_.get(), 0, count));
      done(device_.api->forward_block(handle_.get(), 0, count, F.data()));
      parallel_for(tasks, execution.thread_count(), [&](Index task, int) {
        const Index begin = task * copied_together, some = std::min(copied_together, count - begin);
        for (Index i = begin; i < begin + some; ++i) {
          std::transform(F.row(i).data(), F.row(i).data() + F.cols(), out.row(first + i).data(),
                         [](double value) { return static_cast<T>(value); });
        }
      });
      for (Index i = 0; i < count; ++i) {
        if (!large[static_cast<std::size_t>(i)]) continue;
        carmina::apply(map, ConstView<T>(X.middleRows(first + i, 1)), theta, View<T>(out.middleRows(first + i, 1)),
                       execution);
      }
    }
  }

 private:
  static constexpr Index copied_together = 4096;
  static constexpr double block_bytes = 32e6, largest_turns = 64;

  void done(int status) const { backend::require_done(device_, status); }
  void set_coefficients(ConstView<T> theta) const {
    // Of a kernel the second half is of no feature.
    Matrix<double> C = Matrix<double>::Zero(2 * made_.W.rows(), theta.cols());
    C.topRows(made_.features) = made_.scale * theta.template cast<double>();
    done(device_.api->set_coefficients(handle_.get(), C.cols(), C.data()));
  }
  bool too_large(const T* x) const {
    for (Index k = 0; k < reach_.size(); ++k) {
      const auto scaled = static_cast<float>(static_cast<double>(x[k]) * reach_[k]);
      if (!(std::abs(scaled) <= static_cast<float>(largest_turns))) return true;
    }
    return false;
  }

  const std::string asked_, library_;
  const backend::Device device_;
  const Made made_;
  Vector<double> reach_;
  Index together_ = 0;
  bool split_ = false, seen_large_ = false;  // of inputs on the device
  backend::DeviceHandle handle_;
};

namespace {

// body(product) with what the slot has, or with one of its own where another thread has that. False: no device.
template <class M, Real T, class Body>
bool with_product(const M& map, DeviceSlot<T>& slot, const Execution& execution, const Body& body) {
  const std::unique_lock lock(slot.taken, std::try_to_lock);
  std::shared_ptr<ProductOnDevice<T>> product = lock ? slot.kept : nullptr;
  if (!product || !product->is_of(execution)) {
    const std::optional<backend::Device> device = backend::find_device(execution);
    if (!device) return false;
    product = std::make_shared<ProductOnDevice<T>>(made_of(map), map.transform(), *device, execution);
    if (lock) slot.kept = product;
  }
  body(*product);
  return true;
}

}  // namespace

namespace {

// `rate_bytes`: kernels are made as rows of doubles are.
template <class M, Real T>
bool apply_there(const M& map, DeviceSlot<T>& slot, ConstView<T> X, ConstView<T> theta, View<T> out, double rate_bytes,
                 const Execution& execution) {
  const backend::DeviceRequest request = backend::parse_device(execution.device);
  if ((!request.cuda && !request.automatic) || !made_on_devices(map) || X.rows() == 0) return false;
  if (request.automatic) {
    const PredictedSeconds seconds =
        predict_seconds(static_cast<double>(X.rows()), static_cast<double>(X.cols()), static_cast<double>(map.units()),
                        static_cast<double>(theta.cols()), rate_bytes, passes_of_prediction);
    if (seconds.cpu <= seconds.device) return false;
  }
  return with_product(map, slot, execution,
                      [&](ProductOnDevice<T>& product) { product.apply(map, X, theta, out, execution); });
}

}  // namespace

template <Real T>
bool apply_on_device(const FourierMap<T>& map, DeviceSlot<T>& slot, ConstView<T> X, ConstView<T> theta, View<T> out,
                     const Execution& execution) {
  return apply_there(map, slot, X, theta, out, sizeof(T), execution);
}
template <Real T>
bool apply_on_device(const KernelMap<T>& map, DeviceSlot<T>& slot, ConstView<T> X, ConstView<T> theta, View<T> out,
                     const Execution& execution) {
  return apply_there(map, slot, X, theta, out, sizeof(double), execution);
}

template <Real T>
bool apply_on_device(const FourierMap<T>& map, DeviceSlot<T>& slot, const DeviceArray<T>& X, ConstView<T> theta,
                     View<T> out, const Execution& execution) {
  const backend::DeviceRequest request = backend::parse_device(execution.device);
  if ((!request.cuda && !request.automatic) || !made_on_devices(map) || X.rows == 0) return false;
  Execution there = execution;
  there.device = backend::device_of(X.data, execution).name();
  return with_product(map, slot, there, [&](ProductOnDevice<T>& product) { product.apply(map, X, theta, out, there); });
}

template <Real T>
Matrix<T> rows_from_device(const DeviceArray<T>& X, Index first, Index count, const Execution& execution) {
  const backend::Device device = backend::device_of(X.data, execution);
  Matrix<T> rows(count, X.columns);
  const auto bytes = [](Index numbers) { return static_cast<std::size_t>(numbers) * sizeof(T); };
  backend::require_done(
      device, device.api->copy(device.number, rows.data(), bytes(X.columns), X.data + first * X.stride, bytes(X.stride),
                               bytes(X.columns), static_cast<std::size_t>(count)));
  return rows;
}

#define CARMINA_INSTANTIATE(T)                                                                                      \
  template bool apply_on_device(const FourierMap<T>&, DeviceSlot<T>&, ConstView<T>, ConstView<T>, View<T>,          \
                                const Execution&);                                                                  \
  template bool apply_on_device(const FourierMap<T>&, DeviceSlot<T>&, const DeviceArray<T>&, ConstView<T>, View<T>, \
                                const Execution&);                                                                  \
  template bool apply_on_device(const KernelMap<T>&, DeviceSlot<T>&, ConstView<T>, ConstView<T>, View<T>,           \
                                const Execution&);                                                                  \
  template bool made_on_devices(const KernelMap<T>&);                                                               \
  template Matrix<T> rows_from_device(const DeviceArray<T>&, Index, Index, const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
