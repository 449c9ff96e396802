// backends/cuda/typed_rows.cu -- passes over rows of one device, in chunks whose partial sums fit.
#include "backends/cuda/coefficients.hpp"
#include "backends/cuda/passes.hpp"
#include "backends/cuda/precondition.hpp"
#include "backends/cuda/row_kernels.cuh"
#include "backends/cuda/rows.hpp"

#include <algorithm>
#include <type_traits>

namespace carmina::cuda {
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
    if (split && steps_ > most_steps_held) chunk_ = std::min(chunk_, phased_rows(padded_units_));
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
    check_block(first, count);
    Part& part = parts_[next_];
    const T* const from = part.host.data();
    T* const to = part.device.data();
    for (int k = 0; k < 3; ++k)
      to_device(to + starts(k), from + starts(k), static_cast<size_t>(count * width(k)), copies_);
    part.copied.record(copies_);
    part.copied.hold(work_);
    spent_.bytes += static_cast<size_t>(count * (inputs_ + outputs_ + 1)) * sizeof(T);
    take(first, count);
  }

  void submit_held(int64_t first, int64_t count, const void* X, int64_t stride, const void* Y, int64_t y_stride,
                   const void* weights) override {
    check_block(first, count);
    Part& part = parts_[next_];
    part.taken.wait();
    T* const to = part.device.data();
    place_inputs<T><<<blocks_for(count * inputs_), threads, 0, work_>>>(placing_, static_cast<const T*>(X), stride,
                                                                        count, inputs_, to);
    check_launch("placing inputs");
    T *const targets = part.host.data() + starts(1), *const w = part.host.data() + starts(2);
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(static_cast<const T*>(Y) + i * y_stride, outputs_, targets + i * outputs_);
      w[i] = weights ? static_cast<const T*>(weights)[i] : T(1);
    }
    for (int k = 1; k < 3; ++k) {
      to_device(to + starts(k), part.host.data() + starts(k), static_cast<size_t>(count * width(k)), work_);
    }
    spent_.bytes += static_cast<size_t>(count * (outputs_ + 1)) * sizeof(T);
    take(first, count);
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
    partial_.at_least(static_cast<size_t>(chunk_ / slice * 2 * padded_units_) * widest());
    right_partial_.at_least(static_cast<size_t>(chunk_ / slice) * most_columns);
    right_.at_least(static_cast<size_t>(padded_rows(chunk_)) * widest());
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
      prepare_phases(groups_, place, some);
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
      prepare_phases(groups, place, some);
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

  void add_gram(int64_t first, int64_t count, const double* u) override {
    const Clock clock;
    for (int64_t at = 0; at < count; at += chunk_) {
      const int64_t some = std::min(chunk_, count - at), place = (resident_ ? first : 0) + at;
      const int64_t padded = (some + root_padding - 1) / root_padding * root_padding;
      roots_.at_least(static_cast<size_t>((chunk_ + root_padding - 1) / root_padding * root_padding));
      if (u) {
        given_.at_least(static_cast<size_t>(chunk_));
        to_device(given_.data(), u + at, static_cast<size_t>(some), work_);
        roots_of<<<blocks_for(padded), threads, 0, work_>>>(given_.data(), gram_scale_, some, padded, roots_.data());
      } else {
        roots_of<<<blocks_for(padded), threads, 0, work_>>>(weights_.data() + place, gram_scale_, some, padded,
                                                            roots_.data());
      }
      check_launch("weighing rows");
      add_gram_of(operands(place), some, roots_.data(), gram_.data(), work_);
    }
    spent_.computing += clock.seconds();
  }

 private:
  // Where inputs, targets and weights of a part begin, and how many of them a row has.
  int64_t starts(int k) const { return at_once_ * (k == 0 ? 0 : k == 1 ? inputs_ : inputs_ + outputs_); }
  int64_t width(int k) const { return k == 0 ? inputs_ : k == 1 ? outputs_ : 1; }

  void check_block(int64_t first, int64_t count) const {
    if (count >= 1 && count <= at_once_ && first % slice == 0 && first + count <= rows_) return;
    throw Failure("a block of rows does not fit: rows " + std::to_string(first) + " to " +
                  std::to_string(first + count) + " of " + std::to_string(rows_));
  }

  // What is in the next part, on the device, to its place.
  void take(int64_t first, int64_t count) {
    Part& part = parts_[next_];
    next_ = 1 - next_;
    T* const from = part.device.data();
    const int64_t at = resident_ ? first : 0;
    if constexpr (split) {
      const int64_t groups = (count + 7) / 8;
      pack_rows<<<blocks_for(groups * steps_ * 32), threads, 0, work_>>>(from, count, inputs_, steps_, scale_.data(),
                                                                         groups, largest_turns, flags_.data(),
                                                                         halves_.data() + at / 8 * steps_ * 32);
      check_launch("packing rows");
    } else {
      copy_within(plain_.data() + at * inputs_, from, count * inputs_);
    }
    copy_within(targets_.data() + at * outputs_, from + starts(1), count * outputs_);
    copy_within(weights_.data() + at, from + starts(2), count);
    part.taken.record(work_);
    // The next copy into this place of the device comes after.
    part.taken.hold(copies_);
  }

  void take_rows(const int64_t* numbers, int64_t count, uint4* halves, float* roots) override {
    if constexpr (split) {
      if (!resident_) throw Failure("rows by their numbers are not held");
      const int64_t groups = (count + 31) / 32 * 4;
      Buffer<int64_t> at(static_cast<size_t>(count));
      to_device(at.data(), numbers, at.size(), work_);
      gather_rows<<<blocks_for(groups * steps_ * 32), threads, 0, work_>>>(halves_.data(), weights_.data(), at.data(),
                                                                           count, steps_, groups, halves, roots);
      check_launch("taking rows");
      work_.wait();
    } else {
      throw Failure("rows by their numbers are for products of halves");
    }
  }

  struct Part {
    Buffer<T, Place::host> host;
    Buffer<T> device;
    Event copied, taken;
  };

  size_t widest() const { return static_cast<size_t>(groups_.empty() ? 1 : groups_[0].width); }
  static int64_t padded_columns(const std::vector<Columns>& groups) {
    return groups.empty() ? 0 : groups.back().start + groups.back().width;
  }
  // body(Number) with the width as a constant.
  template <class Body>
  static void with_width(int width, const Body& body) {
    if (width == most_columns) return body(std::integral_constant<int, most_columns>());
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

  void put_coefficients(int64_t q, const double* C, Buffer<T>& to, std::vector<size_t>& starts) {
    const std::vector<T> all = arranged_coefficients<T>(column_groups(q, split), units_, padded_units_, q, C, starts);
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
                           steps_,
                           phases_.data()};
    } else {
      return WideOperands<T>{
          plain_.data() + place * inputs_, frequencies_.data(), units_, padded_units_, inputs_, profile_};
    }
  }

  // Of rows of a chunk, where some of the groups of columns take them.
  void prepare_phases(const std::vector<Columns>& groups, int64_t place, int64_t count) {
    if constexpr (split) {
      if (groups.empty() || !takes_phases(steps_, groups[0].width)) return;
      phases_.at_least(static_cast<size_t>((chunk_ + 7) / 8 * 8 * padded_units_));
      make_phases(operands(place), count, phases_.data(), work_);
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

  int64_t chunk_;  // rows, whole slices
  Buffer<uint4> halves_;
  Buffer<T> plain_, targets_, weights_;
  Part parts_[2];
  int next_ = 0;

  carmina_cuda_sum what_ = carmina_cuda_given;
  int64_t columns_ = 0, forward_columns_ = 0;
  std::vector<Columns> groups_;
  std::vector<size_t> starts_, forward_starts_;
  Buffer<float> phases_;
  Buffer<T> coefficients_, forward_coefficients_, right_, partial_;
  static constexpr int64_t root_padding = 64;
  Buffer<std::conditional_t<split, float, double>> roots_;
  Buffer<double> total_, right_total_, right_partial_, origin_, given_;
  Clock clock_;
};

}  // namespace

Rows* make_rows(const carmina_cuda_task& task) {
  if (task.precision == carmina_cuda_split) return new TypedRows<float, true>(task);
  if (task.precision == carmina_cuda_wide) return new TypedRows<float, false>(task);
  return new TypedRows<double, false>(task);
}

}  // namespace carmina::cuda
