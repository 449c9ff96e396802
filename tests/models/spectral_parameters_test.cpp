// Coordinates, spectral points and divergences against central differences.
#include <carmina/core/error.hpp>
#include "models/mixture/spectral_coordinates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using carmina::testing::random_matrix;

struct Case {
  const char* name;
  Index Q, d, p, rank;
  bool phases;
  OutputCoupling coupling;
  const char* family;
};

SpectralParameters parameters(const Case& c, std::uint64_t seed) {
  SpectralParameters at;
  at.mixture.weights = random_matrix<double>(c.Q, 1, seed).array().exp().col(0);
  at.mixture.means = random_matrix<double>(c.Q, c.d, seed + 1);
  at.mixture.scales = (random_matrix<double>(c.Q, c.d, seed + 2).array() * 0.3).exp() * 0.2;
  at.mixture.family = make_mixture_family(c.family);
  at.coupling = c.coupling;
  if (!is_differential(c.coupling)) {
    at.real = random_matrix<double>(c.Q, c.p * c.rank, seed + 3);
    if (c.phases) at.imaginary = random_matrix<double>(c.Q, c.p * c.rank, seed + 4);
  }
  at.noise = random_matrix<double>(c.p, 1, seed + 5).array().exp().col(0);
  return at;
}

class Parameters : public ::testing::TestWithParam<Case> {};

TEST_P(Parameters, CoordinatesGoThereAndBack) {
  for (const auto kind : {Parameterization::natural, Parameterization::general}) {
    if (kind == Parameterization::natural && std::string(GetParam().family) != "gaussian") continue;
    const auto start = parameters(GetParam(), 1), at = parameters(GetParam(), 20);
    const SpectralCoordinates coordinates(start, kind, true);
    const auto back = coordinates.decode(coordinates.encode(at));
    EXPECT_LE((back.mixture.weights - at.mixture.weights).norm(), 1e-12);
    EXPECT_LE((back.mixture.means - at.mixture.means).norm(), 1e-11);
    EXPECT_LE((back.mixture.scales - at.mixture.scales).norm(), 1e-12);
    EXPECT_LE((back.noise - at.noise).norm(), 1e-12);
    EXPECT_EQ(back.real, at.real);
  }
}

// A function of everything that spectral points hold, with a known gradient: a sum of products with random numbers, and
// of squares.
TEST_P(Parameters, GradientsByCoordinatesAreThoseOfFiniteDifferences) {
  const Case& c = GetParam();
  const auto start = parameters(c, 1), at = parameters(c, 2);
  std::vector<Index> counts(static_cast<std::size_t>(c.Q), 2);
  counts[0] = 3;
  const SpectralDraw draw = draw_points(at.mixture, counts, Random(5, 6));
  const auto shape = spectral_points(at, draw);
  const Matrix<double> a = random_matrix<double>(shape.W.rows(), shape.W.cols(), 30),
                       b = random_matrix<double>(shape.real.rows(), shape.real.cols(), 31),
                       e = random_matrix<double>(shape.imaginary.rows(), shape.imaginary.cols(), 32);
  const auto f = [&](const SpectralParameters& parameters_at, SpectralParameters* by) {
    const auto points = spectral_points(parameters_at, draw);
    WeightedFrequencies g{a + points.W, b, e, points.noise};
    double value = a.cwiseProduct(points.W).sum() + points.W.squaredNorm() / 2 + b.cwiseProduct(points.real).sum() +
                   points.noise.squaredNorm() / 2;
    if (e.size() > 0) value += e.cwiseProduct(points.imaginary).sum();
    Mixture unused = parameters_at.mixture;
    if (by) {
      *by = parameters_at.zeros();
      add_pulled_back(parameters_at, draw, points, g, *by);
    }
    return value -
           0.7 * mixture_divergence(parameters_at.mixture, start.mixture, counts, -0.7, by ? by->mixture : unused);
  };
  for (const auto kind : {Parameterization::natural, Parameterization::general}) {
    if (kind == Parameterization::natural && std::string(c.family) != "gaussian") continue;
    const SpectralCoordinates coordinates(start, kind, true);
    const Vector<double> place = coordinates.encode(at);
    SpectralParameters by;
    const auto there = coordinates.decode(place);
    f(there, &by);
    const Vector<double> gradient = coordinates.pull_back(there, by);
    for (Index k = 0; k < place.size(); ++k) {
      Vector<double> up = place, down = place;
      const double h = 1e-6 * (1 + std::abs(place[k]));
      up[k] += h, down[k] -= h;
      const double difference = (f(coordinates.decode(up), nullptr) - f(coordinates.decode(down), nullptr)) / (2 * h);
      EXPECT_NEAR(gradient[k], difference, 1e-5 * (1 + std::abs(difference)))
          << parameterization_name(kind) << " " << k;
    }
  }
}

