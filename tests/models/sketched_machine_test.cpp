// tests/models/sketched_machine_test.cpp -- sketched machines against dense formulas; losses with every kind of map.
#include <gtest/gtest.h>
#include <carmina/models/kernel_machine.hpp>
#include "models/machine/machine_map.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;
using testing::TempDir;

struct Rows {
  Matrix<double> X = random_matrix(40, 2, 1), Y = random_matrix(40, 2, 2).array() + 3, Z = random_matrix(15, 2, 3);
  Vector<double> w = random_matrix(40, 1, 4).cwiseAbs().array() + 0.2;
};

std::vector<sketches::Distribution> all_sketches() {
  return {sketches::SubSample(6),
          sketches::Gaussian(6),
          sketches::SparseRademacher(6, 0.2),
          sketches::SparseGaussian(6, 0.2),
          sketches::Accumulation(6, 3),
          sketches::CountSketch(6),
          sketches::Hadamard(6),
          sketches::LeverageScores(6, 0.5),
          sketches::PivotedCholesky(6)};
}

sketches::Sketch draw(const sketches::Distribution& which, const Matrix<double>& X, const ScalarKernel& kernel) {
  return sketches::sample<double>(which, 7, X, kernel);
}

// mathematics.md 2b with the intercept and weights, in the coefficients Gamma of f = M Gammaᵀ S k(x): [G (x) M, 1 (x)
// I] as a dense design, penalty H (x) M; a solution of least norm where M is singular.
Matrix<double> dense_predictions(const Rows& rows, const Matrix<double>& S, const ScalarKernel& kernel,
                                 const Matrix<double>& M, double alpha, bool intercept) {
  const Index n = rows.X.rows(), p = 2, s = S.rows(), order = s * p;
  const Matrix<double> K = kernel_matrix<double>(kernel, rows.X, rows.X), G = K * S.transpose(), H = S * G;
  const Matrix<double> Gz = kernel_matrix<double>(kernel, rows.Z, rows.X) * S.transpose();
  const auto design = [&](const Matrix<double>& g) {
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(g.rows() * p, order + (intercept ? p : 0));
    for (Index i = 0; i < g.rows(); ++i) {
      for (Index j = 0; j < p; ++j) {
        for (Index k = 0; k < s; ++k) all.row(i * p + j).segment(k * p, p) = g(i, k) * M.row(j);
        if (intercept) all(i * p + j, order + j) = 1;
      }
    }
    return all;
  };
  const Eigen::MatrixXd A = design(G);
  Eigen::VectorXd y(n * p), w(n * p);
  for (Index i = 0; i < n * p; ++i) {
    y[i] = rows.Y(i / p, i % p);
    w[i] = rows.w[i / p];
  }
  Eigen::MatrixXd system = A.transpose() * w.asDiagonal() * A;
  for (Index k = 0; k < s; ++k) {
    for (Index l = 0; l < s; ++l) system.block(k * p, l * p, p, p) += alpha * H(k, l) * M;
  }
  const Eigen::VectorXd f =
      design(Gz) * system.completeOrthogonalDecomposition().solve(A.transpose() * w.asDiagonal() * y);
  return Eigen::Map<const Matrix<double>>(f.data(), rows.Z.rows(), p);
}

TEST(SketchedMachine, EqualsTheDenseFormula) {
  const Rows rows;
  for (const auto& which : all_sketches()) {
    for (const Index rank : {1, 2}) {
      for (const bool intercept : {false, true}) {
        const Matrix<double> M = random_psd(2, rank, 5);
        FitOptions options = given_numbers();
        options.kernel = Decomposable(Laplacian(1.0), M);
        options.sketch = which;
        options.alpha = 0.3;
        options.seed = 7;
        options.fit_intercept = intercept;
        const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
        const Matrix<double> S = draw(which, rows.X, Laplacian(1.0)).toarray();
        const Matrix<double> expected = dense_predictions(rows, S, Laplacian(1.0), M, 0.3, intercept);
        EXPECT_LT(max_difference(model.predict(rows.Z), expected), 1e-8) << sketch_name(which) << " rank " << rank;
      }
    }
  }
}

