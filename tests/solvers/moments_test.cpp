// tests/solvers/moments_test.cpp -- the streamed sums against the dense product of all features.
#include <gtest/gtest.h>
#include "features/feature_rows.hpp"

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;

template <class T>
class MomentsOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MomentsOf, Precisions);

template <class T>
Moments stream(const FourierMap<T>& map, const Matrix<T>& X, const Matrix<T>& Y, const T* w,
               const Vector<double>& origin, Index block, int threads, std::size_t budget = 0) {
  Moments moments(map.n_features(), origin);
  Execution execution;
  execution.threads = threads;
  execution.memory_budget = budget;
  MemoryRows<T> rows(X, Y, w);
  DataRows<T> data(rows);
  data.read_at_once(block);
  rows_of(map, data, FeatureStorage::none, execution)->moments(moments);
  return moments;
}

TYPED_TEST(MomentsOf, EqualTheDenseSums) {
  using T = TypeParam;
  struct Shape {
    Index n, d, m, p;
  };
  for (const auto& [n, d, m, p] : {Shape{1, 1, 2, 1}, {300, 3, 50, 2}, {130, 2, 1100, 3}, {5000, 4, 30, 1}}) {
    const FourierMap<T> map(Gaussian(1.2), d, m, 1);
    const Matrix<T> X = random_matrix<T>(n, d, 1), Y = random_matrix<T>(n, p, 2);
    const Vector<T> w = random_matrix<T>(n, 1, 3).cwiseAbs();
    const Vector<double> origin = Vector<double>::LinSpaced(p, 0.3, 0.9);
    Matrix<T> phi(n, m);
    evaluate(map, X, View<T>(phi), Execution{});
    Matrix<double> z(n, m + p + 1);
    z << phi.template cast<double>(), Y.template cast<double>().rowwise() - origin.transpose(), Vector<double>::Ones(n);
    const Matrix<double> expected = z.transpose() * w.template cast<double>().asDiagonal() * z;
    const Moments moments = stream<T>(map, X, Y, w.data(), origin, 777, 2);
    Matrix<double> sums = moments.sums.template selfadjointView<Eigen::Lower>();
    EXPECT_LT(max_difference(sums, expected),
              ((std::is_same_v<T, float>) ? 1e-5 : 1e-12) * (1 + expected.cwiseAbs().maxCoeff()));
    EXPECT_EQ(moments.rows, n);
    EXPECT_NEAR(moments.total_weight(), w.template cast<double>().sum(), 1e-4 * double(n));
  }
}

TYPED_TEST(MomentsOf, AreBitEqualOnAnyNumberOfThreads) {
  using T = TypeParam;
  const FourierMap<T> map(Gaussian(1.2), 3, 1300, 1);
  const Matrix<T> X = random_matrix<T>(600, 3, 4), Y = random_matrix<T>(600, 2, 5);
  const Vector<double> origin = Vector<double>::Zero(2);
  const Moments one = stream<T>(map, X, Y, nullptr, origin, 600, 1);
  for (const int threads : {2, 3}) EXPECT_EQ(one.sums, stream<T>(map, X, Y, nullptr, origin, 600, threads).sums);
}

// Neither the blocks that are read nor the memory budget changes a bit.
TYPED_TEST(MomentsOf, DoNotDependOnBlocksOrBudget) {
  using T = TypeParam;
  const FourierMap<T> map(Gaussian(1.2), 3, 100, 1);
  const Matrix<T> X = random_matrix<T>(9000, 3, 4), Y = random_matrix<T>(9000, 2, 5);
  const Vector<double> origin = Vector<double>::Zero(2);
  const Moments whole = stream<T>(map, X, Y, nullptr, origin, 9000, 2);
  for (const Index block : {1, 700, 2048, 5000}) {
    EXPECT_EQ(whole.sums, stream<T>(map, X, Y, nullptr, origin, block, 2, 100000).sums) << block;
  }
}

}  // namespace
}  // namespace carmina
