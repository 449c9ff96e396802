// tests/models/structural_series_test.cpp -- levels and seasons beside mixtures: periods, gradients, shares by the
// errors of earlier forecasts.
#include <carmina/models/spectral_mixture.hpp>
#include "models/mixture/mixture_state.hpp"
#include "models/mixture/rolling_origin.hpp"
#include "models/mixture/series_period.hpp"
#include "models/mixture/structural_climb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina::structural_series_test {
namespace {

using carmina::testing::random_matrix;
using ::testing::HasSubstr;

constexpr double turn = 2 * std::numbers::pi;

// Weeks of readings every three hours: days with harmonics, small at the end of the week; one of twelve is missing.
struct Weeks {
  Vector<double> x, y;
  explicit Weeks(Index weeks, double noise = 0.3) {
    const Index n = 56 * weeks;
    const Matrix<double> draws = random_matrix(n, 1, 5), day = random_matrix(8, 1, 6);
    std::vector<double> times, values;
    for (Index i = 0; i < n; ++i) {
      if (i % 12 == 7) continue;
      const double part = (i / 8) % 7 < 5 ? 1 : 0.4;
      times.push_back(3 * static_cast<double>(i));
      values.push_back(10 + part * (4 + 2 * day(i % 8, 0)) + noise * draws(i, 0));
    }
    x = Eigen::Map<Vector<double>>(times.data(), static_cast<Index>(times.size()));
    y = Eigen::Map<Vector<double>>(values.data(), static_cast<Index>(values.size()));
  }
};

Vector<double> walk(Index n, std::uint64_t seed) {
  Vector<double> y = random_matrix(n, 1, seed).col(0);
  for (Index i = 1; i < n; ++i) y[i] += y[i - 1];
  return y;
}

TEST(StructuralSeries, WeeksAreFoundBesideDays) {
  const Weeks weeks(6);
  EXPECT_NEAR(recurring_period(weeks.x, weeks.y), 168, 1e-6);
  EXPECT_EQ(recurring_period(weeks.x, weeks.y, {24, 168}), 168);
  EXPECT_EQ(recurring_period(weeks.x, weeks.y, {24, 600}), 24);  // what does not fit in twice cannot be seen
  EXPECT_EQ(recurring_period(weeks.x, weeks.y, {600}), 0);
}

TEST(StructuralSeries, MonthsOfAnyLengthMakeAYear) {
  Vector<double> x(120), y(120);
  double day = 0;
  for (Index i = 0; i < 120; ++i) {
    x[i] = day;
    y[i] = 0.1 * static_cast<double>(i) + std::sin(turn * static_cast<double>(i) / 12) + 0.1 * std::cos(7.0 * i * i);
    day += i % 12 == 1 ? 28 : i % 2 == 0 ? 31 : 30;
  }
  EXPECT_NEAR(recurring_period(x, y), 12 * usual_step(x), 6);
}

TEST(StructuralSeries, ARandomWalkDoesNotComeBack) {
  const Vector<double> x = Vector<double>::LinSpaced(200, 0, 199);
  EXPECT_EQ(recurring_period(x, random_matrix(200, 1, 3).col(0)), 0);
  Vector<double> odd = x;
  for (Index i = 0; i < 200; i += 2) odd[i] += 0.45;  // on no grid
  EXPECT_EQ(recurring_period(odd, (turn * x.array() / 20).sin()), 0);
}

TEST(StructuralSeries, GradientsAreThoseOfDifferences) {
  const Weeks weeks(3);
  Times times{weeks.x, weeks.y, 0, 1};
  times.standardise(true);
  for (const bool linear : {false, true}) {
    const StructuralClimb climb(times, {}, linear);
    for (const bool walks : {false, true}) {
      for (const double period : {0.0, 24.0}) {
        const StructuralForm form{period, linear, walks};
        // Also where the limits of numbers are felt.
        Vector<double> at = climb.start(form) + 0.3 * random_matrix(climb.start(form).size(), 1, 9).col(0);
        at[0] = std::log(1e-5) - 0.5;
        Vector<double> gradient;
        climb.value(form, at, &gradient);
        for (Index k = 0; k < at.size(); ++k) {
          const double h = 1e-3;  // beside a line's variance of 1e5 values are known to about 1e-7
          Vector<double> up = at, down = at;
          up[k] += h, down[k] -= h;
          const double expected = (climb.value(form, up, nullptr) - climb.value(form, down, nullptr)) / (2 * h);
          EXPECT_NEAR(gradient[k], expected, 2e-3 * std::max(1.0, std::abs(expected))) << form.text() << " " << k;
        }
      }
    }
  }
}

// b = 1 is a random walk: its forecast stays near the last value, where a narrow level falls back to the mean.
TEST(StructuralSeries, AWalkIsForecastByItsLastValue) {
  Times times{Vector<double>::LinSpaced(200, 0, 199), walk(200, 4), 0, 1};
  times.standardise(true);
  const StructuralClimb climb(times, {}, false);
  const Climbed found = climb.from({0, false, true}, {}, {}, {});
  EXPECT_LT(found.noise, 0.05);
  const Mixture whole = found.whole();
  const MixtureProcess process =
      exact_process(whole, found.noise, Matrix<double>(times.x), Matrix<double>(times.y), {});
  const Matrix<double> later = Matrix<double>::Constant(1, 1, 210);
  EXPECT_NEAR(process_mean(whole, process, later, {})(0, 0), times.y[199], 0.25);
}

TEST(StructuralSeries, SharesFallWithTheSquareOfTheErrors) {
  const Index n = 60;
  const Vector<double> y = Vector<double>::Zero(n);
  const auto missed = [&](double by, double later) {
    RollingForecasts one{{40, 50}, {}, {}};
    for (const Index o : one.origins) {
      Vector<double> mean = Vector<double>::Constant(n - o, by);
      mean.tail(std::max<Index>(0, n - o - 12)).array() += later;  // beyond a fifth of the rows, which errors leave out
      one.mean.push_back(mean);
      one.variance.push_back(Vector<double>::Ones(n - o));
    }
    return one;
  };
  const Vector<double> two = shares_by_errors(y, {missed(1, 0), missed(std::sqrt(2.0), 100)});
  EXPECT_NEAR(two[0], 0.8, 1e-12);
  EXPECT_NEAR(two[1], 0.2, 1e-12);
  // A twentieth at least, four at most.
  const Vector<double> six =
      shares_by_errors(y, {missed(1, 0), missed(5, 0), missed(1.1, 0), missed(1.2, 0), missed(1.3, 0), missed(1.4, 0)});
  EXPECT_EQ((six.array() > 0).count(), 4);
  EXPECT_EQ(six[1], 0);
  EXPECT_EQ(six[5], 0);
  EXPECT_NEAR(six.sum(), 1, 1e-12);
  EXPECT_EQ(shares_by_errors(y, {missed(0, 0), missed(1, 0)})[0], 1);
}

// Ten lines do not hold a week; the season does.
TEST(StructuralSeries, AWeekWithHarmonicsIsForecast) {
  const Weeks weeks(7);
  const Index n = weeks.x.size(), past = n - 51;
  const Matrix<double> X = weeks.x, Y = weeks.y;
  const auto machine = SpectralMixtureMachine::fit(X.topRows(past), Y.topRows(past), {});
  EXPECT_THAT(machine.report().text, HasSubstr("a season of 168"));
  EXPECT_LE(machine.state().members.size(), 4u);
  EXPECT_NEAR(machine.state().shares.sum(), 1, 1e-12);
  const auto later = machine.predict_observation(X.bottomRows(n - past));
  double error = 0, naive = 0;
  Index inside = 0;
  for (Index i = past; i < n; ++i) {
    const double mean = later.mean(i - past, 0);
    error += std::pow(weeks.y[i] - mean, 2);
    naive += std::pow(weeks.y[i] - weeks.y[seasonal_row(weeks.x, past, weeks.x[i], 168)], 2);
    inside += std::abs(weeks.y[i] - mean) < 1.96 * std::sqrt(later.covariance(i - past, 0)) ? 1 : 0;
  }
  EXPECT_LT(error, 0.75 * naive);  // 1 / 2 + 1 / 12 where all six weeks are used
  EXPECT_GE(inside, 44);
  // An inference that is given has mixtures alone.
  SpectralMixtureOptions exact;
  exact.inference = Inference::exact;
  exact.periods = {168};
  EXPECT_THAT(SpectralMixtureMachine::fit(X.topRows(past), Y.topRows(past), exact).report().text,
              ::testing::Not(HasSubstr("season")));
}

}  // namespace
}  // namespace carmina::structural_series_test
