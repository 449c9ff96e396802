// backends/cuda/rows.cu -- passes over rows of one device, in chunks whose partial sums fit.
#include "backends/cuda/passes.hpp"
#include "backends/cuda/precondition.hpp"
#include "backends/cuda/row_kernels.cuh"
#include "backends/cuda/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>

namespace carmina::cuda {
namespace {

constexpr int64_t unit_padding = 256, slice = carmina_cuda_slice;
constexpr size_t partial_bytes = size_t{512} << 20;
constexpr float largest_turns = 64;  // of an input with the largest frequency: errors are 2^-21 of it

// Slices of rows that are summed at once, by the bytes of the partial sums of 16 columns.
int64_t chunk_slices(int64_t padded_units, size_t bytes, int64_t rows) {
  const auto fit = static_cast<int64_t>(partial_bytes / (2 * many_columns * static_cast<size_t>(padded_units) * bytes));
  return std::clamp<int64_t>((rows + slice - 1) / slice, 1, std::clamp<int64_t>(fit, 1, 4096));
}

}  // namespace

std::vector<Columns> column_groups(int64_t q, bool split) {
  std::vector<Columns> groups;
  int64_t start = 0;
  for (int at = 0; at < q;) {
    const auto left = static_cast<int>(q) - at;
    const int width = split && left > 4 ? many_columns : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    groups.push_back({at, std::min(left, width), width, start});
    at += groups.back().count, start += width;
  }
  return groups;
}

Rows::Rows(const carmina_cuda_task& task)
    : device_((check(cudaSetDevice(task.device), "choosing it"), task.device)),
      precision_(task.precision),
      rows_(task.rows),
      units_(task.units),
      padded_units_((task.units + unit_padding - 1) / unit_padding * unit_padding),
      at_once_((task.rows_at_once + slice - 1) / slice * slice),
      inputs_(static_cast<int>(task.inputs)),
      outputs_(static_cast<int>(task.outputs)),
      steps_(split_steps(static_cast<int>(task.inputs))),
      resident_(task.resident != 0),
      missing_(task.missing_targets != 0) {
  // Powers of two by which inputs are multiplied and frequencies divided, so that these are at most 1.
  std::vector<float> scale(static_cast<size_t>(inputs_)), inverse(scale.size());
  for (int k = 0; k < inputs_; ++k) {
    double largest = 0;
    for (int64_t j = 0; j < units_; ++j) largest = std::max(largest, std::abs(task.frequencies[j * inputs_ + k]));
    int power = 0;
    if (largest > 0) std::frexp(largest, &power);
    power = std::clamp(power, -100, 100);
    scale[static_cast<size_t>(k)] = std::ldexp(1.0f, power), inverse[static_cast<size_t>(k)] = std::ldexp(1.0f, -power);
  }
  scale_.resize(scale.size());
  flags_.resize(2);
  frequencies_.resize(static_cast<size_t>(units_ * inputs_));
  tiles_of_frequencies_.resize(static_cast<size_t>(padded_units_ / 8 * steps_ * 32));
  groups_of_frequencies_.resize(tiles_of_frequencies_.size());
  check(cudaMemsetAsync(flags_.data(), 0, 2 * sizeof(int), work_), "preparing");
  to_device(frequencies_.data(), task.frequencies, frequencies_.size(), work_);
  to_device(scale_.data(), inverse.data(), inverse.size(), work_);
  pack_frequencies<<<blocks_for(padded_units_ / 8 * steps_ * 32), threads, 0, work_>>>(
      frequencies_.data(), units_, inputs_, steps_, scale_.data(), padded_units_ / 16, tiles_of_frequencies_.data());
  group_frequencies<<<blocks_for(padded_units_ / 8 * steps_ * 32), threads, 0, work_>>>(
      frequencies_.data(), units_, inputs_, steps_, scale_.data(), padded_units_ / 8, groups_of_frequencies_.data());
  check_launch("preparing");
  to_device(scale_.data(), scale.data(), scale.size(), work_);
  work_.wait();
}

Rows::~Rows() { cudaSetDevice(device_); }

bool Rows::too_large() {
  int flag = 0;
  to_host(&flag, flags_.data(), 1, work_);
  work_.wait();
  return flag != 0;
}

void Rows::solve(int64_t q, const double* R, double* Z) {
  if (order_ == 0) throw Failure("there is no preconditioner to solve with");
  const auto size = static_cast<size_t>(q * order_);
  std::vector<float> values(size, 0.0f);
  // (2 units, q) and (q, order): sines begin at the padded units.
  const auto each = [&](const auto& take) {
    for (int64_t i = 0; i < 2 * units_; ++i) {
      const int64_t place = i < units_ ? i : padded_units_ + i - units_;
      for (int64_t c = 0; c < q; ++c) take(values[static_cast<size_t>(c * order_ + place)], i * q + c);
    }
  };
  each([&](float& value, int64_t at) { value = static_cast<float>(R[at]); });
  right_.at_least(size), solution_.at_least(size);
  to_device(right_.data(), values.data(), size, work_);
  solve_preconditioner(factor_, inverses_, order_, q, right_.data(), solution_.data(), work_);
  to_host(values.data(), solution_.data(), size, work_);
  work_.wait();
  each([&](float value, int64_t at) { Z[at] = static_cast<double>(value); });
}

namespace {

// T: of the data. split: phases by products of halves.
template <class T, bool split>
class TypedRows final : public Rows {
 public:
  explicit TypedRows(const carmina_cuda_task& task)
      : Rows(task), chunk_(slice * chunk_slices(padded_units_, sizeof(T), std::max(at_once_, rows_))) {
    const int64_t held = resident_ ? (rows_ + slice - 1) / slice * slice : at_once_;
    if constexpr (split) {
      halves_.resize(static_cast<size_t>(held / 8 * steps_ * 32));
    } else {
      plain_.resize(static_cast<size_t>(held * inputs_));
    }
    targets_.resize(static_cast<size_t>(std::max<int64_t>(held * outputs_, 1)));
    weights_.resize(static_cast<size_t>(held));
    chunk_ = std::min(chunk_, held);
    // A column more for the sums of weights, and one for each output where targets are missing.
    for (auto& part : parts_) {
      part.host.resize(static_cast<size_t>(at_once_ * (inputs_ + outputs_ + 1)));
      part.device.resize(part.host.size());
    }
  }

