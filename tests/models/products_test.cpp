// tests/models/products_test.cpp -- products of kernels and kernels of some inputs: whole fits beside dense formulas
// that are written here once more.
#include <gtest/gtest.h>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"
#include "features/sample_map.hpp"
#include "models/machine/machine_map.hpp"

#include <Eigen/LU>

#include <functional>
#include <numbers>

#include <support/given_numbers.hpp>
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::products_test {
namespace {

using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using testing::random_psd;

InputColumns at(std::vector<Index> columns) { return columns; }

// A kernel and its values, p x p, at a pair of rows of three inputs: place (0, 1) and time (2).
struct Case {
  Kernel kernel;
  std::function<Matrix<double>(const Vector<double>&, const Vector<double>&)> block;
};

double gauss(double square, double width) { return std::exp(-square / (2 * width * width)); }
double matern3(double r, double width) {
  const double a = std::sqrt(3.0) * r / width;
  return (1 + a) * std::exp(-a);
}
// K_curl of a Gaussian of the first two inputs.
Matrix<double> curl_block(const Vector<double>& x, const Vector<double>& z, double width) {
  const Vector<double> u = (x - z).head(2) / (width * width);
  const double k = gauss((x - z).head(2).squaredNorm(), width);
  return k * (Matrix<double>::Identity(2, 2) / (width * width) - u * u.transpose());
}
Matrix<double> divergence_block(const Vector<double>& x, const Vector<double>& z, double width) {
  const Matrix<double> K = curl_block(x, z, width);
  return K.trace() * Matrix<double>::Identity(2, 2) - K;
}

std::vector<Case> cases() {
  const Matrix<double> I = Matrix<double>::Identity(2, 2), A = random_psd(2, 2, 3);
  const Kernel place = CurlFree(Gaussian(1.2)).on(at({0, 1})), free = DivergenceFree(Gaussian(0.9)).on(at({0, 1}));
  const Kernel time = Kernel(Matern(1.5, 1.5)).on(at({2}));
  const auto curl_in_time = [](const auto& x, const auto& z) -> Matrix<double> {
    return curl_block(x, z, 1.2) * matern3(std::abs(x[2] - z[2]), 1.5);
  };
  return {
      {place * time, curl_in_time},
      {time * place, curl_in_time},
      {free * Kernel(Periodic(0.7, 1.3)).on(at({2})),
       [](const auto& x, const auto& z) -> Matrix<double> {
         const double s = std::sin(std::numbers::pi * (x[2] - z[2]) / 1.3) / 0.7;
         return divergence_block(x, z, 0.9) * std::exp(-2 * s * s);
       }},
      // The same columns, and a factor of all of them.
      {CurlFree(Gaussian(1.2)).on(at({0, 1})) * Kernel(Gaussian(2.0)),
       [](const auto& x, const auto& z) -> Matrix<double> {
         return curl_block(x, z, 1.2) * gauss((x - z).squaredNorm(), 2.0);
       }},
      {Decomposable(Gaussian(1.1), A).on(at({1})) * Kernel(Gaussian(0.8)).on(at({0, 2})),
       [A](const auto& x, const auto& z) -> Matrix<double> {
         return gauss(std::pow(x[1] - z[1], 2), 1.1) * gauss(std::pow(x[0] - z[0], 2) + std::pow(x[2] - z[2], 2), 0.8) *
                A;
       }},
      {0.5 * place * time + 2.0 * Kernel(Linear{}).on(at({2})) + 0.3 * Kernel(Constant{}) + free,
       [I, curl_in_time](const auto& x, const auto& z) -> Matrix<double> {
         return 0.5 * curl_in_time(x, z) + (2 * x[2] * z[2] + 0.3) * I + divergence_block(x, z, 0.9);
       }},
      {(place + free) * Kernel(Linear{}) * time,
       [](const auto& x, const auto& z) -> Matrix<double> {
         return (curl_block(x, z, 1.2) + divergence_block(x, z, 0.9)) * x.dot(z) * matern3(std::abs(x[2] - z[2]), 1.5);
       }},
      {Kernel(Linear{}).on(at({0, 1})) * Kernel(Linear{}) +
           Kernel(Gaussian(1.0)).on(at({1})) * Kernel(Linear{}).on(at({2})),
       [I](const auto& x, const auto& z) -> Matrix<double> {
         const double k = (x[0] * z[0] + x[1] * z[1]) * x.dot(z) + gauss(std::pow(x[1] - z[1], 2), 1.0) * x[2] * z[2];
         return k * I;
       }},
      {Kernel(Polynomial(2, 0.5, 1.0)).on(at({2})) * Kernel(Gaussian(1.0)).on(at({0})),
       [I](const auto& x, const auto& z) -> Matrix<double> {
         return std::pow(0.5 * x[2] * z[2] + 1, 2) * gauss(std::pow(x[0] - z[0], 2), 1.0) * I;
       }},
      {CurlFree(Gaussian(1.2), false, true).on(at({0, 1})) * time +
           DivergenceFree(Gaussian(0.9), false, true).on(at({0, 1})),
       [](const auto& x, const auto& z) -> Matrix<double> {  // tr K(0) = 2
         return 1.2 * 1.2 * curl_block(x, z, 1.2) * matern3(std::abs(x[2] - z[2]), 1.5) +
                0.9 * 0.9 * divergence_block(x, z, 0.9);
       }},
  };
}

bool fourier(const Kernel& kernel) {
  return std::ranges::all_of(kernel.terms(), [](const Term& term) { return has_fourier_features(term.scalar); });
}

Matrix<double> dense(const Case& one, const Matrix<double>& X, const Matrix<double>& Z) {
  Matrix<double> K(2 * X.rows(), 2 * Z.rows());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < Z.rows(); ++j) {
      K.block(2 * i, 2 * j, 2, 2) = one.block(X.row(i).transpose(), Z.row(j).transpose());
    }
  }
  return K;
}

