// tests/backends/tridiagonal_test.cpp -- the reduction by panels is a similarity, and can be stopped between them.
#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include "support/random_matrix.hpp"

namespace carmina::tridiagonal_test {
namespace {

using carmina::testing::max_difference;
using carmina::testing::random_matrix;

struct Reduced {
  Matrix<double> A;
  Vector<double> diagonal, beside, scales;

  Reduced(Matrix<double> of, const Execution& execution) : A(std::move(of)) {
    const Index n = A.rows();
    diagonal.resize(n), beside.setZero(n), scales.resize(n);
    backend::tridiagonalise(n, A.data(), n, diagonal.data(), beside.data(), scales.data(), execution);
  }
  Matrix<double> T() const {
    const Index n = A.rows();
    Matrix<double> out = Matrix<double>::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      out(i, i) = diagonal[i];
      if (i > 0) out(i, i - 1) = out(i - 1, i) = beside[i - 1];
    }
    return out;
  }
};

Matrix<double> symmetric(Index n) {
  const Matrix<double> B = random_matrix(n, n, 7);
  return B + B.transpose();
}

// Panels of 4 to 32 rows, and what is left: sizes on both sides of each end.
TEST(Tridiagonal, IsASimilarity) {
  for (const Index n : {1, 2, 63, 64, 65, 66, 96, 97, 130, 300}) {
    const Matrix<double> A = symmetric(n);
    Matrix<double> given = A;
    given.triangularView<Eigen::StrictlyUpper>().setConstant(123);  // not looked at, and left alone
    const Reduced reduced(given, Execution{.threads = 2});
    Matrix<double> QT = reduced.T();
    backend::apply_reflectors(backend::Transpose::no, n, n, reduced.A.data(), n, reduced.scales.data(), QT.data(), n,
                              {});
    Matrix<double> QTQt = QT.transpose();
    backend::apply_reflectors(backend::Transpose::no, n, n, reduced.A.data(), n, reduced.scales.data(), QTQt.data(), n,
                              {});
    EXPECT_LT(max_difference(QTQt, A), 1e-11 * static_cast<double>(n)) << n;
    for (Index i = 0; i < n; ++i) {
      for (Index j = i + 1; j < n; ++j) ASSERT_EQ(reduced.A(i, j), 123);
    }
  }
}

TEST(Tridiagonal, ThreadsChangeNoBit) {
  const Matrix<double> A = symmetric(500);
  const Reduced one(A, Execution{.threads = 1}), three(A, Execution{.threads = 3});
  EXPECT_EQ(one.A, three.A);
  EXPECT_EQ(one.diagonal, three.diagonal);
  EXPECT_EQ(one.beside, three.beside);
}

TEST(Tridiagonal, StopsBetweenPanels) {
  int asked = 0;
  Execution execution{.threads = 1};
  execution.should_stop = [&] { return ++asked == 40; };
  const Matrix<double> A = symmetric(500);
  EXPECT_THROW(Reduced(A, execution), Cancelled);
  EXPECT_EQ(asked, 40);
}

}  // namespace
}  // namespace carmina::tridiagonal_test
