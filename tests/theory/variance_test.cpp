// tests/theory/variance_test.cpp -- moments and variances in closed form against simulation, and the paper's misprints.
#include <gtest/gtest.h>
#include <carmina/theory/approximation.hpp>
#include <carmina/theory/fourier.hpp>
#include "features/expansion.hpp"
#include "features/moments.hpp"
#include "features/operator_map.hpp"

#include <Eigen/Eigenvalues>

#include "support/random_matrix.hpp"

namespace carmina::theory {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

double norm(const Matrix<double>& A) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A).eigenvalues().cwiseAbs().maxCoeff();
}

// A(w) of the only term of a kernel, from its definition.
Matrix<double> spectral_matrix(const Kernel& kernel, const Vector<double>& w) {
  const Term& term = kernel.terms().at(0);
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) return term.weight * matrix->A();
  const Matrix<double> outer = w * w.transpose();
  if (std::holds_alternative<CurlFreeCoupling>(term.coupling)) return term.weight * outer;
  return term.weight * (outer.trace() * Matrix<double>::Identity(w.size(), w.size()) - outer);
}

// D E[F^2] from independent maps of D frequencies: the slow twin of variance_matrix.
Matrix<double> simulated_variance(const Kernel& kernel, const Vector<double>& delta, Index D, Index maps) {
  const Index d = delta.size(), p = kernel.n_outputs(d).value();
  const Matrix<double> W = sample_term_frequencies(kernel, d, 2 * D * maps, 5);
  Matrix<double> K(p, p), sum = Matrix<double>::Zero(p, p);
  OperatorMap<double>(kernel, Matrix<double>::Zero(1, d), p).blocks(delta.transpose(), K.data(), Execution{});
  for (Index i = 0; i < maps; ++i) {
    Matrix<double> F = -K;
    for (Index j = i * D; j < (i + 1) * D; ++j) {
      const Vector<double> w = W.row(j).transpose();
      F += std::cos(w.dot(delta)) / double(D) * spectral_matrix(kernel, w);
    }
    sum += F * F;
  }
  return sum * double(D) / double(maps);
}

std::vector<Kernel> kernels(const LengthScale& width) {
  return {Decomposable(Gaussian(width), random_psd(3, 2, 3)), CurlFree(Gaussian(width)),
          1.7 * DivergenceFree(Gaussian(width))};
}

LengthScale several(Index d) {
  std::vector<double> widths;
  for (Index j = 0; j < d; ++j) widths.push_back(0.7 + 0.3 * double(j));
  return widths;
}

TEST(Variance, EqualsTheSimulatedOneWithinTwoPercent) {
  for (const Index d : {2, 3, 5}) {
    for (const LengthScale& width : {LengthScale(0.8), several(d)}) {
      for (const Kernel& kernel : kernels(width)) {
        const Vector<double> delta = 0.4 * random_matrix(d, 1, 7);
        const Matrix<double> simulated = simulated_variance(kernel, delta, 8, 40000);
        EXPECT_NEAR(norm(simulated) / variance(kernel, delta), 1, 0.02) << d;
        EXPECT_LT(max_difference(simulated, variance_matrix(kernel, delta)), 0.03 * norm(simulated));
      }
    }
  }
}

TEST(Variance, OfAConstantMatrixHoldsForEveryScalarKernel) {
  const Matrix<double> A = random_psd(2, 2, 4);
  for (const ScalarKernel& scalar : std::vector<ScalarKernel>{Laplacian(several(3)), Matern(1.0, 0.5), Matern(1.2, 2.2),
                                                              Cauchy(0.9), RationalQuadratic(1.0, 0.7)}) {
    const Vector<double> delta = random_matrix(3, 1, 8);
    const Kernel kernel = Decomposable(scalar, A);
    EXPECT_NEAR(norm(simulated_variance(kernel, delta, 4, 60000)) / variance(kernel, delta), 1, 0.02);
    EXPECT_DOUBLE_EQ(variance_bound(kernel, delta), variance(kernel, delta));
  }
}