// Theta of the dense system (K + alpha W^-1) c = y - mean-free by a border for the intercept; predictions at Z.
Matrix<double> dense_prediction(const Matrix<double>& K, const Matrix<double>& against, const Matrix<double>& Y,
                                const Vector<double>& w, double alpha) {
  const Index n = Y.rows();
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(2 * n + 2, 2 * n + 2);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(2 * n + 2);
  system.topLeftCorner(2 * n, 2 * n) = K;
  for (Index i = 0; i < 2 * n; ++i) {
    system(i, i) += alpha / w[i / 2];
    system(i, 2 * n + i % 2) = system(2 * n + i % 2, i) = 1;
    right[i] = Y(i / 2, i % 2);
  }
  const Eigen::VectorXd c = system.partialPivLu().solve(right);
  Eigen::VectorXd f = against * c.head(2 * n);
  for (Index i = 0; i < f.size(); ++i) f[i] += c[2 * n + i % 2];
  return Eigen::Map<const Matrix<double>>(f.data(), f.size() / 2, 2);
}

struct Rows {
  Matrix<double> X = random_matrix(24, 3, 1), Y = random_matrix(24, 2, 2).array() + 1, Z = random_matrix(7, 3, 4);
  Vector<double> w = random_matrix(24, 1, 3).cwiseAbs().array() + 0.2;
};

FitOptions options_for(const Kernel& kernel, const char* approximation) {
  FitOptions options = given_numbers();
  options.kernel = kernel;
  options.approximation = approximation;
  options.alpha = 0.3;
  options.n_components = 48;
  options.tol = 1e-13;
  return options;
}

