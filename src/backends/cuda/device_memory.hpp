// backends/cuda/device_memory.hpp -- memory, streams and errors of a device.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace carmina::cuda {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw Failure(std::string("the device failed while ") + what + ": " + cudaGetErrorString(status));
}
inline void check_launch(const char* what) { check(cudaGetLastError(), what); }

// Memory on the device, or of the host at a fixed place, from which copies go at the rate of the bus.
enum class Place { device, host };
template <class T, Place place = Place::device>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size) { resize(size); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { release(); }

  // What was held is lost.
  void resize(size_t size) {
    if (size == size_) return;
    release();
    if (size == 0) return;
    void* memory = nullptr;
    const size_t bytes = size * sizeof(T);
    const cudaError_t status = place == Place::device ? cudaMalloc(&memory, bytes) : cudaMallocHost(&memory, bytes);
    if (status != cudaSuccess) {
      cudaGetLastError();
      size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      const char* where = place == Place::device ? "device" : "host, at a fixed place";
      throw Failure("no memory for " + std::to_string(bytes / 1000000) + " MB on the " + where + "; the device has " +
                    std::to_string(free / 1000000) + " of " + std::to_string(total / 1000000) + " MB free");
    }
    data_ = static_cast<T*>(memory), size_ = size;
  }
  void at_least(size_t size) {
    if (size > size_) resize(size);
  }
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void release() {
    if (data_) place == Place::device ? cudaFree(data_) : cudaFreeHost(data_);
    data_ = nullptr, size_ = 0;
  }
  T* data_ = nullptr;
  size_t size_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }
  Stream(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "computing"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event"); }
  Event(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "copying"); }
  void wait() const { check(cudaEventSynchronize(event_), "copying"); }
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0), "copying"); }

 private:
  cudaEvent_t event_ = nullptr;
};

template <class T>
void to_device(T* to, const T* from, size_t count, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream), "copying to it");
}
template <class T>
void to_host(T* to, const T* from, size_t count, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream), "copying from it");
}

}  // namespace carmina::cuda
