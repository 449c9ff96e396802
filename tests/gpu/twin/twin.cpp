// gpu/twin/twin.cpp -- what libcarmina_cuda.so does, by plain loops in double: the host's side of the seam is tested
// with it where there is no device. It has three devices, whose memory is the host's; the third always fails.
#include "backends/cuda/carmina_cuda.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct carmina_cuda_rows {
  carmina_cuda_task task;
  Matrix W, X, Y;  // of all rows that are held
  Eigen::VectorXd w;
  std::vector<double> staged;  // as T
  int64_t held_first = 0;
  bool large = false;

  carmina_cuda_sum what{};
  Matrix given, coefficients, total, gram;  // P or origin; C
  Eigen::VectorXd target_total;
  Eigen::LLT<Matrix> factor;
  carmina_cuda_transform transform{};
  size_t bytes = 0;

  bool wide() const { return task.precision == carmina_cuda_double; }
  // [cos, sin] of a row that is held, or [k, 0]
  Eigen::RowVectorXd features(int64_t i) const {
    Eigen::RowVectorXd phi(2 * W.rows());
    if (task.profile != carmina_cuda_fourier) {
      phi.setZero();
      for (Eigen::Index j = 0; j < W.rows(); ++j) phi[j] = kernel(X.row(i) - W.row(j));
      return phi;
    }
    const Eigen::RowVectorXd phase = 2 * std::numbers::pi * X.row(i) * W.transpose();
    phi << phase.array().cos(), phase.array().sin();
    return phi;
  }
  double kernel(const Eigen::RowVectorXd& delta) const {
    const double r = delta.squaredNorm(), s = std::sqrt(2 * task.shape * r);
    if (task.profile == carmina_cuda_gaussian) return std::exp(-r / 2);
    if (task.profile == carmina_cuda_laplacian) return std::exp(-delta.lpNorm<1>());
    if (task.profile == carmina_cuda_rational) return std::pow(1 + r / (2 * task.shape), -task.shape);
    return (task.shape == 0.5 ? 1 : task.shape == 1.5 ? 1 + s : 1 + s + s * s / 3) * std::exp(-s);
  }
  template <class T>
  void take(int64_t at, int64_t count) {
    const auto* x = reinterpret_cast<const T*>(staged.data());
    const T* y = x + task.rows_at_once * task.inputs;
    const T* weight = y + task.rows_at_once * task.outputs;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < task.inputs; ++k) X(at + i, k) = static_cast<double>(x[i * task.inputs + k]);
      for (int64_t k = 0; k < task.outputs; ++k) Y(at + i, k) = static_cast<double>(y[i * task.outputs + k]);
      w[at + i] = static_cast<double>(weight[i]);
      large = large || (X.row(at + i).cwiseAbs() * W.cwiseAbs().colwise().maxCoeff().asDiagonal()).maxCoeff() > 64;
    }
  }
};

namespace {

thread_local std::string last;
int failed(const std::string& why) {
  last = why;
  return 1;
}

Matrix matrix_of(const float* cells, int64_t rows, int64_t columns) {
  using Cells = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Cells>(cells, rows, columns).cast<double>();
}

int submit(carmina_cuda_rows* it, int64_t first, int64_t count) {
  const carmina_cuda_task& t = it->task;
  if (first % carmina_cuda_slice != 0 || first + count > t.rows || count > t.rows_at_once) return failed("bad block");
  it->held_first = t.resident ? 0 : first;
  it->bytes += static_cast<size_t>(count * (t.inputs + t.outputs + 1)) * (it->wide() ? 8 : 4);
  it->wide() ? it->take<double>(first - it->held_first, count) : it->take<float>(first - it->held_first, count);
  return 0;
}

template <class T>
void stage_held(carmina_cuda_rows* it, int64_t count, const T* X, int64_t stride, const T* Y, int64_t y_stride,
                const T* weights) {
  const carmina_cuda_task& t = it->task;
  const carmina_cuda_transform& by = it->transform;
  T* const x = reinterpret_cast<T*>(it->staged.data());
  T *const y = x + t.rows_at_once * t.inputs, *const w = y + t.rows_at_once * t.outputs;
  for (int64_t i = 0; i < count; ++i) {
    Eigen::VectorXd moved(t.inputs);
    for (int64_t k = 0; k < t.inputs; ++k) {
      auto value = static_cast<double>(X[i * stride + k]);
      if (by.fill && std::isnan(value)) value = by.fill[k];
      if (by.shift) value = (value - by.shift[k]) * by.factor[k];
      moved[k] = std::clamp(value, -by.limit, by.limit);
    }
    if (by.metric) moved = (Eigen::Map<const Matrix>(by.metric, t.inputs, t.inputs) * moved).eval();
    for (int64_t k = 0; k < t.inputs; ++k) x[i * t.inputs + k] = static_cast<T>(moved[k]);
    for (int64_t k = 0; k < t.outputs; ++k) y[i * t.outputs + k] = Y[i * y_stride + k];
    w[i] = weights ? weights[i] : T(1);
  }
}

int submit_held(carmina_cuda_rows* it, int64_t first, int64_t count, const void* X, int64_t stride, const void* Y,
                int64_t y_stride, const void* weights) {
  if (count > it->task.rows_at_once) return failed("bad block");
  const auto as = [](auto like, const void* at) { return static_cast<const decltype(like)*>(at); };
  if (it->wide()) {
    stage_held(it, count, as(double(), X), stride, as(double(), Y), y_stride, as(double(), weights));
  } else {
    stage_held(it, count, as(float(), X), stride, as(float(), Y), y_stride, as(float(), weights));
  }
  const size_t before = it->bytes;
  const int status = submit(it, first, count);
  it->bytes = before;
  return status;
}

int copy_rows(void* to, size_t to_stride, const void* from, size_t from_stride, size_t width, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    std::memcpy(static_cast<char*>(to) + i * to_stride, static_cast<const char*>(from) + i * from_stride, width);
  }
  return 0;
}

