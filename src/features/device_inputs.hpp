// features/device_inputs.hpp -- rows whose inputs are in a device's memory: what the device sums takes them there, what
// the CPU does gets copies, block by block.
#pragma once
#include "backends/cuda/backend.hpp"
#include "data/data_rows.hpp"

#include <carmina/data/device_array.hpp>

namespace carmina {

template <Real T>
class DeviceInputs final : public RowSource<T> {
 public:
  // Targets (rows, dim_out) and weights (null: one) are in the host's memory, and outlive this, as the inputs do.
  DeviceInputs(const backend::Device& device, const DeviceArray<T>& X, ConstView<T> Y, const T* weights)
      : device_(device), inputs_(X) {
    require(Y.cols() == 0 || Y.rows() == X.rows, "fit: Y has {} rows, X has {}", Y.rows(), X.rows);
    all_ = {X.data, Y.cols() > 0 ? Y.data() : nullptr, weights, X.rows, X.columns, Y.cols(), X.stride, Y.outerStride(),
            0};
    copy({}, 0, 0, nullptr);
  }

  Index dim_in() const override { return all_.dim_in; }
  Index dim_out() const override { return all_.dim_out; }
  std::optional<Index> rows() const override { return all_.rows; }
  void rewind() override { at_ = first_ = 0; }
  std::string place(Index row) const override { return format_text("row {}", first_ + row + 1); }
  double held_bytes(Index rows) const override { return static_cast<double>(rows * dim_in()) * sizeof(T); }

  RowBlock<T> next(Index max_rows) override {
    const Index count = std::min(addresses_ ? all_.rows : max_rows, all_.rows - at_);
    RowBlock<T> block = all_.part(at_, count);
    block.first_row = first_ = at_;
    at_ += count;
    if (addresses_ || count == 0) return block;
    copied_.resize(count, dim_in());
    copy(block, 0, count, copied_.data());
    block.X = copied_.data(), block.x_stride = dim_in();
    return block;
  }

  const backend::Device& device() const { return device_; }

  // While it lives all rows are one block, whose inputs are addresses on the device.
  class Addresses {
   public:
    explicit Addresses(const DeviceInputs& of) : of_(of) { of_.addresses_ = true; }
    Addresses(const Addresses&) = delete;
    ~Addresses() { of_.addresses_ = false; }

   private:
    const DeviceInputs& of_;
  };

 private:
  // Rows of a block, dense. Of none: waits for what the device is still at.
  void copy(const RowBlock<T>& block, Index first, Index count, T* to) const {
    const auto bytes = [](Index numbers) { return static_cast<std::size_t>(numbers) * sizeof(T); };
    const T* from = count > 0 ? block.X + first * block.x_stride : nullptr;
    backend::require_done(device_, device_.api->copy(device_.number, to, bytes(dim_in()), from, bytes(inputs_.stride),
                                                     bytes(dim_in()), static_cast<std::size_t>(count)));
  }

  const backend::Device device_;
  DeviceArray<T> inputs_;
  RowBlock<T> all_;
  Matrix<T> copied_;
  Index at_ = 0, first_ = 0;
  mutable bool addresses_ = false;
};

// Null: the inputs are in the host's memory.
template <Real T>
const DeviceInputs<T>* inputs_of(const DataRows<T>& rows) {
  return rows.parts().size() == 1 ? dynamic_cast<const DeviceInputs<T>*>(rows.parts()[0]) : nullptr;
}

}  // namespace carmina
