// tests/backends/hadamard_test.cpp -- the fast transform against the matrix, on every instruction set of this machine.
#include "backends/hadamard.hpp"
#include <gtest/gtest.h>
#include "backends/vector_math.hpp"

#include <bit>

#include "backends/cpu/hadamard_loops.hpp"
#include "support/random_matrix.hpp"

namespace carmina::backend {
namespace {

using testing::random_matrix;

// H(i, j) = -1 to the number of ones that i and j share.
Matrix<double> hadamard(Index n) {
  return Matrix<double>::NullaryExpr(
      n, n, [](Index i, Index j) { return std::popcount(static_cast<unsigned>(i & j)) % 2 ? -1.0 : 1.0; });
}

template <class T>
class HadamardTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(HadamardTest, Precisions);

template <class T>
Matrix<T> products(const Matrix<T>& X, const Matrix<T>& D, const Vector<T>& lengths) {
  // A row stride that is not the width, and a number beyond each row that must stay.
  Matrix<T> out = Matrix<T>::Constant(X.rows(), D.cols() + 1, T(7));
  hadamard_products(X.data(), X.cols(), X.rows(), X.cols(), D.data(), lengths.data(), D.cols(), out.data(), out.cols());
  EXPECT_TRUE((out.col(D.cols()).array() == T(7)).all());
  return out.leftCols(D.cols());
}

TYPED_TEST(HadamardTest, EqualsTheProductOfMatrices) {
  using T = TypeParam;
  for (const Index n : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
    for (const Index d : {Index(1), n / 2 + 3, n}) {
      const Matrix<T> X = random_matrix<T>(3, d, 1), D = random_matrix<T>(3, n, 2);
      const Vector<T> lengths = random_matrix<T>(n, 1, 3);
      const Matrix<double> H = hadamard(n);
      Matrix<double> x = Matrix<double>::Zero(3, n);
      x.leftCols(d) = X.template cast<double>();
      for (Index k = 0; k < 3; ++k) x = (x * D.row(k).template cast<double>().asDiagonal() * H).eval();
      x = x * lengths.template cast<double>().asDiagonal();
      EXPECT_LT((products(X, D, lengths).template cast<double>() - x).norm(),
                (std::is_same_v<T, float> ? 1e-6 : 1e-14) * x.norm())
          << n << " " << d;
    }
  }
}

TYPED_TEST(HadamardTest, EveryInstructionSetGivesTheSameBits) {
  using T = TypeParam;
  std::vector<const HadamardTable*> tables = {portable_hadamard()};
  const std::string best = vector_instruction_set();
  if (best != "portable") tables.push_back(avx2_hadamard());
  if (best == "avx512") tables.push_back(avx512_hadamard());
  for (const Index n : {16, 32, 64, 128, 256, 512, 1024, 4096}) {
    const Matrix<T> X = random_matrix<T>(2, n - 5, 4), D = random_matrix<T>(3, n, 5);
    const Vector<T> lengths = random_matrix<T>(n, 1, 6);
    const Matrix<T> expected = products(X, D, lengths);
    for (const HadamardTable* table : tables) {
      Matrix<T> out(2, n);
      Vector<T> room(n);
      const auto call = [&](auto function) {
        function(X.data(), X.cols(), 2, X.cols(), D.data(), lengths.data(), n, out.data(), n, room.data());
      };
      if constexpr (std::is_same_v<T, float>) {
        call(table->of_float);
      } else {
        call(table->of_double);
      }
      EXPECT_EQ(out, expected) << n;
    }
  }
}

}  // namespace
}  // namespace carmina::backend
