// tests/kernels/pairwise_test.cpp -- Polynomial, Sobolev1 and Callable by their formulas, and where they are refused.
#include <gtest/gtest.h>
#include <carmina/kernels/kernel.hpp>
#include <carmina/theory/fourier.hpp>
#include "features/kernel_map.hpp"
#include "features/map_operations.hpp"

#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::message_of;
using testing::random_matrix;

Matrix<double> by_pairs(const Matrix<double>& X, const Matrix<double>& Z,
                        const std::function<double(const Vector<double>&, const Vector<double>&)>& k) {
  return Matrix<double>::NullaryExpr(X.rows(), Z.rows(), [&](Index i, Index j) { return k(X.row(i), Z.row(j)); });
}

TEST(Polynomial, IsAPowerOfTheProduct) {
  // Far from the origin: products are taken as they are, not about the anchors' mean.
  const Matrix<double> X = random_matrix(9, 4, 1).array() + 3, Z = random_matrix(150, 4, 2).array() + 3;
  for (const int degree : {1, 2, 3, 4, 5, 7, 12}) {
    for (const double coef0 : {0.0, 0.6}) {
      const Matrix<double> expected = by_pairs(
          X, Z, [&](const auto& x, const auto& z) { return std::pow(0.02 * x.dot(z) + coef0, double(degree)); });
      const Polynomial kernel(degree, 0.02, coef0);
      EXPECT_LT(max_difference(kernel_matrix<double>(kernel, X, Z), expected), 1e-12 * expected.maxCoeff()) << degree;
      const Matrix<float> Xf = X.cast<float>(), Zf = Z.cast<float>();
      EXPECT_LT(max_difference(kernel_matrix<float>(kernel, Xf, Zf), expected), 1e-5 * expected.maxCoeff()) << degree;
    }
  }
}

TEST(Polynomial, ChecksItsParameters) {
  EXPECT_EQ(Polynomial(), Polynomial(3, 1.0, 1.0));
  for (const double bad : {0.0, -1.0, 2.5, 101.0, std::nan("")}) EXPECT_THROW(Polynomial(bad, 1, 1), Error) << bad;
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) EXPECT_THROW(Polynomial(3, bad, 1), Error) << bad;
  for (const double bad : {-1e-9, std::nan(""), HUGE_VAL}) EXPECT_THROW(Polynomial(3, 1, bad), Error) << bad;
}

TEST(Sobolev1, IsTheProductOfSmallerCoordinates) {
  for (const Index d : {1, 2, 5}) {
    const Matrix<double> X = random_matrix(7, d, 3).cwiseAbs(), Z = random_matrix(11, d, 4).cwiseAbs();
    const auto expected = by_pairs(X, Z, [](const auto& x, const auto& z) { return x.cwiseMin(z).prod(); });
    EXPECT_LT(max_difference(kernel_matrix<double>(Sobolev1{}, X, Z), expected), 1e-15 * (1 + expected.maxCoeff()));
  }
}

TEST(Sobolev1, RefusesNegativeInputsOnEitherSide) {
  const Matrix<double> good = random_matrix(5, 2, 5).cwiseAbs();
  Matrix<double> bad = good;
  bad(3, 1) = -0.25;
  for (const auto& [X, Z] : {std::pair(bad, good), std::pair(good, bad)}) {
    const auto say = message_of([&] { kernel_matrix<double>(Sobolev1{}, X, Z); });
    EXPECT_NE(say.find("inputs must be at least 0, found -0.25"), std::string::npos) << say;
  }
  const KernelMap<double> moved(Sobolev1{}, bad, {Vector<double>::Constant(2, -1.0), Vector<double>::Ones(2), {}});
  Matrix<double> K(5, 5);
  evaluate(moved, bad, View<double>(K), Execution{});  // at least 0 after the transform
  EXPECT_LT(max_difference(K, kernel_matrix<double>(Sobolev1{}, bad.array() + 1, bad.array() + 1)), 1e-15);
}

TEST(Callable, IsEqualToItsCopiesAlone) {
  const auto linear = [](ConstView<double> X, ConstView<double> Z, View<double> out) { out = X * Z.transpose(); };
  const Callable a(linear), b(linear);
  EXPECT_EQ(a, Callable(a));
  EXPECT_NE(a, b);
  EXPECT_EQ(Callable(linear, &linear), Callable(linear, &linear));
  const Matrix<double> X = random_matrix(300, 3, 6), Z = random_matrix(270, 3, 7);
  EXPECT_LT(max_difference(kernel_matrix<double>(a, X, Z), X * Z.transpose()), 1e-13);
}

