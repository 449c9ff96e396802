// tests/kernels/mixture_test.cpp -- spectral mixtures by their formula, derivatives by differences, families by their
// draws.
#include <gtest/gtest.h>
#include "kernels/mixture_math.hpp"

#include <cmath>
#include <functional>
#include <numbers>

#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::message_of;
using testing::random_matrix;

constexpr double two_pi = 2 * std::numbers::pi;
const std::vector<MixtureFamily> all_families = {GaussianFamily{}, LaplaceFamily{}};

Mixture random_mixture(const MixtureFamily& family, Index Q, Index d, std::uint64_t seed) {
  return {random_matrix(Q, 1, seed).array().exp().matrix(), 0.5 * random_matrix(Q, d, seed + 1),
          (0.4 * random_matrix(Q, d, seed + 2)).array().exp().matrix() * 0.3, family};
}

Mixture zero_like(const Mixture& mixture) {
  return {Vector<double>::Zero(mixture.size()), Matrix<double>::Zero(mixture.size(), mixture.dim_in()),
          Matrix<double>::Zero(mixture.size(), mixture.dim_in()), mixture.family};
}

Matrix<double> values(const Mixture& mixture, const Matrix<double>& X, const Matrix<double>& Z, int threads = 1) {
  Matrix<double> out = Matrix<double>::Constant(X.rows(), Z.rows(), std::nan(""));
  mixture_values(mixture, X, Z, out, Execution{.threads = threads});
  return out;
}

Matrix<double> by_formula(const Mixture& mixture, const Matrix<double>& X, const Matrix<double>& Z) {
  return Matrix<double>::NullaryExpr(X.rows(), Z.rows(), [&](Index i, Index j) {
    double sum = 0;
    for (Index q = 0; q < mixture.size(); ++q) {
      double phase = 0, envelope = 1;
      for (Index p = 0; p < X.cols(); ++p) {
        const double delta = X(i, p) - Z(j, p), t = two_pi * mixture.scales(q, p) * delta;
        phase += two_pi * mixture.means(q, p) * delta;
        envelope *= family_name(mixture.family) == "laplace" ? 1 / (1 + t * t) : std::exp(-t * t / 2);
      }
      sum += mixture.weights[q] * std::cos(phase) * envelope;
    }
    return sum;
  });
}

TEST(Mixture, IsItsFormula) {
  for (const MixtureFamily& family : all_families) {
    for (const Index Q : {1, 3}) {
      for (const Index d : {1, 2, 5}) {
        const Mixture mixture = random_mixture(family, Q, d, 10);
        const Matrix<double> X = random_matrix(70, d, 1), Z = random_matrix(1030, d, 2);
        const double tolerance = 1e-13 * mixture.weights.sum();
        EXPECT_LT(max_difference(values(mixture, X, Z), by_formula(mixture, X, Z)), tolerance) << Q << " " << d;
        const Matrix<double> x = X.topRows(1), z = Z.topRows(1);
        EXPECT_LT(max_difference(values(mixture, x, z), by_formula(mixture, x, z)), tolerance) << Q << " " << d;
        EXPECT_NEAR(values(mixture, x, x)(0, 0), mixture.weights.sum(), tolerance);
      }
    }
  }
}

TEST(Mixture, DoesNotMoveWithTheOrigin) {
  // Seconds since 1970, on a grid that doubles hold exactly.
  const Matrix<double> X = Vector<double>::LinSpaced(65, 0, 64) / 64;
  const Matrix<double> far = X.array() + 1.7e9;
  const Mixture mixture = random_mixture(GaussianFamily{}, 3, 1, 11);
  EXPECT_LT(max_difference(values(mixture, far, far), by_formula(mixture, X, X)), 1e-13 * mixture.weights.sum());
}

TEST(Mixture, WritesIntoAPartOfAMatrix) {
  const Mixture mixture = random_mixture(GaussianFamily{}, 2, 2, 12);
  const Matrix<double> X = random_matrix(40, 2, 3), Z = random_matrix(9, 2, 4);
  Matrix<double> whole = Matrix<double>::Constant(50, 20, -7);
  mixture_values(mixture, X, Z, whole.block(5, 6, 40, 9), Execution{});
  EXPECT_EQ(max_difference(whole.block(5, 6, 40, 9), values(mixture, X, Z)), 0);
  whole.block(5, 6, 40, 9).setConstant(-7);
  EXPECT_EQ(whole, (Matrix<double>::Constant(50, 20, -7)));
  Matrix<double> none(0, 9);
  mixture_values(mixture, X.topRows(0), Z, none, Execution{});
}