  void stage(void** inputs, void** targets, void** weights) override {
    Part& part = parts_[next_];
    part.taken.wait();
    T* const at = part.host.data();
    *inputs = at, *targets = at + at_once_ * inputs_, *weights = at + at_once_ * (inputs_ + outputs_);
  }

  void submit(int64_t first, int64_t count) override {
    Part& part = parts_[next_];
    next_ = 1 - next_;
    if (count < 1 || count > at_once_ || first % slice != 0 || first + count > rows_) {
      throw Failure("a block of rows does not fit: rows " + std::to_string(first) + " to " +
                    std::to_string(first + count) + " of " + std::to_string(rows_));
    }
    T* const from = part.host.data();
    T* const to = part.device.data();
    const int64_t starts[3] = {0, at_once_ * inputs_, at_once_ * (inputs_ + outputs_)};
    const int64_t sizes[3] = {count * inputs_, count * outputs_, count};
    for (int k = 0; k < 3; ++k) to_device(to + starts[k], from + starts[k], static_cast<size_t>(sizes[k]), copies_);
    part.copied.record(copies_);
    part.copied.hold(work_);
    const int64_t at = resident_ ? first : 0;
    if constexpr (split) {
      const int64_t groups = (count + 7) / 8;
      pack_rows<<<blocks_for(groups * steps_ * 32), threads, 0, work_>>>(to, count, inputs_, steps_, scale_.data(),
                                                                         groups, largest_turns, flags_.data(),
                                                                         halves_.data() + at / 8 * steps_ * 32);
      check_launch("packing rows");
    } else {
      copy_within(plain_.data() + at * inputs_, to, count * inputs_);
    }
    copy_within(targets_.data() + at * outputs_, to + starts[1], count * outputs_);
    copy_within(weights_.data() + at, to + starts[2], count);
    part.taken.record(work_);
    // The next copy into this place of the device comes after.
    part.taken.hold(copies_);
    spent_.bytes += static_cast<size_t>(count * (inputs_ + outputs_ + 1)) * sizeof(T);
  }

