// tests/gpu/device_fit_test.cpp -- whole fits on a device beside those of the CPU; words and messages.
#include "backends/cuda/backend.hpp"
#include "features/device_rows.hpp"
#include "solvers/squared/subset_preconditioner.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "backends.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::device_fit_test {

using testing::Backend;
using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using ::testing::StartsWith;

class DeviceFit : public testing::OnDevices {};
CARMINA_ON_DEVICES(DeviceFit);

template <class T>
Matrix<T> targets_of(const Matrix<T>& X) {
  Matrix<T> Y(X.rows(), 2);
  Y.col(0) = X.rowwise().sum().array().sin();
  Y.col(1) = (X.col(0).array() * T(2)).cos() + T(0.1) * random_matrix<T>(X.rows(), 1, 9).col(0).array();
  return Y;
}

FitOptions options_for(const Execution& execution) {
  FitOptions options;
  options.kernel_name = "gaussian";
  options.length_scale = LengthScale(1.5);
  options.alpha = 1e-2;
  options.n_components = 200;
  options.approximation = "fourier";
  options.solver = "cg";
  options.scale_inputs = true;
  options.execution = execution;
  return options;
}

// docs/gpu.md: of the targets' size; and of a small alpha, where float itself is not so exact, no further from a fit in
// double than twice what the CPU's is.
template <Real T>
void expect_same_predictions(const FitOptions& on_device, double bound, Index rows = 3000) {
  const Matrix<double> X = random_matrix<double>(rows, 3, 1).cast<float>().cast<double>(), Y = targets_of(X);
  const Matrix<double> Z = random_matrix<double>(100, 3, 2).cast<float>().cast<double>();
  const Matrix<T> X_in = X.cast<T>(), Y_in = Y.cast<T>(), Z_in = Z.cast<T>();
  FitOptions here = on_device;
  here.execution.device = "cpu";
  const auto a = KernelMachine<T>::fit(X_in, Y_in, here), b = KernelMachine<T>::fit(X_in, Y_in, on_device);
  EXPECT_EQ(a.record().report.device, "");
  EXPECT_THAT(b.record().report.device, StartsWith("cuda:0, "));
  const Matrix<double> exact = KernelMachine<double>::fit(X, Y, here).predict(Z);
  const double of_cpu = max_difference(a.predict(Z_in), exact), of_device = max_difference(b.predict(Z_in), exact);
  EXPECT_LT(of_device, std::max(bound, 2 * of_cpu)) << b.record().report.device;
  // Run to run, every bit.
  EXPECT_EQ(b.predict(Z_in), KernelMachine<T>::fit(X_in, Y_in, on_device).predict(Z_in));
}

TEST_P(DeviceFit, ConjugateGradientsAreTheCpus) {
  FitOptions options = options_for(execution());
  options.tol = 1e-7;
  options.alpha = 0.1;
  expect_same_predictions<float>(options, 1e-4);
  options.tol = 1e-12;
  expect_same_predictions<double>(options, 1e-9);
}

TEST_P(DeviceFit, DirectSolutionsAndNewtonsStepsTakeItsGramMatrices) {
  FitOptions options = options_for(execution());
  options.solver = "direct";
  options.n_components = 60;
  options.alpha = 0.1;
  expect_same_predictions<float>(options, 1e-4, 1100);
  options.solver = "newton";
  options.loss = Huber(0.5);
  options.tol = 1e-8;
  expect_same_predictions<float>(options, 1e-4, 1100);
}

TEST_P(DeviceFit, VectorFieldsGoByTheirExpansion) {
  const Matrix<double> X = random_matrix(3000, 2, 1), Y = targets_of(X), Z = random_matrix(100, 2, 2);
  FitOptions options = options_for(execution());
  options.coupling = parse_coupling("curl-free");
  options.scale_inputs = false;
  options.tol = 1e-11;
  FitOptions here = options;
  here.execution.device = "cpu";
  const auto a = KernelMachine<double>::fit(X, Y, here), b = KernelMachine<double>::fit(X, Y, options);
  EXPECT_THAT(b.record().report.device, StartsWith("cuda:0, "));
  EXPECT_LT(max_difference(a.predict(Z), b.predict(Z)), 1e-8);
}

TEST_P(DeviceFit, OtherSolversAndLosses) {
  for (const char* solver : {"lsmr", "idr"}) {
    SCOPED_TRACE(solver);
    FitOptions options = options_for(execution());
    options.solver = solver;
    options.n_components = 40;
    options.tol = 1e-11;
    expect_same_predictions<double>(options, 1e-7, 1100);
  }
  FitOptions options = options_for(execution());
  options.n_components = 40;
  options.solver = "auto";
  options.loss = Huber(0.5);
  options.tol = 1e-10;
  expect_same_predictions<double>(options, 1e-4, 1100);
}

