// tests/data/generators_test.cpp -- the generated data against the formulas and moments that define them.
#include <carmina/data/generators.hpp>

#include <numbers>

#include "table_checks.hpp"

namespace carmina::testing {

using ::testing::HasSubstr;

TEST(Friedman, CleanTargetsAreTheFunctionOfTheInputs) {
  FriedmanOptions options;
  options.inputs = 7;
  options.outputs = 3;
  options.seed = 11;
  for (auto function : {FriedmanFunction::interaction, FriedmanFunction::additive}) {
    options.function = function;
    const Dataset data = friedman(200, options);
    for (Index i = 0; i < 200; ++i) {
      for (Index k = 0; k < 3; ++k) {
        const auto x = [&](Index number) { return data.X(i, (number - 1 + k) % 7); };
        const double expected =
            function == FriedmanFunction::interaction
                ? 10 * std::sin(std::numbers::pi * x(1) * x(2)) + 20 * std::pow(x(3) - 0.5, 2) + 10 * x(4) + 5 * x(5)
                : 0.1 * std::exp(4 * x(1)) + 4 / (1 + std::exp(-20 * (x(2) - 0.5))) + 3 * x(3) + 2 * x(4) + x(5);
        EXPECT_NEAR(data.clean(i, k), expected, 1e-12);
      }
    }
  }
}

// n d = 200000 uniform numbers: the mean has standard deviation sqrt(1/12 / 200000) = 6.5e-4, the variance
// (of x, fourth central moment 1/80) sqrt((1/80 - 1/144) / 200000) = 1.7e-4. Noise: n = 20000 normals,
// mean 7.1e-3, variance sqrt(2 / 20000) = 0.01. Five deviations are passed by chance with probability 6e-7.
TEST(Friedman, MomentsOfInputsAndNoise) {
  FriedmanOptions options;
  options.noise = 2;
  options.seed = 1;
  const Dataset data = friedman(20'000, options);
  EXPECT_GE(data.X.minCoeff(), 0);
  EXPECT_LT(data.X.maxCoeff(), 1);
  EXPECT_NEAR(data.X.mean(), 0.5, 5 * 6.5e-4);
  EXPECT_NEAR((data.X.array() - 0.5).square().mean(), 1.0 / 12, 5 * 1.7e-4);
  const Matrix<double> noise = (data.Y - data.clean) / 2;
  EXPECT_NEAR(noise.mean(), 0, 5 * 7.1e-3);
  EXPECT_NEAR(noise.array().square().mean(), 1, 5 * 0.01);
  const double with_inputs = (noise.array() * (data.X.col(0).array() - 0.5)).mean();  // deviation 0.289 / sqrt(20000)
  EXPECT_NEAR(with_inputs, 0, 5 * 2.04e-3);
}

// 100 rows of 10 inputs N(1.5, 0.5^2): the mean has deviation 0.5 / sqrt(1000), the variance 0.25 sqrt(2 /
// 1000).
TEST(Friedman, InputOutliersAreTheAskedRowsFarAway) {
  FriedmanOptions options;
  options.function = FriedmanFunction::additive;
  options.seed = 2;
  const Dataset plain = friedman(10'000, options);
  options.input_outliers = 0.01;
  const Dataset data = friedman(10'000, options);
  double sum = 0, squares = 0;
  Index changed = 0;
  for (Index i = 0; i < 10'000; ++i) {
    if (data.X.row(i) == plain.X.row(i)) {
      EXPECT_EQ(data.Y(i, 0), plain.Y(i, 0));
      continue;
    }
    ++changed;
    sum += data.X.row(i).sum();
    squares += (data.X.row(i).array() - 1.5).square().sum();
    EXPECT_NEAR(data.Y(i, 0) - data.clean(i, 0), plain.Y(i, 0) - plain.clean(i, 0), 1e-9 * std::abs(data.clean(i, 0)));
  }
  EXPECT_EQ(changed, 100);
  EXPECT_NEAR(sum / 1000, 1.5, 5 * 0.5 / std::sqrt(1000));
  EXPECT_NEAR(squares / 1000, 0.25, 5 * 0.25 * std::sqrt(2.0 / 1000));
}

TEST(Friedman, TargetOutliersChangeTheAskedRowsOfYAlone) {
  FriedmanOptions options;
  options.outputs = 2;
  const Dataset plain = friedman(1000, options);
  options.target_outliers = 0.05;
  options.target_outlier_scale = 100;
  const Dataset data = friedman(1000, options);
  EXPECT_TRUE(data.X == plain.X);
  EXPECT_TRUE(data.clean == plain.clean);
  const Matrix<double> added = (data.Y - plain.Y) / 100;
  Index changed = 0;
  for (Index i = 0; i < 1000; ++i) changed += (added.row(i).array() != 0).all() ? 1 : 0;
  EXPECT_EQ(changed, 50);
  EXPECT_EQ((added.array() != 0).count(), 100);
  EXPECT_NEAR(added.squaredNorm() / 100, 1, 5 * std::sqrt(2.0 / 100));
}

TEST(Friedman, DependsOnTheSeedAndNotOnTheLength) {
  FriedmanOptions options;
  options.seed = 4;
  const Dataset data = friedman(100, options), longer = friedman(150, options);
  EXPECT_TRUE(data.X == longer.X.topRows(100));
  EXPECT_TRUE(data.Y == longer.Y.topRows(100));
  options.seed = 5;
  EXPECT_FALSE(friedman(100, options).X == data.X);
}

TEST(Friedman, RefusesImpossibleOptions) {
  const auto message = [](auto change) {
    FriedmanOptions options;
    change(options);
    return error_of([&] { friedman(10, options); });
  };
  EXPECT_EQ(error_of([] { friedman(0); }), "friedman: the number of rows must be positive, found 0");
  EXPECT_EQ(message([](auto& o) { o.inputs = 4; }), "friedman: at least 5 inputs are needed, found 4");
  EXPECT_THAT(message([](auto& o) { o.outputs = 0; }), HasSubstr("outputs must be from 1 to the 10 inputs, found 0"));
  EXPECT_THAT(message([](auto& o) { o.noise = -1; }), HasSubstr("noise must be finite and not negative, found -1"));
  EXPECT_THAT(message([](auto& o) { o.input_outliers = 1.5; }), HasSubstr("input_outliers must be between 0 and 1"));
  EXPECT_THAT(message([](auto& o) { o.target_outliers = nan; }), HasSubstr("target_outliers must be between 0 and 1"));
}

// Central differences of step h: the error is h^2 / 6 times a third derivative (below 100 here) plus rounding
// / h.
TEST(VectorField, IsTheGradientOfThePotentialOrItsRotation) {
  FieldOptions options;
  options.seed = 6;
  const Dataset curl_free = vector_field("curl-free", 500, options);
  const Dataset divergence_free = vector_field("divergence-free", 500, options);
  EXPECT_TRUE(curl_free.X == divergence_free.X);
  const double h = 1e-5;
  Matrix<double> slope(500, 2);
  for (Index j = 0; j < 2; ++j) {
    Matrix<double> ahead = curl_free.X, behind = curl_free.X;
    ahead.col(j).array() += h;
    behind.col(j).array() -= h;
    slope.col(j) = (five_gaussian_potential(ahead) - five_gaussian_potential(behind)) / (2 * h);
  }
  EXPECT_LT((curl_free.clean - slope).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_LT((divergence_free.clean.col(0) + slope.col(1)).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_LT((divergence_free.clean.col(1) - slope.col(0)).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(VectorField, HasNoCurlOrNoDivergence) {
  const Matrix<double> X = vector_field("curl-free", 300).X;
  const double h = 1e-5, tau = 0.7;
  const auto derivative = [&](const char* kind, Index component, Index along) {
    Matrix<double> ahead = X, behind = X;
    ahead.col(along).array() += h;
    behind.col(along).array() -= h;
    const Matrix<double> change = five_gaussian_field(kind, ahead, tau) - five_gaussian_field(kind, behind, tau);
    return Vector<double>(change.col(component) / (2 * h));
  };
  const Vector<double> curl = derivative("curl-free", 1, 0) - derivative("curl-free", 0, 1);
  const Vector<double> divergence = derivative("divergence-free", 0, 0) + derivative("divergence-free", 1, 1);
  EXPECT_LT(curl.cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_LT(divergence.cwiseAbs().maxCoeff(), 1e-8);
  const Vector<double> other = derivative("curl-free", 0, 0) + derivative("curl-free", 1, 1);
  EXPECT_GT(other.cwiseAbs().maxCoeff(), 0.1) << "the other one is not zero";
}

// At the centre the four other bumps cancel: h = 1 + 2 e - 2 e with e = exp(-1 / (2 tau^2)); at (1, 0) the
// nearest is -1.
TEST(VectorField, ThePotentialHasItsFiveBumps) {
  const double e2 = std::exp(-4 / (2 * 0.16)), e1 = std::exp(-1 / (2 * 0.16)), diagonal = std::exp(-2 / (2 * 0.16));
  const Vector<double> h = five_gaussian_potential(matrix({{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}}));
  EXPECT_NEAR(h(0), 1, 1e-14);
  for (Index k : {1, 2}) EXPECT_NEAR(h(k), -1 - e2 + e1 + 2 * diagonal, 1e-14);
  for (Index k : {3, 4}) EXPECT_NEAR(h(k), 1 + e2 + e1 - 2 * diagonal, 1e-14);
}

TEST(VectorField, PlacesAreAGridOrUniform) {
  FieldOptions options;
  options.grid = true;
  options.half_width = 3;
  const Matrix<double> grid = vector_field("curl-free", 9, options).X;
  expect_same(grid, matrix({{-3, -3}, {0, -3}, {3, -3}, {-3, 0}, {0, 0}, {3, 0}, {-3, 3}, {0, 3}, {3, 3}}));
  options.grid = false;
  // 20000 uniform numbers in [-3, 3]: mean's deviation sqrt(3 / 20000) = 0.0122; second moment 3, deviation
  // 0.019.
  const Matrix<double> X = vector_field("curl-free", 10'000, options).X;
  EXPECT_LE(X.cwiseAbs().maxCoeff(), 3);
  EXPECT_NEAR(X.mean(), 0, 5 * 0.0122);
  EXPECT_NEAR(X.array().square().mean(), 3, 5 * 0.019);
}

TEST(VectorField, NoiseHasTheAskedDeviation) {
  FieldOptions options;
  options.noise = 0.5;
  const Dataset data = vector_field("divergence-free", 5000, options);
  const Matrix<double> noise = (data.Y - data.clean) / 0.5;
  EXPECT_NEAR(noise.mean(), 0, 5 * 0.01);  // 10000 numbers
  EXPECT_NEAR(noise.array().square().mean(), 1, 5 * std::sqrt(2.0 / 10'000));
  options.noise = 0;
  const Dataset clean = vector_field("divergence-free", 50, options);
  EXPECT_TRUE(clean.Y == clean.clean);
}

TEST(VectorField, RefusesImpossibleOptions) {
  EXPECT_EQ(error_of([] { vector_field("curly", 10); }),
            "vector_field: kind must be 'curl-free' or 'divergence-free', found 'curly'");
  FieldOptions options;
  options.grid = true;
  EXPECT_EQ(error_of([&] { vector_field("curl-free", 10, options); }),
            "vector_field: a grid needs a square number of rows from 4 on, found 10");
  EXPECT_THAT(error_of([&] { vector_field("curl-free", 0); }), HasSubstr("rows must be positive"));
  options = {};
  options.tau = 0;
  EXPECT_THAT(error_of([&] { vector_field("curl-free", 10, options); }), HasSubstr("tau must be positive"));
  options = {};
  options.half_width = -1;
  EXPECT_THAT(error_of([&] { vector_field("curl-free", 10, options); }), HasSubstr("half_width must be positive"));
  EXPECT_THAT(error_of([] { five_gaussian_potential(matrix({{1, 2, 3}})); }), HasSubstr("2 coordinates, found 3"));
}

}  // namespace carmina::testing
