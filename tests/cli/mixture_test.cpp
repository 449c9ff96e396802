// tests/cli/mixture_test.cpp -- spectral mixtures from tables: fit, predict with deviations, evaluate, info, tune,
// against the library called directly.
#include <carmina/models/posterior.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include <support/given_numbers.hpp>
#include "program.hpp"

namespace carmina::testing {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

namespace {

// Time, and a series of two rhythms.
Matrix<double> series(Index first, Index n) {
  const Random random(3, 1);
  Matrix<double> table(n, 2);
  for (Index i = 0; i < n; ++i) {
    const double t = 0.1 * static_cast<double>(first + i), turn = 2 * std::numbers::pi;
    table(i, 0) = t;
    table(i, 1) = 4 + std::sin(turn * 0.3 * t) + 0.5 * std::cos(turn * 0.71 * t) +
                  0.1 * random.normal(static_cast<std::uint64_t>(first + i));
  }
  return table;
}

class MixtureCommands : public ::testing::Test {
 protected:
  MixtureCommands() {
    write_table(at("train.csv"), {"t", "y"}, train);
    write_table(at("test.csv"), {"t", "y"}, test);
  }
  std::string at(const std::string& name) const { return folder.path(name); }
  std::vector<std::string> fit(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"fit",      at("train.csv"),    "--targets",  "y", "--model",      at(model),
                                      "--kernel", "spectral_mixture", "--mixtures", "3", "--components", "40"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  SpectralMixtureOptions options() const {
    SpectralMixtureOptions o;
    o.n_mixtures = 3;
    o.n_components = 40;
    return o;
  }

  TempDir folder;
  const Matrix<double> train = series(0, 260), test = series(260, 70);
};

}  // namespace

TEST_F(MixtureCommands, FitPredictEvaluateInfo) {
  EXPECT_THAT(
      run_well(fit("model", {"--seed", "5"})),
      AllOf(HasSubstr("260 rows, 1 input, 1 target; spectral mixture of 3 components, 40 Fourier features; lbfgs"),
            HasSubstr("learnt by evidence: variance of the noise "), HasSubstr("wrote ")));
  SpectralMixtureOptions o = options();
  o.seed = 5;
  const auto machine = SpectralMixtureMachine::fit(train.leftCols(1), train.rightCols(1), o);
  const auto expected = machine.predict_observation(test.leftCols(1));

  EXPECT_EQ(run_well({"predict", at("model"), at("test.csv"), "--std", "--out", at("p.csv")}), "");
  const Table found = read_table(at("p.csv"));
  ASSERT_EQ(found.columns.size(), 2u);
  EXPECT_EQ(found.columns[0].name, "y");
  EXPECT_EQ(found.columns[1].name, "y_std");
  EXPECT_LT((found.values.col(0) - expected.mean).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LT((found.values.col(1) - expected.covariance.cwiseSqrt()).cwiseAbs().maxCoeff(), 1e-6);
  run_well({"predict", at("model"), at("test.csv"), "--out", at("p.npy")});
  EXPECT_EQ(read_table(at("p.npy")).values.cols(), 1);

  const Json report = Json::parse(run_well({"evaluate", at("model"), at("test.csv"), "--json"}));
  const double rmse = std::sqrt((expected.mean - test.rightCols(1)).squaredNorm() / 70);
  EXPECT_NEAR(report["targets"][0]["rmse"].get<double>(), rmse, 1e-6);
  EXPECT_LT(rmse, 0.4) << "a fit that learned nothing tests nothing";
  const double from_mean = (test.col(1).array() - train.col(1).mean()).square().sum();
  EXPECT_NEAR(report["targets"][0]["rrmse"].get<double>(), std::sqrt(rmse * rmse * 70 / from_mean), 1e-6);

  const Json about = Json::parse(run_well({"info", at("model"), "--json"}));
  EXPECT_EQ(about["type"], "spectral_mixture");
  EXPECT_EQ(about["mixture"]["weights"].size(), 3u);
  EXPECT_EQ(about["n_features"], 40);
  EXPECT_EQ(about["input_names"], Json::array({"t"}));
  EXPECT_EQ(about["target_names"], Json::array({"y"}));
  EXPECT_EQ(about["fit"]["rows"], 260);
  EXPECT_EQ(about["fit"]["seed"], 5);
  EXPECT_NEAR(about["fit"]["evidence"].get<double>(), machine.log_marginal_likelihood(), 1e-4);
  EXPECT_THAT(about["fit"]["memory"].get<std::string>(), HasSubstr("of 4 GB planned"));
  EXPECT_TRUE(about["fit"]["seconds"].contains("learning"));
  EXPECT_THAT(run_well({"info", at("model")}),
              AllOf(HasSubstr("spectral mixture, 3 components"), HasSubstr("log evidence"), HasSubstr("1 (t)")));
}

TEST_F(MixtureCommands, EveryInferenceAndOption) {
  for (const char* inference : {"exact", "inducing"}) {
    run(fit(inference, {"--inference", inference, "--max-iter", "10", "--inducing", "20"}));
    run_well({"predict", at(inference), at("test.csv"), "--std", "--out", at("p.npy")});
    EXPECT_EQ(read_table(at("p.npy")).values.cols(), 2);
    EXPECT_THAT(run_well({"info", at(inference)}), HasSubstr(inference));
  }
  const Outcome outcome = run(fit("some", {"--learning-rows",
                                           "100",
                                           "--float32",
                                           "--starts",
                                           "2",
                                           "--solver",
                                           "adam",
                                           "--max-iter",
                                           "20",
                                           "--learning-rate",
                                           "0.02",
                                           "--step-draws",
                                           "2",
                                           "--draws",
                                           "2",
                                           "--allocation",
                                           "equal",
                                           "--kl-copies",
                                           "one",
                                           "--parameterization",
                                           "general",
                                           "--family",
                                           "laplace"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json about = Json::parse(run_well({"info", at("some"), "--json"}));
  EXPECT_THAT(about["fit"]["reason"].get<std::string>(), HasSubstr("learnt from 100 of 260 rows"));
  EXPECT_EQ(about["mixture"]["family"], "laplace");
  EXPECT_EQ(about["mixture"]["start_evidences"].size(), 2u);
}

TEST_F(MixtureCommands, TuneChoosesTheNumberOfComponents) {
  std::vector<std::string> words = fit("tuned", {"--mixture-counts", "1,2,3", "--json"});
  words[0] = "tune";
  words.erase(std::find(words.begin(), words.end(), "--mixtures"));
  words.erase(std::find(words.begin(), words.end(), "3"));
  const Json report = Json::parse(run(words).out);
  ASSERT_EQ(report["trials"].size(), 3u);
  EXPECT_EQ(report["by"], "evidence");
  EXPECT_GE(report["trials"][0]["evidence"].get<double>(), report["trials"][1]["evidence"].get<double>());
  EXPECT_EQ(report["n_mixtures"], report["trials"][0]["n_mixtures"]);
  EXPECT_NEAR(report["evidence"].get<double>(), report["trials"][0]["evidence"].get<double>(), 1e-9);
  const Json about = Json::parse(run_well({"info", at("tuned"), "--json"}));
  EXPECT_EQ(about["mixture"]["weights"].size(), report["n_mixtures"].get<std::size_t>());
  words.insert(words.end(), {"--by", "cv"});
  EXPECT_THAT(run_badly(words), HasSubstr("a spectral mixture is chosen by evidence"));
}

TEST_F(MixtureCommands, WhatDoesNotGoTogetherIsRefused) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& message, int status = 1) {
    EXPECT_THAT(run_badly(fit("new", more), status), HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(at("new")));
  };
  refused({"--alpha", "3"}, "--alpha has no meaning with --kernel spectral_mixture");
  refused({"--loss", "huber"}, "--loss has no meaning");
  refused({"--fill-missing"}, "--fill-missing has no meaning");
  refused({"--inference", "guess"}, "inference must be 'fourier', 'exact', 'inducing' or 'auto', found 'guess'");
  refused({"--starts", "0"}, "starts must be at least 1");
  refused({"--learning-rows", "0"}, "--learning-rows must be at least 1, found 0");
  refused({"--learning-rows", "many"}, "--learning-rows", 2);
  refused({"--solver", "cg"}, "--solver: 'cg' is not known here");
  refused({"--operator", "curl-free", "--inference", "exact"}, "needs inference 'fourier'");
  refused({"--memory", "20k"}, "and the memory budget is 20 kB; even the smallest model needs");
  EXPECT_THAT(run_badly({"fit", at("train.csv"), "--targets", "y", "--model", at("new"), "--mixtures", "3"}),
              HasSubstr("--mixtures needs --kernel spectral_mixture"));
}

// Kernel machines: deviations where the file knows them.
TEST_F(MixtureCommands, DeviationsOfKernelMachines) {
  const std::vector<std::string> words = {"fit",     at("train.csv"), "--targets",    "y",
                                          "--model", at("k"),         "--components", "20",
                                          "--alpha", "0.1",           "--no-scale"};
  std::vector<std::string> exact = words;
  exact.insert(exact.end(), {"--approximation", "exact"});
  run_well(with_numbers(exact));
  run_well({"predict", at("k"), at("test.csv"), "--std", "--out", at("p.csv")});
  FitOptions o = given_numbers();
  o.approximation = "exact";
  o.alpha = 0.1;
  const auto machine = KernelMachine<double>::fit(train.leftCols(1), train.rightCols(1), o);
  const Table found = read_table(at("p.csv"));
  EXPECT_EQ(found.columns[1].name, "y_std");
  const Matrix<double> expected = Posterior<double>(machine).deviation(test.leftCols(1));
  EXPECT_LT((found.values.col(1) - expected).cwiseAbs().maxCoeff(), 1e-8);
  run_well(with_numbers(words));
  EXPECT_THAT(run_badly({"predict", at("k"), at("test.csv"), "--std", "--out", at("q.csv")}),
              HasSubstr("--std: a model file with approximation 'fourier' does not hold the sums"));
}

}  // namespace carmina::testing
