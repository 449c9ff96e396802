// tests/laws/coupling_laws.cpp -- what every coupling of outputs must satisfy; a new one joins by being in the variant
// OutputCoupling.
#include <gtest/gtest.h>
#include <carmina/kernels/kernel.hpp>
#include "features/output_factors.hpp"

#include <algorithm>

#include "support/alternatives.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

// One of each type for p outputs of p inputs, and A(w).
template <class C>
C some_coupling(Index) {
  return C{};
}
template <class C>
Matrix<double> density(const C&, const Vector<double>& w) {
  return Matrix<double>::Identity(w.size(), w.size());
}
template <>
OutputMatrix some_coupling(Index p) {
  return OutputMatrix(random_psd(p, p - 1, 3));
}
template <>
Matrix<double> density(const OutputMatrix& coupling, const Vector<double>&) {
  return coupling.A();
}
template <>
Matrix<double> density(const CurlFreeCoupling&, const Vector<double>& w) {
  return w * w.transpose();
}
template <>
Matrix<double> density(const DivergenceFreeCoupling&, const Vector<double>& w) {
  return w.squaredNorm() * Matrix<double>::Identity(w.size(), w.size()) - w * w.transpose();
}
// B(w) = (w, 1).
Matrix<double> user_factor(const Vector<double>& w) {
  Matrix<double> B = Matrix<double>::Ones(w.size(), 2);
  B.col(0) = w;
  return B;
}
template <>
UserSpectrum some_coupling(Index p) {
  const auto sampler = [](const Random& random, Index i, Index d) -> Vector<double> {
    return Vector<double>::NullaryExpr(
        d, [&](Index k) { return random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(k)); });
  };
  return UserSpectrum(make_spectrum(sampler, user_factor, p));
}
template <>
Matrix<double> density(const UserSpectrum&, const Vector<double>& w) {
  return user_factor(w) * user_factor(w).transpose();
}

// Resolved by a fit: kernels and factors are not made of these.
template <class C>
constexpr bool for_fits_alone = std::same_as<C, TargetCovariance> || std::same_as<C, LearntFactors>;
template <class C>
struct HasFactors : std::bool_constant<!for_fits_alone<C>> {};

// Rows that B may be special at: zero, w_1 of both signs and zero, w along the first axis and across it.
Matrix<double> frequencies(Index d) {
  Matrix<double> W = random_matrix(9, d, 11);
  W.row(0).setZero();
  W(1, 0) = std::abs(W(1, 0)), W(2, 0) = -std::abs(W(2, 0)), W(3, 0) = 0, W(4, 0) = -0.0;
  W.row(5).tail(d - 1).setZero();
  W.row(6) = -W.row(5);
  W.row(7) *= 1e-12;
  W.row(8) *= 1e12;
  return W;
}

template <class C>
class CouplingLaws : public ::testing::Test {};
using AllCouplings = testing::Alternatives<OutputCoupling>::Types;
TYPED_TEST_SUITE(CouplingLaws, AllCouplings);

TYPED_TEST(CouplingLaws, HasAWordOfItsOwn) {
  const std::vector<std::string> names = coupling_names();
  const std::string name = coupling_name(some_coupling<TypeParam>(2));
  EXPECT_EQ(std::count(names.begin(), names.end(), name), std::is_default_constructible_v<TypeParam> ? 1 : 0);
  if constexpr (std::is_default_constructible_v<TypeParam>) {
    EXPECT_EQ(parse_coupling(name), OutputCoupling(TypeParam{}));
  } else {
    EXPECT_THROW(parse_coupling(name), Error);  // a word does not hold its numbers
  }
  EXPECT_THROW(parse_coupling(name + "s"), Error);
}

TYPED_TEST(CouplingLaws, ChecksDimensions) {
  const OutputCoupling coupling = some_coupling<TypeParam>(3);
  EXPECT_NO_THROW(check_dimensions(coupling, 3, 3));
  const auto outputs = n_outputs(coupling, 3);
  EXPECT_EQ(outputs.value_or(3), 3);
  if (outputs) {
    EXPECT_THROW(check_dimensions(coupling, 3, 2), Error);
  } else {
    EXPECT_NO_THROW(check_dimensions(coupling, 3, 2));
  }
  const Term term{1, Gaussian(1.0), coupling};
  if (for_fits_alone<TypeParam>) {
    EXPECT_THROW(Kernel{term}, Error);
    EXPECT_THROW(OutputFactors(coupling, 3, frequencies(3)), Error);
  } else {
    EXPECT_EQ(Kernel(term).n_outputs(3), outputs);
  }
}

