// tests/gpu/device_prediction_test.cpp -- predictions on a device, and inputs that are in its memory already.
#include "features/device_product.hpp"
#include "features/device_rows.hpp"

#include <carmina/models/device_prediction.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/predictor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::device_prediction_test {

using testing::Backend;
using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using ::testing::StartsWith;

class DevicePrediction : public testing::OnDevices {};
CARMINA_ON_DEVICES(DevicePrediction);

template <Real T>
FitOptions options_of(Index components = 160) {
  FitOptions options;
  options.kernel_name = "gaussian";
  options.length_scale = LengthScale(1.5);
  options.alpha = 1e-2;
  options.n_components = components;
  options.approximation = "fourier";
  options.solver = "direct";
  options.scale_inputs = true;
  options.execution.device = "cpu";
  return options;
}

template <Real T>
Matrix<T> targets_of(const Matrix<T>& X, Index p) {
  Matrix<T> Y(X.rows(), p);
  for (Index a = 0; a < p; ++a) Y.col(a) = (X.rowwise().sum().array() + T(a)).sin();
  return Y;
}

// docs/gpu.md: 1e-4 in float and 1e-9 in double; a row has the same bits alone, in any batch and in any place of it.
template <Real T>
void expect_the_cpus(const Execution& there, Index p, bool coupled) {
  SCOPED_TRACE(format_text("{} outputs, {} bytes", p, sizeof(T)));
  const Matrix<T> X = random_matrix<T>(700, 4, 1), Z = random_matrix<T>(2500, 4, 2);
  FitOptions options = options_of<T>();
  if (coupled) options.coupling = OutputMatrix(Matrix<double>::Constant(p, p, 0.5) + Matrix<double>::Identity(p, p));
  const auto machine = KernelMachine<T>::fit(X, targets_of(X, p), options);
  Execution here;
  here.device = "cpu";
  const Matrix<T> a = machine.predict(Z, here), b = machine.predict(Z, there);
  const double bound = std::same_as<T, float> ? 1e-4 : 1e-9;
  EXPECT_LT((a - b).cwiseAbs().maxCoeff(), bound);
  EXPECT_EQ(b, machine.predict(Z, there));
  EXPECT_EQ(machine.predict(Z.topRows(1), there), b.topRows(1));
  EXPECT_EQ(machine.predict(Z.middleRows(77, 3), there), b.middleRows(77, 3));
  EXPECT_EQ(machine.predict(Z.bottomRows(1301), there), b.bottomRows(1301));
}

TEST_P(DevicePrediction, IsTheCpus) {
  for (const Index p : {1, 3, 7}) {
    expect_the_cpus<float>(execution(), p, false);
    expect_the_cpus<double>(execution(), p, false);
  }
  expect_the_cpus<float>(execution(), 3, true);
}

// A row that halves do not hold is computed by the CPU: its neighbours stay as they were.
TEST_P(DevicePrediction, ARowFarAwayChangesNoOther) {
  const Matrix<float> X = random_matrix<float>(700, 4, 1), Z = random_matrix<float>(300, 4, 2);
  const auto machine = KernelMachine<float>::fit(X, targets_of(X, 2), options_of<float>());
  const Matrix<float> near = machine.predict(Z, execution());
  Matrix<float> moved = Z;
  moved.row(100).array() += 3e4F;
  const Matrix<float> found = machine.predict(moved, execution());
  EXPECT_EQ(found.topRows(100), near.topRows(100));
  EXPECT_EQ(found.bottomRows(199), near.bottomRows(199));
  EXPECT_EQ(found.row(100), machine.predict(moved.middleRows(100, 1), on_cpu()).row(0));
}

TEST_P(DevicePrediction, FieldsAndModelsFromFiles) {
  const Matrix<double> X = random_matrix(400, 2, 1), Z = random_matrix(90, 2, 2);
  FitOptions options = options_of<double>();
  options.coupling = parse_coupling("curl-free");
  options.scale_inputs = false;
  const auto machine = KernelMachine<double>::fit(X, targets_of(X, 2), options);
  EXPECT_LT(max_difference(machine.predict(Z, on_cpu()), machine.predict(Z, execution())), 1e-9);
  const Predictor predictor{AnyKernelMachine(machine)};
  EXPECT_EQ(predictor.predict(Z, execution()), machine.predict(Z, execution()));
  // Many threads at once: one has what the map keeps, the others make their own.
  std::vector<Matrix<double>> all(8);
  parallel_for(8, 4, [&](Index k, int) { all[static_cast<std::size_t>(k)] = machine.predict(Z, execution()); });
  for (const auto& one : all) EXPECT_EQ(one, machine.predict(Z, execution()));
}

