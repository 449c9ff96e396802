// tests/models/tune_test.cpp -- trials against machines fitted fold by fold, the best of them, and the folds.
#include <gtest/gtest.h>
#include <carmina/data/splits.hpp>
#include <carmina/models/tune.hpp>
#include "features/map_operations.hpp"
#include "features/sketched_map.hpp"

#include <Eigen/Cholesky>

#include <cmath>

#include "tune_data.hpp"

namespace carmina::tune_test {
namespace {

using testing::random_psd;
using testing::small_options;
using Data = testing::TuneData;

// Folds as `tune` must cut them: by the seed, or of consecutive rows, the first ones longer by one where they differ.
std::vector<Split> folds_of(const TuneOptions& options, Index n) {
  if (!options.contiguous) return k_fold(n, options.folds, options.fit.seed);
  std::vector<Split> folds(static_cast<std::size_t>(options.folds));
  Index fold = 0, left = n / options.folds + (n % options.folds > 0 ? 1 : 0);
  for (Index i = 0; i < n; ++i, --left) {
    if (left == 0) left = n / options.folds + (++fold < n % options.folds ? 1 : 0);
    for (Index k = 0; k < options.folds; ++k) {
      auto& split = folds[static_cast<std::size_t>(k)];
      (k == fold ? split.test : split.train).push_back(i);
    }
  }
  return folds;
}

double mean_squared(const Matrix<double>& F, const Matrix<double>& Y, const Vector<double>& w) {
  return w.dot((F - Y).rowwise().squaredNorm()) / (2 * w.sum());
}

// Every trial's losses are those of machines fitted to the rows outside each fold.
void expect_brute_force(const Data& data, const TuneOptions& options, bool weighted) {
  const Vector<double> w = weighted ? data.w : Vector<double>(Vector<double>::Ones(data.n));
  const auto result = tune<double>(data.X, data.Y, options, weighted ? data.w.data() : nullptr);
  const auto folds = folds_of(options, data.n);
  for (const Trial& trial : result.validation.trials) {
    ASSERT_EQ(trial.fold_losses.size(), folds.size());
    double sum = 0;
    for (std::size_t k = 0; k < folds.size(); ++k) {
      FitOptions fit = options.fit;
      fit.kernel = trial.kernel;
      fit.alpha = trial.alpha;
      fit.loss = trial.loss;
      const Matrix<double> X = data.X(folds[k].train, Eigen::all), Y = data.Y(folds[k].train, Eigen::all);
      const Vector<double> training = w(folds[k].train), testing = w(folds[k].test);
      const auto machine = KernelMachine<double>::fit(X, Y, fit, training.data());
      const Matrix<double> Z = data.X(folds[k].test, Eigen::all), expected = data.Y(folds[k].test, Eigen::all);
      const double loss = mean_squared(machine.predict(Z), expected, testing);
      EXPECT_NEAR(trial.fold_losses[k], loss, 1e-8 * loss) << "alpha " << trial.alpha << ", fold " << k;
      sum += trial.fold_losses[k];
    }
    EXPECT_NEAR(trial.mean, sum / static_cast<double>(folds.size()), 1e-14 * trial.mean);
    EXPECT_LE(result.validation.trials[result.validation.best].mean, trial.mean);
  }
  // The machine is the fit of all rows with the best of them.
  FitOptions best = options.fit;
  const Trial& chosen = result.validation.trials[result.validation.best];
  best.kernel = chosen.kernel;
  best.alpha = chosen.alpha;
  const auto refitted = KernelMachine<double>::fit(data.X, data.Y, best, weighted ? data.w.data() : nullptr);
  EXPECT_EQ(result.machine.predict(data.X), refitted.predict(data.X));
}

struct Setting {
  const char* approximation;
  Index components;
  bool intercept, weighted, contiguous;