int factor(int64_t order, double* A, int64_t lda, int* positive) {
  Eigen::Map<Matrix, 0, Eigen::OuterStride<>> matrix(A, order, order, Eigen::OuterStride<>(lda));
  const Eigen::LLT<Matrix> found(matrix.triangularView<Eigen::Lower>());
  *positive = found.info() == Eigen::Success;
  if (*positive) matrix.triangularView<Eigen::Lower>() = found.matrixL();
  return 0;
}

int add_block(carmina_cuda_rows* it, int64_t first, int64_t count, const double* values) {
  const int64_t q = it->total.cols(), p = it->task.outputs;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = first - it->held_first + i;
    const Eigen::RowVectorXd phi = it->features(row);
    Eigen::RowVectorXd r(q);
    if (it->what == carmina_cuda_given) r = Eigen::Map<const Eigen::RowVectorXd>(values + i * q, q);
    if (it->what == carmina_cuda_normal) r = it->w[row] * (phi * it->given);
    for (int64_t c = 0; it->what == carmina_cuda_targets && c < q; ++c) {
      const double y = c == p ? 0 : it->Y(row, c < p ? c : c - p - 1), w = it->w[row];
      r[c] = c == p ? w : it->task.missing_targets && std::isnan(y) ? 0 : c < p ? w * (y - it->given(0, c)) : w;
    }
    for (int64_t c = 0; it->what == carmina_cuda_normal && it->task.missing_targets && c < q; ++c) {
      if (std::isnan(it->Y(row, c))) r[c] = 0;
    }
    it->total += phi.transpose() * r;
    it->target_total += r.transpose();
  }
  return 0;
}

int precondition(carmina_cuda_rows* it, int64_t count, const float* X, const float* weights, const int64_t* numbers,
                 double factor, int centred, double alpha, int* positive) {
  Matrix inputs(count, it->task.inputs), w = Matrix::Ones(count, 1);
  if (!numbers) inputs = matrix_of(X, count, it->task.inputs);
  if (weights) w = matrix_of(weights, count, 1);
  for (int64_t k = 0; numbers && k < count; ++k) inputs.row(k) = it->X.row(numbers[k]), w(k, 0) = it->w[numbers[k]];
  const Matrix phase = 2 * std::numbers::pi * inputs * it->W.transpose();
  Matrix phi(count, 2 * phase.cols());
  phi << phase.array().cos(), phase.array().sin();
  Matrix M = phi.transpose() * w.col(0).asDiagonal() * phi;
  const Eigen::VectorXd g = phi.transpose() * w.col(0);
  if (centred) M -= g * g.transpose() / w.sum();
  M = factor / w.sum() * M;
  M.diagonal().array() += alpha;
  it->factor.compute(M);
  *positive = it->factor.info() == Eigen::Success;
  return 0;
}