// Values of kernels at the rows of exact machines and at anchors of sketches.
template <Real T>
void expect_kernels(const Execution& there) {
  const Matrix<T> X = random_matrix<T>(300, 4, 1), Z = random_matrix<T>(1500, 4, 2);
  const Kernel kernels[] = {Gaussian(1.7),
                            Laplacian(3.0),
                            Matern(1.5, 0.5),
                            Matern(1.5, 1.5),
                            Matern(std::vector<double>{1.0, 2.0, 1.5, 3.0}, 2.5),
                            RationalQuadratic(2.0, 1.7)};
  for (const Kernel& kernel : kernels) {
    SCOPED_TRACE(kernel_name(kernel.terms()[0].scalar));
    for (const char* approximation : {"exact", "sub_sample", "sparse_rademacher"}) {
      FitOptions options = options_of<T>(40);
      options.kernel = kernel;
      options.approximation = approximation;
      options.alpha = 1;
      if (options.approximation == "exact") options.n_components = {};
      const auto machine = KernelMachine<T>::fit(X, targets_of(X, 3), options);
      Execution here = there;
      here.device = "cpu";
      const Matrix<T> found = machine.predict(Z, there);
      EXPECT_NE(found, machine.predict(Z, here)) << "not of the device";
      EXPECT_LT((found - machine.predict(Z, here)).cwiseAbs().maxCoeff(), (std::same_as<T, float> ? 1e-4 : 1e-9));
      EXPECT_EQ(machine.predict(Z.middleRows(333, 2), there), found.middleRows(333, 2));
    }
  }
}
TEST_P(DevicePrediction, OfKernelsIsTheCpus) {
  expect_kernels<float>(execution());
  expect_kernels<double>(execution());
}

// What no device makes the CPU does, whatever is asked for; "auto" takes it for little work.
TEST_P(DevicePrediction, OthersAreTheCpus) {
  const Matrix<double> X = random_matrix(200, 2, 1);
  FitOptions options = options_of<double>();
  options.kernel = Polynomial(2);
  options.approximation = "exact", options.n_components = {};
  const auto exact = KernelMachine<double>::fit(X, targets_of(X, 1), options);
  EXPECT_EQ(exact.predict(X, execution()), exact.predict(X, on_cpu()));
  const auto fourier = KernelMachine<double>::fit(X, targets_of(X, 1), options_of<double>());
  Execution open = execution();
  open.device = "auto";
  EXPECT_EQ(fourier.predict(X, open), fourier.predict(X, on_cpu()));
  Execution wrong = execution();
  wrong.device = "tpu";
  EXPECT_THAT(message_of([&] { fourier.predict(X, wrong); }), StartsWith("device must be 'auto', "));
}

// Rows on the device: the same machine and the same predictions as of rows in the host's memory. They are copied to
// "the device" by what copies rows from it; the twin's device is the host.
template <Real T>
class Held {
 public:
  Held(const Matrix<T>& X, Index stride, const Execution& execution) : device_(*backend::find_device(execution)) {
    void* memory = nullptr;
    EXPECT_EQ(device_.api->allocate(device_.number, static_cast<std::size_t>(X.rows() * stride) * sizeof(T), &memory),
              0);
    array = {static_cast<const T*>(memory), X.rows(), X.cols(), stride};
    const auto bytes = [](Index count) { return static_cast<std::size_t>(count) * sizeof(T); };
    EXPECT_EQ(device_.api->copy(device_.number, memory, bytes(stride), X.data(), bytes(X.cols()), bytes(X.cols()),
                                static_cast<std::size_t>(X.rows())),
              0);
  }
  ~Held() { device_.api->release(device_.number, const_cast<T*>(array.data)); }
  Held(const Held&) = delete;

  DeviceArray<T> array;

 private:
  backend::Device device_;
};

template <Real T>
void expect_the_hosts(const Execution& there, const char* solver, bool missing) {
  Matrix<T> X = random_matrix<T>(1500, 3, 1);
  const Matrix<T> Y = targets_of(X, 2);
  const Vector<T> w = random_matrix<T>(1500, 1, 5).cwiseAbs().array() + T(0.1);
  if (missing) {
    for (Index i = 0; i < 1500; i += 7) X(i, 1) = std::numeric_limits<T>::quiet_NaN();
  }
  FitOptions options = options_of<T>(60);
  options.execution = there;
  options.solver = solver;
  options.fill_missing = missing;
  options.tol = 1e-7;
  const Held<T> held(X, 5, there);
  const auto rows = rows_on_device<T>(held.array, Y, w.data(), there);
  MemoryRows<T> here_rows(X, Y, w.data());
  const auto a = KernelMachine<T>::fit(here_rows, options), b = KernelMachine<T>::fit(*rows, options);
  EXPECT_THAT(b.record().report.device, StartsWith("cuda:0, "));
  EXPECT_EQ(a.coefficients(), b.coefficients());
  EXPECT_EQ(a.predict(X, there), predict_on_device(b, held.array, there));
  EXPECT_EQ(a.predict(X, there).rows(), 1500);
  Execution here = there;
  here.device = "cpu";
  EXPECT_EQ(a.predict(X, here), predict_on_device(b, held.array, here));
}

TEST_P(DevicePrediction, InputsOnTheDeviceAreTakenWhereTheyAre) {
  expect_the_hosts<float>(execution(), "cg", false);
  expect_the_hosts<double>(execution(), "cg", true);
  expect_the_hosts<float>(execution(), "direct", true);
  expect_the_hosts<double>(execution(), "direct", false);
}

TEST_P(DevicePrediction, InputsOnTheDeviceThatHalvesDoNotHold) {
  Matrix<float> X = random_matrix<float>(2000, 3, 1);
  const auto machine = KernelMachine<float>::fit(X, targets_of(X, 1), options_of<float>());
  X.row(7).array() += 3e4F;
  const Held<float> held(X, 3, execution());
  EXPECT_EQ(machine.predict(X, execution()), predict_on_device(machine, held.array, execution()));
}

TEST_P(DevicePrediction, AnAddressOfNoDeviceIsASentence) {
  EXPECT_THAT(message_of([&] { rows_on_device<double>({}, Matrix<double>(), nullptr, execution()); }),
              HasSubstr("the address is in no device's memory"));
}

}  // namespace carmina::device_prediction_test
