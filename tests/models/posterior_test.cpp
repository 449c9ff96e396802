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

// cov of f at all test rows together given y in the dense model f ~ GP(K + c 1 (x) I), noise alpha / w, with c large
// for the flat prior: (t p, t p).
Matrix<double> dense_joint(const Blocks& K, const Data& data, bool intercept) {
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
  return with_intercept(data.Xt, data.Xt) - k * M.partialPivLu().solve(Eigen::MatrixXd(k.transpose()));
}

// cov of a new observation at each row, (t, p p).
Matrix<double> dense(const Blocks& K, const Data& data, bool intercept) {
  const Matrix<double> full = dense_joint(K, data, intercept);
  Matrix<double> out(t, p * p);
  for (Index i = 0; i < t; ++i) {
    for (Index a = 0; a < p; ++a) {
      for (Index b = 0; b < p; ++b) out(i, a * p + b) = full(i * p + a, i * p + b) + (a == b ? alpha : 0.0);
    }
  }
  return out;
}

// No components: exact.
KernelMachine<double> fitted(const Data& data, const Kernel& kernel, bool intercept, Index components) {
  FitOptions options = given_numbers();
  options.kernel = kernel;
  options.approximation = components == 0 ? "exact" : "fourier";
  options.n_components = components;
  options.alpha = alpha;
  options.fit_intercept = intercept;
  options.keep_moments = true;
  return KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
}

TEST(Posterior, EqualsTheDenseGaussianProcess) {
  const Data data;
  for (const Kernel& kernel : all_kernels()) {
    for (const bool intercept : {false, true}) {
      for (const Index components : {0, 10, 60}) {  // exact; more rows than features, and fewer
        const auto machine = fitted(data, kernel, intercept, components);
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

// The mean and the covariance of 4,000 draws, in their standard errors: of some 3,000 numbers none is off by 5.5, which
// happens with probability 1e-4.
TEST(Posterior, DrawsHaveTheJointCovarianceOfTheDenseProcess) {
  const Data data;
  constexpr Index draws = 4000, order = t * p;
  for (const Kernel& kernel : all_kernels()) {
    for (const bool intercept : {false, true}) {
      for (const Index components : {0, 10, 60}) {
        const auto machine = fitted(data, kernel, intercept, components);
        const std::vector<Matrix<double>> drawn = Posterior<double>(machine).sample(data.Xt, draws, 3);
        const Matrix<double> mean = machine.predict(data.Xt);
        Matrix<double> all(draws, order);
        for (Index s = 0; s < draws; ++s) {
          const Matrix<double> one = drawn[static_cast<std::size_t>(s)] - mean;
          all.row(s) = Eigen::Map<const Eigen::RowVectorXd>(one.data(), order);
        }
        const Blocks K = components == 0 ? exact_blocks(kernel) : fourier_blocks(kernel, components);
        Matrix<double> C = dense_joint(K, data, intercept);
        const Vector<double> scale = (machine.record().noise / alpha).cwiseSqrt();
        for (Index i = 0; i < order; ++i) {
          for (Index j = 0; j < order; ++j) C(i, j) *= scale[i % p] * scale[j % p];
        }
        const Matrix<double> found = all.transpose() * all / draws;
        for (Index i = 0; i < order; ++i) {
          EXPECT_LT(std::abs(all.col(i).mean()), 5.5 * std::sqrt(C(i, i) / draws)) << components << intercept << i;
          for (Index j = 0; j <= i; ++j) {
            const double error = std::sqrt((C(i, i) * C(j, j) + C(i, j) * C(i, j)) / draws);
            EXPECT_LT(std::abs(found(i, j) - C(i, j)), 5.5 * error + 1e-6 * C(i, i))
                << components << intercept << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// A draw of a machine with features is one function: some of the rows, or more draws, change nothing.
TEST(Posterior, ADrawIsAFunctionOfItsNumber) {
  const Data data;
  FitOptions options = given_numbers();
  options.approximation = "fourier";
  options.n_components = 40;
  options.keep_moments = true;
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
  const Posterior<double> posterior(machine);
  const auto three = posterior.sample(data.Xt, 3, 11), one = posterior.sample(data.Xt.bottomRows(2), 1, 11);
  EXPECT_LT(max_difference(three[0].bottomRows(2), one[0]), 1e-12);
  EXPECT_GT(max_difference(three[0], three[1]), 1e-3);
  EXPECT_GT(max_difference(three[0], posterior.sample(data.Xt, 1, 12)[0]), 1e-3);
  EXPECT_EQ(posterior.sample(data.Xt.topRows(0), 2, 1)[1].rows(), 0);
  EXPECT_THROW(posterior.sample(data.Xt, 0, 1), Error);
  EXPECT_THROW(posterior.sample(data.Xt.leftCols(1), 1, 1), Error);
}

// f = sum of f_t: cov f_t(x) = K_t(x, x) - K_t(x, X) M^-1 K_t(X, x), the flat prior in M alone.
TEST(Posterior, PartsHaveTheDeviationsOfTheDenseProcess) {
  const Data data;
  for (const Kernel& kernel : all_kernels()) {
    for (const bool intercept : {false, true}) {
      for (const Index components : {0, 10, 60}) {
        const auto machine = fitted(data, kernel, intercept, components);
        const auto found = Posterior<double>(machine).part_deviations(data.Xt);
        ASSERT_EQ(found.size(), kernel.terms().size());
        const Blocks K = components == 0 ? exact_blocks(kernel) : fourier_blocks(kernel, components);
        Eigen::MatrixXd M = K(data.X, data.X);
        for (Index i = 0; i < n * p; ++i) {
          M(i, i) += alpha / data.w[i / p];
          for (Index j = 0; intercept && j < n * p; ++j) M(i, j) += i % p == j % p ? 1e7 : 0.0;
        }
        for (std::size_t part = 0; part < found.size(); ++part) {
          const Kernel term(kernel.terms()[part]);
          const Blocks own =
              components == 0 ? exact_blocks(term) : fourier_blocks(kernel, components, static_cast<Index>(part));
          const Matrix<double> k = own(data.Xt, data.X);
          const Matrix<double> cov = own(data.Xt, data.Xt) - k * M.partialPivLu().solve(Eigen::MatrixXd(k.transpose()));
          for (Index i = 0; i < t; ++i) {
            for (Index a = 0; a < p; ++a) {
              const double expected = cov(i * p + a, i * p + a) * machine.record().noise[a] / alpha;
              EXPECT_NEAR(found[part](i, a) * found[part](i, a), expected, 1e-6 * (1 + expected))
                  << components << intercept << part;
            }
          }
        }
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
