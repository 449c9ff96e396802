// tests/cli/tune_test.cpp -- `carmina tune` against the library: the trials it prints and the model it writes.
#include <carmina/models/tune.hpp>

#include <nlohmann/json.hpp>

#include <support/given_numbers.hpp>
#include "program.hpp"

namespace carmina::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class TuneProgram : public ::testing::Test {
 protected:
  TuneProgram() {
    write_table(table_, friedman_names, all_);
    options_.fit = given_numbers();
    options_.fit.n_components = 40;
    options_.fit.scale_inputs = true;
    options_.alphas = {1e-3, 0.1, 10};
    options_.length_scales = {0.5, 2, 40};
    options_.folds = 4;
  }
  Words words(const Words& more) const {
    Words all = {"tune", table_, "--targets", "2", "--model", model_, "--components", "40"};
    all.insert(all.end(), more.begin(), more.end());
    return with_numbers(all);
  }
  Words grid(Words more) const {
    const Words lists = {"--alphas", "0.001,0.1,10", "--length-scales", "0.5,2,40", "--folds", "4"};
    more.insert(more.end(), lists.begin(), lists.end());
    return words(more);
  }
  // What it prints; a small grid may end at its best value, and then it warns.
  static std::string tuned(const Words& all) {
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(outcome.err.empty() || outcome.err.starts_with("carmina: warning: the best ")) << outcome.err;
    return outcome.out;
  }
  TuneResult<double> expected() const { return tune<double>(all_.leftCols(5), all_.rightCols(2), options_); }
  // Predictions of the model written are those of the library's.
  void expect_model(const TuneResult<double>& result) {
    run_well({"predict", model_, table_, "--out", folder_.path("p.npy")});
    const Matrix<double> predicted = read_table(folder_.path("p.npy")).values;
    EXPECT_LT((predicted - result.machine.predict(all_.leftCols(5))).cwiseAbs().maxCoeff(), 1e-8);
  }

  TempDir folder_;
  const std::string table_ = folder_.path("t.csv"), model_ = folder_.path("m");
  const Matrix<double> all_ = friedman_table(150, 3);
  TuneOptions options_;
};

TEST_F(TuneProgram, WritesTheBestModelAndPrintsItsTrials) {
  const std::string said = tuned(grid({}));
  const auto result = expected();
  expect_model(result);
  const Trial& best = result.validation.trials[result.validation.best];
  EXPECT_THAT(said,
              HasSubstr("150 rows, 5 inputs, 2 targets; gaussian kernel, 40 Fourier features; 9 trials on 4 folds"));
  EXPECT_THAT(said, HasSubstr(format_text("\n{:>14} {:>12} {:>14} {:>12}\n{:>14.6g} {:>12.6g} {:>14.6g} {:>12.3g}\n",
                                          "length scale", "alpha", "left-out loss", "std",
                                          length_scale_values(best.kernel.terms()[0].scalar)[0], best.alpha, best.mean,
                                          best.deviation)));
  EXPECT_THAT(said, HasSubstr("\nwrote " + model_));
  EXPECT_THAT(said, Not(HasSubstr("worse")));
}

TEST_F(TuneProgram, JsonHasAllTrialsBestFirst) {
  options_.contiguous = true;
  const Json about = Json::parse(tuned(grid({"--contiguous", "--json"})));
  const auto result = expected().validation;
  EXPECT_EQ(about["folds"], 4);
  EXPECT_EQ(about["contiguous"], true);
  EXPECT_EQ(about["rows"], 150);
  ASSERT_EQ(about["trials"].size(), 9);
  const Trial& best = result.trials[result.best];
  EXPECT_EQ(about["trials"][0]["alpha"], best.alpha);
  EXPECT_NEAR(about["trials"][0]["mean"].get<double>(), best.mean, 1e-9 * best.mean);
  EXPECT_EQ(about["trials"][0]["folds"].size(), 4);
  EXPECT_EQ(about["trials"][0]["loss"]["name"], "squared");
  for (std::size_t i = 1; i < 9; ++i) EXPECT_LE(about["trials"][i - 1]["mean"], about["trials"][i]["mean"]);
}

TEST_F(TuneProgram, TenOfManyTrialsAreShown) {
  const std::string said = tuned(words({"--folds", "3"}));
  EXPECT_THAT(said, HasSubstr("; 85 trials on 3 folds"));
  EXPECT_THAT(said, HasSubstr("\nand 75 worse ones; --json prints all\n"));
}