// With memory for K Sᵀ no kernel value is computed twice; without, and for rows without weight, there are two passes.
TEST(SketchedMachine, IsTheSameInLittleMemory) {
  const Index n = 3000;
  const Matrix<double> X = random_matrix(n, 3, 1), Y = random_matrix(n, 2, 2);
  Vector<double> w = random_matrix(n, 1, 3).cwiseAbs().array() + 0.2;
  FitOptions options = given_numbers();
  options.kernel = Kernel(Gaussian(1.5));
  options.sketch = sketches::SparseRademacher(20, 0.01);
  const auto fit = [&](std::size_t budget) {
    options.execution.memory_budget = budget;
    return KernelMachine<double>::fit(X, Y, options, w.data());
  };
  const auto phases = [](const auto& machine) { return machine.record().report.seconds; };
  const auto much = fit(0), little = fit(1000000);
  EXPECT_EQ(phases(much).at(2).first, "kernel");
  EXPECT_EQ(phases(little).at(2).first, "whitening");
  EXPECT_LT(max_difference(much.predict(X), little.predict(X)), 1e-9);
  w[17] = 0;
  EXPECT_EQ(phases(fit(0)).at(2).first, "whitening");
}

TEST(SketchedMachine, KeepsTheAnchorsAlone) {
  const Rows rows;
  FitOptions options = given_numbers();
  options.approximation = "sub_sample";
  options.n_components = 6;
  const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options);
  EXPECT_EQ(std::get<KernelMap<double>>(model.map()).anchors().rows(), 6);
  EXPECT_EQ(model.record().approximation, "sub_sample");
  EXPECT_EQ(model.record().n_components, 6);
}

// All rows as anchors leave nothing out.
TEST(SketchedMachine, AllRowsGiveTheExactMachine) {
  const Rows rows;
  for (const Loss& loss : {Loss(Squared{}), Loss(Huber(0.3)), Loss(Absolute{}), Loss(Pinball({0.2, 0.7}))}) {
    FitOptions options = given_numbers();
    options.kernel_name = "laplacian";
    options.alpha = 0.3;
    options.loss = loss;
    options.tol = 1e-9;
    options.approximation = "exact";
    const auto exact = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
    options.sketch = sketches::SubSample(40);
    const auto sketched = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
    EXPECT_LT(max_difference(exact.predict(rows.Z), sketched.predict(rows.Z)), 1e-3) << loss_name(loss);
    EXPECT_EQ(exact.record().report.status, SolveStatus::converged);
  }
}

// S (x) I_p for blocks of p x p: (G (x)) from the dense kernel, an intercept for each output, weights.
TEST(SketchedMachine, OperatorValuedOnesEqualTheDenseFormula) {
  const Rows rows;
  const Index n = 40, p = 2;
  const auto dense = [&](const Kernel& kernel, const Matrix<double>& X) {
    std::vector<double> blocks(static_cast<std::size_t>(X.rows() * n * p * p));
    OperatorMap<double>(kernel, rows.X, p).blocks(X, blocks.data(), Execution{});
    Matrix<double> K(X.rows() * p, n * p);
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index j = 0; j < n; ++j) {
        K.block(i * p, j * p, p, p) = Eigen::Map<const Matrix<double>>(blocks.data() + (i * n + j) * p * p, p, p);
      }
    }
    return K;
  };
  const std::vector<Kernel> kernels = {CurlFree(Gaussian(0.8)), DivergenceFree(Matern(1.0, 2.5)),
                                       Kernel(Gaussian(1.0)) + 0.5 * Kernel(Laplacian(1.0))};
  for (const Kernel& kernel : kernels) {
    for (const sketches::Distribution& which :
         {sketches::Distribution(sketches::SubSample(6)), sketches::Distribution(sketches::SparseRademacher(6, 0.2)),
          sketches::Distribution(sketches::Gaussian(5))}) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.sketch = which;
      options.alpha = 0.3;
      options.seed = 7;
      const auto model = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
      const Matrix<double> S = sketches::sample(which, n, 7).toarray(), K = dense(kernel, rows.X);
      Matrix<double> wide = Matrix<double>::Zero(S.rows() * p, n * p);  // S (x) I
      for (Index i = 0; i < S.rows(); ++i) {
        for (Index j = 0; j < n; ++j) wide.block(i * p, j * p, p, p).diagonal().setConstant(S(i, j));
      }
      const Matrix<double> G = K * wide.transpose(), Gz = dense(kernel, rows.Z) * wide.transpose();
      const Index order = G.cols();
      const auto design = [&](const Matrix<double>& g) {
        Eigen::MatrixXd all = Eigen::MatrixXd::Zero(g.rows(), order + p);
        all.leftCols(order) = g;
        for (Index i = 0; i < g.rows(); ++i) all(i, order + i % p) = 1;
        return all;
      };
      const Eigen::MatrixXd A = design(G);
      Eigen::VectorXd y(n * p), w(n * p);
      for (Index i = 0; i < n * p; ++i) y[i] = rows.Y(i / p, i % p), w[i] = rows.w[i / p];
      Eigen::MatrixXd system = A.transpose() * w.asDiagonal() * A;
      system.topLeftCorner(order, order) += 0.3 * wide * G;
      const Eigen::VectorXd f =
          design(Gz) * system.completeOrthogonalDecomposition().solve(A.transpose() * w.asDiagonal() * y);
      const Matrix<double> expected = Eigen::Map<const Matrix<double>>(f.data(), rows.Z.rows(), p);
      EXPECT_LT(max_difference(model.predict(rows.Z), expected), 1e-7) << sketch_name(which);
    }
  }
}

