// tests/models/tune_grid_test.cpp -- what `tune` tries, how it reports and stops, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/data/splits.hpp>

#include "tune_data.hpp"

namespace carmina {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::small_options;
using Data = testing::TuneData;

TEST(TuneGrid, TriesTheWholeGridAndSaysWhereItEnds) {
  const Data data(50, 1);
  TuneOptions options = small_options("fourier");
  options.width_factors = {0.25, 0.5, 1, 2, 4};
  options.alphas = default_alphas(Squared());
  const auto result = tune<double>(data.X, data.Y, options).validation;
  EXPECT_EQ(result.trials.size(), 5 * 17);
  EXPECT_DOUBLE_EQ(result.trials[0].alpha, 1e-6);
  EXPECT_DOUBLE_EQ(result.trials[16].alpha, 100);
  EXPECT_EQ(default_alphas(Huber()).size(), 7);
  options.alphas = {10, 1e5};
  EXPECT_THAT(tune<double>(data.X, data.Y, options).validation.message,
              HasSubstr("the best alpha, 10, is the smallest tried"));
  options.length_scales = {0.5};
  EXPECT_EQ(tune<double>(data.X, data.Y, options).validation.message, "the best alpha, 10, is the smallest tried");
  options.alphas = {10};
  EXPECT_EQ(tune<double>(data.X, data.Y, options).validation.message, "");
}

// Lists that nobody gave begin as that grid, and what they go on to is tried beside the best.
TEST(TuneGrid, GoesOnWhereTheBestIsAtAnEnd) {
  const Data data(60, 1);
  TuneOptions options = small_options("exact");
  options.width_factors = {0.25, 0.5, 1, 2, 4};
  options.alphas = default_alphas(Squared());
  const auto given = tune<double>(data.X, data.Y, options).validation;
  options.width_factors.clear();
  options.alphas.clear();
  const auto open = tune<double>(data.X, data.Y, options).validation;
  ASSERT_GE(open.trials.size(), given.trials.size());
  for (std::size_t i = 0; i < given.trials.size(); ++i) {
    EXPECT_EQ(open.trials[i].fold_losses, given.trials[i].fold_losses);
    EXPECT_EQ(open.trials[i].kernel, given.trials[i].kernel);
  }
  EXPECT_EQ(open.trials.size() > given.trials.size(), !given.message.empty());
  EXPECT_LE(open.trials[open.best].mean, given.trials[given.best].mean);

  // A fast wave without noise wants a narrow kernel and a small alpha.
  Matrix<double> X(200, 1);
  for (Index i = 0; i < 200; ++i) X(i, 0) = static_cast<double>(i) / 200;
  const Matrix<double> Y = (60 * X.array()).sin();
  for (const auto by : {std::optional<AlphaScore>(), std::optional(AlphaScore::leave_one_out)}) {
    options.by = by;
    options.alphas = {1e-4};
    options.width_factors.clear();
    const auto narrow = tune<double>(X, Y, options).validation;
    EXPECT_LT(narrow.trials[narrow.best].width_factor, 0.25);
    EXPECT_GE(narrow.trials[narrow.best].width_factor, 0.25 / 64);
    EXPECT_EQ(narrow.trials.back().alpha, 1e-4);
    EXPECT_EQ(narrow.message, "");
    options.alphas.clear();
    options.width_factors = {0.1};
    const auto small = tune<double>(X, Y, options).validation;
    EXPECT_LT(small.trials[small.best].alpha, 0.99e-6);
    EXPECT_GT(small.trials[small.best].alpha, 0.99e-10);
    EXPECT_EQ(small.trials.back().width_factor, 0.1);
  }
}

TEST(TuneGrid, GroupsAreLeftOutTogether) {
  const Data data(40, 2);
  TuneOptions options = small_options("fourier");
  options.fit.scale_inputs = true;
  options.folds = 4;
  for (Index i = 0; i < 40; ++i) options.groups.push_back(i * 7 % 10);
  const auto found = tune<double>(data.X, data.Y, options).validation;
  options.groups.clear();
  EXPECT_NE(tune<double>(data.X, data.Y, options).validation.trials[0].fold_losses, found.trials[0].fold_losses);
  // Groups of one row are rows, in the order of their numbers.
  for (Index i = 0; i < 40; ++i) options.groups.push_back(100 - i);
  EXPECT_EQ(tune<double>(data.X, data.Y, options).validation.trials.size(), found.trials.size());
  // A row of weight 0 keeps its number.
  Vector<double> weights = Vector<double>::Ones(40);
  weights[0] = weights[7] = 0;
  const auto weighted = tune<double>(data.X, data.Y, options, weights.data()).validation;
  EXPECT_TRUE(std::isfinite(weighted.trials[0].mean));
}

// Rows left out one by one are folds of one row each.
TEST(TuneGrid, LeaveOneOutIsAFoldForEachRow) {
  const Data data(40, 2);
  for (const char* approximation : {"fourier", "exact"}) {
    for (const double* w : {static_cast<const double*>(nullptr), data.w.data()}) {
      TuneOptions options = small_options(approximation);
      options.fit.scale_inputs = true;
      options.folds = 40;
      const auto folds = tune<double>(data.X, data.Y, options, w).validation;
      options.by = AlphaScore::leave_one_out;
      const auto result = tune<double>(data.X, data.Y, options, w);
      const auto& trials = result.validation.trials;
      ASSERT_EQ(trials.size(), folds.trials.size());
      for (std::size_t i = 0; i < trials.size(); ++i) {
        double sum = 0, weight = 0;  // folds count by their weight here
        const auto cut = k_fold(40, 40, options.fit.seed);
        for (std::size_t k = 0; k < 40; ++k) {
          const double own = w ? w[cut[k].test[0]] : 1.0;
          sum += own * folds.trials[i].fold_losses[k];
          weight += own;
        }
        EXPECT_NEAR(trials[i].mean, sum / weight, 1e-7 * sum / weight) << approximation;
        EXPECT_EQ(trials[i].alpha, folds.trials[i].alpha);
        EXPECT_EQ(trials[i].kernel, folds.trials[i].kernel);
        EXPECT_TRUE(trials[i].fold_losses.empty());
        EXPECT_LE(trials[result.validation.best].mean, trials[i].mean);
      }
      EXPECT_EQ(result.machine.record().alpha, trials[result.validation.best].alpha);
    }
  }
}

TEST(TuneGrid, ResultsDoNotDependOnThreads) {
  const Data data;
  TuneOptions options = small_options("fourier");
  options.fit.execution.threads = 1;
  const auto one = tune<double>(data.X, data.Y, options).validation;
  options.fit.execution.threads = 3;
  const auto three = tune<double>(data.X, data.Y, options).validation;
  for (std::size_t i = 0; i < one.trials.size(); ++i) EXPECT_EQ(one.trials[i].fold_losses, three.trials[i].fold_losses);
}

TEST(TuneGrid, ReportsProgressAndStops) {
  const Data data(40, 1);
  TuneOptions options = small_options("fourier");
  std::vector<Index> done;
  options.fit.execution.progress = [&](const Progress& at) {
    if (at.phase != "tuning") return;
    EXPECT_EQ(at.total, 3 * 3 * 4);
    done.push_back(at.done);
  };
  tune<double>(data.X, data.Y, options);
  EXPECT_THAT(done, ElementsAre(3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36));
  options.fit.execution.should_stop = [] { return true; };
  EXPECT_THROW(tune<double>(data.X, data.Y, options), Cancelled);
}

TEST(TuneGrid, RefusesWhatCannotBeTried) {
  const Data data(20, 1);
  const auto says = [&](auto change) {
    TuneOptions options = small_options("exact");
    change(options);
    try {
      tune<double>(data.X, data.Y, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(says([](auto& o) { o.alphas = {1, 0}; }), "tune: alphas must be positive and finite, found 0");
  EXPECT_EQ(says([](auto& o) { o.length_scales = {-1}; }), "tune: length_scales must be positive and finite, found -1");
  EXPECT_EQ(says([](auto& o) { o.folds = 21; }), "tune: the number of folds must be from 2 to the 20 rows, found 21");
  EXPECT_EQ(says([](auto& o) { o.groups = {1, 2}; }),
            "tune: groups must have a number for each of the 20 rows, found 2");
  EXPECT_EQ(says([](auto& o) { o.groups.assign(21, 1); }),
            "tune: groups must have a number for each of the 20 rows, found 21");
  EXPECT_EQ(says([](auto& o) {
              o.groups.assign(20, 1);
              o.groups[3] = 2;
              o.folds = 3;
            }),
            "k_fold: the number of folds must be from 2 to the 2 groups, found 3");
  EXPECT_EQ(says([](auto& o) {
              o.groups.assign(20, 1);
              o.contiguous = true;
            }),
            "tune: groups are for folds, in the place of contiguous ones");
  EXPECT_EQ(says([](auto& o) { o.folds = 1; }), "tune: the number of folds must be from 2 to the 20 rows, found 1");
  EXPECT_THAT(says([](auto& o) {
                o.fit.kernel = Kernel(Gaussian(1.0)) + Kernel(Cauchy(1.0));
                o.length_scales = {1};
              }),
              HasSubstr("takes width_factors"));
  EXPECT_EQ(says([](auto& o) {
              o.fit.kernel_name = "polynomial";
              o.length_scales = {1};
            }),
            "tune: the polynomial kernel has no length scale");
  EXPECT_EQ(says([](auto& o) { o.fit.kernel_name = "polynomial"; }), "nothing");
  EXPECT_EQ(says([](auto& o) {
              o.by = AlphaScore::gcv;
              o.fit.loss = Huber(1);
            }),
            "tune: rows left out one by one, and gcv, are for the squared loss alone; other losses take folds");
  EXPECT_EQ(says([](auto& o) { o.folds = 20; }), "nothing");  // each row alone
  const std::string sentence =
      format_text("tune: row 1: with loss 'hinge' a target must be -1 or 1, found {}", data.Y(0, 0));
  EXPECT_EQ(says([](auto& o) { o.fit.loss = Hinge(); }), sentence);
  EXPECT_EQ(says([](auto& o) { o.losses = {Squared(), Hinge()}; }), sentence);
  EXPECT_EQ(says([](auto& o) { o.measure = Hinge(); }), sentence);
  EXPECT_EQ(says([](auto& o) {
              o.fit.loss = Hinge();
              o.losses = {Squared()};
            }),
            "nothing");
}

}  // namespace
}  // namespace carmina
