// tests/models/structured_machine_test.cpp -- machines with structured frequencies: the fit of their matrix, files,
// parts, sums that add up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "models/machine/machine_map.hpp"

#include <Eigen/Cholesky>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;

template <class T>
class StructuredMachine : public ::testing::Test {
 protected:
  static constexpr double tight = std::is_same_v<T, float> ? 2e-4 : 1e-9;
  Matrix<T> X = random_matrix<T>(400, 100, 1);
  Matrix<T> Y = (X.leftCols(2).array() * T(0.7)).sin() + T(2);

  static FitOptions options(const Kernel& kernel) {
    FitOptions o = given_numbers();
    o.kernel = kernel;
    o.sampling = Sampling::hadamard;
    o.n_components = 300;  // two blocks, the second not whole
    o.alpha = 0.3;
    o.solver = "direct";
    return o;
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StructuredMachine, Precisions);

// Ridge regression on the features of the explicit matrix.
TYPED_TEST(StructuredMachine, FitsAsItsMatrixDoes) {
  using T = TypeParam;
  FitOptions options = this->options(Gaussian(10.0));
  options.fit_intercept = false;
  const auto machine = KernelMachine<T>::fit(this->X, this->Y, options);
  const auto& map = std::get<FourierMap<T>>(machine.map());
  ASSERT_NE(map.structured(), nullptr);
  const Matrix<double> phases = this->X.template cast<double>() * map.frequencies().template cast<double>().transpose();
  Matrix<double> phi(400, 300);
  phi << phases.array().cos(), phases.array().sin();
  phi /= std::sqrt(150.0);
  const Matrix<double> H = phi.transpose() * phi + 0.3 * Matrix<double>::Identity(300, 300);
  const Matrix<double> expected = phi * H.llt().solve(phi.transpose() * this->Y.template cast<double>());
  EXPECT_LT(max_difference(machine.predict(this->X), expected), 10 * this->tight);
}

TYPED_TEST(StructuredMachine, FilesGiveBackTheSameBits) {
  using T = TypeParam;
  for (const Kernel& kernel : {Kernel(Gaussian(10.0)), Kernel(Gaussian(std::vector<double>(100, 9.0))),
                               Kernel(Gaussian(10.0)) + 0.5 * Kernel(Matern(12.0, 1.5))}) {
    FitOptions options = this->options(kernel);
    options.scale_inputs = true;
    const auto machine = KernelMachine<T>::fit(this->X, this->Y, options);
    const ModelFile file = machine.to_file();
    EXPECT_FALSE(file.tensors.contains("frequencies"));
    const auto back = KernelMachine<T>::from_file(file, "here");
    ASSERT_NE(std::get<FourierMap<T>>(back.map()).structured(), nullptr);
    EXPECT_EQ(back.record().sampling, Sampling::hadamard);
    EXPECT_EQ(machine.predict(this->X), back.predict(this->X));
    EXPECT_EQ(encode_model(file), encode_model(back.to_file()));
  }
}

TYPED_TEST(StructuredMachine, FilesWhoseArraysDoNotGoTogetherAreRefused) {
  using T = TypeParam;
  const ModelFile good = KernelMachine<T>::fit(this->X, this->Y, this->options(Gaussian(10.0))).to_file();
  const auto broken = [&](const char* name, const Matrix<double>& values) {
    ModelFile file = good;
    file.put<double>(name, values);
    EXPECT_THROW(KernelMachine<T>::from_file(file, "here"), Error) << name;
  };
  const Matrix<double> D = good.get<double>("hadamard_diagonals"), s = good.get<double>("hadamard_lengths");
  EXPECT_EQ(D.rows(), 6);
  broken("hadamard_diagonals", D.topRows(3));
  broken("hadamard_diagonals", D.leftCols(100));
  broken("hadamard_diagonals", Matrix<double>(0, 128));
  broken("hadamard_diagonals", Matrix<double>::Zero(6, 128));
  broken("hadamard_lengths", s.topRows(149));
  broken("hadamard_lengths", Matrix<double>(0, 1));
  ModelFile file = good;
  file.tensors.erase("hadamard_diagonals");
  EXPECT_THROW(KernelMachine<T>::from_file(file, "here"), Error);
}

TYPED_TEST(StructuredMachine, PartsAddUpAndSumsMerge) {
  using T = TypeParam;
  FitOptions options = this->options(Kernel(Gaussian(10.0)) + Kernel(Matern(12.0, 1.5)));
  options.keep_moments = true;
  const auto whole = KernelMachine<T>::fit(this->X, this->Y, options);
  Matrix<T> sum = whole.intercept().transpose().replicate(400, 1);
  for (const Matrix<T>& part : whole.predict_parts(this->X)) sum += part;
  EXPECT_LT(max_difference(sum, whole.predict(this->X)), 10 * this->tight);

  const auto half = [&](Index first) {
    return KernelMachine<T>::fit(this->X.middleRows(first, 200), this->Y.middleRows(first, 200), options);
  };
  EXPECT_LT(max_difference(merge(half(0), half(200)).predict(this->X), whole.predict(this->X)), 10 * this->tight);
}

}  // namespace
}  // namespace carmina
