// gpu/backends.hpp -- the tests of devices run on two backends: the twin of plain loops, everywhere, and a device,
// where there is one.
#pragma once
#include "backends/cuda/backend.hpp"

#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace carmina::testing {

enum class Backend { twin, device };

inline Execution on_backend(Backend backend) {
  Execution execution;
  execution.device = "cuda";
  execution.device_library = backend == Backend::twin ? CARMINA_TWIN : CARMINA_DEVICE_LIBRARY;
  return execution;
}

class OnDevices : public ::testing::TestWithParam<Backend> {
 public:
  void SetUp() override {
    try {
      backend::find_device(execution());
    } catch (const Error& none) {
      if (GetParam() == Backend::twin) throw;
      GTEST_SKIP() << none.what();
    }
  }
  static Execution execution() { return on_backend(GetParam()); }
  static Execution on_cpu() {
    Execution execution;
    execution.device = "cpu";
    return execution;
  }
  // The same with as little memory as body(execution) accepts: rows go in blocks.
  static Execution in_least_memory(Execution execution, const std::function<void(const Execution&)>& body) {
    for (execution.device_memory = 100000; execution.device_memory < 1000000000; execution.device_memory *= 2) {
      try {
        body(execution);
        break;
      } catch (const Error&) {
      }
    }
    return execution;
  }
};

#define CARMINA_ON_DEVICES(Suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Values(Backend::twin, Backend::device), \
                           [](const auto& of) { return of.param == Backend::twin ? "twin" : "device"; })

}  // namespace carmina::testing
