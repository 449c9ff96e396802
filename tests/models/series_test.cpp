// tests/models/series_test.cpp -- series: trends, starts, members by evidence, forecasts from earlier origins, files.
#include <carmina/core/error.hpp>
#include <carmina/models/predictor.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include "models/mixture/mixture_state.hpp"
#include "models/mixture/rolling_origin.hpp"
#include "models/mixture/series_climb.hpp"
#include "models/mixture/series_learner.hpp"
#include "models/mixture/series_start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "mixture_data.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::series_test {
namespace {

using carmina::testing::message_of;
using carmina::testing::random_matrix;
using carmina::testing::rmse;
using carmina::testing::TempDir;
using ::testing::HasSubstr;

constexpr double turn = 2 * std::numbers::pi;

// A line, a season of 12 and noise.
struct Monthly {
  Matrix<double> X, Y;
  explicit Monthly(Index n, double slope = 0.5, std::uint64_t seed = 3) : X(n, 1), Y(n, 1) {
    const Matrix<double> noise = random_matrix(n, 1, seed);
    for (Index i = 0; i < n; ++i) {
      const double t = static_cast<double>(i);
      X(i, 0) = t;
      Y(i, 0) = 20 + slope * t + 5 * std::sin(turn * t / 12) + noise(i, 0);
    }
  }
};

SpectralMixtureOptions few_components() {
  SpectralMixtureOptions options;
  options.n_mixtures = 5;
  return options;
}

SpectralMixtureMachine fit(const Matrix<double>& X, const Matrix<double>& Y, const SpectralMixtureOptions& options) {
  return SpectralMixtureMachine::fit(X, Y, options);
}

TEST(Series, ATrendIsContinued) {
  const Monthly months(140);
  for (const auto& [inference, trend] :
       {std::pair{Inference::automatic, Trend::automatic}, std::pair{Inference::automatic, Trend::linear},
        std::pair{Inference::exact, Trend::linear}, std::pair{Inference::fourier, Trend::linear}}) {
    SpectralMixtureOptions options = few_components();
    options.inference = inference;
    options.trend = trend;
    const auto machine = fit(months.X.topRows(110), months.Y.topRows(110), options);
    EXPECT_EQ(machine.trend(), Trend::linear);
    EXPECT_EQ(machine.inference(), inference == Inference::automatic ? Inference::exact : inference);
    const auto later = machine.predict_observation(months.X.bottomRows(30));
    // Noise of 1; without a trend the mean would fall back by 15 and more. Features keep near their start.
    EXPECT_LT(rmse(later.mean, months.Y.bottomRows(30)), inference == Inference::fourier ? 3 : 1.6)
        << inference_name(inference);
    const auto inside =
        ((later.mean - months.Y.bottomRows(30)).array().abs() < 1.96 * later.covariance.array().sqrt()).count();
    EXPECT_GE(inside, 24) << inference_name(inference);
  }
}

// The posterior beside a dense one with the features 1 and t, whose coefficients have the same variances.
TEST(Series, TheTrendIsALineIntegratedOut) {
  const Monthly months(80);
  SpectralMixtureOptions options = few_components();
  options.trend = Trend::linear;
  options.inference = Inference::exact;  // nothing stands beside the mixture
  const auto exact = fit(months.X.topRows(60), months.Y.topRows(60), options);
  ASSERT_EQ(exact.state().members.size(), 1u);
  const SpectralParameters& at = exact.parameters();
  const double variance = at.trend.weights[0], omega = turn * at.trend.means(0, 0);
  const auto covariance = [&](const Matrix<double>& A, const Matrix<double>& B) {
    Matrix<double> K(A.rows(), B.rows());
    mixture_values(at.mixture, A, B, K, {});
    for (Index i = 0; i < A.rows(); ++i) {
      for (Index j = 0; j < B.rows(); ++j) K(i, j) += variance * (1 + omega * omega * A(i, 0) * B(j, 0));
    }
    return K;
  };
  const Matrix<double> X = months.X.topRows(60), later = months.X.bottomRows(20);
  Eigen::MatrixXd C = covariance(X, X);
  C.diagonal().array() += at.noise[0];
  const Vector<double> y = months.Y.topRows(60).col(0).array() - exact.intercept()[0];
  const Eigen::VectorXd mean = covariance(later, X) * C.ldlt().solve(Eigen::VectorXd(y));
  EXPECT_LE((exact.predict(later).col(0).array() - exact.intercept()[0] - mean.array()).abs().maxCoeff(), 0.02);
}

TEST(Series, AFourierTrendIsOneMorePoint) {
  const Monthly months(90);
  SpectralMixtureOptions options = few_components();
  options.n_components = 40;
  options.trend = Trend::linear;
  const auto machine = fit(months.X, months.Y, options);
  EXPECT_EQ(machine.inference(), Inference::fourier);
  const WeightedFrequencies& points = machine.points()[0];
  ASSERT_EQ(points.size(), 21);
  EXPECT_NEAR(points.real(20, 0) * points.real(20, 0), machine.parameters().trend.weights[0],
              1e-9 * machine.parameters().trend.weights[0]);
  // With several outputs one for each, which no other output sees.
  Matrix<double> Y(90, 2);
  Y << months.Y, -months.Y;
  const auto two = fit(months.X, Y, options);
  EXPECT_EQ(two.points()[0].size(), 22);
  Matrix<double> later(2, 1);
  later << 92, 100;
  EXPECT_NEAR(two.predict(later)(1, 0), 70, 8);
  EXPECT_NEAR(two.predict(later)(1, 1), -70, 8);
}

TEST(Series, NoTrendIsFoundWhereThereIsNone) {
  const Monthly flat(150, 0);
  const auto machine = fit(flat.X, flat.Y, few_components());
  EXPECT_EQ(machine.trend(), Trend::none);
  EXPECT_THAT(machine.report().text, HasSubstr("% of the evidence"));
}

// A rhythm of a fiftieth of the variance beside a strong one and a steep line.
TEST(Series, StartsSeeWeakRhythms) {
  const Index n = 240;
  Vector<double> x(n), y(n);
  for (Index i = 0; i < n; ++i) {
    x[i] = 0.5 * static_cast<double>(i);
    y[i] = x[i] + 10 * std::sin(turn * x[i] / 8 + 1) + std::sin(turn * x[i] / 3);
  }
  const auto found = strongest_rhythms(x, y, 2, true, {}, {});
  EXPECT_NEAR(found[0], 1.0 / 8, 0.25 / 120);
  EXPECT_NEAR(found[1], 1.0 / 3, 0.25 / 120);
  // What is given comes first, and is not found again.
  const auto given = strongest_rhythms(x, y, 2, true, {1.0 / 8}, {});
  EXPECT_EQ(given[0], 1.0 / 8);
  EXPECT_NEAR(given[1], 1.0 / 3, 0.25 / 120);
  const Mixture start = series_start(x, y / std::sqrt(y.squaredNorm() / 240), 6, usual_levels(6), true, {8}, {});
  EXPECT_EQ(start.means(0, 0), 0);
  EXPECT_EQ(start.means(2, 0), 1.0 / 8);
}

TEST(Series, PeriodsAreWhereMeansStart) {
  const Monthly months(60);
  SpectralMixtureOptions options = few_components();
  options.periods = {12};
  options.max_iter = 0;
  for (const Inference inference : {Inference::exact, Inference::fourier}) {
    options.inference = inference;
    const auto machine = fit(months.X, months.Y, options);
    const auto& means = machine.parameters().mixture.means;
    EXPECT_NEAR((means.array() - 1.0 / 12).abs().minCoeff(), 0, 1e-12) << inference_name(inference);
  }
}

// Given the rows before an origin: refitted with the same parameters.
TEST(Series, OneFactorHoldsTheForecastsFromEveryOrigin) {
  const Monthly months(50);
  const Mixture mixture{
      Vector<double>::Constant(2, 3), Matrix<double>{{0.0}, {1.0 / 12}}, Matrix<double>{{0.02}, {0.001}}, {}};
  const MixtureProcess whole = exact_process(mixture, 0.7, months.X, months.Y, {});
  const auto forecasts = rolling_forecasts(whole.L, months.Y.col(0), {20, 35, 49});
  for (std::size_t k = 0; k < 3; ++k) {
    const Index o = forecasts.origins[k];
    const auto before = exact_process(mixture, 0.7, months.X.topRows(o), months.Y.topRows(o), {});
    Matrix<double> mean;
    Vector<double> variance;
    predict_process(mixture, before, months.X.bottomRows(50 - o), mean, variance, {});
    EXPECT_LE((forecasts.mean[k] - mean.col(0)).norm(), 1e-8 * mean.norm());
    EXPECT_LE((forecasts.variance[k].array() - 0.7 - variance.array()).matrix().norm(), 1e-8 * variance.norm());
  }
  const auto two = combined({forecasts, forecasts}, Vector<double>::Constant(2, 0.5));
  EXPECT_LE((two.variance[0] - forecasts.variance[0]).norm(), 1e-9);
}

// Deviations that are half of what the errors are come out twice as wide, right ones as they are: the quantile of some
// hundred normal residuals is known to about 10 %.
TEST(Series, BandsAreAsWideAsTheErrorsWere) {
  const Index n = 400;
  const Vector<double> x = Vector<double>::LinSpaced(n, 0, 399), y = random_matrix(n, 1, 11).col(0);
  const auto forecasts = [&](double deviation) {
    RollingForecasts all{rolling_origins(280, n), {}, {}};
    for (const Index o : all.origins) {
      all.mean.push_back(Vector<double>::Zero(n - o));
      all.variance.push_back(Vector<double>::Constant(n - o, deviation * deviation));
    }
    return all;
  };
  const ForecastBands narrow = forecast_bands(x, y, forecasts(0.5)), right = forecast_bands(x, y, forecasts(1));
  EXPECT_EQ(narrow.factor(300), 1);
  EXPECT_EQ(narrow.factor(399), 1);
  EXPECT_NEAR(narrow.factor(399 + 40), 2, 0.35);
  EXPECT_NEAR(right.factor(399 + 40), 1, 0.2);
  EXPECT_EQ(narrow.factor(1e6), narrow.factors[narrow.factors.size() - 1]);
}

TEST(Series, TheReportSaysWhenTheNaiveForecastIsBetter) {
  RollingErrors errors{.model = 2, .last = 1, .seasonal = 3, .period = 12};
  EXPECT_THAT(errors.text(5), HasSubstr("the naive forecast, the last value, is better"));
  errors.seasonal = 0.5;
  EXPECT_THAT(errors.text(5), HasSubstr("the value a period before, is better"));
  errors.model = 0.1;
  EXPECT_THAT(errors.text(5), ::testing::Not(HasSubstr("better")));
}

TEST(Series, SeasonalRowsAreTheLastOfTheirPlace) {
  const Vector<double> x = Vector<double>::LinSpaced(30, 0, 29);
  EXPECT_EQ(seasonal_row(x, 24, 24, 12), 12);
  EXPECT_EQ(seasonal_row(x, 24, 29, 12), 17);
  EXPECT_EQ(seasonal_row(x, 20, 29, 12), 17);
  EXPECT_EQ(seasonal_row(x, 14, 29, 12), 5);
  Vector<double> gaps(4);
  gaps << 0, 1, 2, 12;
  EXPECT_EQ(seasonal_row(gaps, 4, 13, 12), 1);
  EXPECT_EQ(seasonal_row(gaps, 4, 16, 12), 2);  // nothing at 4: the nearest
}

TEST(Series, FilesKeepMembersAndBands) {
  const Monthly months(120, 0.05);
  SpectralMixtureOptions options = few_components();
  options.n_starts = 2;
  options.periods = {12};
  const auto machine = fit(months.X, months.Y, options);
  EXPECT_GT(machine.state().members.size(), 1u);
  EXPECT_NEAR(machine.state().shares.sum(), 1, 1e-12);
  EXPECT_GT(machine.state().bands.places.size(), 2);
  const TempDir folder;
  machine.save(folder.path("m"));
  const auto again = SpectralMixtureMachine::load(folder.path("m"));
  Matrix<double> later = months.X.array() + 60;
  EXPECT_EQ(again.predict(later), machine.predict(later));
  EXPECT_EQ(again.predict_observation(later).covariance, machine.predict_observation(later).covariance);
  EXPECT_EQ(again.sample(later, 3, 5)[2], machine.sample(later, 3, 5)[2]);
  EXPECT_EQ(again.trend(), machine.trend());
  EXPECT_EQ(again.options().periods, options.periods);
  EXPECT_EQ(again.options().inference, Inference::automatic);
  EXPECT_EQ(again.report().text, machine.report().text);
  EXPECT_EQ(Predictor::load(folder.path("m")).predict(later), machine.predict(later));
}

TEST(Series, DrawsHaveTheMeanAndTheBand) {
  const Monthly months(120, 0.05);
  const auto machine = fit(months.X, months.Y, few_components());
  Matrix<double> later(1, 1);
  later << 130;
  const auto expected = machine.predict_observation(later);
  double sum = 0, squares = 0;
  for (const auto& draw : machine.sample(later, 600, 7)) {
    sum += draw(0, 0), squares += std::pow(draw(0, 0) - expected.mean(0, 0), 2);
  }
  const double latent = expected.covariance(0, 0) - machine.parameters().noise[0];
  EXPECT_NEAR(sum / 600, expected.mean(0, 0), 5 * std::sqrt(latent / 600));
  EXPECT_NEAR(squares / 600, latent, 6 * latent * std::sqrt(2.0 / 600));
}

TEST(Series, DoNotDependOnUnits) {
  const Monthly months(100);
  const auto machine = fit(months.X, months.Y, few_components());
  const auto other = fit(86400 * months.X.array() + 1e9, (1000 * months.Y.array() - 3).matrix(), few_components());
  Matrix<double> later(3, 1);
  later << 101, 110, 130;
  const Matrix<double> expected = 1000 * machine.predict(later).array() - 3;
  // Rounding grows over the steps, to less than the noise of 1000.
  EXPECT_LE((other.predict(86400 * later.array() + 1e9) - expected).cwiseAbs().maxCoeff(), 400);
}

TEST(Series, OrderAndMissingTargetsPlayNoPart) {
  const Monthly months(100);
  const auto machine = fit(months.X, months.Y, few_components());
  Matrix<double> X(103, 1), Y(103, 1);
  X << months.X.colwise().reverse(), 200, 201, 202;
  Y << months.Y.colwise().reverse(), Matrix<double>::Constant(3, 1, std::numeric_limits<double>::quiet_NaN());
  const auto other = fit(X, Y, few_components());
  EXPECT_EQ(other.inference(), Inference::exact);
  EXPECT_LE((other.predict(months.X) - machine.predict(months.X)).norm(), 1e-6 * months.Y.norm());
}

// Runs of neighbours, evenly spread; the posterior is that of all rows.
TEST(Series, ParametersAreLearntFromRuns) {
  const Monthly months(600);
  const Times all = times_of(months.X, months.Y, true), some = all.in_runs(200);
  EXPECT_EQ(some.x.size(), 200);
  EXPECT_EQ(some.x[0], 0);
  EXPECT_EQ(some.x[1], 1);
  EXPECT_EQ(some.x[199], 599);
  SpectralMixtureOptions options = few_components();
  options.learning_rows = 200;
  const auto machine = fit(months.X.topRows(570), months.Y.topRows(570), options);
  EXPECT_EQ(machine.inference(), Inference::exact);
  EXPECT_EQ(machine.state().members[0].process.anchors.rows(), 570);
  EXPECT_LT(rmse(machine.predict(months.X.bottomRows(30)), months.Y.bottomRows(30)), 1.6);
  EXPECT_THAT(machine.report().reason, HasSubstr("parameters learnt from 200"));
}

TEST(Series, WhatAutomaticInferenceIs) {
  const SpectralMixtureOptions usual;
  const auto chosen = [](SpectralMixtureOptions o, Index d, Index p, Index rows, bool weighted, bool several) {
    return inference_name(chosen_inference(o, d, p, rows, weighted, several));
  };
  EXPECT_EQ(chosen(usual, 1, 1, 1000, false, false), "exact");
  EXPECT_EQ(chosen(usual, 1, 1, 4001, false, false), "fourier");
  EXPECT_EQ(chosen(usual, 1, 1, 10, false, false), "fourier");
  EXPECT_EQ(chosen(usual, 2, 1, 1000, false, false), "fourier");
  EXPECT_EQ(chosen(usual, 1, 2, 1000, false, false), "fourier");
  EXPECT_EQ(chosen(usual, 1, 1, 1000, true, false), "fourier");
  EXPECT_EQ(chosen(usual, 1, 1, 1000, false, true), "fourier");
  SpectralMixtureOptions other;
  other.n_components = 100;
  EXPECT_EQ(chosen(other, 1, 1, 1000, false, false), "fourier");
  other = {};
  other.solver = "adam";
  EXPECT_EQ(chosen(other, 1, 1, 1000, false, false), "fourier");
  other = {};
  other.execution.memory_budget = 1 << 20;
  EXPECT_EQ(chosen(other, 1, 1, 1000, false, false), "fourier");
  other = {};
  other.inference = Inference::inducing;
  EXPECT_EQ(chosen(other, 1, 1, 1000, false, false), "inducing");
}

TEST(Series, WhatCannotBeIsSaid) {
  const Monthly months(60);
  const auto message = [&](const auto& change, const Matrix<double>& X) {
    SpectralMixtureOptions options = few_components();
    change(options);
    return message_of([&] { (void)fit(X, months.Y, options); });
  };
  Matrix<double> two(60, 2);
  two << months.X, months.X;
  EXPECT_THAT(message([](auto& o) { o.trend = Trend::linear; }, two), HasSubstr("for one input, the time, found 2"));
  EXPECT_THAT(message([](auto& o) { o.periods = {12.0}; }, two), HasSubstr("for one input"));
  EXPECT_THAT(message([](auto& o) { o.periods = {-1.0}; }, months.X), HasSubstr("periods must be positive"));
  EXPECT_THAT(message([](auto& o) { o.trend = Trend::linear, o.inference = Inference::inducing; }, months.X),
              HasSubstr("a trend is not known for inference 'inducing'"));
  EXPECT_THAT(message([](auto&) {}, Matrix<double>::Constant(60, 1, 3)),
              HasSubstr("the times of a series must differ"));
}

TEST(Series, ConstantAndShortSeriesAreFitted) {
  const Monthly months(40);
  const auto flat = fit(months.X, Matrix<double>::Constant(40, 1, 7), few_components());
  EXPECT_NEAR(flat.predict(Matrix<double>::Constant(1, 1, 45.0))(0, 0), 7, 1e-3);
  for (const Index n : {1, 2, 5, 19, 20, 21}) {
    const auto few = fit(months.X.topRows(n), months.Y.topRows(n), few_components());
    const auto found = few.predict_observation(months.X);
    EXPECT_TRUE(found.mean.allFinite() && found.covariance.allFinite()) << n;
    EXPECT_GT(found.covariance.minCoeff(), 0) << n;
  }
}

}  // namespace
}  // namespace carmina::series_test
