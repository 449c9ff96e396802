// tests/models/posterior_test.cpp -- variances against the dense Gaussian-process formulas with a very wide prior on b.
#include <gtest/gtest.h>
#include <carmina/models/posterior.hpp>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"

#include <Eigen/LU>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

constexpr Index n = 25, p = 2, t = 6;
constexpr double alpha = 0.3;

struct Data {
  Matrix<double> X = random_matrix(n, 2, 1), Y = random_matrix(n, p, 2), Xt = random_matrix(t, 2, 3);
  Vector<double> w = random_matrix(n, 1, 4).cwiseAbs().array() + 0.2;
};

// Kernel values between all rows of A and B as an (|A| p, |B| p) matrix.
using Blocks = std::function<Matrix<double>(const Matrix<double>&, const Matrix<double>&)>;

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

std::vector<Kernel> all_kernels() {
  return {Gaussian(1.1),
          0.7 * Kernel(Matern(1.0, 1.5)),
          Decomposable(Gaussian(1.0), random_psd(p, p, 5)),
          Decomposable(Gaussian(1.0), random_psd(p, 1, 6)),
          CurlFree(Gaussian(1.0)),
          CurlFree(Gaussian(1.0)) + 0.5 * DivergenceFree(Gaussian(2.0))};
}

Blocks exact_blocks(const Kernel& kernel) {
  return [&kernel](const Matrix<double>& A, const Matrix<double>& B) {
    std::vector<double> blocks(static_cast<std::size_t>(A.rows() * B.rows() * p * p));
    OperatorMap<double>(kernel, B, p).blocks(A, blocks.data(), Execution{});
    return Matrix<double>(Matrix<double>::NullaryExpr(A.rows() * p, B.rows() * p, [&](Index i, Index j) {
      return blocks[static_cast<std::size_t>(((i / p * B.rows() + j / p) * p + i % p) * p + j % p)];
    }));
  };
}

Blocks fourier_blocks(const Kernel& kernel, Index components) {
  const Matrix<double> W = sample_term_frequencies(kernel, 2, components, 0);
  const auto features = [&kernel, W](const Matrix<double>& A) {
    const Expansion expansion(kernel, W, p);
    Matrix<double> phi(A.rows(), 2 * W.rows()), Phi(A.rows() * p, expansion.dim_coef());
    evaluate(FourierMap<double>(W), A, View<double>(phi), Execution{});
    for (Index i = 0; i < Phi.rows(); ++i) {
      Matrix<double> R = Matrix<double>::Zero(2 * W.rows(), p);
      R.col(i % p) = phi.row(i / p).transpose();
      Phi.row(i) = expansion.contract(R).transpose();
    }
    return Phi;
  };
  return [features](const Matrix<double>& A, const Matrix<double>& B) {
    return Matrix<double>(features(A) * features(B).transpose());
  };
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
        EXPECT_LT(max_difference(covariance, dense(K, data, intercept)), 1e-6) << components << intercept;
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
}  // namespace carmina