  void begin_sum(carmina_cuda_sum what, int64_t q, const double* matrix) override {
    what_ = what, columns_ = q;
    clock_ = Clock();
    groups_ = column_groups(q, split);
    const int64_t padded = padded_columns(groups_);
    total_.at_least(static_cast<size_t>(2 * padded_units_ * padded));
    right_total_.at_least(static_cast<size_t>(padded));
    check(cudaMemsetAsync(total_.data(), 0, total_.size() * sizeof(double), work_), "preparing");
    check(cudaMemsetAsync(right_total_.data(), 0, right_total_.size() * sizeof(double), work_), "preparing");
    partial_.at_least(static_cast<size_t>(chunk_ / slice * 2 * padded_units_) * most_columns());
    right_partial_.at_least(static_cast<size_t>(chunk_ / slice) * many_columns);
    right_.at_least(static_cast<size_t>(padded_rows(chunk_)) * most_columns());
    if (what == carmina_cuda_normal) put_coefficients(q, matrix, coefficients_, starts_);
    if (what == carmina_cuda_targets) {
      origin_.at_least(static_cast<size_t>(outputs_));
      to_device(origin_.data(), matrix, static_cast<size_t>(outputs_), work_);
      work_.wait();
    }
  }

  void add_block(int64_t first, int64_t count, const double* values) override {
    for (int64_t at = 0; at < count; at += chunk_) {
      const int64_t some = std::min(chunk_, count - at), place = (resident_ ? first : 0) + at;
      if (what_ == carmina_cuda_given) {
        given_.at_least(static_cast<size_t>(chunk_ * columns_));
        to_device(given_.data(), values + at * columns_, static_cast<size_t>(some * columns_), work_);
      }
      for (std::size_t g = 0; g < groups_.size(); ++g) add_columns(place, some, groups_[g], g);
    }
  }

  void end_sum(double* out, double* target_sums) override {
    const int64_t padded = padded_columns(groups_);
    std::vector<double> all(static_cast<size_t>(2 * padded_units_ * padded)), sums(static_cast<size_t>(padded));
    to_host(all.data(), total_.data(), all.size(), work_);
    to_host(sums.data(), right_total_.data(), sums.size(), work_);
    work_.wait();
    for (const Columns& group : groups_) {
      const double* from = all.data() + 2 * padded_units_ * group.start;
      for (int c = 0; target_sums && c < group.count; ++c) {
        target_sums[group.first + c] = sums[static_cast<size_t>(group.start + c)];
      }
      for (int64_t i = 0; i < 2 * units_; ++i) {
        const int64_t place = i < units_ ? i : padded_units_ + i - units_;
        for (int c = 0; c < group.count; ++c) out[i * columns_ + group.first + c] = from[place * group.width + c];
      }
    }
    spent_.computing += clock_.seconds();
  }

  void set_coefficients(int64_t q, const double* C) override {
    forward_columns_ = q;
    put_coefficients(q, C, forward_coefficients_, forward_starts_);
  }

