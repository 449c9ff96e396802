// tests/features/phases_test.cpp -- columns that are cosines with random phases: their formula, the kernel they
// estimate, machines and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "features/kernel_map.hpp"
#include "features/map_operations.hpp"
#include "features/sample_map.hpp"
#include "models/machine/machine_map.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <numbers>

#include <support/given_numbers.hpp>
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;

// By the formula, in double.
template <Real T>
Matrix<double> by_formula(const FourierMap<T>& map, const Matrix<T>& X) {
  Matrix<double> angles = X.template cast<double>() * map.frequencies().template cast<double>().transpose();
  angles.rowwise() += map.phases().template cast<double>().transpose();
  return angles.array().cos() / std::sqrt(static_cast<double>(map.units()));
}

template <class T>
class Phases : public ::testing::Test {
 protected:
  static constexpr double tight = std::is_same_v<T, float> ? 2e-4 : 1e-9;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Phases, Precisions);

// Inputs few, one, and too many for panels; widths that need products in double.
TYPED_TEST(Phases, FeaturesAreTheirFormula) {
  using T = TypeParam;
  for (const Index d : {1, 5, 40, 1100}) {
    for (const double width : {3.0 * std::sqrt(static_cast<double>(d)), 1e-3}) {
      if (d == 1100 && width < 1) continue;
      const FourierMap<T> map(Gaussian(width), d, 74, 3, {}, Sampling::phases);
      ASSERT_EQ(map.units(), 37);
      ASSERT_EQ(map.frequencies().rows(), 74);
      const Matrix<T> X = random_matrix<T>(300, d, 1);
      Matrix<T> phi(300, 74);
      evaluate(map, X, View<T>(phi), Execution{});
      // An angle is as exact as its largest value; a float one that is large is made in double.
      const double angle = width < 1 && std::same_as<T, double> ? 6 * std::sqrt(static_cast<double>(d)) / width : 10;
      EXPECT_LT(max_difference(phi, by_formula(map, X)), 4 * std::numeric_limits<T>::epsilon() * (1 + angle))
          << d << " " << width;
    }
  }
}

// Products of features estimate the kernel without bias, each with the variance of its formula: for one column
// 2 cos(a + b) cos(c + b) = cos(a - c) + cos(a + c + 2b), so that beside the variance of cos<w, delta> there is 1/2,
// where a cosine with its sine has none; but there are twice as many.
TEST(RandomPhases, EstimateTheKernelWithTheVarianceOfTheFormula) {
  const Matrix<double> X = random_matrix(6, 4, 1);
  const Gaussian kernel(1.3);
  const Matrix<double> K = kernel_matrix<double>(kernel, X, X);
  constexpr int seeds = 3000;
  constexpr Index components = 64;
  Matrix<double> mean = Matrix<double>::Zero(6, 6), square = mean;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const FourierMap<double> map(kernel, 4, components, seed, {}, Sampling::phases);
    Matrix<double> phi(6, components);
    evaluate(map, X, View<double>(phi), Execution{});
    const Matrix<double> error = phi * phi.transpose() - K;
    mean += error / seeds;
    square += error.cwiseAbs2() / seeds;
  }
  // k(2 delta) is the mean of cos(2 <w, delta>), so var cos<w, delta> = (1 + k(2 delta)) / 2 - k(delta)^2
  for (Index i = 0; i < 6; ++i) {
    for (Index j = 0; j < i; ++j) {
      const double k = K(i, j), twice = kernel_matrix<double>(kernel, 2 * X, 2 * X)(i, j);
      const double variance = ((1 + twice) / 2 - k * k + 0.5) / components;
      EXPECT_NEAR(mean(i, j), 0, 5 * std::sqrt(variance / seeds));
      EXPECT_NEAR(square(i, j) / variance, 1, 0.15);  // 5 standard errors of a mean of 3000 squares are 0.13
    }
  }
}

