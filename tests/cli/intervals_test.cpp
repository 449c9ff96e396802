// tests/cli/intervals_test.cpp -- deviations and intervals by the program, against those of the library.
#include <carmina/models/posterior.hpp>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace carmina::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class Intervals : public ::testing::Test {
 protected:
  Intervals() {
    write_table(at("train.csv"), friedman_names, train_);
    write_table(at("test.csv"), friedman_names, test_);
    write_table(at("train.npy"), {}, train_);
    write_table(at("test.npy"), {}, test_);
  }
  std::string at(const std::string& name) const { return folder_.path(name); }
  std::vector<std::string> fit(const std::string& model, const std::vector<std::string>& more,
                               const std::string& data = "train.csv", const std::string& targets = "y1,y2") const {
    std::vector<std::string> words = {"fit",      at(data),   "--targets",      targets,   "--model",      at(model),
                                      "--kernel", "gaussian", "--length-scale", "2",       "--components", "40",
                                      "--alpha",  "0.1",      "--scale",        "standard"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  KernelMachine<double> machine(const std::string& approximation) const {
    FitOptions options;
    options.approximation = approximation;
    options.kernel_name = "gaussian";
    options.length_scale = 2.0;
    options.n_components = 40;
    options.alpha = 0.1;
    options.scale_inputs = true;
    options.keep_moments = true;
    return KernelMachine<double>::fit(train_.leftCols(5), train_.rightCols(2), options);
  }

  const TempDir folder_;
  const Matrix<double> train_ = friedman_table(200, 1), test_ = friedman_table(30, 2);
};

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

TEST_F(Intervals, SamplesAreThoseOfTheLibrary) {
  const Matrix<double> X = test_.leftCols(5);
  for (const std::string approximation : {"fourier", "exact"}) {
    run_well(fit("model", {"--approximation", approximation, "--variances"}));
    run_well({"predict", at("model"), at("test.csv"), "--out", at("s.csv"), "--samples", "3", "--seed", "7"});
    const Table found = read_table(at("s.csv"));
    EXPECT_EQ(names_of(found), (std::vector<std::string>{"y1_1", "y2_1", "y1_2", "y2_2", "y1_3", "y2_3"}));
    const auto expected = Posterior<double>(machine(approximation)).sample(X, 3, 7);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_LT((found.values.middleCols(2 * static_cast<Index>(s), 2) - expected[s]).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
  EXPECT_THAT(run_badly({"predict", at("model"), at("test.csv"), "--out", at("s.csv"), "--samples", "2", "--std"}),
              HasSubstr("--samples excludes"));
  EXPECT_THAT(run_badly({"predict", at("model"), at("test.csv"), "--out", at("s.csv"), "--samples", "-1"}),
              HasSubstr("--samples must be at least 1, found -1"));
  run_well(fit("bare", {"--approximation", "fourier"}));
  EXPECT_THAT(run_badly({"predict", at("bare"), at("test.csv"), "--out", at("s.csv"), "--samples", "2"}),
              HasSubstr("--samples: "));
}

TEST_F(Intervals, AreThoseOfTheLibrary) {
  for (const std::string approximation : {"fourier", "exact"}) {
    run_well(fit("model", {"--approximation", approximation, "--variances"}));
    const auto expected = machine(approximation);
    const Posterior<double> posterior(expected);
    const Matrix<double> X = test_.leftCols(5);
    for (const bool joint : {false, true}) {
      std::vector<std::string> words = {"predict",   at("model"), at("test.csv"), "--out",
                                        at("p.csv"), "--std",     "--interval",   "0.9"};
      if (joint) words.emplace_back("--joint");
      run_well(words);
      const Table found = read_table(at("p.csv"));
      EXPECT_EQ(names_of(found),
                (std::vector<std::string>{"y1", "y2", "y1_std", "y2_std", "y1_low", "y1_high", "y2_low", "y2_high"}));
      EXPECT_LT((found.values.leftCols(2) - expected.predict(X)).cwiseAbs().maxCoeff(), 1e-8);
      EXPECT_LT((found.values.middleCols(2, 2) - posterior.deviation(X)).cwiseAbs().maxCoeff(), 1e-8);
      EXPECT_LT((found.values.rightCols(4) - posterior.interval(X, 0.9, joint)).cwiseAbs().maxCoeff(), 1e-8);
    }
    run_well({"predict", at("model"), at("test.csv"), "--out", at("p.csv"), "--interval", "0.9"});
    EXPECT_EQ(names_of(read_table(at("p.csv"))),
              (std::vector<std::string>{"y1", "y2", "y1_low", "y1_high", "y2_low", "y2_high"}));
    const Json about = Json::parse(run_well({"info", at("model"), "--json"}));
    EXPECT_NEAR(about["fit"]["noise"][1].get<double>(), expected.record().noise[1], 1e-8);
    EXPECT_EQ(about["fit"]["intervals"], true);
    EXPECT_THAT(run_well({"info", at("model")}),
                AllOf(HasSubstr("noise          variance "), HasSubstr("; deviations and intervals are known")));
  }
}

// Tables without names, in float.
TEST_F(Intervals, OfTablesWithoutNames) {
  run_well(fit("model", {"--variances", "--float32"}, "train.npy", "2"));
  run_well({"predict", at("model"), at("test.npy"), "--out", at("p.npy"), "--interval", "0.9"});
  const Matrix<double> found = read_table(at("p.npy")).values;
  ASSERT_EQ(found.cols(), 6);
  EXPECT_TRUE((found.col(2).array() < found.col(0).array()).all());
  EXPECT_TRUE((found.col(0).array() < found.col(3).array()).all());
}

TEST_F(Intervals, AreRefusedInOneSentence) {
  const auto predict = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict", at("model"), at("test.csv"), "--out", at("p.csv")};
    words.insert(words.end(), more.begin(), more.end());
    return run_badly(words);
  };
  run_well(fit("model", {}));
  EXPECT_THAT(predict({"--interval", "0.9"}),
              AllOf(HasSubstr("--interval: a model file with approximation 'fourier'"), HasSubstr("--variances")));
  EXPECT_THAT(run_well({"info", at("model")}), HasSubstr("noise          variance "));
  run_well(fit("model", {"--variances"}));
  EXPECT_THAT(predict({"--interval", "1"}), HasSubstr("coverage must be above 0 and at most 0.9999"));
  EXPECT_THAT(predict({"--joint"}), HasSubstr("--joint is for --interval"));
  EXPECT_THAT(run_badly(fit("new", {"--variances", "--solver", "cg"})),
              HasSubstr("--variances: solver must be 'auto' or 'direct', found 'cg'"));
  EXPECT_THAT(run_badly(fit("new", {"--variances", "--loss", "huber"})),
              HasSubstr("--variances: it is for the squared loss, found loss 'huber'"));
  EXPECT_THAT(run_badly(fit("new", {"--variances", "--approximation", "sparse_rademacher"})),
              AllOf(HasSubstr("--variances: it is for approximation 'auto', 'fourier' and 'exact'"),
                    HasSubstr("found 'sparse_rademacher'")));
  EXPECT_THAT(run_badly(fit("new", {"--variances", "--approximation", "sub_sample", "--operator", "curl-free"})),
              HasSubstr("for 'sub_sample' with outputs that are separable, found 'sub_sample'"));
}

}  // namespace
}  // namespace carmina::testing