const carmina_cuda_api table = {
    carmina_cuda_version,
    [] { return last.c_str(); },
    [](int* count) { return *count = 3, 0; },
    [](int device, carmina_cuda_device* into) {
      if (device > 1) return failed("it fell off the bus");
      *into = {};
      std::strcpy(into->name, "a twin");
      into->major = 9, into->total_bytes = size_t{2} << 30, into->free_bytes = size_t{1} << 30;
      return 0;
    },
    [](const carmina_cuda_task* task) {
      auto* it = new carmina_cuda_rows{};
      it->task = *task;
      it->W = Eigen::Map<const Matrix>(task->frequencies, task->units, task->inputs);
      const int64_t held = task->resident ? task->rows : task->rows_at_once;
      it->X.resize(held, task->inputs), it->Y.resize(held, task->outputs), it->w.resize(held);
      it->staged.resize(static_cast<size_t>(task->rows_at_once * (task->inputs + task->outputs + 1)));
      return it;
    },
    [](carmina_cuda_rows* it) { delete it; },
    [](const carmina_cuda_task* t, int64_t q) {
      const int64_t held = t->resident ? t->rows : t->rows_at_once;
      return static_cast<size_t>((held * (t->inputs + t->outputs + 1) + 2 * t->units * (t->inputs + q)) * 8);
    },
    [](carmina_cuda_rows* it, void** inputs, void** targets, void** weights) {
      const size_t cell = it->wide() ? 8 : 4, rows = static_cast<size_t>(it->task.rows_at_once);
      char* const at = reinterpret_cast<char*>(it->staged.data());
      // What an earlier block left must not matter.
      std::memset(at, 0xff, it->staged.size() * 8);
      *inputs = at;
      *targets = at + rows * static_cast<size_t>(it->task.inputs) * cell;
      *weights = at + rows * static_cast<size_t>(it->task.inputs + it->task.outputs) * cell;
      return 0;
    },
    submit,
    [](carmina_cuda_rows* it, const carmina_cuda_transform* transform) { return it->transform = *transform, 0; },
    submit_held,
    [](carmina_cuda_rows* it, int* answer) {
      return *answer = it->large && it->task.precision == carmina_cuda_split, 0;
    },
    [](carmina_cuda_rows* it, carmina_cuda_sum what, int64_t q, const double* matrix) {
      it->what = what;
      const int64_t m = 2 * it->task.units;
      if (what == carmina_cuda_normal) it->given = Eigen::Map<const Matrix>(matrix, m, q);
      if (what == carmina_cuda_targets) it->given = Eigen::Map<const Matrix>(matrix, 1, it->task.outputs);
      it->total = Matrix::Zero(m, q), it->target_total = Eigen::VectorXd::Zero(q);
      return 0;
    },
    add_block,
    [](carmina_cuda_rows* it, double* out, double* target_sums) {
      std::copy_n(it->total.data(), it->total.size(), out);
      if (target_sums) std::copy_n(it->target_total.data(), it->target_total.size(), target_sums);
      return 0;
    },
    [](carmina_cuda_rows* it, int64_t q, const double* C) {
      it->coefficients = Eigen::Map<const Matrix>(C, 2 * it->task.units, q);
      return 0;
    },
    [](carmina_cuda_rows* it, int64_t first, int64_t count, double* F) {
      const int64_t q = it->coefficients.cols();
      for (int64_t i = 0; i < count; ++i) {
        Eigen::Map<Eigen::RowVectorXd>(F + i * q, q) = it->features(first - it->held_first + i) * it->coefficients;
      }
      return 0;
    },
    [](carmina_cuda_rows* it, double) {
      it->gram = Matrix::Zero(2 * it->task.units, 2 * it->task.units);
      return 0;
    },
    [](carmina_cuda_rows* it, int64_t first, int64_t count, const double* u) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = first - it->held_first + i;
        const Eigen::RowVectorXd phi = it->features(row);
        it->gram.selfadjointView<Eigen::Lower>().rankUpdate(phi.transpose(), u ? u[i] : it->w[row]);
      }
      return 0;
    },
    [](carmina_cuda_rows* it, double* H) {
      std::copy_n(it->gram.data(), it->gram.size(), H);
      return 0;
    },
    precondition,
    [](carmina_cuda_rows* it, int64_t q, const double* R, double* Z) {
      const Matrix solved = it->factor.solve(Eigen::Map<const Matrix>(R, 2 * it->task.units, q));
      std::copy_n(solved.data(), solved.size(), Z);
      return 0;
    },
    [](carmina_cuda_rows* it, carmina_cuda_seconds* into) {
      *into = {0, 0, it->bytes};
      return 0;
    },
    [](const void* address, int* device) { return *device = address ? 0 : -1, 0; },
    [](int, size_t bytes, void** memory) { return *memory = std::malloc(bytes), *memory ? 0 : 1; },
    [](int, void* memory) {
      std::free(memory);
      return 0;
    },
    [](int, void* to, size_t to_stride, const void* from, size_t from_stride, size_t width, size_t rows) {
      return copy_rows(to, to_stride, from, from_stride, width, rows);
    },
    [](int, int64_t order, double* A, int64_t lda, int* positive) { return factor(order, A, lda, positive); },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const carmina_cuda_api* carmina_cuda(int version) {
  return version == carmina_cuda_version ? &table : nullptr;
}
