// backends/cuda/backend.hpp -- libcarmina_cuda.so, opened when a device is asked for.
#pragma once
#include "backends/cuda/carmina_cuda.h"

#include <carmina/core/communicator.hpp>
#include <carmina/core/execution.hpp>

#include <memory>
#include <optional>
#include <string>

namespace carmina::backend {

// The words of Execution::device.
struct DeviceRequest {
  bool automatic = false, cuda = false;  // neither: the CPU
  int number = 0;                        // of the device
  bool numbered = false;                 // it is asked for by its number
};
DeviceRequest parse_device(const std::string& word);  // Error for one that is none

// A device that may be used.
struct Device {
  const carmina_cuda_api* api = nullptr;
  int number = 0;
  carmina_cuda_device facts = {};

  std::string name() const;  // "cuda:0"
};

// The one asked for. Error, one sentence that says what is missing, where there is none; of "auto" and "cpu" nothing.
// Of several processes, all of which ask, those on one machine take its devices round robin, unless a number is asked
// for.
std::optional<Device> find_device(const Execution& execution, const Communicator* processes = nullptr);
// The one whose memory an address is in. Error where that is none's.
Device device_of(const void* address, const Execution& execution);

// A = L Lᵀ in place (lower triangle) on a device, where `execution` asks for one, or is "auto" and the order is worth
// it: whether A was positive definite. Nothing: the CPU is to do it.
std::optional<bool> factor_on_device(Index order, double* A, Index lda, const Execution& execution);
// The same question, before any work.
void check_device(const Execution& execution);

// Error of a call that failed: the sentence of the backend, after which device it is.
void require_done(const Device& device, int status);

// Rows on a device, closed at the end.
struct CloseRows {
  const carmina_cuda_api* api = nullptr;
  void operator()(carmina_cuda_rows* rows) const { api->close(rows); }
};
using DeviceHandle = std::unique_ptr<carmina_cuda_rows, CloseRows>;
DeviceHandle open_rows(const Device& device, const carmina_cuda_task& task);

}  // namespace carmina::backend
