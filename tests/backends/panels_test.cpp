// tests/backends/panels_test.cpp -- elementary functions and functions of products, on every instruction set the
// machine has, against the standard library and plain sums.
#include <gtest/gtest.h>
#include "backends/vector_math.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/vector_math_loops.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using backend::VectorMath;

std::vector<const VectorMath*> instruction_sets() {
  std::vector<const VectorMath*> sets{backend::portable_vector_math()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (backend::avx2_vector_math() && __builtin_cpu_supports("avx2")) sets.push_back(backend::avx2_vector_math());
  if (backend::avx512_vector_math() && __builtin_cpu_supports("avx512f")) sets.push_back(backend::avx512_vector_math());
#endif
  return sets;
}

template <class T>
const backend::VectorFunctions<T>& functions(const VectorMath& set) {
  if constexpr (std::same_as<T, float>) {
    return set.of_float;
  } else {
    return set.of_double;
  }
}

template <class T>
class Panels : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Panels, Precisions);

// Near multiples of pi/2, where a sine or a cosine is small, the error stays relative to it.
TYPED_TEST(Panels, SineAndCosineNearTheirZeros) {
  using T = TypeParam;
  for (const VectorMath* set : instruction_sets()) {
    std::vector<T> x, c, s;
    for (int k = -200; k <= 200; ++k) {
      const T zero = static_cast<T>(k * 1.57079632679489661923);
      for (const T near : {zero, std::nextafter(zero, T(1e9)), std::nextafter(zero, T(-1e9)), zero + T(1e-3)}) {
        x.push_back(near);
      }
    }
    c.resize(x.size());
    s.resize(x.size());
    functions<T>(*set).sincos(x.data(), T(1), c.data(), s.data(), static_cast<Index>(x.size()));
    const double unit = std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double sine = std::sin(static_cast<long double>(x[i])),
                        cosine = std::cos(static_cast<long double>(x[i]));
      EXPECT_NEAR(double(s[i]), double(sine), 2 * unit * std::abs(double(sine)) + 1e-30) << set->name << " " << x[i];
      EXPECT_NEAR(double(c[i]), double(cosine), 2 * unit * std::abs(double(cosine)) + 1e-30)
          << set->name << " " << x[i];
    }
  }
}

TYPED_TEST(Panels, HugePhasesAndOthers) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const VectorMath* set : instruction_sets()) {
    std::vector<T> x{T(0), T(1), T(3e6), T(-1e7), T(2e9), infinity, nan, T(-2)}, c(x.size()), s(x.size());
    functions<T>(*set).sincos(x.data(), T(1), c.data(), s.data(), static_cast<Index>(x.size()));
    for (const std::size_t i : {0, 1, 2, 3, 4, 7}) {
      EXPECT_NEAR(double(s[i]), std::sin(double(x[i])), 4 * std::numeric_limits<T>::epsilon()) << set->name;
      EXPECT_NEAR(double(c[i]), std::cos(double(x[i])), 4 * std::numeric_limits<T>::epsilon()) << set->name;
    }
    for (const std::size_t i : {5, 6}) EXPECT_TRUE(std::isnan(s[i]) && std::isnan(c[i])) << set->name;
    std::vector<T> e{T(0), T(-1e30), -infinity, nan, infinity, T(-20), T(88), T(-1)};
    functions<T>(*set).exp(e.data(), T(1), static_cast<Index>(e.size()));
    EXPECT_EQ(e[0], 1);
    EXPECT_EQ(e[1], 0);
    EXPECT_EQ(e[2], 0);
    EXPECT_TRUE(std::isnan(e[3])) << set->name;
    EXPECT_EQ(e[4], infinity);
    const double unit = 4 * std::numeric_limits<T>::epsilon();
    EXPECT_NEAR(double(e[5]), std::exp(-20.0), unit * std::exp(-20.0));
    EXPECT_NEAR(double(e[6]), std::exp(88.0), unit * std::exp(88.0));
    EXPECT_NEAR(double(e[7]), std::exp(-1.0), unit * std::exp(-1.0));
  }
}

// Panels as RowPanels lays them out, for any instruction set.
template <class T>
Matrix<T> laid_out(const Matrix<T>& rows, Index width) {
  const Index panels = (rows.rows() + width - 1) / width;
  Matrix<T> cells = Matrix<T>::Zero(panels * rows.cols(), width);
  for (Index i = 0; i < rows.rows(); ++i) {
    for (Index k = 0; k < rows.cols(); ++k) cells(i / width * rows.cols() + k, i % width) = rows(i, k);
  }
  return cells;
}