// L = sum_ij G_ij k(x_i, z_j) as a function of one number, against its derivative.
void expect_slope(double derivative, double scale, double& at, const std::function<double()>& L) {
  const double before = at, h = 1e-5;
  at = before + h;
  const double above = L();
  at = before - h;
  const double below = L();
  at = before;
  EXPECT_NEAR(derivative, (above - below) / (2 * h), 1e-7 * scale);
}

TEST(Mixture, GradientIsTheSlopeOfTheValues) {
  for (const MixtureFamily& family : all_families) {
    for (const Index Q : {1, 3}) {
      for (const Index d : {1, 2, 5}) {
        for (const auto& [n, m] : {std::pair<Index, Index>{35, 6}, {1, 1}, {2, 520}}) {
          Mixture mixture = random_mixture(family, Q, d, 20), gradient = zero_like(mixture);
          Matrix<double> X = random_matrix(n, d, 5), by_inputs = Matrix<double>::Zero(n, d);
          const Matrix<double> Z = random_matrix(m, d, 6), G = random_matrix(n, m, 7);
          mixture_gradient(mixture, X, Z, G, gradient, &by_inputs, Execution{});
          const auto L = [&] { return by_formula(mixture, X, Z).cwiseProduct(G).sum(); };
          const double scale = 10 * G.norm() * mixture.weights.maxCoeff();
          for (Index q = 0; q < Q; ++q) {
            expect_slope(gradient.weights[q], scale, mixture.weights[q], L);
            for (Index p = 0; p < d; ++p) {
              expect_slope(gradient.means(q, p), scale, mixture.means(q, p), L);
              expect_slope(gradient.scales(q, p), scale, mixture.scales(q, p), L);
            }
          }
          for (const Index i : {Index(0), n - 1}) {
            for (Index p = 0; p < d; ++p) expect_slope(by_inputs(i, p), scale, X(i, p), L);
          }
        }
      }
    }
  }
}

TEST(Mixture, GradientIsAddedToWhatIsThere) {
  const Mixture mixture = random_mixture(LaplaceFamily{}, 2, 2, 30);
  const Matrix<double> X = random_matrix(5, 2, 8), G = random_matrix(5, 5, 9);
  Mixture once = zero_like(mixture), twice = zero_like(mixture), alone = zero_like(mixture);
  Matrix<double> x_once = Matrix<double>::Zero(5, 2), x_twice = x_once;
  mixture_gradient(mixture, X, X, G, once, &x_once, Execution{});
  for (int k = 0; k < 2; ++k) mixture_gradient(mixture, X, X, G, twice, &x_twice, Execution{});
  mixture_gradient(mixture, X, X, G, alone, nullptr, Execution{});
  EXPECT_EQ(twice.weights, 2 * once.weights);
  EXPECT_EQ(twice.means, 2 * once.means);
  EXPECT_EQ(twice.scales, 2 * once.scales);
  EXPECT_LT(max_difference(x_twice, 2 * x_once), 1e-14 * x_once.norm());  // the sum over components, not per tile
  EXPECT_EQ(alone, once);
}

TEST(Mixture, IsTheSameOnAnyNumberOfThreads) {
  for (const MixtureFamily& family : all_families) {
    const Mixture mixture = random_mixture(family, 3, 2, 40);
    const Matrix<double> X = random_matrix(333, 2, 10), Z = random_matrix(700, 2, 11), G = random_matrix(333, 700, 12);
    EXPECT_EQ(values(mixture, X, Z, 1), values(mixture, X, Z, 4));
    Mixture one = zero_like(mixture), four = zero_like(mixture);
    Matrix<double> x_one = Matrix<double>::Zero(333, 2), x_four = x_one;
    mixture_gradient(mixture, X, Z, G, one, &x_one, Execution{.threads = 1});
    mixture_gradient(mixture, X, Z, G, four, &x_four, Execution{.threads = 4});
    EXPECT_EQ(one, four);
    EXPECT_EQ(x_one, x_four);
  }
}

