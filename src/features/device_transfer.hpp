// features/device_transfer.hpp -- rows on a device: planned, copied once or for each pass, in blocks of one size.
#pragma once
#include "backends/cuda/backend.hpp"
#include "features/fourier_map.hpp"
#include "features/map_rows.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <numbers>

namespace carmina {

// What DeviceRows asks the device with. The rows are copied when they are first asked for.
template <Real T>
class RowsOnDevice : public MapRows<FourierMap<T>> {
 protected:
  using Base = MapRows<FourierMap<T>>;
  using Base::data_, Base::map_, Base::execution_;
  static constexpr Index slice = carmina_cuda_slice;
  static constexpr Index copied_together = 4096;  // rows that a thread brings into the transfer buffer at a time
  static constexpr double block_bytes = 32e6;     // of such a buffer
  static constexpr double usable = 0.85;          // part of the free memory
  static constexpr Index sums_columns = 64;       // columns of a product that memory is planned for

  RowsOnDevice(const FourierMap<T>& map, const DataRows<T>& rows, const backend::Device& device,
               const Execution& execution)
      : Base(map, rows, nullptr, execution),
        device_(device),
        W_(map.frequencies().template cast<double>() * (std::numbers::inv_pi / 2)) {
    const double row = static_cast<double>(sizeof(T)) * static_cast<double>(data_.dim_in() + data_.dim_out() + 1);
    const auto fit = std::max<Index>(1, static_cast<Index>(block_bytes / row) / slice),
               all = (this->rows() + slice - 1) / slice;
    task_ = {device.number,
             precision_of(map),
             this->rows(),
             data_.dim_in(),
             data_.dim_out(),
             map.units(),
             W_.data(),
             slice * std::min(fit, all),
             1,
             data_.has_missing_targets()};
  }

 public:
  // Plans the memory: whether rows stay there. False where not even blocks of them fit.
  bool plan(const Execution& execution) const {
    const double limit = execution.device_memory > 0 ? static_cast<double>(execution.device_memory)
                                                     : usable * static_cast<double>(device_.facts.free_bytes);
    const auto needed = [&] { return static_cast<double>(device_.api->bytes(&task_, sums_columns)); };
    task_.resident = 1;
    if (needed() <= limit) return true;
    for (task_.resident = 0; needed() > limit && task_.rows_at_once > slice;) {
      task_.rows_at_once = (task_.rows_at_once / 2 + slice - 1) / slice * slice;
    }
    if (needed() <= limit) return true;
    require(backend::parse_device(execution.device).automatic,
            "device '{}': the fit needs {} there with rows in blocks, and may use {}; take fewer components or device "
            "'cpu'",
            device_.name(), format_bytes(needed()), format_bytes(limit));
    return false;
  }

 protected:
  void done(int status) const { backend::require_done(device_, status); }

  // Inputs as the map sees them, dense.
  void bring(const T* x, Index stride, Index count, T* out) const {
    const Index d = data_.dim_in();
    if (!map_.transform().identity()) return map_.transform().apply(x, stride, count, d, out);
    for (Index i = 0; i < count; ++i) std::copy_n(x + i * stride, d, out + i * d);
  }

  // Submits all rows in blocks of one size, whatever the blocks they come in, and calls each(first, count).
  template <class Each>
  void stream(const char* phase, const Each& each) const {
    const Index d = data_.dim_in(), p = data_.dim_out();
    T *X = nullptr, *Y = nullptr, *w = nullptr;
    Index first = 0, held = 0;
    const auto stage = [&] {
      void *inputs = nullptr, *targets = nullptr, *weights = nullptr;
      done(device_.api->stage(handle_.get(), &inputs, &targets, &weights));
      X = static_cast<T*>(inputs), Y = static_cast<T*>(targets), w = static_cast<T*>(weights);
    };
    const auto submit = [&] {
      largest_weight_ = std::max(largest_weight_, static_cast<double>(Eigen::Map<const Vector<T>>(w, held).maxCoeff()));
      done(device_.api->submit(handle_.get(), first, held));
      each(first, held);
      first += held, held = 0;
    };
    data_.for_blocks(phase, execution_, [&](const RowBlock<T>& block) {
      for (Index at = 0; at < block.rows;) {
        if (held == 0) stage();
        const Index count = std::min(task_.rows_at_once - held, block.rows - at);
        parallel_for((count + copied_together - 1) / copied_together, execution_.thread_count(), [&](Index task, int) {
          const Index begin = task * copied_together, some = std::min(copied_together, count - begin);
          const Index from = at + begin, to = held + begin;
          bring(block.X + from * block.x_stride, block.x_stride, some, X + to * d);
          for (Index i = 0; i < some; ++i) {
            std::copy_n(block.Y + (from + i) * block.y_stride, p, Y + (to + i) * p);
            w[to + i] = block.weights ? block.weights[from + i] : T(1);
          }
        });
        held += count, at += count;
        if (held == task_.rows_at_once) submit();
      }
    });
    if (held > 0) submit();
  }

  // Opens the device; where rows stay there, copies them. Inputs that products of halves would not hold take phases in
  // double.
  void hold_rows() const {
    if (handle_) return;
    const auto start = std::chrono::steady_clock::now();
    const auto copy = [&] {
      handle_ = backend::open_rows(device_, task_);
      if (task_.resident) stream("copying", [](Index, Index) {});
    };
    try {
      copy();
      if (task_.resident && too_large()) {
        handle_.reset();
        task_.precision = carmina_cuda_wide;
        require(plan(execution_), "device '{}': no memory for the rows", device_.name());
        copy();
      }
    } catch (...) {
      handle_.reset();  // some of them are not there
      throw;
    }
    copying_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  bool too_large() const {
    int answer = 0;
    if (task_.precision == carmina_cuda_split) done(device_.api->too_large(handle_.get(), &answer));
    return answer != 0;
  }

  template <class Each>
  void each_block(const char* phase, const Each& each) const {
    if (!task_.resident) return stream(phase, each);
    // In parts, so that a fit can be stopped between them.
    const Index part = std::max<Index>(slice, (Index{1} << 22) / slice * slice);
    for (Index first = 0; first < this->rows(); first += part) {
      const Index count = std::min(part, this->rows() - first);
      each(first, count);
      execution_.checkpoint({phase, first + count, this->rows()});
    }
  }

  // Whether the first pass over streamed rows has seen what halves cannot hold, and is to be made again.
  bool gone_wide() const {
    if (task_.resident || !too_large()) return false;
    handle_.reset();
    task_.precision = carmina_cuda_wide;
    return true;
  }

  const backend::Device device_;
  const Matrix<double> W_;  // frequencies in turns
  mutable carmina_cuda_task task_{};
  mutable backend::DeviceHandle handle_;
  mutable double copying_ = 0, largest_weight_ = 0;

 private:
  static carmina_cuda_precision precision_of(const FourierMap<T>& map) {
    if (std::same_as<T, double>) return carmina_cuda_double;
    const double largest = static_cast<double>(map.frequencies().cwiseAbs().maxCoeff());
    return largest > largest_float_frequency ? carmina_cuda_wide : carmina_cuda_split;
  }
};

}  // namespace carmina
