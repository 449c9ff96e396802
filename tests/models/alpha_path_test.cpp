// tests/models/alpha_path_test.cpp -- a path against machines fitted one by one, to all rows and to all but one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/models/alpha_path.hpp>

#include <cmath>
#include <limits>

#include <support/given_numbers.hpp>
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::alpha_path_test {
namespace {

using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using testing::random_psd;

const std::vector<double> alphas = {0.1, 1e-3, 4};

struct Data {
  Matrix<double> X, Y;
  Vector<double> w;

  Data(Index n, Index p) : X(random_matrix(n, 2, 1)), Y(n, p) {
    const Matrix<double> noise = random_matrix(n, p, 2);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < p; ++j) {
        Y(i, j) = std::sin(X(i, 0) + static_cast<double>(j)) + 0.3 * noise(i, j) + 2 + static_cast<double>(j);
      }
    }
    w = random_matrix(n, 1, 3).cwiseAbs().array() + 0.1;
  }
};

enum class Coupling { none, singular, curl_free };

struct Setting {
  const char* approximation;
  Index components;
  Coupling coupling;
  bool intercept, weighted;

  friend std::ostream& operator<<(std::ostream& out, const Setting& s) {
    return out << s.approximation << ' ' << s.components << " coupling " << static_cast<int>(s.coupling)
               << (s.intercept ? " intercept" : "") << (s.weighted ? " weights" : "");
  }
};

class AlphaPaths : public ::testing::TestWithParam<Setting> {
 protected:
  // More rows than the fewest features, fewer than the most: the oracles fit once for each row and target.
  AlphaPaths() : data_(14, GetParam().coupling == Coupling::singular ? 3 : 2) {
    const Setting& s = GetParam();
    options_.approximation = s.approximation;
    options_.n_components = s.components;
    options_.length_scale = LengthScale(1.3);
    options_.seed = 5;
    options_.execution.threads = 1;
    options_.fit_intercept = s.intercept;
    if (s.coupling == Coupling::curl_free) options_.coupling = CurlFreeCoupling{};
    if (s.coupling == Coupling::singular) {
      options_.coupling = OutputMatrix(random_psd(3, 2, 4));
    }
  }
  const double* weights() const { return GetParam().weighted ? data_.w.data() : nullptr; }
  Vector<double> all_weights() const {
    return weights() ? data_.w : Vector<double>(Vector<double>::Ones(data_.X.rows()));
  }
  // Predictions of one fit to the targets Y with weights w.
  Matrix<double> fitted(double alpha, const Matrix<double>& Y, const Vector<double>& w) const {
    FitOptions fit = options_;
    fit.alpha = alpha;
    fit.solver = "direct";
    return KernelMachine<double>::fit(data_.X, Y, fit, w.data()).predict(data_.X);
  }
  MachinePath<double> path(bool leave_one_out) const {
    return fit_path<double>(data_.X, data_.Y, options_, alphas, leave_one_out, weights());
  }

  Data data_;
  FitOptions options_ = given_numbers();
};

TEST_P(AlphaPaths, AreFitsOneByOne) {
  const Vector<double> w = all_weights();
  std::vector<Matrix<double>> fits;
  for (const double alpha : alphas) fits.push_back(fitted(alpha, data_.Y, w));
  for (const bool leave_one_out : {false, true}) {
    const auto found = path(leave_one_out);
    ASSERT_EQ(found.points().size(), alphas.size());
    for (std::size_t i = 0; i < alphas.size(); ++i) {
      const PathPoint& point = found.points()[i];
      const Matrix<double>& expected = fits[i];
      const auto machine = found.machine(i);
      EXPECT_LT(max_difference(machine.predict(data_.X), expected), 1e-8) << alphas[i];
      EXPECT_EQ(point.alpha, alphas[i]);
      EXPECT_EQ(machine.record().alpha, alphas[i]);
      const double loss = w.dot((expected - data_.Y).rowwise().squaredNorm()) / (2 * w.sum());
      EXPECT_NEAR(point.training_loss, loss, 1e-9);
      EXPECT_EQ(point.leave_one_out.has_value(), leave_one_out);
    }
  }
}

// A fit is linear in the targets: what a unit more in one of them adds to its own prediction is its leverage.
TEST_P(AlphaPaths, DegreesOfFreedomAreTheSumOfLeverages) {
  const Vector<double> w = all_weights();
  const auto found = path(false);
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    const Matrix<double> F = fitted(alphas[i], data_.Y, w);
    double sum = 0;
    for (Index row = 0; row < data_.Y.rows(); ++row) {
      for (Index j = 0; j < data_.Y.cols(); ++j) {
        Matrix<double> Y = data_.Y;
        Y(row, j) += 1;
        sum += fitted(alphas[i], Y, w)(row, j) - F(row, j);
      }
    }
    const PathPoint& point = found.points()[i];
    EXPECT_NEAR(point.degrees_of_freedom, sum, 1e-7) << alphas[i];
    const double left = 1 - sum / (w.sum() * static_cast<double>(data_.Y.cols()));
    if (left > 0) {
      EXPECT_NEAR(point.gcv, point.training_loss / (left * left), 1e-6 * point.gcv);
    } else {
      EXPECT_EQ(point.gcv, std::numeric_limits<double>::infinity());
    }
  }
}