TEST(Callable, WhatItThrowsGoesThrough) {
  struct Odd {};
  const Callable thrower([](ConstView<double>, ConstView<double>, View<double>) { throw Odd(); });
  const Callable missing([](ConstView<double>, ConstView<double>, View<double> out) { out.setConstant(std::nan("")); });
  const Matrix<double> X = random_matrix(2000, 1, 8);
  for (const int threads : {1, 2}) {
    EXPECT_THROW(kernel_matrix<double>(thrower, X, X.topRows(9), Execution{.threads = threads}), Odd);
  }
  EXPECT_THROW(kernel_matrix<double>(missing, X, X.topRows(9)), Error);
  EXPECT_THROW(Callable{Callable::Function{}}, Error);
}

TEST(PairwiseKernels, HaveNoFrequenciesDerivativesOrBounds) {
  const Callable constant([](ConstView<double>, ConstView<double>, View<double> out) { out.setOnes(); });
  for (const ScalarKernel& kernel : std::vector<ScalarKernel>{Polynomial(), Sobolev1{}, constant}) {
    const std::string reason = "the " + kernel_name(kernel) +
                               " kernel is not a function of x - z, so it has no spectral measure; use "
                               "approximation='exact' or a sketch";
    for (const Sampling sampling : {Sampling::iid, Sampling::orthogonal, Sampling::sobol}) {
      EXPECT_EQ(message_of([&] { FourierMap<double>(kernel, 2, 10, 0, {}, sampling); }), reason);
    }
    const Kernel alone(Term{1, kernel, Independent{}});
    EXPECT_EQ(message_of([&] { theory::variance(alone, Vector<double>::Ones(2)); }), reason);
    EXPECT_EQ(message_of([&] { theory::uniform_bound(alone, 2, 1.0, 0.5, 100); }), reason);
    EXPECT_EQ(message_of([&] { length_scale(kernel); }), reason);
    EXPECT_NE(message_of([&] { CurlFree{kernel}; }).find("not a function of x - z"), std::string::npos);
    EXPECT_NE(message_of([&] { DivergenceFree{kernel}; }).find("not a function of x - z"), std::string::npos);
  }
}

TEST(PairwiseKernels, AreFoundByName) {
  const Polynomial kernel(5, 0.4, 2.0);
  EXPECT_EQ(make_scalar_kernel("polynomial", std::nullopt, kernel_parameters(kernel)), ScalarKernel(kernel));
  EXPECT_EQ(make_scalar_kernel("polynomial", std::nullopt, {{"degree", 2}}), ScalarKernel(Polynomial(2)));
  EXPECT_EQ(make_scalar_kernel("sobolev1", std::nullopt), ScalarKernel(Sobolev1{}));
  EXPECT_THROW(make_scalar_kernel("polynomial", 2.0), Error);
  EXPECT_THROW(make_scalar_kernel("sobolev1", 2.0), Error);
  EXPECT_THROW(make_scalar_kernel("polynomial", std::nullopt, {{"nu", 2}}), Error);
  EXPECT_THROW(make_scalar_kernel("callable", std::nullopt), Error);
  EXPECT_EQ(message_of([] { make_scalar_kernel("poly", 1.0); }),
            "there is no kernel named 'poly'; known: gaussian, laplacian, matern, cauchy, rational_quadratic, "
            "polynomial, sobolev1, linear, constant, periodic");
}

// Squares of distances are sums that cancel: about the rows' mean, 1e12 away, nothing would be left of them.
TEST(KernelMap, OneRowFarAwayChangesNoOtherValue) {
  const Matrix<double> X = random_matrix(40, 3, 5);
  Matrix<double> far(41, 3);
  far << X, Matrix<double>::Constant(1, 3, 1e14);
  for (const ScalarKernel& kernel : {ScalarKernel(Gaussian(1.5)), ScalarKernel(Laplacian(1.5))}) {
    const Matrix<double> near = kernel_matrix<double>(kernel, X, X), all = kernel_matrix<double>(kernel, X, far);
    EXPECT_LT(max_difference(all.leftCols(40), near), 1e-13);
    EXPECT_EQ(all.col(40).maxCoeff(), 0);
  }
}

}  // namespace
}  // namespace carmina
