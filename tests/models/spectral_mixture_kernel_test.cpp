// tests/models/spectral_mixture_kernel_test.cpp -- machines whose kernel is a given spectral mixture.
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "kernels/mixture_math.hpp"
#include "models/machine/machine_map.hpp"

#include <Eigen/LU>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;
using testing::TempDir;

SpectralMixture example() {
  return SpectralMixture(Vector<double>{{2.0, 0.5}}, Matrix<double>{{0.2, 0.0}, {-0.1, 0.4}},
                         Matrix<double>{{0.05, 0.1}, {0.2, 0.03}});
}

const Matrix<double> X = random_matrix(60, 2, 1), Y = random_matrix(60, 2, 2), Xt = random_matrix(11, 2, 3);

FitOptions options_for(Kernel kernel, const char* approximation) {
  FitOptions options = given_numbers();
  options.kernel = std::move(kernel);
  options.approximation = approximation;
  options.alpha = 0.3;
  options.n_components = 60;
  options.fit_intercept = false;
  return options;
}

KernelMachine<double> fit(const FitOptions& options) { return KernelMachine<double>::fit(X, Y, options); }

TEST(MixtureKernelMachine, ExactFitIsTheDenseSolve) {
  Matrix<double> K(60, 60), k(11, 60);
  mixture_values(example().mixture(), X, X, K, Execution{});
  mixture_values(example().mixture(), Xt, X, k, Execution{});
  const Eigen::MatrixXd system = K + 0.3 * Matrix<double>::Identity(60, 60);
  const Matrix<double> expected = k * system.partialPivLu().solve(Eigen::MatrixXd(Y));
  EXPECT_LT(max_difference(fit(options_for(example(), "exact")).predict(Xt), expected), 1e-9);
}

// With the machine's frequencies, k~(delta) = k(0) mean_j cos<w_j, delta>.
TEST(MixtureKernelMachine, FourierFitIsTheDenseSolveOfItsFrequencies) {
  const KernelMachine<double> machine = fit(options_for(example(), "fourier"));
  const Matrix<double>& W = std::get<FourierMap<double>>(machine.map()).frequencies();
  ASSERT_EQ(W.rows(), 30);
  const auto values = [&](const Matrix<double>& A, const Matrix<double>& B) {
    const Matrix<double> a = A * W.transpose(), b = B * W.transpose();
    return Matrix<double>(Matrix<double>::NullaryExpr(A.rows(), B.rows(), [&](Index i, Index j) {
      return example().total() * (a.row(i) - b.row(j)).array().cos().mean();
    }));
  };
  const Eigen::MatrixXd system = values(X, X) + 0.3 * Matrix<double>::Identity(60, 60);
  const Matrix<double> expected = values(Xt, X) * system.partialPivLu().solve(Eigen::MatrixXd(Y));
  EXPECT_LT(max_difference(machine.predict(Xt), expected), 1e-8);
}

TEST(MixtureKernelMachine, IsTheSameAfterAFile) {
  const TempDir folder;
  const Matrix<double> A = random_psd(2, 2, 4);
  for (const Kernel& kernel :
       std::vector<Kernel>{example(), Decomposable(example(), A), CurlFree(example()), DivergenceFree(example()),
                           0.5 * Kernel(example()) + Decomposable(example(), A) + Kernel(Gaussian(1.0))}) {
    for (const char* approximation : {"exact", "fourier", "sub_sample"}) {
      FitOptions options = options_for(kernel, approximation);
      if (std::string(approximation) == "sub_sample") options.n_components = 30;
      const KernelMachine<double> machine = fit(options);
      const std::string path = folder.path("model");
      machine.save(path);
      const auto loaded = std::get<KernelMachine<double>>(load_kernel_machine(path));
      EXPECT_EQ(loaded.kernel(), kernel);
      EXPECT_EQ(loaded.predict(Xt), machine.predict(Xt)) << approximation;
    }
  }
}

}  // namespace
}  // namespace carmina