// The factor on the device is that of a matrix of halves: Z is M^-1 R to what rounding features to 11 bits changes.
TEST_P(DeviceFit, PreconditionerIsTheHosts) {
  const Index n = 6000, units = 600, m = 2 * units;
  const FourierMap<float> map(Gaussian(0.7), 3, m, 1);
  const Matrix<float> X = random_matrix<float>(n, 3, 1), Y = random_matrix<float>(n, 1, 2);
  const Vector<float> w = random_matrix<float>(n, 1, 3).cwiseAbs().array() + 0.1F;
  MemoryRows<float> memory(X, Y, w.data());
  const DataRows<float> rows(memory);
  const auto here = rows_of(map, rows, FeatureStorage::none, on_cpu());
  const auto there = rows_of(map, rows, FeatureStorage::none, execution());
  const double weight = w.cast<double>().sum();
  const Matrix<double> R = random_matrix(m, 3, 4);
  for (const bool centred : {false, true}) {
    EXPECT_TRUE(there->subset_solve(4000, weight, centred, 1, 1.0) != nullptr);
    const SubsetPreconditioner a(*here, 4000, weight, centred, 1, 1.0, {});
    const SubsetPreconditioner b(*there, 4000, weight, centred, 1, 1.0, {});
    Matrix<double> in, out;
    a(R, in);
    b(R, out);
    EXPECT_LT((in - out).norm(), 2e-2 * in.norm());
    b(Matrix<double>(1e-40 * R), in);
    EXPECT_LT((1e40 * in - out).norm(), 1e-5 * out.norm()) << "residuals below what float can hold";
  }
  // Too small an alpha for halves, and too small a system: the host's.
  EXPECT_TRUE(there->subset_solve(4000, weight, true, 1, 1e-9) == nullptr);
}

TEST_P(DeviceFit, AutoTakesTheCpuForLittleWork) {
  Execution open = execution();
  open.device = "auto";
  const Matrix<float> X = random_matrix<float>(3000, 3, 1), Y = targets_of(X);
  EXPECT_EQ(KernelMachine<float>::fit(X, Y, options_for(open)).record().report.device, "");
}

TEST(DeviceWords, AreParsed) {
  EXPECT_TRUE(backend::parse_device("auto").automatic);
  EXPECT_FALSE(backend::parse_device("cpu").cuda);
  EXPECT_EQ(backend::parse_device("cuda").number, 0);
  EXPECT_EQ(backend::parse_device("cuda:12").number, 12);
  for (const char* word : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:99999999999", "CUDA"}) {
    EXPECT_EQ(message_of([&] { backend::parse_device(word); }),
              format_text("device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found '{}'", word));
  }
}

TEST(DeviceWords, SayWhatIsMissing) {
  const testing::TempDir folder;
  Execution execution = testing::on_backend(Backend::twin);
  execution.device = "cuda:3";
  FitOptions options = options_for(execution);
  EXPECT_EQ(message_of([&] { options.check(); }),
            "device 'cuda:3': there are 3 devices, numbered from 0; or use device 'cpu'");
  options.execution.device = "cuda:2";
  EXPECT_EQ(message_of([&] { options.check(); }), "device 'cuda:2': it fell off the bus; or use device 'cpu'");
  options.execution.device = "cuda";
  options.execution.device_library = folder.path("");
  EXPECT_THAT(message_of([&] { options.check(); }), HasSubstr("libcarmina_cuda.so is not in"));
  options.execution.device = "auto";
  EXPECT_EQ(message_of([&] { options.check(); }), "");
  options.execution.device = "cuda";
  std::ofstream(folder.path("libcarmina_cuda.so")) << "no library";
  options.execution.device_library = folder.path(".");
  EXPECT_THAT(message_of([&] { options.check(); }), HasSubstr("cannot be opened"));
}

// A device is worth its start for 1.1e7 rows and 8192 features, not for a thousand rows.
TEST(DeviceWords, TimeIsPredicted) {
  const PredictedSeconds large = predict_seconds(1.1e7, 28, 4096, 1, 4), small = predict_seconds(1e3, 28, 500, 1, 4);
  EXPECT_LT(large.device, large.cpu);
  EXPECT_GT(small.device, small.cpu);
}

}  // namespace carmina::device_fit_test