  void forward_block(int64_t first, int64_t count, double* F) override {
    const Clock clock;
    const std::vector<Columns> groups = column_groups(forward_columns_, split);
    right_.at_least(static_cast<size_t>(padded_rows(chunk_) * groups[0].width));
    for (int64_t at = 0; at < count; at += chunk_) {
      const int64_t some = std::min(chunk_, count - at), place = (resident_ ? first : 0) + at;
      given_.at_least(static_cast<size_t>(chunk_ * forward_columns_));
      std::size_t g = 0;
      for (const Columns& group : groups) {
        multiply(place, some, group.width, forward_coefficients_.data() + forward_starts_[g++]);
        const auto q = static_cast<int>(forward_columns_);
        with_width(group.width, [&](auto P) {
          widen<T, P()>
              <<<blocks_for(some * P()), threads, 0, work_>>>(right_.data(), some, q, group.first, given_.data());
        });
        check_launch("multiplying by features");
      }
      to_host(F + at * forward_columns_, given_.data(), static_cast<size_t>(some * forward_columns_), work_);
      work_.wait();
    }
    spent_.computing += clock.seconds();
  }

  bool precondition(int64_t count, const void* X, const void* weights, double scale, bool centred,
                    double alpha) override {
    const Clock clock;
    order_ = 0;
    const int64_t groups = (count + 31) / 32 * 4;
    Buffer<T> x(static_cast<size_t>(count * inputs_)), w(static_cast<size_t>(weights ? count : 0));
    to_device(x.data(), static_cast<const T*>(X), x.size(), work_);
    double weight = static_cast<double>(count);
    if (weights) {
      weight = 0;
      for (int64_t i = 0; i < count; ++i) weight += static_cast<double>(static_cast<const T*>(weights)[i]);
      to_device(w.data(), static_cast<const T*>(weights), w.size(), work_);
    }
    Buffer<uint4> halves(static_cast<size_t>(groups * steps_ * 32));
    Buffer<float> roots(static_cast<size_t>(8 * groups)), sums(static_cast<size_t>(2 * padded_units_));
    check(cudaMemsetAsync(flags_.data() + 1, 0, sizeof(int), work_), "preparing");
    pack_rows<<<blocks_for(groups * steps_ * 32), threads, 0, work_>>>(
        x.data(), count, inputs_, steps_, scale_.data(), groups, largest_turns, flags_.data() + 1, halves.data());
    roots_of<<<blocks_for(8 * groups), threads, 0, work_>>>(weights ? w.data() : nullptr, count, 8 * groups,
                                                            roots.data());
    check_launch("packing rows");
    const SplitOperands of{
        halves.data(), tiles_of_frequencies_.data(), groups_of_frequencies_.data(), units_, padded_units_, steps_};
    if (centred) sum_features(of, count, roots, sums);
    int large = 0;
    to_host(&large, flags_.data() + 1, 1, work_);
    work_.wait();
    bool positive = false;
    if (large == 0) {
      const PreconditionerInput input{of,
                                      count,
                                      roots.data(),
                                      centred ? sums.data() : nullptr,
                                      static_cast<float>(weight),
                                      static_cast<float>(scale),
                                      static_cast<float>(alpha)};
      positive = factor_preconditioner(input, factor_, inverses_, flags_.data() + 1, work_);
    }
    if (positive) order_ = 2 * padded_units_;
    spent_.computing += clock.seconds();
    return positive;
  }

 private:
  struct Part {
    Buffer<T, Place::host> host;
    Buffer<T> device;
    Event copied, taken;
  };

  size_t most_columns() const { return static_cast<size_t>(groups_.empty() ? 1 : groups_[0].width); }
  static int64_t padded_columns(const std::vector<Columns>& groups) {
    return groups.empty() ? 0 : groups.back().start + groups.back().width;
  }
  // body(Number) with the width as a constant.
  template <class Body>
  static void with_width(int width, const Body& body) {
    if (width == many_columns) return body(std::integral_constant<int, many_columns>());
    if (width == 4) return body(std::integral_constant<int, 4>());
    if (width == 2) return body(std::integral_constant<int, 2>());
    body(std::integral_constant<int, 1>());
  }

