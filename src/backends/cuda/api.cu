// backends/cuda/api.cu -- the table of functions: no exception leaves it.
#include "backends/cuda/precondition.hpp"
#include "backends/cuda/rows.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <string>

struct carmina_cuda_rows {
  std::unique_ptr<carmina::cuda::Rows> rows;
};

namespace carmina::cuda {
namespace {

thread_local std::string last_error;

template <class Body>
int guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    last_error = "no memory on the host";
  } catch (const std::exception& failure) {
    last_error = failure.what();
  }
  return 1;
}
template <class Body>
int with(carmina_cuda_rows* rows, const Body& body) {
  return guarded([&] {
    rows->rows->use();
    body(*rows->rows);
  });
}

const carmina_cuda_api table = {
    carmina_cuda_version,
    [] { return last_error.c_str(); },
    [](int* count) {
      return guarded([&] {
        *count = 0;
        const cudaError_t status = cudaGetDeviceCount(count);
        if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
          cudaGetLastError();
          *count = 0;
          return;
        }
        check(status, "counting devices");
      });
    },
    [](int device, carmina_cuda_device* into) {
      return guarded([&] {
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, device), "describing it");
        std::memcpy(into->name, properties.name, sizeof into->name);
        into->name[sizeof into->name - 1] = 0;
        into->major = properties.major, into->minor = properties.minor;
        into->multiprocessors = properties.multiProcessorCount;
        check(cudaSetDevice(device), "choosing it");
        check(cudaMemGetInfo(&into->free_bytes, &into->total_bytes), "describing it");
      });
    },
    [](const carmina_cuda_task* task) {
      carmina_cuda_rows* made = nullptr;
      guarded([&] { made = new carmina_cuda_rows{std::unique_ptr<Rows>(make_rows(*task))}; });
      return made;
    },
    [](carmina_cuda_rows* rows) {
      if (rows) with(rows, [](Rows&) {});
      delete rows;
    },
    [](const carmina_cuda_task* task, int64_t q) { return Rows::bytes(*task, q); },
    [](carmina_cuda_rows* rows, void** inputs, void** targets, void** weights) {
      return with(rows, [&](Rows& of) { of.stage(inputs, targets, weights); });
    },
    [](carmina_cuda_rows* rows, int64_t first, int64_t count) {
      return with(rows, [&](Rows& of) { of.submit(first, count); });
    },
    [](carmina_cuda_rows* rows, const carmina_cuda_transform* transform) {
      return with(rows, [&](Rows& of) { of.set_transform(*transform); });
    },
    [](carmina_cuda_rows* rows, int64_t first, int64_t count, const void* X, int64_t stride, const void* Y,
       int64_t y_stride, const void* weights) {
      return with(rows, [&](Rows& of) { of.submit_held(first, count, X, stride, Y, y_stride, weights); });
    },
    [](carmina_cuda_rows* rows, int* answer) { return with(rows, [&](Rows& of) { *answer = of.too_large(); }); },
    [](carmina_cuda_rows* rows, carmina_cuda_sum what, int64_t q, const double* matrix) {
      return with(rows, [&](Rows& of) { of.begin_sum(what, q, matrix); });
    },
    [](carmina_cuda_rows* rows, int64_t first, int64_t count, const double* values) {
      return with(rows, [&](Rows& of) { of.add_block(first, count, values); });
    },
    [](carmina_cuda_rows* rows, double* out, double* target_sums) {
      return with(rows, [&](Rows& of) { of.end_sum(out, target_sums); });
    },
    [](carmina_cuda_rows* rows, int64_t q, const double* C) {
      return with(rows, [&](Rows& of) { of.set_coefficients(q, C); });
    },
    [](carmina_cuda_rows* rows, int64_t first, int64_t count, double* F) {
      return with(rows, [&](Rows& of) { of.forward_block(first, count, F); });
    },
    [](carmina_cuda_rows* rows, double largest) { return with(rows, [&](Rows& of) { of.begin_gram(largest); }); },
    [](carmina_cuda_rows* rows, int64_t first, int64_t count, const double* u) {
      return with(rows, [&](Rows& of) { of.add_gram(first, count, u); });
    },
    [](carmina_cuda_rows* rows, double* H) { return with(rows, [&](Rows& of) { of.end_gram(H); }); },
    [](carmina_cuda_rows* rows, int64_t count, const float* X, const float* weights, const int64_t* numbers,
       double factor, int centred, double alpha, int* positive) {
      return with(rows, [&](Rows& of) {
        *positive = of.precondition(count, X, weights, numbers, factor, centred != 0, alpha);
      });
    },
    [](carmina_cuda_rows* rows, int64_t q, const double* R, double* Z) {
      return with(rows, [&](Rows& of) { of.solve(q, R, Z); });
    },
    [](carmina_cuda_rows* rows, carmina_cuda_seconds* into) {
      return with(rows, [&](Rows& of) { *into = of.seconds(); });
    },
    [](const void* address, int* device) {
      return guarded([&] {
        cudaPointerAttributes facts;
        const cudaError_t status = cudaPointerGetAttributes(&facts, address);
        cudaGetLastError();
        *device = status == cudaSuccess && facts.type == cudaMemoryTypeDevice ? facts.device : -1;
      });
    },
    [](int device, size_t bytes, void** memory) {
      return guarded([&] {
        check(cudaSetDevice(device), "choosing it");
        check(cudaMalloc(memory, bytes), "taking memory");
      });
    },
    [](int device, void* memory) {
      return guarded([&] {
        check(cudaSetDevice(device), "choosing it");
        check(cudaFree(memory), "giving memory back");
      });
    },
    [](int device, void* to, size_t to_stride, const void* from, size_t from_stride, size_t width, size_t rows) {
      return guarded([&] {
        check(cudaSetDevice(device), "choosing it");
        check(cudaDeviceSynchronize(), "waiting for it");
        if (rows == 0) return;
        if (to_stride == width && from_stride == width) {
          check(cudaMemcpy(to, from, width * rows, cudaMemcpyDefault), "copying rows");
        } else {
          check(cudaMemcpy2D(to, to_stride, from, from_stride, width, rows, cudaMemcpyDefault), "copying rows");
        }
      });
    },
    [](int device, int64_t order, double* A, int64_t lda, int* positive) {
      return guarded([&] {
        check(cudaSetDevice(device), "choosing it");
        *positive = factor_matrix(order, A, lda) ? 1 : 0;
      });
    },
};

}  // namespace
}  // namespace carmina::cuda

extern "C" __attribute__((visibility("default"))) const carmina_cuda_api* carmina_cuda(int version) {
  return version == carmina_cuda_version ? &carmina::cuda::table : nullptr;
}
