// backends/cuda/rows.hpp -- rows and a map on one device: what is held, and the passes over it.
#pragma once
#include "backends/cuda/carmina_cuda.h"
#include "backends/cuda/device_memory.hpp"
#include "backends/cuda/passes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace carmina::cuda {

// Columns of a product are taken 4, 2 or 1 at a time; by products of halves also 64 or 16, the last of which may be
// padding.
struct Columns {
  int first, count, width;
  int64_t start;  // columns of all groups before, with their padding
};
std::vector<Columns> column_groups(int64_t q, bool split);

// What is done to inputs (carmina_cuda_transform), in the device's memory.
struct Placing {
  const double *fill, *shift, *factor, *metric;
  double limit;
};

// What the functions of the table do; of float or double data.
class Rows {
 public:
  explicit Rows(const carmina_cuda_task& task);
  virtual ~Rows();
  Rows(const Rows&) = delete;

  virtual void stage(void** inputs, void** targets, void** weights) = 0;
  virtual void submit(int64_t first, int64_t count) = 0;
  void set_transform(const carmina_cuda_transform& transform);
  virtual void submit_held(int64_t first, int64_t count, const void* X, int64_t stride, const void* Y, int64_t y_stride,
                           const void* weights) = 0;
  bool too_large();
  virtual void begin_sum(carmina_cuda_sum what, int64_t q, const double* matrix) = 0;
  virtual void add_block(int64_t first, int64_t count, const double* values) = 0;
  virtual void end_sum(double* out, double* target_sums) = 0;
  virtual void set_coefficients(int64_t q, const double* C) = 0;
  virtual void forward_block(int64_t first, int64_t count, double* F) = 0;
  void begin_gram(double largest);
  virtual void add_gram(int64_t first, int64_t count, const double* u) = 0;
  void end_gram(double* H);
  bool precondition(int64_t count, const float* X, const float* weights, const int64_t* numbers, double factor,
                    bool centred, double alpha);
  void solve(int64_t q, const double* R, double* Z);
  carmina_cuda_seconds seconds() const { return spent_; }

  // On this thread.
  void use() const { check(cudaSetDevice(device_), "choosing it"); }
  static size_t bytes(const carmina_cuda_task& task, int64_t q);

 protected:
  static constexpr int64_t slice = carmina_cuda_slice;
  static constexpr float largest_turns = 64;  // of an input with the largest frequency: errors are 2^-21 of it
  // Rows whose phases are stored together: in two gigabytes.
  static int64_t phased_rows(int64_t padded_units) {
    return slice * std::max<int64_t>(1, (int64_t{1} << 31) / (4 * padded_units * slice));
  }
  static int64_t chunk_slices(int64_t padded_units, size_t bytes, int64_t rows);
  int64_t padded_rows(int64_t count) const { return (count + 7) / 8 * 8; }

  // Rows with these numbers, of those that are held, as halves, and the roots of their weights.
  virtual void take_rows(const int64_t* numbers, int64_t count, uint4* halves, float* roots) = 0;

  const int device_;
  const carmina_cuda_precision precision_;
  const int64_t rows_, units_, padded_units_, at_once_;
  const int inputs_, outputs_, steps_;
  const bool resident_, missing_;
  const Profile profile_;
  Stream copies_, work_;
  Buffer<uint4> tiles_of_frequencies_, groups_of_frequencies_;  // halves
  Buffer<float> scale_;                                         // of inputs, powers of two
  Buffer<double> frequencies_;                                  // (units, inputs), of phases in double
  Buffer<int> flags_;                                           // an input too large; a matrix not positive definite
  carmina_cuda_seconds spent_{};
  // The factor of a preconditioner (order, order), and inverses of its diagonal blocks.
  int64_t order_ = 0;
  Buffer<float> factor_, inverses_;
  Buffer<double> gram_;          // (2 padded units, 2 padded units), of u times gram_scale_
  double gram_scale_ = 1;        // a power of two: roots are at most 1
  Buffer<double> of_transform_;  // fill, shift, factor, metric, one after the other
  Placing placing_{};

 private:
  Buffer<float> right_, solution_;
};

Rows* make_rows(const carmina_cuda_task& task);

// Seconds since it was made.
class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace carmina::cuda