TEST(RandomPhases, ALargerMapBeginsWithASmallerOnes) {
  const Gaussian kernel(1.0);
  const FourierMap<double> small(kernel, 3, 20, 7, {}, Sampling::phases), large(kernel, 3, 50, 7, {}, Sampling::phases);
  EXPECT_EQ(small.frequencies(), large.frequencies().topRows(20));
  EXPECT_EQ(small.phases(), large.phases().head(20));
  EXPECT_EQ(small.frequencies().topRows(10), FourierMap<double>(kernel, 3, 20, 7).frequencies());
  EXPECT_GE(large.phases().minCoeff(), 0);
  EXPECT_LT(large.phases().maxCoeff(), 2 * std::numbers::pi);
}

template <Real T>
FitOptions options_of(const Kernel& kernel, const std::string& solver = "direct") {
  FitOptions o = given_numbers();
  o.kernel = kernel;
  o.sampling = Sampling::phases;
  o.n_components = 100;
  o.alpha = 0.3;
  o.solver = solver;
  o.max_iter = 3000;
  o.tol = 1e-12;
  return o;
}

// Every way to fit ends at ridge regression on the features.
TYPED_TEST(Phases, EverySolverFitsTheFeatures) {
  using T = TypeParam;
  const Matrix<T> X = random_matrix<T>(400, 3, 1), Y = (X.leftCols(2).array() * T(0.7)).sin() + T(2);
  for (const char* solver : {"direct", "auto", "cg", "lsmr", "idr"}) {
    FitOptions options = options_of<T>(Gaussian(2.0), solver);
    options.fit_intercept = false;
    const auto machine = KernelMachine<T>::fit(X, Y, options);
    const Matrix<double> phi = by_formula(std::get<FourierMap<T>>(machine.map()), X);
    const Matrix<double> H = phi.transpose() * phi + 0.3 * Matrix<double>::Identity(100, 100);
    const Matrix<double> expected = phi * H.llt().solve(phi.transpose() * Y.template cast<double>());
    EXPECT_LT(max_difference(machine.predict(X), expected), options.solver == "direct" ? this->tight : 10 * this->tight)
        << solver;
  }
}

TYPED_TEST(Phases, FilesGiveBackTheSameBitsAndSumsMerge) {
  using T = TypeParam;
  const Matrix<T> X = random_matrix<T>(400, 3, 1), Y = (X.leftCols(2).array() * T(0.7)).sin() + T(2);
  FitOptions options = options_of<T>(Kernel(Gaussian(2.0)));
  options.keep_moments = true;
  const auto whole = KernelMachine<T>::fit(X, Y, options);
  const ModelFile file = whole.to_file();
  const auto back = KernelMachine<T>::from_file(file, "here");
  EXPECT_EQ(back.record().sampling, Sampling::phases);
  EXPECT_EQ(whole.predict(X), back.predict(X));
  EXPECT_EQ(encode_model(file), encode_model(back.to_file()));

  const auto half = [&](Index first) {
    return KernelMachine<T>::fit(X.middleRows(first, 200), Y.middleRows(first, 200), options);
  };
  EXPECT_LT(max_difference(merge(half(0), half(200)).predict(X), whole.predict(X)), 10 * this->tight);

  for (const Index wrong : {0, 99, 101}) {
    ModelFile broken = file;
    broken.put<T>("phases", Matrix<T>::Zero(wrong, 1));
    EXPECT_THROW(KernelMachine<T>::from_file(broken, "here"), Error) << wrong;
  }
}

TEST(RandomPhases, WhatTheyAreNotForIsRefused) {
  const Matrix<double> X = random_matrix(30, 2, 1), Y = random_matrix(30, 2, 2);
  for (const Kernel& kernel : {Kernel(Gaussian(1.0)) + Kernel(Cauchy(1.0)), Kernel(CurlFree(Gaussian(1.0))),
                               Kernel(DivergenceFree(Gaussian(1.0)))}) {
    EXPECT_THAT(message_of([&] { KernelMachine<double>::fit(X, Y, options_of<double>(kernel)); }),
                HasSubstr("sampling 'phases' is known for one scalar kernel"));
  }
  FitOptions options = options_of<double>(Gaussian(1.0));
  options.n_components = 7;
  EXPECT_THAT(message_of([&] { KernelMachine<double>::fit(X, Y, options); }), HasSubstr("even"));
  EXPECT_EQ(parse_sampling(sampling_name(Sampling::phases)), Sampling::phases);
}

}  // namespace
}  // namespace carmina