TEST(Products, ExactBlocksAreTheFormulas) {
  const Rows rows;
  for (const Case& one : cases()) {
    Matrix<double> blocks(24 * 7, 4);
    OperatorMap<double>(one.kernel, rows.Z, 2).blocks(rows.X, blocks.data(), Execution{});
    const Matrix<double> K = dense(one, rows.X, rows.Z);
    double worst = 0;
    for (Index i = 0; i < 24; ++i) {
      for (Index j = 0; j < 7; ++j) {
        for (Index a = 0; a < 4; ++a) {
          worst = std::max(worst, std::abs(blocks(i * 7 + j, a) - K(2 * i + a / 2, 2 * j + a % 2)));
        }
      }
    }
    EXPECT_LT(worst, 1e-12 * std::max(1.0, K.cwiseAbs().maxCoeff()));
    const OperatorMap<double> map(one.kernel, rows.X, 2);
    const Matrix<double> gram = map.gram(Execution{});
    EXPECT_LT((map.diagonal() - gram.diagonal()).cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(Products, ExactMachinesAreTheDenseSystem) {
  const Rows rows;
  for (const Case& one : cases()) {
    const Matrix<double> expected =
        dense_prediction(dense(one, rows.X, rows.X), dense(one, rows.Z, rows.X), rows.Y, rows.w, 0.3);
    const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options_for(one.kernel, "exact"), rows.w.data());
    EXPECT_LT(max_difference(machine.predict(rows.Z), expected), 1e-10 * std::max(1.0, expected.cwiseAbs().maxCoeff()));
  }
}

// Phi as (rows 2, coefficients), from the map of the machine and an expansion, whose parts are tested below.
Matrix<double> design_of(const Kernel& kernel, const FourierMap<double>& map, const Matrix<double>& X) {
  const Expansion expansion(kernel, map.unit_frequencies(), 2);
  Matrix<double> phi(X.rows(), map.n_features()), design(2 * X.rows(), expansion.dim_coef());
  evaluate(map, X, View<double>(phi), Execution{});
  for (Index i = 0; i < design.rows(); ++i) {
    Matrix<double> R = Matrix<double>::Zero(phi.cols(), 2);
    R.col(i % 2) = phi.row(i / 2).transpose();
    design.row(i) = expansion.contract(R).transpose();
  }
  return design;
}

TEST(Products, FourierMachinesAreTheDenseSystemOfTheirFeatures) {
  const Rows rows;
  for (const Case& one : cases()) {
    if (!fourier(one.kernel)) continue;
    for (const char* solver : {"direct", "cg"}) {
      FitOptions options = options_for(one.kernel, "fourier");
      options.solver = solver;
      const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
      const auto& map = std::get<FourierMap<double>>(machine.map());
      const Matrix<double> own = design_of(one.kernel, map, rows.X), other = design_of(one.kernel, map, rows.Z);
      const Matrix<double> expected =
          dense_prediction(own * own.transpose(), other * own.transpose(), rows.Y, rows.w, 0.3);
      EXPECT_LT(max_difference(machine.predict(rows.Z), expected), std::string(solver) == "cg" ? 1e-6 : 1e-10);
    }
  }
}

// The mean of many maps is the kernel, within 6 standard errors of the entries' own spread.
TEST(Products, FeaturesEstimateTheKernel) {
  const Matrix<double> X = random_matrix(5, 3, 8);
  for (const Case& one : cases()) {
    if (!fourier(one.kernel)) continue;
    const Matrix<double> K = dense(one, X, X);
    for (const Sampling sampling : {Sampling::iid, Sampling::sobol}) {
      constexpr int maps = 200;
      Matrix<double> sum = Matrix<double>::Zero(10, 10), squares = sum;
      for (int seed = 0; seed < maps; ++seed) {
        const auto map = sample_term_map<double>(one.kernel, 3, 240, static_cast<std::uint64_t>(seed), sampling);
        const Matrix<double> Phi = design_of(one.kernel, map, X), estimate = Phi * Phi.transpose();
        sum += estimate / maps, squares += estimate.cwiseAbs2() / maps;
      }
      const Matrix<double> deviation = ((squares - sum.cwiseAbs2()).cwiseMax(0) / maps).cwiseSqrt();
      EXPECT_TRUE(((sum - K).array().abs() <= 6 * deviation.array() + 1e-10).all())
          << (sum - K).cwiseAbs().maxCoeff() << " of " << K.cwiseAbs().maxCoeff();
    }
  }
}

TEST(Products, ExplicitFeaturesAreTheKernelItself) {
  const Matrix<double> X = random_matrix(9, 3, 5);
  const Kernel linear = 2.0 * Kernel(Linear{}) * Kernel(Linear{}).on(at({0, 2})) + 0.5 * Kernel(Constant{});
  const auto map = sample_term_map<double>(linear, 3, 100, 0, Sampling::iid);
  EXPECT_EQ(map.units(), 7);
  const Matrix<double> Phi = design_of(linear, map, X), K = Phi * Phi.transpose();
  for (Index i = 0; i < 9; ++i) {
    for (Index j = 0; j < 9; ++j) {
      const double expected = 2 * X.row(i).dot(X.row(j)) * (X(i, 0) * X(j, 0) + X(i, 2) * X(j, 2)) + 0.5;
      EXPECT_NEAR(K(2 * i, 2 * j), expected, 1e-12);
    }
  }
}

TEST(Products, SketchedMachinesWithAllRowsAreExact) {
  const Rows rows;
  const Kernel kernel = Kernel(Gaussian(1.1)).on(at({0, 1})) * Kernel(Matern(0.9, 1.5)).on(at({2}));
  FitOptions options = options_for(kernel, "sub_sample");
  options.n_components = 24;
  const auto sketched = KernelMachine<double>::fit(rows.X, rows.Y, options),
             exact = KernelMachine<double>::fit(rows.X, rows.Y, options_for(kernel, "exact"));
  EXPECT_LT(max_difference(sketched.predict(rows.Z), exact.predict(rows.Z)), 1e-7);
}

TEST(Products, FilesHoldThem) {
  const testing::TempDir dir;
  const Rows rows;
  for (const Case& one : cases()) {
    for (const char* approximation : {"exact", "fourier"}) {
      if (std::string(approximation) == "fourier" && !fourier(one.kernel)) continue;
      const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options_for(one.kernel, approximation));
      machine.save(dir.path("m.safetensors"));
      const auto back = std::get<KernelMachine<double>>(load_kernel_machine(dir.path("m.safetensors")));
      EXPECT_EQ(back.kernel(), machine.kernel());
      EXPECT_EQ(back.predict(rows.Z), machine.predict(rows.Z));
    }
  }
}

TEST(Products, PartsAddUp) {
  const Rows rows;
  for (const Case& one : cases()) {
    for (const char* approximation : {"exact", "fourier"}) {
      if (std::string(approximation) == "fourier" && !fourier(one.kernel)) continue;
      const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options_for(one.kernel, approximation));
      Matrix<double> sum = machine.intercept().transpose().replicate(7, 1);
      for (const Matrix<double>& part : machine.predict_parts(rows.Z)) sum += part;
      EXPECT_LT(max_difference(sum, machine.predict(rows.Z)), 1e-12 * std::max(1.0, sum.cwiseAbs().maxCoeff()));
    }
  }
}