constexpr double two_over_pi = 0.63661977236758134308;

// Any rows, inputs and part of the columns: the values of plain sums, and the same bits whatever the part.
TYPED_TEST(Panels, FunctionsOfProducts) {
  using T = TypeParam;
  const double unit = std::numeric_limits<T>::epsilon();
  for (const VectorMath* set : instruction_sets()) {
    const auto& f = functions<T>(*set);
    for (const auto& [rows, count, dim] :
         {std::array<Index, 3>{1, 1, 1}, {3, 5, 2}, {8, 32, 16}, {9, 33, 7}, {20, 100, 3}, {33, 64, 130}}) {
      const Matrix<T> X = testing::random_matrix<T>(rows, dim, 1), W = testing::random_matrix<T>(count, dim, 2);
      const Matrix<T> panels = laid_out<T>(W, f.panel_rows);
      const Matrix<T> quarters = laid_out<T>(W * T(two_over_pi), f.panel_rows);
      const Matrix<T> halves = laid_out<T>(W * T(two_over_pi / 2), f.panel_rows);
      const double longest = W.rowwise().norm().maxCoeff();
      Vector<T> starts = Vector<T>::Zero(halves.rows() / dim * f.panel_rows);
      starts.head(count) = testing::random_matrix<T>(count, 1, 3).col(0);  // half turns
      const Matrix<double> phases = X.template cast<double>() * W.template cast<double>().transpose();
      Matrix<T> all = Matrix<T>::Constant(rows, 2 * count + 3, T(7));
      f.sincos_products(X.data(), dim, rows, dim, quarters.data(), longest, 0, count, T(0.5), all.data(), count + 1,
                        all.cols(), false);
      Matrix<T> phased = Matrix<T>::Constant(rows, count + 1, T(7));
      f.cosine_products(X.data(), dim, rows, dim, halves.data(), starts.data(), longest, 0, count, T(0.5),
                        phased.data(), phased.cols(), false);
      const double allowed = 4 * unit * (1 + static_cast<double>(dim) * phases.cwiseAbs().maxCoeff());
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < count; ++j) {
          ASSERT_NEAR(double(all(i, j)), 0.5 * std::cos(phases(i, j)), allowed) << set->name;
          ASSERT_NEAR(double(all(i, count + 1 + j)), 0.5 * std::sin(phases(i, j)), allowed) << set->name;
          const double moved = phases(i, j) + 3.14159265358979323846 * double(starts[j]);
          ASSERT_NEAR(double(phased(i, j)), 0.5 * std::cos(moved), allowed) << set->name;
        }
        ASSERT_EQ(phased(i, count), T(7));
        ASSERT_EQ(all(i, count), T(7));  // between the parts
        ASSERT_EQ(all(i, 2 * count + 1), T(7));
      }
      // Past the caches the same bits, wherever they can and cannot go there.
      const Index room = (count + 15) / 16 * 16;
      for (const Index shift : {0, 1}) {
        std::vector<T> memory(static_cast<std::size_t>(rows * 2 * room + 64), T(7));
        const std::size_t to_line = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) / sizeof(T) % 16;
        T* const out = memory.data() + to_line + shift;
        f.sincos_products(X.data(), dim, rows, dim, quarters.data(), longest, 0, count, T(0.5), out, room, 2 * room,
                          true);
        Matrix<T> both = Eigen::Map<Matrix<T>>(out, rows, 2 * room);
        ASSERT_EQ(both.leftCols(count), all.leftCols(count)) << set->name;
        ASSERT_EQ(both.middleCols(room, count), all.middleCols(count + 1, count)) << set->name;
        f.cosine_products(X.data(), dim, rows, dim, halves.data(), starts.data(), longest, 0, count, T(0.5), out,
                          2 * room, true);
        both = Eigen::Map<Matrix<T>>(out, rows, 2 * room);
        ASSERT_EQ(both.leftCols(count), phased.leftCols(count)) << set->name;
      }
      const Vector<T> x_norms = X.rowwise().squaredNorm();
      Vector<T> w_norms = Vector<T>::Zero((count + f.panel_rows - 1) / f.panel_rows * f.panel_rows);
      w_norms.head(count) = W.rowwise().squaredNorm();
      Matrix<T> distances(rows, count);
      f.distances(X.data(), dim, rows, dim, x_norms.data(), panels.data(), w_norms.data(), 0, count, distances.data(),
                  count);
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < count; ++j) {
          const double expected = (X.row(i) - W.row(j)).template cast<double>().squaredNorm();
          ASSERT_NEAR(double(distances(i, j)), expected,
                      8 * unit * static_cast<double>(dim) * (1 + x_norms[i] + w_norms[j]));
          ASSERT_GE(distances(i, j), 0);
        }
      }
      // One row and a few columns at a time
      for (Index i = 0; i < rows; ++i) {
        for (Index first = 0; first < count; first += 5) {
          const Index part = std::min<Index>(5, count - first);
          Matrix<T> piece(2, part), alone(1, part), distance(1, part);
          f.sincos_products(X.row(i).data(), dim, 1, dim, quarters.data(), longest, first, part, T(0.5), piece.data(),
                            part, 2 * part, false);
          f.cosine_products(X.row(i).data(), dim, 1, dim, halves.data(), starts.data(), longest, first, part, T(0.5),
                            alone.data(), part, false);
          ASSERT_EQ(alone.row(0), phased.row(i).segment(first, part)) << set->name;
          f.distances(X.row(i).data(), dim, 1, dim, &x_norms[i], panels.data(), w_norms.data(), first, part,
                      distance.data(), part);
          ASSERT_EQ(piece.row(0), all.row(i).segment(first, part)) << set->name;
          ASSERT_EQ(piece.row(1), all.row(i).segment(count + 1 + first, part)) << set->name;
          ASSERT_EQ(distance.row(0), distances.row(i).segment(first, part)) << set->name;
        }
      }
    }
  }
}