  void copy_within(T* to, const T* from, int64_t count) {
    if (count == 0) return;
    check(cudaMemcpyAsync(to, from, sizeof(T) * static_cast<size_t>(count), cudaMemcpyDeviceToDevice, work_),
          "packing");
  }

  // Coefficients by groups of columns as the passes want them, and where a group begins.
  void put_coefficients(int64_t q, const double* C, Buffer<T>& to, std::vector<size_t>& starts) {
    std::vector<T> all;
    starts.clear();
    for (const Columns& group : column_groups(q, split)) {
      const bool parts = group.width == many_columns;  // high and low ones
      const size_t begin = all.size();
      starts.push_back(begin);
      all.resize(begin + static_cast<size_t>(2 * padded_units_ * group.width) * (parts ? 2 : 1), T(0));
      for (int64_t i = 0; i < 2 * units_; ++i) {
        const int64_t unit = i % units_;
        const auto part = static_cast<int>(i / units_);
        for (int c = 0; c < group.count; ++c) {
          const T value = static_cast<T>(C[i * q + group.first + c]);
          if (!parts) {
            all[begin + static_cast<size_t>((2 * unit + part) * group.width + c)] = value;
            continue;
          }
          uint32_t bits = 0;
          const auto narrow = static_cast<float>(value);
          std::memcpy(&bits, &narrow, sizeof bits);
          bits &= 0xffffe000U;
          float high = 0;
          std::memcpy(&high, &bits, sizeof bits);
          T* const at = all.data() + begin + many_place(unit, part, c);
          at[0] = high, at[2] = narrow - high;
        }
      }
    }
    to.at_least(all.size());
    to_device(to.data(), all.data(), all.size(), work_);
    work_.wait();
  }

  auto operands(int64_t place) const {
    if constexpr (split) {
      return SplitOperands{halves_.data() + place / 8 * steps_ * 32,
                           tiles_of_frequencies_.data(),
                           groups_of_frequencies_.data(),
                           units_,
                           padded_units_,
                           steps_};
    } else {
      return WideOperands<T>{plain_.data() + place * inputs_, frequencies_.data(), units_, padded_units_, inputs_};
    }
  }

  // right_ (rows, P) = phi C
  void multiply(int64_t place, int64_t count, int P, const T* coefficients) {
    forward(operands(place), count, P, coefficients, right_.data(), work_);
  }

  void add_columns(int64_t place, int64_t count, const Columns& group, std::size_t g) {
    with_width(group.width, [&](auto P) { add_columns<P()>(place, count, group, g); });
  }
  template <int P>
  void add_columns(int64_t place, int64_t count, const Columns& group, std::size_t g) {
    const T *targets = targets_.data() + place * outputs_, *weights = weights_.data() + place;
    const int64_t padded = padded_rows(count), slices = (count + slice - 1) / slice;
    if (what_ == carmina_cuda_normal) {
      multiply(place, count, P, coefficients_.data() + starts_[g]);
      weigh<T, P><<<blocks_for(padded * P), threads, 0, work_>>>(right_.data(), group.first, targets, weights, outputs_,
                                                                 missing_, count, padded);
    } else {
      const Right right{what_ == carmina_cuda_given ? given_.data() : nullptr, origin_.data(),
                        static_cast<int>(columns_), outputs_, missing_};
      fill_right<T, P><<<blocks_for(padded * P), threads, 0, work_>>>(right, group.first, targets, weights, count,
                                                                      padded, right_.data());
      sum_right<T, P><<<static_cast<unsigned>(slices), threads, 0, work_>>>(
          right, group.first, targets, weights, count, static_cast<int>(slice), right_partial_.data());
      add_slices<<<1, threads, 0, work_>>>(right_partial_.data(), slices, P, right_total_.data() + group.start);
    }
    check_launch("summing rows");
    adjoint(operands(place), count, P, right_.data(), partial_.data(), work_);
    const int64_t length = 2 * padded_units_ * P;
    add_slices<<<blocks_for(length), threads, 0, work_>>>(partial_.data(), slices, length,
                                                          total_.data() + 2 * padded_units_ * group.start);
    check_launch("adding sums");
  }