// A threshold beyond every residual makes Huber's loss the squared one: for each map the two paths must meet.
TEST(ConvexLossMachine, AWideHuberIsTheSquaredLoss) {
  const Rows rows;
  const std::vector<Kernel> kernels = {Gaussian(1.0), Decomposable(Gaussian(1.0), random_psd(2, 1, 1)),
                                       CurlFree(Gaussian(0.8)) + DivergenceFree(Gaussian(1.2))};
  // 60 Fourier features are more than there are rows.
  for (const auto& [approximation, components] :
       {std::pair("fourier", 12), std::pair("fourier", 60), std::pair("exact", 0), std::pair("sub_sample", 12)}) {
    for (const Kernel& kernel : kernels) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.approximation = approximation;
      options.n_components = components;
      options.alpha = 0.3;
      const auto squared = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
      options.loss = Huber(1e6);
      options.tol = 1e-14;
      const auto huber = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
      EXPECT_LT(max_difference(squared.predict(rows.Z), huber.predict(rows.Z)), 1e-6) << approximation;
    }
  }
}

TEST(ConvexLossMachine, SeveralLevelsOfOneTargetAreFittedTogether) {
  const Rows rows;
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.loss = Pinball({0.1, 0.5, 0.9});
  const auto joint = KernelMachine<double>::fit(rows.X, rows.Y.leftCols(1), options);
  EXPECT_EQ(joint.dim_out(), 3);
  const auto repeated = KernelMachine<double>::fit(rows.X, rows.Y.leftCols(1).replicate(1, 3), options);
  EXPECT_EQ(max_difference(joint.predict(rows.Z), repeated.predict(rows.Z)), 0);
}

TEST(ConvexLossMachine, SurvivesItsFile) {
  const Rows rows;
  const TempDir folder;
  FitOptions options = given_numbers();
  options.sketch = sketches::SparseRademacher(10, 0.2);
  options.loss = Pinball({0.2, 0.7});
  const auto model = KernelMachine<float>::fit(rows.X.cast<float>(), rows.Y.cast<float>(), options);
  const std::string path = folder.path("model.safetensors");
  model.save(path);
  const auto again = std::get<KernelMachine<float>>(load_kernel_machine(path));
  const Matrix<float> Z = rows.Z.cast<float>();
  EXPECT_EQ(max_difference(model.predict(Z), again.predict(Z)), 0);
  EXPECT_EQ(again.record().loss, options.loss);
  EXPECT_EQ(again.record().approximation, "sparse_rademacher");
  EXPECT_EQ(again.record().sketch, model.record().sketch);
  EXPECT_EQ(again.record().report.objective, model.record().report.objective);
}

TEST(ConvexLossMachine, RefusesWhatDoesNotGoTogether) {
  const Rows rows;
  const auto message = [&](const auto& change) {
    FitOptions options = given_numbers();
    options.n_components = 10;
    change(options);
    try {
      KernelMachine<double>::fit(rows.X, rows.Y, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto expect = [&](const auto& change, const char* part) {
    EXPECT_NE(message(change).find(part), std::string::npos) << message(change);
  };
  expect([](FitOptions& o) { o.loss = Hinge{}; }, "-1 or 1");
  expect([](FitOptions& o) { o.loss = Pinball({0.1, 0.5, 0.9}); }, "one for each of 2 outputs, found 3");
  expect([](FitOptions& o) { o.loss = Huber(1), o.alpha = 0; }, "alpha must be positive for loss 'huber'");
  expect([](FitOptions& o) { o.loss = Huber(1), o.solver = "lsmr"; }, "for the squared loss");
  expect([](FitOptions& o) { o.solver = "newton"; }, "for losses other than the squared one");
  expect([](FitOptions& o) { o.approximation = "nystrom"; }, "'sub_sample'");
  expect([](FitOptions& o) { o.sketch = sketches::SubSample(41); }, "41");
  expect([](FitOptions& o) { o.sketch = sketches::LeverageScores(5), o.kernel = CurlFree(Gaussian(1.0)); },
         "leverage_scores sketch is for one scalar kernel");
}

}  // namespace
}  // namespace carmina