  friend std::ostream& operator<<(std::ostream& out, const Setting& s) {
    return out << s.approximation << ' ' << s.components << (s.intercept ? " intercept" : "")
               << (s.weighted ? " weights" : "") << (s.contiguous ? " contiguous" : "");
  }
};

class BruteForce : public ::testing::TestWithParam<Setting> {};

TEST_P(BruteForce, GivesTheSameLosses) {
  const Setting& setting = GetParam();
  TuneOptions options = small_options(setting.approximation);
  options.fit.n_components = setting.components;
  options.fit.fit_intercept = setting.intercept;
  options.contiguous = setting.contiguous;
  expect_brute_force(Data(), options, setting.weighted);
  // One output; outputs coupled by a matrix, singular too; the covariance of the targets.
  expect_brute_force(Data(33, 1), options, setting.weighted);
  for (const Index rank : {1, 3}) {
    options.fit.coupling = OutputMatrix(random_psd(3, rank, 7));
    expect_brute_force(Data(61, 3), options, setting.weighted);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Machines, BruteForce,
    ::testing::Values(Setting{"exact", 0, true, false, false}, Setting{"exact", 0, false, true, true},
                      Setting{"exact", 0, true, true, false}, Setting{"fourier", 20, true, false, true},
                      Setting{"fourier", 20, true, true, false}, Setting{"fourier", 20, false, true, false},
                      Setting{"fourier", 200, true, true, false},  // more features than rows
                      Setting{"fourier", 200, false, false, false}));

TEST(Tune, KernelsWhoseOutputsDoNotComeApart) {
  const Data data;
  for (const std::string approximation : {"fourier", "exact"}) {
    TuneOptions options = small_options(approximation);
    options.fit.kernel = 0.5 * CurlFree(Gaussian(1.0)) + Kernel(Matern(LengthScale({1.0, 2.0}), 1.5));
    options.width_factors = {0.5, 2};
    options.alphas = {0.1, 1};
    for (const bool intercept : {true, false}) {
      options.fit.fit_intercept = intercept;
      expect_brute_force(data, options, true);
    }
    // One common factor for all widths.
    const auto trials = tune<double>(data.X, data.Y, options).validation.trials;
    EXPECT_EQ(length_scale_values(trials.back().kernel.terms()[0].scalar), (std::vector<double>{2}));
    EXPECT_EQ(length_scale_values(trials.back().kernel.terms()[1].scalar), (std::vector<double>{2, 4}));
  }
}

// Where the sums of all folds do not fit in memory, or another solver is asked for, nothing is shared.
TEST(Tune, TrialsFittedOneByOneHaveTheSameLosses) {
  const Data data;
  for (const std::string approximation : {"fourier", "exact"}) {
    TuneOptions options = small_options(approximation);
    const auto shared = tune<double>(data.X, data.Y, options).validation;
    TuneOptions little = options, by_cg = options;
    little.fit.execution.memory_budget = approximation == "fourier" ? 25000 : 50000;
    by_cg.fit.solver = "cg";
    by_cg.fit.tol = 1e-12;
    for (const TuneOptions& other : {little, by_cg}) {
      const auto alone = tune<double>(data.X, data.Y, other).validation;
      for (std::size_t i = 0; i < alone.trials.size(); ++i) {
        EXPECT_NEAR(alone.trials[i].mean, shared.trials[i].mean, 1e-8 * shared.trials[i].mean);
        EXPECT_NE(alone.trials[i].fold_losses, shared.trials[i].fold_losses);  // another way to the same numbers
      }
    }
  }
}

// One sketch of all rows serves all folds: ridge regression on its features, densely.
TEST(Tune, SketchesShareTheirFeatures) {
  const Data data;
  const double alpha = 0.2;
  for (const sketches::Distribution& which :
       {sketches::Distribution(sketches::SubSample(8)), sketches::Distribution(sketches::SparseRademacher(8, 0.1)),
        sketches::Distribution(sketches::PivotedCholesky(8))}) {
    TuneOptions options = small_options("exact");
    options.fit.sketch = which;
    options.length_scales = {1.5};
    options.alphas = {alpha};
    const auto result = tune<double>(data.X, data.Y, options, data.w.data());
    const ScalarKernel kernel = Gaussian(1.5);
    const auto sketch = sketches::sample<double>(which, 3, data.X, kernel);
    const SketchedMap<double> map(kernel, data.X(sketch.anchors, Eigen::all), sketch.mixing);
    Matrix<double> phi(data.n, map.n_features() + 1);
    Matrix<double> features(data.n, map.n_features());
    evaluate(map, data.X, View<double>(features), {});
    phi << features, Vector<double>::Ones(data.n);
    Matrix<double> penalty = alpha * Matrix<double>::Identity(phi.cols(), phi.cols());
    penalty(phi.cols() - 1, phi.cols() - 1) = 0;
    const auto folds = folds_of(options, data.n);
    for (std::size_t k = 0; k < folds.size(); ++k) {
      const Matrix<double> A = phi(folds[k].train, Eigen::all), Y = data.Y(folds[k].train, Eigen::all);
      const Vector<double> w = data.w(folds[k].train);
      const Eigen::MatrixXd normal = A.transpose() * w.asDiagonal() * A + penalty;
      const Eigen::MatrixXd right = A.transpose() * w.asDiagonal() * Y;
      const Matrix<double> theta = normal.ldlt().solve(right);
      const Matrix<double> Z = phi(folds[k].test, Eigen::all), expected = data.Y(folds[k].test, Eigen::all);
      const double loss = mean_squared(Z * theta, expected, data.w(folds[k].test));
      EXPECT_NEAR(result.validation.trials[0].fold_losses[k], loss, 1e-8 * loss) << sketch_name(which);
    }
  }
}

// Losses other than the squared one, and several parameters of them, are measured by one loss.
TEST(Tune, LossParametersAreComparedByOneMeasure) {
  const Data data(40, 1);
  TuneOptions options = small_options("fourier");
  options.fit.loss = Huber(1);
  options.losses = {Huber(0.1), Huber(1)};
  options.length_scales = {1};
  options.alphas = {0.1, 1};
  const auto result = cross_validate(*std::make_unique<MemoryRows<double>>(data.X, data.Y), options);
  ASSERT_EQ(result.trials.size(), 4);
  const auto folds = folds_of(options, data.n);
  for (const Trial& trial : result.trials) {
    FitOptions fit = options.fit;
    fit.kernel = trial.kernel;
    fit.alpha = trial.alpha;
    fit.loss = trial.loss;
    const Matrix<double> X = data.X(folds[1].train, Eigen::all), Y = data.Y(folds[1].train, Eigen::all);
    const auto machine = KernelMachine<double>::fit(X, Y, fit);
    double sum = 0;
    for (const Index i : folds[1].test)
      sum += Huber(1).value(std::abs(machine.predict(data.X.row(i))(0) - data.Y(i, 0)));
    EXPECT_NEAR(trial.fold_losses[1], sum / static_cast<double>(folds[1].test.size()), 1e-12);
  }
  EXPECT_EQ(std::get<Huber>(result.chosen.loss), std::get<Huber>(result.trials[result.best].loss));

  options.measure = Absolute();
  const auto by_error = cross_validate(*std::make_unique<MemoryRows<double>>(data.X, data.Y), options);
  EXPECT_GT(by_error.trials[0].mean, result.trials[0].mean);  // |r| > huber(r) for small r
}

TEST(Tune, JointQuantilesRepeatTheTarget) {
  const Data data(40, 1);
  TuneOptions options = small_options("fourier");
  options.fit.loss = Pinball({0.1, 0.5, 0.9});
  options.length_scales = {1};
  options.alphas = {0.1};
  const auto result = tune<double>(data.X, data.Y, options);
  EXPECT_EQ(result.machine.dim_out(), 3);
  EXPECT_GT(result.validation.trials[0].mean, 0);
}

// Means, scales and the median are those of all rows; what is missing is filled; a float machine is tuned in double.
TEST(Tune, InputsAreScaledAndFilledOnce) {
  Data data;
  data.X.col(1) *= 100;
  TuneOptions options = small_options("fourier");
  options.fit.scale_inputs = true;
  const auto scaled = tune<double>(data.X, data.Y, options);
  const Matrix<double> centred = data.X.rowwise() - data.X.colwise().mean();
  Data prepared = data;
  prepared.X = centred.array().rowwise() / (centred.colwise().squaredNorm() / double(data.n)).cwiseSqrt().array();
  options.fit.scale_inputs = false;
  const auto plain = tune<double>(prepared.X, data.Y, options);
  options.fit.scale_inputs = options.fit.fill_missing = true;
  const Matrix<float> X = data.X.cast<float>(), Y = data.Y.cast<float>();
  const auto single = tune<float>(X, Y, options);
  for (std::size_t i = 0; i < plain.validation.trials.size(); ++i) {
    const double expected = plain.validation.trials[i].mean;
    EXPECT_NEAR(scaled.validation.trials[i].mean, expected, 1e-9 * expected);
    EXPECT_NEAR(single.validation.trials[i].mean, expected, 1e-4 * expected);
  }
  EXPECT_TRUE(scaled.machine.record().scale_inputs);
  EXPECT_EQ(scaled.machine.record().alpha, scaled.validation.trials[scaled.validation.best].alpha);

  Matrix<double> holes = data.X;
  holes(3, 0) = std::nan("");
  EXPECT_TRUE(std::isfinite(tune<double>(holes, data.Y, options).validation.trials[0].mean));
}

// Rows of weight 0 are not there at all.
TEST(Tune, WeightZeroIsARemovedRow) {
  Data data(30, 1);
  Vector<double> w = Vector<double>::Ones(30);
  w.tail(5).setZero();
  data.Y.bottomRows(5).setConstant(1e6);
  TuneOptions options = small_options("exact");
  const auto with = tune<double>(data.X, data.Y, options, w.data());
  const auto without = tune<double>(data.X.topRows(25), data.Y.topRows(25), options);
  for (std::size_t i = 0; i < with.validation.trials.size(); ++i) {
    EXPECT_DOUBLE_EQ(with.validation.trials[i].mean, without.validation.trials[i].mean);
  }
}

}  // namespace
}  // namespace carmina::tune_test