// mathematics.md 1e, one length scale: eigenvalues along delta and across it.
TEST(Variance, HasTheEigenvaluesOfThePublishedFormulas) {
  const double sigma = 1.4;
  for (const Index dim : {2, 3, 6}) {
    const double d = double(dim);
    for (const double r : {0.0, 0.3, 1.0, 2.5, 6.0}) {
      const Vector<double> direction = random_matrix(dim, 1, 9), delta = r * direction / direction.norm();
      const double s = r * r / (sigma * sigma), e = std::exp(-s), e2 = std::exp(-2 * s);
      const double curl_along =
          ((d + 2) + ((d + 2 - 4 * s) - 4 * s * (d + 4 - 4 * s)) * e2) / 2 - (1 - s) * (1 - s) * e;
      const double curl_across = ((d + 2) + (d + 2 - 4 * s) * e2) / 2 - e;
      const double div_along = (d - 1) * ((d + 2) + (d + 2 - 4 * s) * e2) / 2 - (d - 1) * (d - 1) * e;
      const double div_across = ((d - 1) * (d + 2) + (16 * s * s - 4 * (2 * d + 3) * s + (d - 1) * (d + 2)) * e2) / 2 -
                                (d - 1 - s) * (d - 1 - s) * e;
      const double unit = std::pow(sigma, -4);
      EXPECT_NEAR(variance(CurlFree(Gaussian(sigma)), delta), unit * std::max(curl_along, curl_across), 1e-12);
      EXPECT_NEAR(variance(DivergenceFree(Gaussian(sigma)), delta), unit * std::max(div_along, div_across), 1e-12);
      const double k = std::exp(-s / 2);
      EXPECT_NEAR(variance(Gaussian(sigma), delta), (1 - k * k) * (1 - k * k) / 2, 1e-14);
    }
  }
}

TEST(Variance, OfASumIsTheSumOfMatrices) {
  const Kernel a = 0.4 * CurlFree(Gaussian(1.0)), b = 2.0 * DivergenceFree(Gaussian(0.7));
  const Kernel c = Decomposable(Laplacian(1.0), random_psd(3, 2, 5));
  const Vector<double> delta = random_matrix(3, 1, 6);
  EXPECT_LT(max_difference(variance_matrix(a + b + c, delta),
                           variance_matrix(a, delta) + variance_matrix(b, delta) + variance_matrix(c, delta)),
            1e-12);
}

TEST(Moments, EqualSimulatedOnesAndNotThePrintedOne) {
  for (const Index d : {2, 3, 5, 8}) {
    const double sigma = 0.9, s4 = std::pow(sigma, -4);
    const SpectralMoments curl = spectral_moments(CurlFree(Gaussian(sigma)), d);
    const SpectralMoments div = spectral_moments(DivergenceFree(Gaussian(sigma)), d);
    const Matrix<double> I = Matrix<double>::Identity(d, d);
    EXPECT_LT(max_difference(curl.mean, I / (sigma * sigma)), 1e-12);
    EXPECT_LT(max_difference(div.mean, double(d - 1) * I / (sigma * sigma)), 1e-12);
    EXPECT_LT(max_difference(curl.variance, double(d + 1) * s4 * I), 1e-10);
    EXPECT_LT(max_difference(div.variance, 3.0 * double(d - 1) * s4 * I), 1e-10);

    // By simulation: the trace of E[A^2] - E[A]^2. The paper's d(4d - 3) is 1.7 times too large or worse.
    const Kernel kernel = DivergenceFree(Gaussian(sigma));
    const Matrix<double> W = sample_term_frequencies(kernel, d, 200000, 3);
    Matrix<double> first = Matrix<double>::Zero(d, d), second = first;
    for (Index j = 0; j < W.rows(); ++j) {
      const Matrix<double> A = spectral_matrix(kernel, W.row(j).transpose());
      first += A / double(W.rows()), second += A * A / double(W.rows());
    }
    const double simulated = (second - first * first).trace() / double(d);
    EXPECT_NEAR(simulated / (3 * double(d - 1) * s4), 1, 0.03) << d;
    EXPECT_GT(double(d * (4 * d - 3)) * s4, 1.7 * simulated);
  }
}

TEST(Supremum, IsReachedAndNotExceeded) {
  for (const Index d : {2, 3, 4, 7, 12}) {
    for (const double diameter : {0.4, 1.5, 20.0}) {
      for (const Kernel& kernel : {Kernel(CurlFree(Gaussian(1.3))), Kernel(DivergenceFree(Gaussian(1.3))),
                                   Kernel(Gaussian(1.3)), Kernel(Cauchy(0.8)), Kernel(RationalQuadratic(1.0, 0.4)),
                                   Kernel(Laplacian(1.0)), Kernel(Matern(0.6, 1.5))}) {
        const double supremum = variance_supremum(kernel, d, diameter);
        double largest = 0;
        Vector<double> diagonal = Vector<double>::Ones(d) / std::sqrt(double(d));  // where |delta|_1 is largest
        for (int i = 0; i <= 4000; ++i) largest = std::max(largest, variance(kernel, i * diameter / 4000 * diagonal));
        EXPECT_LE(largest, supremum * (1 + 1e-12));
        EXPECT_NEAR(largest / supremum, 1, 1e-4) << d << " " << diameter;
      }
    }
    const double s4 = std::pow(1.3, -4), e = double(d);
    EXPECT_NEAR(variance_supremum(CurlFree(Gaussian(1.3)), d, 3.0), (e + 1) * s4, 1e-12);
    // 3(d - 1) at delta = 0 is the largest for d <= 3 only; far away it is (d - 1)(d + 2) / 2.
    const double div = variance_supremum(DivergenceFree(Gaussian(1.3)), d, 100.0);
    if (d <= 3) {
      EXPECT_NEAR(div, 3 * (e - 1) * s4, 1e-10);
    } else {
      EXPECT_GE(div, (1 - 1e-12) * (e - 1) * (e + 2) / 2 * s4);
      EXPECT_GE(div, (1 - 1e-12) * 3 * (e - 1) * s4);
    }
  }
}

