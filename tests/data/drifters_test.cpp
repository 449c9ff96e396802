// tests/data/drifters_test.cpp -- tracks follow the current, which has no sources and travels.
#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace carmina::testing {

// By differences of the stream function; the error of h^2 / 6 times a third derivative is below 1e-9.
TEST(Drifters, CurrentIsThatOfItsStreamFunction) {
  const DrifterOptions options{.speed = 1.5, .size = 2, .drift = 0.7};
  const Matrix<double> X = drifters(20, options).X;
  const Matrix<double> current = eddy_current(X, options);
  const double h = 1e-5;
  const auto slope = [&](Index column) -> Vector<double> {
    Matrix<double> ahead = X, behind = X;
    ahead.col(column).array() += h;
    behind.col(column).array() -= h;
    return (eddy_stream_function(ahead, options) - eddy_stream_function(behind, options)) / (2 * h);
  };
  EXPECT_LT((current.col(0) - slope(1)).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_LT((current.col(1) + slope(0)).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_LE(current.cwiseAbs().maxCoeff(), 1.5);
}

TEST(Drifters, EddiesTravelUnchanged) {
  const DrifterOptions options{.drift = 0.3};
  Matrix<double> X = drifters(5, options).X;
  const Matrix<double> before = eddy_current(X, options);
  X.col(2).array() += 4;
  X.col(0).array() += 4 * 0.3;
  EXPECT_LT((eddy_current(X, options) - before).cwiseAbs().maxCoeff(), 1e-12);
}

// In eddies that stand, a drifter goes round on a line of the stream function.
TEST(Drifters, StayOnTheirLines) {
  const DrifterOptions options{.readings = 50, .drift = 0};
  const Drifters data = drifters(30, options);
  const Vector<double> psi = eddy_stream_function(data.X, options);
  for (Index i = 0; i < psi.size(); ++i) EXPECT_NEAR(psi[i], psi[i / 50 * 50], 1e-6);
}

TEST(Drifters, AreReadTrackByTrack) {
  const DrifterOptions options{.readings = 7, .interval = 0.25, .extent = 4, .duration = 3, .seed = 9};
  const Drifters data = drifters(11, options);
  ASSERT_EQ(data.X.rows(), 77);
  ASSERT_EQ(data.tracks.size(), 77u);
  for (Index i = 0; i < 77; ++i) {
    EXPECT_EQ(data.tracks[static_cast<std::size_t>(i)], i / 7);
    EXPECT_NEAR(data.X(i, 2) - data.X(i / 7 * 7, 2), 0.25 * static_cast<double>(i % 7), 1e-12);
  }
  for (Index i = 0; i < 77; i += 7) {
    EXPECT_TRUE((data.X.row(i).head(2).array() >= 0).all() && (data.X.row(i).head(2).array() < 4).all());
    EXPECT_TRUE(data.X(i, 2) >= 0 && data.X(i, 2) < 3);
  }
  EXPECT_EQ(drifters(4, options).Y, data.Y.topRows(28));
  EXPECT_EQ(data.clean, eddy_current(data.X, options));
}

// A mean of 12,000 squares of normals deviates by 1.3 %.
TEST(Drifters, NoiseHasItsDeviation) {
  const Drifters data = drifters(200, {.noise = 0.2, .seed = 3});
  EXPECT_NEAR((data.Y - data.clean).array().square().mean() / 0.04, 1, 0.06);
}

TEST(Drifters, SayWhatIsWrong) {
  const auto says = [](Index n, const DrifterOptions& options) -> std::string {
    try {
      drifters(n, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(says(0, {}), "drifters: the number of tracks must be positive, found 0");
  EXPECT_EQ(says(1, {.readings = 0}), "drifters: the number of readings must be positive, found 0");
  EXPECT_EQ(says(1, {.interval = 0}), "drifters: interval must be positive, found 0");
  EXPECT_EQ(says(1, {.size = -1}), "drifters: size must be positive, found -1");
  EXPECT_EQ(says(1, {.noise = -1}), "drifters: noise must be finite and not negative, found -1");
  EXPECT_THROW(eddy_current(Matrix<double>::Zero(3, 2)), Error);
}

}  // namespace carmina::testing
