// features/device_transfer.hpp -- rows on a device: planned, copied once or for each pass, in blocks of one size.
//
// Where several processes have the rows, sums go by segments (RowGrid), whose rows begin at slices of the device: what
// a segment adds up to is then the same wherever it is.
#pragma once
#include "backends/cuda/backend.hpp"
#include "features/device_inputs.hpp"
#include "features/device_product.hpp"
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
    const auto fit = std::max<Index>(1, static_cast<Index>(block_bytes / row) / slice);
    own_ = data_.own_rows();
    segment_ = data_.processes() ? this->grid_.segment : std::max<Index>(own_, 1);
    padded_ = (segment_ + slice - 1) / slice * slice;
    const Index last = (std::max<Index>(own_, 1) - 1) / segment_ * segment_;
    task_ = {device.number,
             precision_on_device(map),
             std::max<Index>(place(last) + own_ - last, 1),
             data_.dim_in(),
             data_.dim_out(),
             map.units(),
             W_.data(),
             std::min(slice * fit, padded_),
             1,
             data_.has_missing_targets(),
             carmina_cuda_fourier,
             0};
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

  // Rows [row, row + count) of all, on the device from `first` on; whether they begin and end a segment.
  struct Piece {
    Index first, count, row;
    bool opens, closes;
  };
  // Where own row i is on the device.
  Index place(Index i) const { return i / segment_ * padded_ + i % segment_; }
  Piece piece(Index i, Index count) const {
    return {place(i), count, data_.first_row() + i, i % segment_ == 0,
            (i + count) % segment_ == 0 || i + count == own_};
  }

  // Submits all rows in blocks of one size, whatever the blocks they come in, and calls each(piece).
  template <class Each>
  void stream(const char* phase, const Each& each) const {
    if (const DeviceInputs<T>* held = inputs_of(data_)) return stream_held(*held, phase, each);
    const Index d = data_.dim_in(), p = data_.dim_out();
    T *X = nullptr, *Y = nullptr, *w = nullptr;
    Index done_rows = 0, held = 0, most = 0;
    const auto stage = [&] {
      void *inputs = nullptr, *targets = nullptr, *weights = nullptr;
      done(device_.api->stage(handle_.get(), &inputs, &targets, &weights));
      X = static_cast<T*>(inputs), Y = static_cast<T*>(targets), w = static_cast<T*>(weights);
      most = std::min(task_.rows_at_once, segment_ - done_rows % segment_);
    };
    const auto submit = [&] {
      see_weights(w, held);
      done(device_.api->submit(handle_.get(), place(done_rows), held));
      each(piece(done_rows, held));
      done_rows += held, held = 0;
    };
    data_.for_blocks(phase, execution_, [&](const RowBlock<T>& block) {
      for (Index at = 0; at < block.rows;) {
        if (held == 0) stage();
        const Index count = std::min(most - held, block.rows - at);
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
        if (held == most) submit();
      }
    });
    if (held > 0) submit();
  }

  // The same of inputs that are on the device: blocks have their addresses there.
  template <class Each>
  void stream_held(const DeviceInputs<T>& inputs, const char* phase, const Each& each) const {
    const typename DeviceInputs<T>::Addresses addresses(inputs);
    Index done_rows = 0;
    data_.for_blocks(phase, execution_, [&](const RowBlock<T>& block) {
      for (Index at = 0; at < block.rows;) {
        const Index count = std::min({task_.rows_at_once, segment_ - done_rows % segment_, block.rows - at});
        const RowBlock<T> some = block.part(at, count);
        if (some.weights) see_weights(some.weights, count);
        largest_weight_ = std::max(largest_weight_, some.weights ? 0.0 : 1.0);
        done(device_.api->submit_held(handle_.get(), place(done_rows), count, some.X, some.x_stride, some.Y,
                                      some.y_stride, some.weights));
        each(piece(done_rows, count));
        done_rows += count, at += count;
      }
    });
  }

  // Opens the device; where rows stay there, copies them. Inputs that products of halves would not hold take phases in
  // double.
  void hold_rows() const {
    if (handle_) return;
    const auto start = std::chrono::steady_clock::now();
    const auto copy = [&] {
      handle_ = backend::open_rows(device_, task_);
      if (inputs_of(data_)) set_transform();
      if (task_.resident) stream("copying", [](const Piece&) {});
    };
    try {
      copy();
      if (of_any(task_.resident && too_large())) {
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
    for (Index i = 0, count = 0; i < own_; i += count) {
      count = std::min({part, segment_ - i % segment_, own_ - i});
      each(piece(i, count));
      execution_.checkpoint({phase, i + count, own_});
    }
  }
  // Sums of segments: begin(), add(piece) of its pieces, end().
  template <class Begin, class Add, class End>
  void each_segment(const char* phase, const Begin& begin, const Add& add, const End& end) const {
    each_block(phase, [&](const Piece& some) {
      if (some.opens) begin();
      add(some);
      if (some.closes) end();
    });
  }

  // Whether the first pass over streamed rows has seen what halves cannot hold, and is to be made again.
  bool gone_wide() const {
    if (task_.precision != carmina_cuda_split || !of_any(!task_.resident && too_large())) return false;
    handle_.reset();
    task_.precision = carmina_cuda_wide;
    return true;
  }
  // In this process or in another.
  bool of_any(bool here) const {
    if (!data_.processes()) return here;
    std::int64_t all = here ? 1 : 0;
    data_.processes()->sum(&all, 1);
    return all > 0;
  }

  const backend::Device device_;
  const Matrix<double> W_;  // frequencies in turns
  mutable carmina_cuda_task task_{};
  mutable backend::DeviceHandle handle_;
  mutable double copying_ = 0, largest_weight_ = 0;
  Index own_ = 0, segment_ = 1, padded_ = 1;  // own rows; of a segment, and on the device

 private:
  void see_weights(const T* w, Index count) const {
    largest_weight_ = std::max(largest_weight_, static_cast<double>(Eigen::Map<const Vector<T>>(w, count).maxCoeff()));
  }
  void set_transform() const {
    const InputTransform& t = map_.transform();
    const auto data = [](const auto& numbers) { return numbers.size() > 0 ? numbers.data() : nullptr; };
    const carmina_cuda_transform transform{data(t.fill), data(t.shift), data(t.factor), data(t.metric), t.limit};
    done(device_.api->set_transform(handle_.get(), &transform));
  }
};

}  // namespace carmina