// The evidence itself, in both of its forms.
TEST_P(Parameters, GradientsOfTheEvidenceAreThoseOfFiniteDifferences) {
  const Case& c = GetParam();
  const auto at = parameters(c, 2);
  const SpectralDraw draw = draw_points(at.mixture, std::vector<Index>(static_cast<std::size_t>(c.Q), 2), Random(5, 6));
  const Matrix<double> X = 0.3 * random_matrix<double>(12, c.d, 40), Y = random_matrix<double>(12, c.p, 41);
  const FourierEvidence<double> evidence(X, Y);
  const SpectralCoordinates coordinates(at, Parameterization::general, true);
  const Vector<double> place = coordinates.encode(at);
  for (const bool by_targets : {false, true}) {
    const auto f = [&](const Vector<double>& point, Vector<double>* gradient) {
      const auto there = coordinates.decode(point);
      const auto points = spectral_points(there, draw);
      WeightedFrequencies by_points;
      WeightedFrequencies* wanted = gradient ? &by_points : nullptr;
      const double value =
          by_targets ? evidence.by_targets(points, wanted, {}) : evidence.by_features(points, wanted, {});
      if (gradient) {
        SpectralParameters by = there.zeros();
        add_pulled_back(there, draw, points, by_points, by);
        *gradient = coordinates.pull_back(there, by);
      }
      return value;
    };
    Vector<double> gradient;
    f(place, &gradient);
    for (Index k = 0; k < place.size(); ++k) {
      Vector<double> up = place, down = place;
      constexpr double h = 1e-5;
      up[k] += h, down[k] -= h;
      const double difference = (f(up, nullptr) - f(down, nullptr)) / (2 * h);
      EXPECT_NEAR(gradient[k], difference, 1e-5 * (1 + std::abs(difference))) << by_targets << " " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Parameters,
    ::testing::Values(Case{"one_output", 3, 1, 1, 1, false, LearntFactors{}, "gaussian"},
                      Case{"laplace", 2, 2, 1, 1, false, LearntFactors{}, "laplace"},
                      Case{"coupled", 2, 3, 2, 2, true, LearntFactors{}, "gaussian"},
                      Case{"curl_free", 2, 3, 3, 1, false, CurlFreeCoupling{}, "gaussian"},
                      Case{"divergence_free", 3, 2, 2, 2, false, DivergenceFreeCoupling{}, "laplace"},
                      Case{"divergence_free_in_space", 2, 3, 3, 2, false, DivergenceFreeCoupling{}, "gaussian"}),
    [](const auto& tested) { return tested.param.name; });

TEST(SpectralParameters, TheDivergenceIsZeroAtThePriorAndPositiveElsewhere) {
  for (const char* family : {"gaussian", "laplace"}) {
    const Case c{"", 3, 2, 1, 1, false, LearntFactors{}, family};
    const auto prior = parameters(c, 1).mixture, other = parameters(c, 2).mixture;
    Mixture by = prior;
    EXPECT_NEAR(mixture_divergence(prior, prior, {1, 2, 3}, 1, by), 0, 1e-14);
    EXPECT_GT(mixture_divergence(other, prior, {1, 2, 3}, 1, by), 0);
  }
}

// mathematics.md 3b: a small step along the natural gradient in eta is the one of (mu, sigma) scaled by the Fisher
// information, sigma^2 for mu and 1/2 for log sigma.
TEST(SpectralParameters, TheNaturalMoveIsTheGradientInTheFisherMetric) {
  const Case c{"", 2, 2, 1, 1, false, LearntFactors{}, "gaussian"};
  const auto start = parameters(c, 1), at = parameters(c, 2);
  auto gradient = parameters(c, 3);
  const SpectralCoordinates coordinates(start, Parameterization::natural, false);
  const double h = 1e-7;
  const Vector<double> moved = coordinates.encode(at) + h * coordinates.natural_move(at, gradient, {2, 5});
  const auto there = coordinates.decode(moved);
  for (Index q = 0; q < 2; ++q) {
    for (Index k = 0; k < 2; ++k) {
      const double sigma = at.mixture.scales(q, k), count = q == 0 ? 2 : 5;
      EXPECT_NEAR((there.mixture.means(q, k) - at.mixture.means(q, k)) / h,
                  sigma * sigma * gradient.mixture.means(q, k) / count, 1e-4);
      EXPECT_NEAR((std::log(there.mixture.scales(q, k)) - std::log(sigma)) / h,
                  sigma * gradient.mixture.scales(q, k) / 2 / count, 1e-4);
    }
  }
}

TEST(SpectralParameters, PointsStayWhenCountsChange) {
  const Case c{"", 2, 2, 1, 1, false, LearntFactors{}, "gaussian"};
  const auto at = parameters(c, 1);
  const auto few = draw_points(at.mixture, {2, 3}, Random(1, 2)), many = draw_points(at.mixture, {4, 3}, Random(1, 2));
  EXPECT_EQ(few.eps.topRows(2), many.eps.topRows(2));
  EXPECT_EQ(few.eps.bottomRows(3), many.eps.bottomRows(3));
}

// Draws of the search are children of one stream, components the children of a draw.
TEST(SpectralParameters, ComponentsOfDifferentDrawsShareNoPoint) {
  for (const char* family : {"gaussian", "laplace"}) {
    const Case c{"", 4, 2, 1, 1, false, LearntFactors{}, family};
    const auto at = parameters(c, 1);
    const Random random = Random(1, Stream::mixture_draws).child(0);
    const std::vector<Index> counts(4, 5);
    std::set<std::pair<double, double>> seen;
    for (std::uint32_t k = 0; k < 8; ++k) {
      const SpectralDraw draw = draw_points(at.mixture, counts, random.child(k));
      if (k > 0) {
        const SpectralDraw previous = draw_points(at.mixture, counts, random.child(k - 1));
        EXPECT_NE(draw.eps.topRows(5), previous.eps.middleRows(5, 5)) << "draw " << k;
      }
      for (Index j = 0; j < draw.eps.rows(); ++j) seen.emplace(draw.eps(j, 0), draw.eps(j, 1));
    }
    EXPECT_EQ(seen.size(), 8u * 4 * 5) << family;
  }
}

TEST(SpectralParameters, NaturalParametersAreForExponentialFamilies) {
  const Case c{"", 2, 2, 1, 1, false, LearntFactors{}, "laplace"};
  EXPECT_THROW(SpectralCoordinates(parameters(c, 1), Parameterization::natural, false), Error);
}

}  // namespace
}  // namespace carmina
