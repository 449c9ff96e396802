// tests/backends/eigenvectors_test.cpp -- eigenvectors by halves: A U = U D and UᵀU = I to rounding, values as those of
// Eigen's one by one, for matrices whose eigenvalues are equal, near, apart by powers of ten, or all alike.
#include "backends/cpu/tridiagonal.hpp"

#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "support/random_matrix.hpp"

namespace carmina::eigenvectors_test {
namespace {

using carmina::testing::random_matrix;

struct Tridiagonal {
  Vector<double> diagonal, beside;
  Matrix<double> dense() const {
    const Index n = diagonal.size();
    Matrix<double> out = diagonal.asDiagonal();
    for (Index i = 0; i + 1 < n; ++i) out(i, i + 1) = out(i + 1, i) = beside[i];
    return out;
  }
};

// A number for each row, from 0 to 1.
double share(Index i, Index n) { return static_cast<double>(i) / static_cast<double>(std::max<Index>(n - 1, 1)); }

struct Shape {
  std::string name;
  Tridiagonal (*make)(Index n);
};
const Shape shapes[] = {
    {"random", [](Index n) { return Tridiagonal{random_matrix(n, 1, 1).col(0), random_matrix(n, 1, 2).col(0)}; }},
    {"zero", [](Index n) { return Tridiagonal{Vector<double>::Zero(n), Vector<double>::Zero(n)}; }},
    {"identity", [](Index n) { return Tridiagonal{Vector<double>::Ones(n), Vector<double>::Zero(n)}; }},
    {"second difference",
     [](Index n) { return Tridiagonal{Vector<double>::Constant(n, 2), Vector<double>::Constant(n, -1)}; }},
    {"Wilkinson",  // pairs that agree to many digits
     [](Index n) {
       Tridiagonal T{Vector<double>(n), Vector<double>::Ones(n)};
       for (Index i = 0; i < n; ++i)
         T.diagonal[i] = std::abs(static_cast<double>(i) - 0.5 * static_cast<double>(n - 1));
       return T;
     }},
    {"glued Wilkinson",  // the same eigenvalues again and again
     [](Index n) {
       Tridiagonal T{Vector<double>(n), Vector<double>::Ones(n)};
       for (Index i = 0; i < n; ++i) {
         T.diagonal[i] = std::abs(static_cast<double>(i % 21) - 10);
         if (i % 21 == 20) T.beside[i] = 1e-8;
       }
       return T;
     }},
    {"graded down",
     [](Index n) {
       Tridiagonal T{Vector<double>(n), Vector<double>(n)};
       for (Index i = 0; i < n; ++i) {
         T.diagonal[i] = std::pow(10, -40 * share(i, n));
         T.beside[i] = 0.5 * T.diagonal[i];
       }
       return T;
     }},
    {"graded up",
     [](Index n) {
       Tridiagonal T{Vector<double>(n), Vector<double>(n)};
       for (Index i = 0; i < n; ++i) {
         T.diagonal[i] = std::pow(10, -40 * share(n - 1 - i, n));
         T.beside[i] = 0.5 * T.diagonal[i];
       }
       return T;
     }},
    {"nearly split",
     [](Index n) {
       Tridiagonal T{random_matrix(n, 1, 3).col(0), random_matrix(n, 1, 4).col(0)};
       for (Index i = 0; i < n; i += 3) T.beside[i] *= 1e-17;
       return T;
     }},
    {"two values", [](Index n) {
       Tridiagonal T{Vector<double>(n), Vector<double>::Constant(n, 1e-15)};
       for (Index i = 0; i < n; ++i) T.diagonal[i] = i % 2 == 0 ? 1 : -1;
       return T;
     }}};

TEST(Eigenvectors, OfTridiagonalMatrices) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  for (const Shape& shape : shapes) {
    for (const Index n : {1, 2, 3, 31, 32, 33, 64, 65, 130, 257, 600}) {
      for (const double scale : {1.0, 1e-290, 1e290}) {
        SCOPED_TRACE(shape.name + " " + std::to_string(n) + " " + std::to_string(std::log10(scale)));
        const Tridiagonal T = shape.make(n);
        const Matrix<double> dense = T.dense();
        const double size = std::max(dense.cwiseAbs().maxCoeff(), 1e-300), bound = 30 * epsilon * std::sqrt(n);
        Vector<double> values = T.diagonal * scale, beside = T.beside * scale;
        Matrix<double> U(n, n);
        backend::tridiagonal_eigenvectors(n, values.data(), beside.data(), U.data(), Execution{.threads = 2});
        values /= scale;
        ASSERT_TRUE(std::is_sorted(values.begin(), values.end()));
        const Matrix<double> residual = U * dense - values.asDiagonal() * U;
        EXPECT_LT(residual.cwiseAbs().maxCoeff(), bound * size);
        EXPECT_LT((U * U.transpose() - Matrix<double>::Identity(n, n)).cwiseAbs().maxCoeff(), bound);
        Vector<double> alone = T.diagonal * scale;
        beside = T.beside * scale;
        backend::tridiagonal_eigenvalues(n, alone.data(), beside.data());
        EXPECT_LT((alone / scale - values).cwiseAbs().maxCoeff(), bound * size);
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> oracle(dense, Eigen::EigenvaluesOnly);
        EXPECT_LT((oracle.eigenvalues() - values).cwiseAbs().maxCoeff(), 3 * bound * size);  // it rounds too
      }
    }
  }
}

// What rounding leaves of a matrix of low rank, as Gram matrices of many features are.
TEST(Eigenvectors, OfSymmetricMatrices) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  for (const Index n : {1, 2, 17, 33, 100, 300, 520}) {
    for (const Index rank : {n, n / 3}) {
      SCOPED_TRACE(std::to_string(n) + " of rank " + std::to_string(rank));
      const Matrix<double> B = random_matrix(n, std::max<Index>(rank, 1), 9), A = B * B.transpose();
      Matrix<double> U = A;
      U.triangularView<Eigen::StrictlyUpper>().setConstant(123);
      Vector<double> values(n);
      backend::symmetric_eigen(n, U.data(), n, values.data(), Execution{.threads = 2});
      const double size = A.cwiseAbs().maxCoeff() * std::sqrt(n), bound = 30 * epsilon * std::sqrt(n);
      EXPECT_LT((U * A - values.asDiagonal() * U).cwiseAbs().maxCoeff(), bound * size);
      EXPECT_LT((U * U.transpose() - Matrix<double>::Identity(n, n)).cwiseAbs().maxCoeff(), bound);
    }
  }
}

TEST(Eigenvectors, ThreadsChangeNoBit) {
  const Index n = 700;
  const Matrix<double> B = random_matrix(n, n, 5), A = B + B.transpose();
  Matrix<double> one = A, three = A;
  Vector<double> values(n), again(n);
  backend::symmetric_eigen(n, one.data(), n, values.data(), Execution{.threads = 1});
  backend::symmetric_eigen(n, three.data(), n, again.data(), Execution{.threads = 3});
  EXPECT_EQ(one, three);
  EXPECT_EQ(values, again);
}

TEST(Eigenvectors, NumbersThatAreNotFiniteAreRefused) {
  Vector<double> diagonal = Vector<double>::Ones(40), beside = Vector<double>::Ones(40);
  diagonal[7] = std::numeric_limits<double>::quiet_NaN();
  Matrix<double> U(40, 40);
  EXPECT_THROW(backend::tridiagonal_eigenvectors(40, diagonal.data(), beside.data(), U.data(), {}), Error);
  EXPECT_THROW(backend::tridiagonal_eigenvalues(40, diagonal.data(), beside.data()), Error);
}

}  // namespace
}  // namespace carmina::eigenvectors_test