TEST(Products, FloatMachinesAreNear) {
  const Rows rows;
  for (const Case& one : cases()) {
    for (const char* approximation : {"exact", "fourier"}) {
      if (std::string(approximation) == "fourier" && !fourier(one.kernel)) continue;
      const FitOptions options = options_for(one.kernel, approximation);
      const Matrix<float> X = rows.X.cast<float>(), Y = rows.Y.cast<float>(), Z = rows.Z.cast<float>();
      const auto narrow = KernelMachine<float>::fit(X, Y, options);
      const auto wide = KernelMachine<double>::fit(X.cast<double>(), Y.cast<double>(), options);
      const Matrix<double> expected = wide.predict(Z.cast<double>());
      EXPECT_LT(max_difference(narrow.predict(Z), expected), 1e-3 * std::max(1.0, expected.cwiseAbs().maxCoeff()));
    }
  }
}

TEST(Products, WhatDoesNotGoTogetherIsRefused) {
  const Kernel field = CurlFree(Gaussian(1.0)), scalar = Gaussian(1.0);
  EXPECT_EQ(message_of([&] { field* DivergenceFree(Gaussian(2.0)); }),
            "kernel: a product takes one factor that couples the outputs, found 'curl-free' and 'divergence-free'");
  EXPECT_NE(message_of([&] { CurlFree(product(Gaussian(1.0), Gaussian(2.0))); }).find("CurlFree(k1) * k2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { scalar.on(at({0})).on(at({1})); }).find("of some columns already"), std::string::npos);
  EXPECT_NE(message_of([&] { scalar.on(at({0, 0})); }).find("chosen twice"), std::string::npos);
  EXPECT_NE(message_of([&] { scalar.on(at({5})).check_dimensions(3, 1); }).find("of column 5"), std::string::npos);
  const Kernel named = scalar.on(std::vector<std::string>{"time"});
  EXPECT_NE(message_of([&] { named.check_dimensions(3, 1); }).find("'time' is the name of an input"),
            std::string::npos);
  EXPECT_EQ(named.with_columns_found({"lon", "lat", "time"}), scalar.on(at({2})));
  EXPECT_NE(message_of([&] { named.with_columns_found({"lon"}); }).find("there is lon"), std::string::npos);
}

}  // namespace
}  // namespace carmina::products_test