// E cos(t eps) = chi(t): the mean of n draws is within 5 standard errors, at most 5 / sqrt(2 n) for a cosine about its
// mean, and draws are symmetric.
TEST(MixtureFamily, DrawsHaveTheirCharacteristicFunction) {
  constexpr Index n = 200000;
  for (const MixtureFamily& family : all_families) {
    std::visit(
        [&](const auto& f) {
          const Random random(3, Stream::frequencies);
          for (const double t : {0.0, 0.3, 1.0, 2.5}) {
            double cosine = 0, sine = 0;
            for (Index i = 0; i < n; ++i) {
              const double eps = f.draw(random, i, 1);
              cosine += std::cos(t * eps);
              sine += std::sin(t * eps);
            }
            EXPECT_NEAR(cosine / n, f.chi(t), 5 / std::sqrt(2.0 * n)) << f.name << " " << t;
            EXPECT_NEAR(sine / n, 0, 5 / std::sqrt(double(n))) << f.name << " " << t;
          }
          for (const double t : {-3.0, -0.2, 0.0, 0.7, 4.0}) {
            EXPECT_NEAR(f.chi_slope(t), (f.chi(t + 1e-5) - f.chi(t - 1e-5)) / 2e-5, 1e-9) << f.name << " " << t;
          }
          EXPECT_NE(f.draw(random, 0, 0), f.draw(random, 0, 1));
          EXPECT_NE(f.draw(random, 0, 0), f.draw(random, 1, 0));
          const auto [frequency, by_mean, by_scale] = f.frequency(2, 0.5, 3);
          EXPECT_EQ(frequency, 3.5);
          EXPECT_EQ(by_mean, 1);
          EXPECT_EQ(by_scale, 3);
        },
        family);
  }
}

TEST(MixtureFamily, IsFoundByName) {
  for (const MixtureFamily& family : all_families) EXPECT_EQ(make_mixture_family(family_name(family)), family);
  EXPECT_EQ(message_of([] { make_mixture_family("cauchy"); }),
            "there is no mixture family named 'cauchy'; known: gaussian, laplace");
}

TEST(Mixture, ChecksItsParameters) {
  const Mixture good = random_mixture(GaussianFamily{}, 3, 2, 50);
  good.check();
  EXPECT_THROW(Mixture().check(), Error);
  const auto broken = [&](const std::function<void(Mixture&)>& change) {
    Mixture bad = good;
    change(bad);
    return message_of([&] { bad.check(); });
  };
  EXPECT_EQ(broken([](Mixture& m) { m.weights[1] = -2; }),
            "spectral mixture: weights must be positive and finite, found -2 for component 1");
  EXPECT_EQ(broken([](Mixture& m) { m.scales(2, 1) = 0; }),
            "spectral mixture: scales must be positive and finite, found 0 for component 2");
  EXPECT_EQ(broken([](Mixture& m) { m.means(0, 1) = HUGE_VAL; }),
            "spectral mixture: means must be finite, found inf for component 0");
  EXPECT_EQ(broken([](Mixture& m) { m.means.resize(2, 2); }),
            "spectral mixture: 3 weights need means and scales of shape (3, dimensions), found (2, 2) and (3, 2)");
  EXPECT_NE(broken([](Mixture& m) { m.scales.resize(3, 1); }), "");

  const Matrix<double> X = random_matrix(4, 2, 13), narrow = random_matrix(4, 1, 14);
  Matrix<double> out(4, 4), few(3, 4);
  Mixture gradient = zero_like(good), small = zero_like(random_mixture(GaussianFamily{}, 2, 2, 51));
  EXPECT_EQ(message_of([&] { mixture_values(good, X, narrow, out, Execution{}); }),
            "mixture_values: the mixture has 2 input dimensions, X has 2 and Z has 1 columns");
  EXPECT_THROW(mixture_values(good, X, X, few, Execution{}), Error);
  EXPECT_THROW(mixture_gradient(good, X, X, few, gradient, nullptr, Execution{}), Error);
  EXPECT_THROW(mixture_gradient(good, X, X, out, small, nullptr, Execution{}), Error);
  EXPECT_THROW(mixture_gradient(good, X, X, out, gradient, &few, Execution{}), Error);
}

}  // namespace
}  // namespace carmina