TEST(Supremum, OfSeveralLengthScalesIsABound) {
  for (const bool curl : {true, false}) {
    const Kernel kernel = curl ? Kernel(CurlFree(Gaussian(several(3)))) : Kernel(DivergenceFree(Gaussian(several(3))));
    const double bound = variance_supremum(kernel, 3, 4.0);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      EXPECT_LE(variance(kernel, random_matrix(3, 1, seed)), bound);
    }
  }
}

TEST(PropositionThreeOne, CorrectedIsABoundPrintedIsNot) {
  for (const Index d : {2, 3, 5, 10, 20}) {
    for (int i = 0; i <= 60; ++i) {
      Vector<double> delta = Vector<double>::Zero(d);
      delta[0] = 0.1 * i;
      for (const Kernel& kernel : {Kernel(CurlFree(Gaussian(1.0))), Kernel(DivergenceFree(Gaussian(1.0)))}) {
        EXPECT_GE(variance_bound(kernel, delta), variance(kernel, delta) * (1 - 1e-12));
      }
    }
  }
  // Printed for A constant: (1 + k(2 delta)) |A| / 2 + k(delta)^2, here 3; the variance is 18.
  Matrix<double> A = 6 * Matrix<double>::Identity(1, 1);
  const Kernel kernel = Decomposable(Gaussian(1.0), A);
  const Vector<double> far = Vector<double>::Constant(1, 9.0);
  EXPECT_NEAR(variance(kernel, far), 18, 1e-9);
  EXPECT_NEAR(norm(simulated_variance(kernel, far, 4, 20000)), 18, 0.02 * 18);
  EXPECT_GT(variance(kernel, far), 6.0 / 2);
}

TEST(OrliczNorm, MakesTheExpectedExponentialTwo) {
  for (const LengthScale& width : {LengthScale(0.8), several(4)}) {
    const Kernel kernel = 1.5 * DivergenceFree(Gaussian(width));
    const double c = orlicz_norm(kernel, 4);
    const Matrix<double> W = sample_term_frequencies(kernel, 4, 400000, 1);
    double mean = 0;
    for (Index j = 0; j < W.rows(); ++j) mean += std::exp(1.5 * W.row(j).squaredNorm() / c) / double(W.rows());
    EXPECT_NEAR(mean, 2, 0.03);
    EXPECT_DOUBLE_EQ(c, orlicz_norm(1.5 * CurlFree(Gaussian(width)), 4));
  }
  EXPECT_NEAR(orlicz_norm(CurlFree(Gaussian(0.5)), 3), 2 / (0.25 * (1 - std::pow(4.0, -1.0 / 3))), 1e-12);
  EXPECT_NEAR(orlicz_norm(Decomposable(Laplacian(1.0), 3 * Matrix<double>::Identity(2, 2)), 5), 3 / std::log(2.0),
              1e-12);
  EXPECT_TRUE(std::isinf(orlicz_norm(CurlFree(Matern(1.0, 2.5)), 2)));
  EXPECT_TRUE(std::isinf(orlicz_norm(DivergenceFree(RationalQuadratic(1.0, 1.0)), 2)));
}

TEST(Variance, SaysWhatItDoesNotKnow) {
  const Vector<double> delta = Vector<double>::Ones(2);
  EXPECT_THROW(variance(CurlFree(Matern(1.0, 2.5)), delta), Error);
  EXPECT_THROW(variance(DivergenceFree(Gaussian(1.0)), Vector<double>::Ones(1)), Error);
  EXPECT_THROW(variance(Gaussian(std::vector<double>{1.0, 2.0}), Vector<double>::Ones(3)), Error);
  EXPECT_THROW(variance_bound(CurlFree(Gaussian(several(2))), delta), Error);
  EXPECT_THROW(variance_supremum(Gaussian(1.0), 2, 0.0), Error);
  EXPECT_THROW(orlicz_norm(Kernel(Gaussian(1.0)) + Kernel(Gaussian(2.0)), 2), Error);
}

}  // namespace
}  // namespace carmina::theory