// A sketch's anchors come from all rows, so a row is not taken away: its weight becomes nothing.
TEST_P(AlphaPaths, LeaveOneOutIsARefitWithoutTheRow) {
  const Vector<double> w = all_weights();
  const auto found = path(true);
  const bool sketched = options_.chosen_sketch().has_value();
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    double sum = 0;
    for (Index row = 0; row < data_.Y.rows(); ++row) {
      Vector<double> others = w;
      others[row] = sketched ? 1e-13 : 0;
      sum += w[row] * (fitted(alphas[i], data_.Y, others).row(row) - data_.Y.row(row)).squaredNorm();
    }
    const double expected = sum / (2 * w.sum());
    EXPECT_NEAR(*found.points()[i].leave_one_out, expected, 1e-7 * expected) << alphas[i];
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const bool intercept : {true, false}) {
    for (const bool weighted : {false, true}) {
      for (const Coupling coupling : {Coupling::none, Coupling::singular, Coupling::curl_free}) {
        all.push_back({"fourier", 12, coupling, intercept, weighted});
        all.push_back({"fourier", 40, coupling, intercept, weighted});  // more features than rows
        all.push_back({"exact", 0, coupling, intercept, weighted});
        if (coupling != Coupling::curl_free) all.push_back({"sub_sample", 9, coupling, intercept, weighted});
      }
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, AlphaPaths, ::testing::ValuesIn(settings()));

FitOptions few_components() {
  FitOptions options = given_numbers();
  options.n_components = 12;
  options.length_scale = LengthScale(1.3);
  return options;
}

TEST(AlphaPath, IntegerWeightsAreRepeatedRowsButForTheRowLeftOut) {
  const Data data(20, 1);
  Vector<double> w = Vector<double>::Ones(20);
  w[3] = 2, w[7] = 3;
  Matrix<double> X(23, 2), Y(23, 1);
  X << data.X, data.X.row(3), data.X.row(7), data.X.row(7);
  Y << data.Y, data.Y.row(3), data.Y.row(7), data.Y.row(7);
  for (const char* approximation : {"fourier", "exact"}) {
    FitOptions options = few_components();
    options.approximation = approximation;
    const auto weighted = fit_path<double>(data.X, data.Y, options, alphas, true, w.data());
    const auto repeated = fit_path<double>(X, Y, options, alphas, true);
    for (std::size_t i = 0; i < alphas.size(); ++i) {
      const PathPoint &a = weighted.points()[i], &b = repeated.points()[i];
      EXPECT_NEAR(a.training_loss, b.training_loss, 1e-9);
      EXPECT_NEAR(a.degrees_of_freedom, b.degrees_of_freedom, 1e-8);
      EXPECT_NEAR(a.gcv, b.gcv, 1e-9);
      EXPECT_GT(*a.leave_one_out, *b.leave_one_out);  // equal rows that stay give the one left out away
    }
  }
}

TEST(AlphaPath, RankDeficientRowsHaveFinitePaths) {
  Data data(30, 2);
  data.X.bottomRows(20) = data.X.topRows(10).replicate(2, 1);
  for (const char* approximation : {"fourier", "exact", "sub_sample"}) {
    FitOptions options = few_components();
    options.approximation = approximation;
    options.solver = "direct";
    const std::vector<double> tiny = {1e-9, 1e-3};
    const auto path = fit_path<double>(data.X, data.Y, options, tiny, true);
    for (std::size_t i = 0; i < tiny.size(); ++i) {
      EXPECT_TRUE(std::isfinite(*path.points()[i].leave_one_out)) << approximation;
      EXPECT_LT(path.points()[i].degrees_of_freedom, 2 * 11.001) << approximation;
      options.alpha = tiny[i];
      const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
      EXPECT_LT(max_difference(path.machine(i).predict(data.X), machine.predict(data.X)), 1e-5) << approximation;
    }
  }
}

TEST(AlphaPath, FloatIsNearDouble) {
  const Data data(300, 2);
  const Matrix<float> X = data.X.cast<float>(), Y = data.Y.cast<float>();
  const Vector<float> w = data.w.cast<float>();
  for (const char* approximation : {"fourier", "exact", "sub_sample"}) {
    FitOptions options = few_components();
    options.approximation = approximation;
    const auto wide = fit_path<double>(data.X, data.Y, options, {0.01, 1}, true, data.w.data());
    const auto narrow = fit_path<float>(X, Y, options, {0.01, 1}, true, w.data());
    for (std::size_t i = 0; i < 2; ++i) {
      const PathPoint &a = wide.points()[i], &b = narrow.points()[i];
      EXPECT_NEAR(a.training_loss, b.training_loss, 1e-3 * a.training_loss) << approximation;
      EXPECT_NEAR(a.degrees_of_freedom, b.degrees_of_freedom, 1e-2) << approximation;
      EXPECT_NEAR(*a.leave_one_out, *b.leave_one_out, 1e-3 * *a.leave_one_out) << approximation;
    }
  }
}

// An alpha far below the rounding of the sums: their own account of the loss would be far too good.
TEST(AlphaPath, FloatLossesAreThoseOfTheMachines) {
  const Data data(3000, 2);
  const Matrix<float> X = data.X.cast<float>(), Y = data.Y.cast<float>();
  const Vector<double> w = data.w.cast<float>().cast<double>();
  const Vector<float> narrow = w.cast<float>();
  FitOptions options = given_numbers();
  options.n_components = 128;
  options.length_scale = LengthScale(6.0);
  for (const bool coupled : {false, true}) {
    if (coupled) options.coupling = CurlFreeCoupling{};
    const auto path = fit_path<float>(X, Y, options, {1e-6, 1e-3, 1}, true, narrow.data());
    for (std::size_t i = 0; i < 3; ++i) {
      const Matrix<double> residual = path.machine(i).predict(X).cast<double>() - Y.cast<double>();
      const double loss = w.dot(residual.rowwise().squaredNorm()) / (2 * w.sum());
      EXPECT_NEAR(path.points()[i].training_loss, loss, 1e-3 * loss) << i;
      EXPECT_GT(*path.points()[i].leave_one_out, 0.99 * loss) << i;
    }
  }
}

TEST(AlphaPath, DoesNotDependOnThreadsOrBlocks) {
  const Data data(700, 2);
  FitOptions options = few_components();
  options.execution.threads = 1;
  const auto one = fit_path<double>(data.X, data.Y, options, alphas, true);
  options.execution.threads = 3;
  const auto three = fit_path<double>(data.X, data.Y, options, alphas, true);
  for (std::size_t i = 0; i < alphas.size(); ++i)
    EXPECT_EQ(one.points()[i].leave_one_out, three.points()[i].leave_one_out);
}

TEST(AlphaPath, AFitTakesTheBest) {
  const Data data(80, 1);
  FitOptions options = few_components();
  for (const AlphaScore score : {AlphaScore::gcv, AlphaScore::leave_one_out}) {
    options.alpha_by = score;
    options.alphas = {};
    const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
    ASSERT_EQ(machine.record().path->size(), 20);
    const auto& points = *machine.record().path;
    const std::size_t best = best_point(points, score);
    for (const PathPoint& point : points) EXPECT_LE(score_of(points[best], score), score_of(point, score));
    EXPECT_EQ(machine.record().alpha, points[best].alpha);
    EXPECT_TRUE(machine.record().report.message.empty());
    options.alphas = {50, 500};
    EXPECT_EQ(KernelMachine<double>::fit(data.X, data.Y, options).record().report.message,
              "the best alpha, 50, is the smallest tried");
  }
}

TEST(AlphaPath, RefusesInOneSentence) {
  const Data data(20, 2);
  const auto says = [&](const FitOptions& options, const std::vector<double>& list, bool leave = false) {
    return message_of([&] { fit_path<double>(data.X, data.Y, options, list, leave); });
  };
  FitOptions options = few_components();
  EXPECT_EQ(says(options, {}), "path: the list of alphas is empty");
  EXPECT_EQ(says(options, {1, -2}), "path: alphas must be positive and finite, found -2");
  EXPECT_EQ(says(options, {0}), "path: alphas must be positive and finite, found 0");
  options.loss = Huber(1);
  EXPECT_EQ(says(options, {1}), "path: it is for the squared loss, found loss 'huber'");
  options.alpha_by = AlphaScore::gcv;
  EXPECT_EQ(message_of([&] { options.check(); }), "alpha 'gcv' is for the squared loss, found loss 'huber'");
  options = few_components();
  options.solver = "cg";
  EXPECT_EQ(says(options, {1}), "path: solver must be 'auto' or 'direct', found 'cg'");
  options = few_components();
  options.approximation = "sub_sample";
  options.coupling = CurlFreeCoupling{};
  EXPECT_EQ(says(options, {1}),
            "path: a sketch of a kernel that is not separable has none; use approximation 'fourier' or "
            "'exact'");
  options = few_components();
  options.execution.memory_budget = 1000;
  EXPECT_THAT(says(options, {1}), ::testing::HasSubstr("the memory budget is 1 kB; even the smallest model needs"));
  options = few_components();
  EXPECT_EQ(message_of([&] { fit_path<double>(data.X.topRows(1), data.Y.topRows(1), options, {1}, true); }),
            "path: leaving one row out takes at least 2 rows, found 1");
}

TEST(AlphaPath, OneRowHasAPathWithoutLeavingOut) {
  const Data data(1, 1);
  FitOptions options = few_components();
  const auto path = fit_path<double>(data.X, data.Y, options, {1});
  EXPECT_NEAR(path.machine(0).predict(data.X)(0, 0), data.Y(0, 0), 1e-12);
  EXPECT_NEAR(path.points()[0].degrees_of_freedom, 1, 1e-12);
}

}  // namespace
}  // namespace carmina::alpha_path_test
