// tests/models/operator_valued_machine_test.cpp -- whole fits with curl-free, divergence-free and sum kernels.
#include <gtest/gtest.h>
#include <carmina/data/generators.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "models/machine/machine_map.hpp"

#include <Eigen/LU>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::operator_valued_machine_test {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

std::vector<Kernel> all_kernels() {
  return {CurlFree(Gaussian(0.8)), DivergenceFree(Gaussian(0.8)),
          CurlFree(Gaussian(0.8)) + DivergenceFree(Matern(1.0, 2.5)),
          0.5 * Decomposable(Gaussian(1.0), random_psd(2, 1, 1)) + 2.0 * CurlFree(Cauchy(1.0)),
          CurlFree(Gaussian(0.8), true) + DivergenceFree(Gaussian(1.1), true)};
}

struct Rows {
  Matrix<double> X = random_matrix(30, 2, 1), Y = random_matrix(30, 2, 2).array() + 3;
  Vector<double> w = random_matrix(30, 1, 3).cwiseAbs().array() + 0.1;
};

// min sum_i w_i |Phi_i* theta + b - y_i|^2 / 2 + alpha |theta|^2 / 2 with a dense design (n p, coefficients).
Matrix<double> dense_fit(const Matrix<double>& design, const Rows& rows, double alpha, bool intercept) {
  const Index n = rows.X.rows(), p = rows.Y.cols(), m = design.cols();
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(n * p, m + (intercept ? p : 0));
  all.leftCols(m) = design;
  Eigen::VectorXd y(n * p), w(n * p);
  for (Index i = 0; i < n * p; ++i) {
    y[i] = rows.Y(i / p, i % p);
    w[i] = rows.w[i / p];
    if (intercept) all(i, m + i % p) = 1;
  }
  Eigen::MatrixXd system = all.transpose() * w.asDiagonal() * all;
  system.diagonal().head(m).array() += alpha;
  const Eigen::VectorXd f = all * system.partialPivLu().solve(all.transpose() * w.asDiagonal() * y);
  return Eigen::Map<const Matrix<double>>(f.data(), n, p);
}

TEST(OperatorValuedMachine, FourierFitsEqualTheDenseSystem) {
  const Rows rows;
  for (const Kernel& kernel : all_kernels()) {
    for (const bool intercept : {false, true}) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.n_components = 16;
      options.alpha = 0.2;
      options.fit_intercept = intercept;
      options.tol = 1e-12;
      const Matrix<double> W = sample_term_frequencies(kernel, 2, 16, 0);
      const Expansion expansion(kernel, W, 2);
      Matrix<double> phi(30, 2 * W.rows()), design(60, expansion.dim_coef());
      evaluate(FourierMap<double>(W), rows.X, View<double>(phi), Execution{});
      for (Index i = 0; i < 60; ++i) {
        Matrix<double> R = Matrix<double>::Zero(2 * W.rows(), 2);
        R.col(i % 2) = phi.row(i / 2).transpose();
        design.row(i) = expansion.contract(R).transpose();
      }
      const Matrix<double> expected = dense_fit(design, rows, 0.2, intercept);
      for (const char* solver : {"direct", "cg"}) {
        options.solver = solver;
        const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
        EXPECT_LT(max_difference(model.predict(rows.X), expected), 1e-7) << solver;
      }
    }
  }
}

TEST(OperatorValuedMachine, ExactFitsEqualTheDenseSystem) {
  const Rows rows;
  for (const Kernel& kernel : all_kernels()) {
    const Matrix<double> lower = OperatorMap<double>(kernel, rows.X, 2).gram(Execution{});
    const Eigen::MatrixXd K = Matrix<double>(lower.selfadjointView<Eigen::Lower>());
    for (const bool intercept : {false, true}) {
      // K + alpha W^-1 bordered by the intercept's columns.
      const Index border = intercept ? 2 : 0;
      Eigen::MatrixXd system = Eigen::MatrixXd::Zero(60 + border, 60 + border);
      Eigen::VectorXd right = Eigen::VectorXd::Zero(60 + border);
      system.topLeftCorner(60, 60) = K;
      for (Index i = 0; i < 60; ++i) {
        system(i, i) += 0.2 / rows.w[i / 2];
        right[i] = rows.Y(i / 2, i % 2);
        if (intercept) system(i, 60 + i % 2) = system(60 + i % 2, i) = 1;
      }
      const Eigen::VectorXd c = system.partialPivLu().solve(right);
      Eigen::VectorXd f = K * c.head(60);
      for (Index i = 0; intercept && i < 60; ++i) f[i] += c[60 + i % 2];
      for (const char* solver : {"direct", "cg"}) {
        FitOptions options = given_numbers();
        options.kernel = kernel;
        options.approximation = "exact";
        options.alpha = 0.2;
        options.fit_intercept = intercept;
        options.solver = solver;
        options.tol = 1e-12;
        const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
        EXPECT_LT(max_difference(model.predict(rows.X), Eigen::Map<const Matrix<double>>(f.data(), 30, 2)), 1e-7)
            << solver;
      }
    }
  }
}

