// tests/backends/reduced_gram_test.cpp -- Gram matrices of rounded numbers against those of the numbers.
#include "backends/reduced_gram.hpp"
#include <gtest/gtest.h>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using backend::Reduced;
using backend::ReducedGram;

Matrix<float> reduced(const Matrix<float>& phi, Reduced precision, int threads) {
  ReducedGram gram(phi.cols(), precision, Execution{.threads = threads});
  gram.add(phi.rows(), [&](Index first, Index count, float* out, int) {
    std::copy_n(phi.row(first).data(), count * phi.cols(), out);
  });
  return gram.sums.triangularView<Eigen::Lower>();
}

// Each product is off by up to two roundings of its factors; sums of many rows, odd numbers of rows and columns.
TEST(ReducedGram, NearTheGramMatrix) {
  for (const Reduced precision : {Reduced::bfloat16, Reduced::single}) {
    for (const auto& [rows, columns] : {std::pair<Index, Index>{1, 1}, {7, 33}, {64, 32}, {1025, 100}, {2100, 600}}) {
      const Matrix<float> phi = testing::random_matrix<float>(rows, columns, 1);
      const Matrix<double> wide = phi.cast<double>(), exact = wide.transpose() * wide;
      const Matrix<double> size = wide.cwiseAbs().transpose() * wide.cwiseAbs();
      const Matrix<float> sums = reduced(phi, precision, 2);
      const double u = unit_roundoff(precision) + 1e-6;
      for (Index i = 0; i < columns; ++i) {
        for (Index j = 0; j <= i; ++j) ASSERT_NEAR(sums(i, j), exact(i, j), 2.1 * u * size(i, j)) << rows << " " << i;
        for (Index j = i + 1; j < columns; ++j) ASSERT_EQ(sums(i, j), 0);
      }
      for (const int threads : {1, 3}) EXPECT_EQ(reduced(phi, precision, threads), sums);
    }
  }
}

// Numbers that bfloat16 holds exactly give exact sums: nothing but the rounding is lost.
TEST(ReducedGram, ExactForShortNumbers) {
  Matrix<float> phi(50, 40);
  for (Index i = 0; i < 50; ++i) {
    for (Index j = 0; j < 40; ++j) phi(i, j) = static_cast<float>((3 * i + 5 * j) % 7 - 3);
  }
  const Matrix<float> exact = (phi.transpose() * phi).triangularView<Eigen::Lower>();
  EXPECT_EQ(reduced(phi, Reduced::bfloat16, 2), exact);
}

}  // namespace
}  // namespace carmina