template <class C>
class FactorLaws : public ::testing::Test {};
using FactoredCouplings = testing::Alternatives<OutputCoupling, HasFactors>::Types;
TYPED_TEST_SUITE(FactorLaws, FactoredCouplings);

TYPED_TEST(FactorLaws, SquareToTheDensityAndMultiplyAsTheyStand) {
  for (const Index d : {2, 3, 5}) {
    const TypeParam coupling = some_coupling<TypeParam>(d);
    const Matrix<double> W = frequencies(d), y = random_matrix(d, 1, 12), z = random_matrix(d, 1, 13);
    const OutputFactors factors(coupling, d, W);
    const Index most = std::same_as<TypeParam, UserSpectrum> ? 2 : factor_columns(coupling, d);
    EXPECT_LE(factors.columns(), most);
    for (Index j = 0; j < W.rows(); ++j) {
      const double* w = W.row(j).data();
      const Matrix<double> B = factors.factor(j, w), A = density(coupling, W.row(j).transpose());
      ASSERT_EQ(B.rows(), d);
      ASSERT_EQ(B.cols(), factors.columns());
      const double scale = std::max(A.cwiseAbs().maxCoeff(), 1e-30), root = std::sqrt(scale);
      EXPECT_LT(max_difference(B * B.transpose(), A), 1e-14 * scale) << d << " " << j;
      Vector<double> out(d), back(B.cols());
      factors.multiply(j, w, y.data(), out.data());
      EXPECT_LT(max_difference(out, B * y.topRows(B.cols())), 1e-14 * root) << d << " " << j;
      factors.multiply_transposed(j, w, z.data(), back.data());
      EXPECT_LT(max_difference(back, B.transpose() * z), 1e-14 * root) << d << " " << j;
    }
  }
}

// d<G, B(w)>/dw by central differences, away from w_1 = 0; B of a user's spectrum has no derivative here.
TYPED_TEST(FactorLaws, GradientsAreThoseOfDifferences) {
  for (const Index d : {2, 3, 5}) {
    const Matrix<double> W = frequencies(d).middleRows(1, 2);
    const OutputFactors factors(some_coupling<TypeParam>(d), d, W);
    const Matrix<double> G = random_matrix(d, factors.columns(), 14);
    for (Index j = 0; j < W.rows(); ++j) {
      Vector<double> gradient = Vector<double>::Ones(d);  // to which it is added
      factors.add_gradient(W.row(j).data(), G, gradient.data());
      for (Index k = 0; k < d; ++k) {
        constexpr double h = 1e-6;
        Vector<double> up = W.row(j).transpose(), down = up;
        up[k] += h, down[k] -= h;
        const Matrix<double> change = factors.factor(j, up.data()) - factors.factor(j, down.data());
        EXPECT_NEAR(gradient[k], 1 + G.cwiseProduct(change).sum() / (2 * h), 1e-8) << d << " " << j << " " << k;
      }
    }
  }
}

// What depends on A = B Bᵀ alone has a gradient everywhere, through B also where B jumps: f = <S, A>, df/dB = 2 S B.
TYPED_TEST(FactorLaws, GradientsThroughTheDensityAreRightAtAJump) {
  if constexpr (!std::same_as<TypeParam, UserSpectrum>) {
    for (const Index d : {2, 3, 5}) {
      const TypeParam coupling = some_coupling<TypeParam>(d);
      const Matrix<double> W = frequencies(d), S = random_psd(d, d, 15);
      const OutputFactors factors(coupling, d, W);
      for (Index j = 0; j < 7; ++j) {
        const Vector<double> w = W.row(j).transpose();
        Vector<double> gradient = Vector<double>::Zero(d);
        factors.add_gradient(w.data(), 2 * S * factors.factor(j, w.data()), gradient.data());
        for (Index k = 0; k < d; ++k) {
          constexpr double h = 1e-4;  // A is a polynomial of degree 2
          Vector<double> up = w, down = w;
          up[k] += h, down[k] -= h;
          const double change = S.cwiseProduct(density(coupling, up) - density(coupling, down)).sum();
          EXPECT_NEAR(gradient[k], change / (2 * h), 1e-9) << d << " " << j << " " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace carmina