TEST_F(TuneProgram, TakesTheOptionsOfAFit) {
  options_.fit.approximation = "exact";
  options_.fit.kernel_name = "matern";
  options_.fit.coupling = TargetCovariance{};
  options_.fit.scale_inputs = options_.fit.fit_intercept = false;
  tuned(grid({"--approximation", "exact", "--kernel", "matern", "--output-matrix", "covariance", "--no-scale",
              "--no-intercept"}));
  expect_model(expected());
  tuned(grid({"--float32"}));
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("float32"));
  tuned(grid({"--approximation", "sub_sample"}));
}

TEST_F(TuneProgram, TriesLossParameters) {
  options_.fit.loss = Huber(1);
  options_.losses = {Huber(0.5), Huber(3)};
  const std::string said = tuned(grid({"--loss", "huber", "--kappas", "0.5,3"}));
  const auto result = expected();
  expect_model(result);
  EXPECT_THAT(said, HasSubstr("std  loss\n"));
  EXPECT_THAT(said, HasSubstr("  huber (kappa 0.5)\n"));
}

TEST_F(TuneProgram, WarnsOfABestValueAtTheEndOfItsList) {
  const Outcome outcome = run(words({"--alphas", "0.1,1000", "--length-scales", "2"}));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "carmina: warning: the best alpha, 0.1, is the smallest tried\n");
}

TEST_F(TuneProgram, LearnsByEvidence) {
  const std::string said = run_well(words({"--by", "evidence"}));
  EXPECT_THAT(said, HasSubstr("learnt by evidence: alpha, the variance of the noise, "));
  EXPECT_THAT(run_well({"info", model_, "--json"}), HasSubstr("\"evidence\": -"));
  const std::string json = run_well(words({"--by", "evidence", "--json"}));
  EXPECT_THAT(json, HasSubstr("\"by\": \"evidence\""));
}

TEST_F(TuneProgram, ScoresRowsLeftOutOneByOne) {
  options_.by = AlphaScore::leave_one_out;
  const std::string said =
      tuned(words({"--alphas", "0.001,0.1,10", "--length-scales", "0.5,2,40", "--by", "leave-one-out"}));
  const auto result = expected();
  expect_model(result);
  const Trial& best = result.validation.trials[result.validation.best];
  EXPECT_THAT(said, HasSubstr("; 9 trials by leave-one-out, "));
  EXPECT_THAT(said,
              HasSubstr(format_text("\n{:>14} {:>12} {:>14}\n{:>14.6g} {:>12.6g} {:>14.6g}\n", "length scale", "alpha",
                                    "left-out loss", length_scale_values(best.kernel.terms()[0].scalar)[0], best.alpha,
                                    best.mean)));
  const Json about = Json::parse(tuned(words({"--by", "gcv", "--json"})));
  EXPECT_EQ(about["by"], "gcv");
  options_.by = AlphaScore::gcv;  // 5 widths and 20 alphas, and what follows at an end
  options_.length_scales.clear();
  options_.alphas.clear();
  const auto all = expected().validation.trials;
  EXPECT_GE(all.size(), 100U);
  EXPECT_EQ(about["trials"].size(), all.size());
  EXPECT_FALSE(about.contains("folds"));
}

TEST_F(TuneProgram, RefusesInOneLineAndWritesNothing) {
  const auto says = [&](const Words& more, int status = 1) {
    const std::string line = run_badly(words(more), status);
    EXPECT_FALSE(std::filesystem::exists(model_));
    return line;
  };
  EXPECT_THAT(says({"--by", "evidence", "--alphas", "1"}), HasSubstr("lists of values to try are for --by cv"));
  EXPECT_THAT(says({"--by", "evidence", "--loss", "huber"}), HasSubstr("alpha 'evidence' is for the squared loss"));
  EXPECT_THAT(says({"--by", "gcv", "--loss", "huber"}), HasSubstr("are for the squared loss alone"));
  EXPECT_THAT(says({"--by", "luck"}), HasSubstr("--by: 'luck' is not known here"));
  EXPECT_THAT(says({"--alphas", "1,-2"}), HasSubstr("alphas must be positive and finite, found -2"));
  EXPECT_THAT(says({"--folds", "1"}), HasSubstr("the number of folds must be from 2 to the 150 rows, found 1"));
  EXPECT_THAT(says({"--kappas", "1"}), HasSubstr("kappa"));
  EXPECT_THAT(says({"--kernel", "polynomial", "--approximation", "exact", "--length-scales", "1"}),
              HasSubstr("the polynomial kernel has no length scale"));
  says({"--alphas", "one"}, 2);
  says({"--alpha", "1"}, 2);
}

}  // namespace
}  // namespace carmina::testing