// Turns of any size are whole ones and what is left, exactly: features at 2^k + 1/8 quarter turns are those at 1/8, as
// long as the type has room for both. Beyond, and at NaN, nothing but what must be.
TYPED_TEST(Panels, TurnsOfAnySize) {
  using T = TypeParam;
  const int digits = std::numeric_limits<T>::digits;
  for (const VectorMath* set : instruction_sets()) {
    const auto& f = functions<T>(*set);
    const Matrix<T> panels = laid_out<T>(Matrix<T>::Ones(1, 1), f.panel_rows);
    const T none = 0;
    const Vector<T> starts = Vector<T>::Constant(f.panel_rows, none);
    const auto features = [&](T x) {
      Vector<T> out(3);
      f.sincos_products(&x, 1, 1, 1, panels.data(), 1, 0, 1, T(1), out.data(), 1, 2, false);
      f.cosine_products(&x, 1, 1, 1, panels.data(), starts.data(), 1, 0, 1, T(1), &out[2], 1, false);
      return out;
    };
    const Vector<T> eighth = features(T(0.125));
    for (int k = 2; k <= digits - 4; ++k) EXPECT_EQ(features(std::ldexp(T(1), k) + T(0.125)), eighth) << set->name << k;
    for (int k = digits - 3; k < 120; ++k) {
      EXPECT_EQ(features(std::ldexp(T(1), k)), features(T(0))) << set->name << k;
    }
    EXPECT_EQ(features(T(0)), (Vector<T>(3) << T(1), T(0), T(1)).finished());
    EXPECT_TRUE(features(std::numeric_limits<T>::quiet_NaN()).array().isNaN().all()) << set->name;
    EXPECT_TRUE(features(std::numeric_limits<T>::infinity()).array().isNaN().all()) << set->name;
  }
}

// A row far out takes another way; its neighbours keep their bits.
TYPED_TEST(Panels, OneRowFarOut) {
  using T = TypeParam;
  for (const VectorMath* set : instruction_sets()) {
    const auto& f = functions<T>(*set);
    Matrix<T> X = testing::random_matrix<T>(10, 3, 1);
    const Matrix<T> W = testing::random_matrix<T>(40, 3, 2), panels = laid_out<T>(W, f.panel_rows);
    const double largest = W.rowwise().norm().maxCoeff();
    Matrix<T> before(10, 80), after(10, 80);
    f.sincos_products(X.data(), 3, 10, 3, panels.data(), largest, 0, 40, T(1), before.data(), 40, 80, false);
    X.row(4) *= std::same_as<T, float> ? T(1e10) : T(1e20);
    f.sincos_products(X.data(), 3, 10, 3, panels.data(), largest, 0, 40, T(1), after.data(), 40, 80, false);
    for (Index i = 0; i < 10; ++i) {
      EXPECT_TRUE(i == 4 || after.row(i) == before.row(i)) << set->name;
    }
    for (Index j = 0; j < 40; ++j) {
      EXPECT_NEAR(double(after(4, j) * after(4, j) + after(4, 40 + j) * after(4, 40 + j)), 1, 1e-5) << set->name;
    }
  }
}

}  // namespace
}  // namespace carmina
