// tests/gpu/device_processes_test.cpp -- several processes, each with a device: the same bits for any number of them.
#include "features/device_rows.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends.hpp"
#include "support/processes.hpp"
#include "support/random_matrix.hpp"

namespace carmina::device_processes_test {

using testing::Backend;
using testing::random_matrix;
using testing::run_processes;

class DeviceProcesses : public testing::OnDevices {};
CARMINA_ON_DEVICES(DeviceProcesses);

template <Real T>
struct Answers {
  Matrix<double> cross, normal, adjoint, forward, gram, moments;
  std::string device;
  bool operator==(const Answers& b) const {
    return cross == b.cross && normal == b.normal && adjoint == b.adjoint && forward == b.forward && gram == b.gram &&
           moments == b.moments;
  }
};

template <Real T>
std::vector<Answers<T>> ask(int size, const Execution& execution, bool far = false) {
  constexpr Index n = 3000, d = 3, p = 2, units = 20, m = 2 * units;
  Matrix<T> X = random_matrix<T>(n, d, 1), Y = random_matrix<T>(n, p, 2);
  if (far) X.row(n - 1).array() += T(3e4);  // in the last process alone
  const FourierMap<T> map(Matrix<T>(random_matrix<T>(units, d, 3)));
  const auto all = run_processes(size, [&](const Communicator& processes) {
    const Index first = n * processes.rank() / size, end = n * (processes.rank() + 1) / size;
    MemoryRows<T> own(X.middleRows(first, end - first), Y.middleRows(first, end - first));
    const DataRows<T> rows({&own}, &processes);
    const auto door = rows_of(map, rows, FeatureStorage::none, execution);
    Answers<T> out;
    out.cross = door->sums(Vector<double>::Constant(p, 0.3)).cross;
    door->normal(random_matrix(m, 3, 4), out.normal);
    door->adjoint(random_matrix(n, 2, 5), out.adjoint);
    door->forward(random_matrix(m, 2, 6), out.forward);
    door->gram(random_matrix(n, 1, 7).col(0).cwiseAbs(), out.gram);
    out.gram = out.gram.template triangularView<Eigen::Lower>();
    Moments moments(m, Vector<double>::Constant(p, 0.1));
    door->moments(moments);
    out.moments = moments.sums.template triangularView<Eigen::Lower>();
    out.device = door->on_device();
    return out;
  });
  std::vector<Answers<T>> found;
  for (const auto& one : all) {
    EXPECT_EQ(one.error, "");
    if (one.result) found.push_back(*one.result);
  }
  return found;
}

template <Real T>
void expect_same_bits(const Execution& execution, bool far) {
  const std::vector<Answers<T>> one = ask<T>(1, execution, far), here = ask<T>(1, testing::OnDevices::on_cpu(), far);
  ASSERT_EQ(one.size(), 1);
  EXPECT_THAT(one[0].device, ::testing::StartsWith("cuda:0, "));
  EXPECT_EQ(here[0].device, "");
  const double bound = std::same_as<T, float> ? 1e-4 : 1e-9;
  EXPECT_LT((one[0].cross - here[0].cross).norm(), bound * here[0].cross.norm());
  EXPECT_LT((one[0].gram - here[0].gram).norm(), bound * here[0].gram.norm());
  EXPECT_LT((one[0].moments - here[0].moments).norm(), bound * here[0].moments.norm());
  for (const int size : {2, 3, 5}) {
    const std::vector<Answers<T>> several = ask<T>(size, execution, far);
    ASSERT_EQ(several.size(), static_cast<std::size_t>(size));
    for (const Answers<T>& answer : several) EXPECT_TRUE(answer == one[0]) << size;
  }
}

TEST_P(DeviceProcesses, AnyNumberOfThemHasTheSameBits) {
  expect_same_bits<float>(execution(), false);
  expect_same_bits<double>(execution(), false);
}

// Where halves do not hold the inputs of one process, all of them take phases in double.
TEST_P(DeviceProcesses, TheyTakeOnePrecision) { expect_same_bits<float>(execution(), true); }

// Of those that can be used: the twin's third falls off the bus.
TEST(DeviceWords, ProcessesTakeDevicesRoundRobin) {
  const auto all = run_processes(5, [&](const Communicator& processes) {
    return backend::find_device(testing::on_backend(Backend::twin), &processes)->number;
  });
  std::vector<int> numbers;
  for (const auto& one : all) numbers.push_back(one.result.value_or(-1));
  EXPECT_EQ(numbers, (std::vector<int>{0, 1, 0, 1, 0}));
  Execution numbered = testing::on_backend(Backend::twin);
  numbered.device = "cuda:1";
  for (const auto& one : run_processes(
           2, [&](const Communicator& processes) { return backend::find_device(numbered, &processes)->number; })) {
    EXPECT_EQ(one.result.value_or(-1), 1);
  }
}

// Whole fits: every process has the model that one alone has.
TEST_P(DeviceProcesses, Fits) {
  const Matrix<double> X = random_matrix(2600, 3, 1), Y = random_matrix(2600, 1, 2), Z = random_matrix(50, 3, 3);
  for (const char* solver : {"direct", "cg"}) {
    SCOPED_TRACE(solver);
    FitOptions options;
    options.kernel_name = "gaussian";
    options.length_scale = LengthScale(1.5);
    options.alpha = 0.1;
    options.n_components = 40;
    options.approximation = "fourier";
    options.solver = solver;
    options.execution = execution();
    const auto fit = [&](int size) {
      return run_processes(size, [&](const Communicator& processes) {
        const Index first = 2600 * processes.rank() / size, end = 2600 * (processes.rank() + 1) / size;
        MemoryRows<double> own(X.middleRows(first, end - first), Y.middleRows(first, end - first));
        const auto machine = KernelMachine<double>::fit(own, options, processes);
        EXPECT_THAT(machine.record().report.device, ::testing::HasSubstr("cuda:"));
        return machine.predict(Z);
      });
    };
    const auto one = fit(1);
    ASSERT_EQ(one[0].error, "");
    for (const int size : {2, 3}) {
      for (const auto& of : fit(size)) {
        ASSERT_EQ(of.error, "");
        EXPECT_EQ(*of.result, *one[0].result) << size;
      }
    }
  }
}

}  // namespace carmina::device_processes_test
