// tests/models/posterior_test.cpp -- variances against the dense Gaussian-process formulas with a very wide prior on b.
#include <gtest/gtest.h>
#include <carmina/models/posterior.hpp>

#include <Eigen/LU>

#include "models/kernel_blocks.hpp"
#include "support/given_numbers.hpp"
#include "support/random_matrix.hpp"

namespace carmina::posterior_test {
namespace {

using testing::max_difference;
using testing::random_matrix;

constexpr Index n = 25, t = 6;
constexpr double alpha = 0.3;

struct Data {
  Matrix<double> X = random_matrix(n, 2, 1), Y = random_matrix(n, p, 2), Xt = random_matrix(t, 2, 3);
  Vector<double> w = random_matrix(n, 1, 4).cwiseAbs().array() + 0.2;
};

// cov of y* given y in the dense model f ~ GP(K + c 1 (x) I), noise alpha / w, with c large for the flat prior.
Matrix<double> dense(const Blocks& K, const Data& data, bool intercept) {
  const double flat = intercept ? 1e7 : 0;
  const auto with_intercept = [&](const Matrix<double>& A, const Matrix<double>& B) {
    Matrix<double> out = K(A, B);
    for (Index i = 0; i < out.rows(); ++i) {
      for (Index j = 0; j < out.cols(); ++j) out(i, j) += i % p == j % p ? flat : 0.0;
    }
    return out;
  };
  Eigen::MatrixXd M = with_intercept(data.X, data.X);
  for (Index i = 0; i < n * p; ++i) M(i, i) += alpha / data.w[i / p];
  const Matrix<double> k = with_intercept(data.Xt, data.X);
  const Eigen::MatrixXd full =
      with_intercept(data.Xt, data.Xt) - k * M.partialPivLu().solve(Eigen::MatrixXd(k.transpose()));
  Matrix<double> out(t, p * p);
  for (Index i = 0; i < t; ++i) {
    for (Index a = 0; a < p; ++a) {
      for (Index b = 0; b < p; ++b) out(i, a * p + b) = full(i * p + a, i * p + b) + (a == b ? alpha : 0.0);
    }
  }
  return out;
}

TEST(Posterior, EqualsTheDenseGaussianProcess) {
  const Data data;
  for (const Kernel& kernel : all_kernels()) {
    for (const bool intercept : {false, true}) {
      for (const Index components : {0, 10, 60}) {  // exact; more rows than features, and fewer
        FitOptions options = given_numbers();
        options.kernel = kernel;
        options.approximation = components == 0 ? "exact" : "fourier";
        options.n_components = components;
        options.alpha = alpha;
        options.fit_intercept = intercept;
        options.keep_moments = true;
        const auto machine = KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
        const Matrix<double> covariance = Posterior<double>(machine).covariance(data.Xt);
        const Blocks K = components == 0 ? exact_blocks(kernel) : fourier_blocks(kernel, components);
        // The process has noise of variance alpha; the fit is the same for another, and the covariance in proportion.
        Matrix<double> expected = dense(K, data, intercept);
        const Vector<double> scale = (machine.record().noise / alpha).cwiseSqrt();
        for (Index a = 0; a < p; ++a) {
          for (Index b = 0; b < p; ++b) expected.col(a * p + b) *= scale[a] * scale[b];
        }
        EXPECT_LT(max_difference(covariance, expected), 1e-6 * (1 + expected.cwiseAbs().maxCoeff()))
            << components << intercept;
        const Matrix<double> deviation = Posterior<double>(machine).deviation(data.Xt);
        EXPECT_NEAR(deviation(2, 1), std::sqrt(covariance(2, 3)), 1e-12);
      }
    }
  }
}

TEST(Posterior, FilesKeepTheWeightsOfExactMachines) {
  const Data data;
  FitOptions options = given_numbers();
  options.approximation = "exact";
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
  ModelFile file = machine.to_file();
  const auto again = KernelMachine<double>::from_file(file, "file");
  EXPECT_EQ(Posterior<double>(again).covariance(data.Xt), Posterior<double>(machine).covariance(data.Xt));
  EXPECT_FALSE(KernelMachine<double>::fit(data.X, data.Y, options).to_file().tensors.contains("row_weights"));

  for (const Matrix<double>& wrong : {Matrix<double>::Ones(n + 1, 1).eval(), Matrix<double>::Zero(n, 1).eval()}) {
    file.put<double>("row_weights", wrong);
    EXPECT_THROW(KernelMachine<double>::from_file(file, "file"), Error);
  }
}

TEST(Posterior, SaysWhatItLacks) {
  const Data data;
  FitOptions options = given_numbers();
  const auto without = KernelMachine<double>::fit(data.X, data.Y, options);
  EXPECT_THROW(Posterior<double>{without}, Error);
  options.keep_moments = true;
  options.alpha = 0;
  const auto no_noise = KernelMachine<double>::fit(data.X, data.Y, options);
  EXPECT_THROW(Posterior<double>{no_noise}, Error);
}

}  // namespace
}  // namespace carmina::posterior_test
