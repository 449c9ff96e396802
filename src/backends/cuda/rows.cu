// backends/cuda/rows.cu -- frequencies on a device, memory, and the preconditioner.
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

constexpr int64_t unit_padding = 256;
constexpr size_t partial_bytes = size_t{512} << 20;

}  // namespace

std::vector<Columns> column_groups(int64_t q, bool split) {
  std::vector<Columns> groups;
  int64_t start = 0;
  for (int at = 0; at < q;) {
    const auto left = static_cast<int>(q) - at;
    const int many = left > 2 * many_columns ? most_columns : many_columns;
    const int width = split && left > 4 ? many : left >= 3 ? 4 : left;
    groups.push_back({at, std::min(left, width), width, start});
    at += groups.back().count, start += width;
  }
  return groups;
}

// Slices of rows that are summed at once, by the bytes of the partial sums of 16 columns.
int64_t Rows::chunk_slices(int64_t padded_units, size_t bytes, int64_t rows) {
  const auto fit = static_cast<int64_t>(partial_bytes / (2 * many_columns * static_cast<size_t>(padded_units) * bytes));
  return std::clamp<int64_t>((rows + slice - 1) / slice, 1, std::clamp<int64_t>(fit, 1, 4096));
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
      missing_(task.missing_targets != 0),
      profile_{task.profile, task.shape} {
  if (profile_.kind != carmina_cuda_fourier && precision_ == carmina_cuda_split) {
    throw Failure("kernels are not made of halves");
  }
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

void Rows::set_transform(const carmina_cuda_transform& transform) {
  const auto d = static_cast<size_t>(inputs_);
  of_transform_.at_least(3 * d + d * d);
  double* to = of_transform_.data();
  const auto put = [&](const double* from, size_t count) -> const double* {
    double* const at = to;
    to += count;
    if (from) to_device(at, from, count, work_);
    return from ? at : nullptr;
  };
  placing_.fill = put(transform.fill, d), placing_.shift = put(transform.shift, d);
  placing_.factor = put(transform.factor, d), placing_.metric = put(transform.metric, d * d);
  placing_.limit = transform.limit;
  work_.wait();
}

bool Rows::too_large() {
  int flag = 0;
  to_host(&flag, flags_.data(), 1, work_);
  work_.wait();
  return flag != 0;
}

void Rows::solve(int64_t q, const double* R, double* Z) {
  const Clock clock;
  if (order_ == 0) throw Failure("there is no preconditioner to solve with");
  const auto size = static_cast<size_t>(q * order_);
  std::vector<float> values(size, 0.0f);
  // (2 units, q) and (q, order): sines begin at the padded units.
  const auto each = [&](const auto& take) {
    constexpr int64_t together = 16;  // rows whose columns are gone through while they are in cache
    for (int64_t first = 0; first < 2 * units_; first += together) {
      const int64_t last = std::min(2 * units_, first + together);
      for (int64_t c = 0; c < q; ++c) {
        for (int64_t i = first; i < last; ++i) {
          const int64_t place = i < units_ ? i : padded_units_ + i - units_;
          take(values[static_cast<size_t>(c * order_ + place)], i * q + c);
        }
      }
    }
  };
  each([&](float& value, int64_t at) { value = static_cast<float>(R[at]); });
  right_.at_least(size), solution_.at_least(size);
  to_device(right_.data(), values.data(), size, work_);
  solve_preconditioner(factor_, inverses_, order_, q, right_.data(), solution_.data(), work_);
  to_host(values.data(), solution_.data(), size, work_);
  work_.wait();
  each([&](float value, int64_t at) { Z[at] = static_cast<double>(value); });
  spent_.computing += clock.seconds();
}

bool Rows::precondition(int64_t count, const float* X, const float* weights, const int64_t* numbers, double factor,
                        bool centred, double alpha) {
  const Clock clock;
  order_ = 0;
  const int64_t groups = (count + 31) / 32 * 4;
  Buffer<float> roots(static_cast<size_t>(8 * groups));
  Buffer<uint4> halves(static_cast<size_t>(groups * steps_ * 32));
  check(cudaMemsetAsync(flags_.data() + 1, 0, sizeof(int), work_), "preparing");
  Buffer<float> x(static_cast<size_t>(numbers ? 0 : count * inputs_)), w(static_cast<size_t>(weights ? count : 0));
  if (numbers) {
    take_rows(numbers, count, halves.data(), roots.data());
  } else {
    to_device(x.data(), X, x.size(), work_);
    if (weights) to_device(w.data(), weights, w.size(), work_);
    pack_rows<<<blocks_for(groups * steps_ * 32), threads, 0, work_>>>(
        x.data(), count, inputs_, steps_, scale_.data(), groups, largest_turns, flags_.data() + 1, halves.data());
    roots_of<<<blocks_for(8 * groups), threads, 0, work_>>>(static_cast<const float*>(weights ? w.data() : nullptr),
                                                            1.0, count, 8 * groups, roots.data());
    check_launch("packing rows");
  }
  int large = 0;
  std::vector<float> of_rows(static_cast<size_t>(count));
  to_host(&large, flags_.data() + 1, 1, work_);
  to_host(of_rows.data(), roots.data(), of_rows.size(), work_);
  work_.wait();
  double weight = 0;
  for (const float root : of_rows) weight += static_cast<double>(root) * static_cast<double>(root);
  bool positive = false;
  if (large == 0 && weight > 0) {
    const SplitOperands of{
        halves.data(), tiles_of_frequencies_.data(), groups_of_frequencies_.data(), units_, padded_units_, steps_};
    const PreconditionerInput input{of,
                                    count,
                                    roots.data(),
                                    centred,
                                    static_cast<float>(weight),
                                    static_cast<float>(factor / weight),
                                    static_cast<float>(alpha)};
    positive = factor_preconditioner(input, factor_, inverses_, flags_.data() + 1, work_);
  }
  if (positive) order_ = 2 * padded_units_;
  spent_.computing += clock.seconds();
  return positive;
}

void Rows::begin_gram(double largest) {
  if (profile_.kind != carmina_cuda_fourier) throw Failure("Gram matrices are of Fourier features");
  int power = 0;
  std::frexp(largest, &power);
  gram_scale_ = std::ldexp(1.0, -power);
  gram_.at_least(static_cast<size_t>(4 * padded_units_ * padded_units_));
  check(cudaMemsetAsync(gram_.data(), 0, sizeof(double) * gram_.size(), work_), "preparing");
}

void Rows::end_gram(double* H) {
  const Clock clock;
  const int64_t order = 2 * padded_units_;
  std::vector<double> row(static_cast<size_t>(order));
  for (int64_t i = 0; i < 2 * units_; ++i) {
    const auto place = [&](int64_t k) { return k < units_ ? k : padded_units_ + k - units_; };
    to_host(row.data(), gram_.data() + place(i) * order, static_cast<size_t>(place(i) + 1), work_);
    work_.wait();
    for (int64_t j = 0; j <= i; ++j) H[i * 2 * units_ + j] = row[static_cast<size_t>(place(j))] / gram_scale_;
  }
  spent_.computing += clock.seconds();
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
  const int64_t widest = q <= 4 || !split       ? std::min<int64_t>(q, 4)
                         : q > 2 * many_columns ? most_columns
                                                : many_columns;
  const auto together = static_cast<double>(widest * static_cast<int64_t>(number));
  total += together * static_cast<double>(chunk) * (1 + 2 * static_cast<double>(padded) / static_cast<double>(slice));
  total += static_cast<double>(8 * q * (chunk + 2 * padded)) +
           static_cast<double>(2 * padded * q) * 2 * static_cast<double>(number);
  if (split && steps > most_steps_held && q > 4) {
    total += 4.0 * static_cast<double>(std::min(phased_rows(padded), held) * padded);
  }
  // A preconditioner, of orders where it is made there, with the features of its rows.
  const auto order = static_cast<double>(2 * padded);
  if (order >= 1024) total += order * (4 * order + 2 * 16384);
  return static_cast<size_t>(total);
}

}  // namespace carmina::cuda
