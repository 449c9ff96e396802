// tests/models/pairwise_kernels_test.cpp -- exact machines of kernels that are not functions of x - z, against dense
// solves.
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>
#include "features/kernel_map.hpp"

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

constexpr Index n = 70;
constexpr double alpha = 0.2;

ScalarKernel squared_product() {
  return Callable([](ConstView<double> X, ConstView<double> Z, View<double> out) {
    out = (1 + (X * Z.transpose()).array()).square().matrix();
  });
}
std::vector<ScalarKernel> kernels() { return {Polynomial(3, 0.4, 1.5), Sobolev1{}, squared_product()}; }

template <class T>
class PairwiseMachine : public ::testing::Test {
 protected:
  Matrix<T> X = random_matrix<T>(n, 2, 1).cwiseAbs(), Y = random_matrix<T>(n, 2, 2),
            Xt = random_matrix<T>(9, 2, 3).cwiseAbs();
  Vector<T> w = random_matrix<T>(n, 1, 4).cwiseAbs().array() + T(0.2);
  static constexpr double tight = std::is_same_v<T, float> ? 2e-3 : 1e-8;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PairwiseMachine, Precisions);

// Kernel values of K between all rows as (|A| p, |B| p), from the scalar values of its terms.
Matrix<double> dense_blocks(const Kernel& kernel, const Matrix<double>& A, const Matrix<double>& B, Index p) {
  Matrix<double> out = Matrix<double>::Zero(A.rows() * p, B.rows() * p);
  for (const Term& term : kernel.terms()) {
    const Matrix<double> K = kernel_matrix<double>(term.scalar, A, B);
    Matrix<double> M = Matrix<double>::Identity(p, p);
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) M = matrix->A();
    for (Index i = 0; i < out.rows(); ++i) {
      for (Index j = 0; j < out.cols(); ++j) out(i, j) += term.weight * K(i / p, j / p) * M(i % p, j % p);
    }
  }
  return out;
}

// f(Xt) + b of the fit: [K + alpha/w I, E; Eᵀ, 0] [c; b] = [y; 0].
Matrix<double> dense_prediction(const Kernel& kernel, const Matrix<double>& X, const Matrix<double>& Y,
                                const Vector<double>& w, const Matrix<double>& Xt) {
  const Index p = Y.cols(), N = X.rows() * p;
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(N + p, N + p);
  system.topLeftCorner(N, N) = dense_blocks(kernel, X, X, p);
  for (Index i = 0; i < N; ++i) {
    system(i, i) += alpha / w[i / p];
    system(i, N + i % p) = system(N + i % p, i) = 1;
  }
  Vector<double> right = Vector<double>::Zero(N + p);
  right.head(N) = Eigen::Map<const Vector<double>>(Y.data(), N);
  const Vector<double> solution = system.partialPivLu().solve(right);
  const Vector<double> f = dense_blocks(kernel, Xt, X, p) * solution.head(N);
  Matrix<double> out = Eigen::Map<const Matrix<double>>(f.data(), Xt.rows(), p);
  return out.rowwise() + solution.tail(p).transpose();
}

TYPED_TEST(PairwiseMachine, ExactFitsEqualTheDenseSolve) {
  using T = TypeParam;
  const Matrix<double> A = random_psd(2, 2, 5), singular = random_psd(2, 1, 6);
  for (const ScalarKernel& scalar : kernels()) {
    const Kernel alone(Term{1, scalar, Independent{}});
    for (const Kernel& kernel : {alone, 0.7 * alone, Kernel(Decomposable(scalar, A)),
                                 Kernel(Decomposable(scalar, singular)), 0.5 * alone + Decomposable(Gaussian(0.8), A),
                                 Decomposable(scalar, singular) + 2.0 * Kernel(Laplacian(1.0))}) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.approximation = "exact";
      options.alpha = alpha;
      options.tol = 1e-12;
      const auto expected = dense_prediction(kernel, this->X.template cast<double>(), this->Y.template cast<double>(),
                                             this->w.template cast<double>(), this->Xt.template cast<double>());
      for (const char* solver : {"direct", "cg"}) {
        options.solver = solver;
        const auto machine = KernelMachine<T>::fit(this->X, this->Y, options, this->w.data());
        const double loose = std::string(solver) == "cg" ? 20 : 1;
        EXPECT_LT(max_difference(machine.predict(this->Xt), expected), loose * this->tight * (1 + expected.norm()))
            << kernel_name(scalar) << ", " << kernel.terms().size() << " terms, " << solver;
      }
    }
  }
}