  // sum w phi of the sample: with roots of weights as right-hand side, which are squared first.
  void sum_features(const SplitOperands& of, int64_t count, const Buffer<float>& roots, Buffer<float>& sums) {
    const int64_t slices = (count + slice - 1) / slice, length = 2 * padded_units_;
    Buffer<float> right(roots.size()), partial(static_cast<size_t>(slices * length));
    Buffer<double> total(static_cast<size_t>(length));
    check(cudaMemsetAsync(total.data(), 0, total.size() * sizeof(double), work_), "preparing");
    square<<<blocks_for(static_cast<int64_t>(roots.size())), threads, 0, work_>>>(
        roots.data(), static_cast<int64_t>(roots.size()), right.data());
    adjoint(of, count, 1, right.data(), partial.data(), work_);
    add_slices<<<blocks_for(length), threads, 0, work_>>>(partial.data(), slices, length, total.data());
    narrow<<<blocks_for(length), threads, 0, work_>>>(total.data(), length, sums.data());
    check_launch("summing features");
    work_.wait();
  }

  int64_t chunk_;  // rows, whole slices
  Buffer<uint4> halves_;
  Buffer<T> plain_, targets_, weights_;
  Part parts_[2];
  int next_ = 0;

  carmina_cuda_sum what_ = carmina_cuda_given;
  int64_t columns_ = 0, forward_columns_ = 0;
  std::vector<Columns> groups_;
  std::vector<size_t> starts_, forward_starts_;
  Buffer<T> coefficients_, forward_coefficients_, right_, partial_;
  Buffer<double> total_, right_total_, right_partial_, origin_, given_;
  Clock clock_;
};

}  // namespace

Rows* make_rows(const carmina_cuda_task& task) {
  if (task.precision == carmina_cuda_split) return new TypedRows<float, true>(task);
  if (task.precision == carmina_cuda_wide) return new TypedRows<float, false>(task);
  return new TypedRows<double, false>(task);
}

size_t Rows::bytes(const carmina_cuda_task& task, int64_t q) {
  const int64_t padded = (task.units + unit_padding - 1) / unit_padding * unit_padding;
  const int steps = split_steps(static_cast<int>(task.inputs));
  const size_t number = task.precision == carmina_cuda_double ? 8 : 4;
  const bool split = task.precision == carmina_cuda_split;
  const int64_t held = task.resident ? task.rows : task.rows_at_once;
  const int64_t chunk = std::min(slice * chunk_slices(padded, number, std::max(task.rows, task.rows_at_once)),
                                 (held + slice - 1) / slice * slice);
  double total = static_cast<double>(held) *
                 (split ? 64.0 * steps : static_cast<double>(task.inputs) * static_cast<double>(number));
  total += static_cast<double>((held * (task.outputs + 1) + 2 * task.rows_at_once * (task.inputs + task.outputs + 1)) *
                               static_cast<int64_t>(number));
  total += static_cast<double>(task.units * task.inputs * 8 + padded * steps * 64);
  const auto together = static_cast<double>((q > 4 ? many_columns : q) * static_cast<int64_t>(number));
  total += together * static_cast<double>(chunk) * (1 + 2 * static_cast<double>(padded) / static_cast<double>(slice));
  total += static_cast<double>(8 * q * (chunk + 2 * padded)) +
           static_cast<double>(2 * padded * q) * 2 * static_cast<double>(number);
  return static_cast<size_t>(total);
}

}  // namespace carmina::cuda