TEST(OperatorValuedMachine, PartsAddUpAndFilesGiveBackTheSameBits) {
  const Rows rows;
  const testing::TempDir folder;
  for (const Kernel& kernel : all_kernels()) {
    for (const char* approximation : {"fourier", "exact"}) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.approximation = approximation;
      options.n_components = 30;
      options.scale_inputs = true;
      const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options);
      const auto parts = model.predict_parts(rows.X);
      ASSERT_EQ(parts.size(), kernel.terms().size());
      Matrix<double> sum = model.intercept().transpose().replicate(30, 1);
      for (const auto& part : parts) sum += part;
      EXPECT_LT(max_difference(sum, model.predict(rows.X)), 1e-12);
      model.save(folder.path("model"));
      const auto back = std::get<KernelMachine<double>>(load_kernel_machine(folder.path("model")));
      EXPECT_EQ(back.predict(rows.X), model.predict(rows.X));
      EXPECT_EQ(back.kernel(), kernel);
    }
  }
}

// One common factor, so that a scaled curl-free model is still curl-free in the user's own coordinates.
// w ~ N(0, I), B(w) = w: what CurlFree(Gaussian(1.0)) is, by functions.
TEST(OperatorValuedMachine, AKernelOfFunctionsFitsLikeTheBuiltInOneAndIsNotSaved) {
  const Kernel own = Spectral(
      [](const Random& random, Index i, Index d) {
        Vector<double> w(d);
        normal_vector(random, i, d, 1, w.data());
        return w;
      },
      [](const Vector<double>& w) { return Matrix<double>(w); }, 2);
  const Rows rows;
  for (const char* solver : {"direct", "cg", "lsmr", "idr"}) {
    FitOptions options = given_numbers();
    options.n_components = 40;
    options.solver = solver;
    options.tol = 1e-12;
    options.kernel = own + Gaussian(2.0);
    const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
    options.kernel = CurlFree(Gaussian(1.0)) + Gaussian(2.0);
    const auto same = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
    EXPECT_LT(max_difference(model.predict(rows.X), same.predict(rows.X)), 1e-10) << solver;
    EXPECT_THROW(model.to_file(), Error);
    const auto again = KernelMachine<double>::from_file(model.to_file(KernelStorage::apart), "memory", model.kernel());
    EXPECT_EQ(again.predict(rows.X), model.predict(rows.X));
    EXPECT_THROW(KernelMachine<double>::from_file(model.to_file(KernelStorage::apart), "memory"), Error);
  }
}

TEST(OperatorValuedMachine, ScalingKeepsTheStructure) {
  Rows rows;
  rows.X.col(1) *= 50;
  FitOptions options = given_numbers();
  options.coupling = CurlFreeCoupling{};
  options.scale_inputs = true;
  const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options);
  const auto& transform = std::get<FourierMap<double>>(model.map()).transform();
  EXPECT_EQ(transform.factor[0], transform.factor[1]);
}

// A field that is a gradient is learnt better by the curl-free kernel than by independent outputs, and the reverse for
// a field without divergence: the point of the paper's Figure 4.
TEST(OperatorValuedMachine, TheRightStructureLearnsFaster) {
  for (const char* kind : {"curl-free", "divergence-free"}) {
    const Dataset train = vector_field(kind, 80, {.noise = 0.05, .seed = 1}),
                  test = vector_field(kind, 500, {.seed = 2});
    const auto error = [&](const Kernel& kernel) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.approximation = "exact";
      options.alpha = 0.01;
      return (KernelMachine<double>::fit(train.X, train.Y, options).predict(test.X) - test.clean).norm();
    };
    const double curl = error(CurlFree(Gaussian(0.5))), divergence = error(DivergenceFree(Gaussian(0.5)));
    const double independent = error(Gaussian(0.5));
    const bool gradient = std::string(kind) == "curl-free";
    EXPECT_LT(gradient ? curl : divergence, 0.8 * independent);
    EXPECT_GT(gradient ? divergence : curl, independent);
  }
}

}  // namespace
}  // namespace carmina::operator_valued_machine_test