TYPED_TEST(PairwiseMachine, VarianceKnowsThatTheDiagonalIsNotOne) {
  using T = TypeParam;
  for (const ScalarKernel& scalar : kernels()) {
    FitOptions options = given_numbers();
    options.kernel = Kernel(Term{1, scalar, Independent{}});
    options.approximation = "exact";
    options.alpha = alpha;
    options.fit_intercept = false;
    const auto machine = KernelMachine<T>::fit(this->X, this->Y, options, this->w.data());
    const Matrix<double> rows = this->X.template cast<double>(), places = this->Xt.template cast<double>();
    Eigen::MatrixXd K = kernel_matrix<double>(scalar, rows, rows);
    K.diagonal() += alpha * this->w.template cast<double>().cwiseInverse();
    const Eigen::MatrixXd kt = kernel_matrix<double>(scalar, places, rows),
                          own = kernel_matrix<double>(scalar, places, places);
    const Vector<double> expected = (own - kt * K.partialPivLu().solve(kt.transpose())).diagonal().array() + alpha;
    const Matrix<double> deviation = Posterior<T>(machine, {}).deviation(this->Xt, {});
    const Matrix<double> in_alphas = deviation.col(0).cwiseAbs2() * alpha / machine.record().noise[0];
    EXPECT_LT(max_difference(in_alphas, expected), 5 * this->tight * (1 + own.maxCoeff()));
  }
}

TYPED_TEST(PairwiseMachine, FilesGiveTheSamePredictionsAndRefuseFunctions) {
  using T = TypeParam;
  const TempDir folder;
  const std::string path = folder.path("model");
  for (const ScalarKernel& scalar : kernels()) {
    for (const bool sum : {false, true}) {
      FitOptions options = given_numbers();
      options.kernel = Kernel(Term{1, scalar, Independent{}});
      if (sum) options.kernel = *options.kernel + 0.5 * Kernel(Gaussian(1.0));
      options.approximation = "exact";
      const auto machine = KernelMachine<T>::fit(this->X, this->Y, options);
      if (std::holds_alternative<Callable>(scalar)) {
        EXPECT_THROW(machine.save(path), Error);
        continue;
      }
      machine.save(path);
      const auto again = std::get<KernelMachine<T>>(load_kernel_machine(path));
      EXPECT_EQ(again.kernel(), machine.kernel());
      EXPECT_EQ(again.predict(this->Xt), machine.predict(this->Xt));
    }
  }
}

TEST(PairwiseKernelsByName, TakeNoWidthAndScaleGammaByTheInputs) {
  const Matrix<double> X = random_matrix(30, 4, 7), Y = random_matrix(30, 1, 8);
  FitOptions options = given_numbers();
  options.kernel_name = "polynomial";
  options.kernel_parameters = {{"degree", 2}};
  options.approximation = "exact";
  EXPECT_EQ(KernelMachine<double>::fit(X, Y, options).kernel(), Kernel(Polynomial(2, 0.25, 1)));
  options.kernel_parameters["gamma"] = 3;
  EXPECT_EQ(KernelMachine<double>::fit(X, Y, options).kernel(), Kernel(Polynomial(2, 3, 1)));
  // The kernel sees scaled inputs.
  options.scale_inputs = true;
  const Matrix<double> moved = (X.array() * 10 + 100).matrix();
  EXPECT_LT(max_difference(KernelMachine<double>::fit(X, Y, options).predict(X),
                           KernelMachine<double>::fit(moved, Y, options).predict(moved)),
            1e-9);
  options.length_scale = LengthScale(2.0);
  EXPECT_THROW(KernelMachine<double>::fit(X, Y, options), Error);
  options.length_scale.reset();
  options.approximation = "fourier";
  EXPECT_THROW(KernelMachine<double>::fit(X, Y, options), Error);

  FitOptions sobolev = given_numbers();
  sobolev.kernel_name = "sobolev1";
  sobolev.approximation = "exact";
  EXPECT_EQ(KernelMachine<double>::fit(X.cwiseAbs(), Y, sobolev).kernel(), Kernel(Sobolev1{}));
  EXPECT_THROW(KernelMachine<double>::fit(X, Y, sobolev), Error);
  const auto machine = KernelMachine<double>::fit(X.cwiseAbs(), Y, sobolev);
  EXPECT_THROW(machine.predict(X), Error);
  sobolev.scale_inputs = true;
  EXPECT_THROW(KernelMachine<double>::fit(X.cwiseAbs(), Y, sobolev), Error);
}

}  // namespace
}  // namespace carmina
