// tests/cli/classes_test.cpp -- classes from the command line: the logistic loss, probabilities, log loss and accuracy.
#include <carmina/models/kernel_machine.hpp>

#include <nlohmann/json.hpp>

#include <cmath>

#include "program.hpp"
#include "support/given_numbers.hpp"

namespace carmina::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ClassCommands : public ::testing::Test {
 protected:
  // Three classes by the size of a target, as columns of 0 and 1; and whether it is the first, as -1 and 1.
  ClassCommands() : X_(friedman_table(150, 1).leftCols(5)), Y_(Matrix<double>::Zero(150, 3)), sign_(150, 1) {
    const Matrix<double> table = friedman_table(150, 1);
    for (Index i = 0; i < 150; ++i) {
      const double y = table(i, 5);
      Y_(i, y < 12 ? 0 : y < 17 ? 1 : 2) = 1;
      sign_(i, 0) = Y_(i, 0) == 1 ? 1 : -1;
    }
    Matrix<double> three(150, 8), one(150, 6);
    three << X_, Y_;
    one << X_, sign_;
    write_table(three_, {"x1", "x2", "x3", "x4", "x5", "low", "middle", "high"}, three);
    write_table(one_, {"x1", "x2", "x3", "x4", "x5", "cold"}, one);
  }
  void fit(const std::string& table, const std::string& targets, const std::string& loss = "logistic") {
    run_well({"fit",      table,      "--targets",      targets,   "--model",         model_,    "--loss",       loss,
              "--kernel", "gaussian", "--length-scale", "2",       "--approximation", "fourier", "--components", "40",
              "--alpha",  "0.5",      "--scale",        "standard"});
  }
  static KernelMachine<double> same_fit(const Matrix<double>& X, const Matrix<double>& Y) {
    FitOptions options = given_numbers();
    options.kernel = Kernel(Gaussian(2.0));
    options.n_components = 40;
    options.alpha = 0.5;
    options.scale_inputs = true;
    options.loss = Logistic{};
    return KernelMachine<double>::fit(X, Y, options);
  }
  static std::vector<std::string> names(const Table& table) {
    std::vector<std::string> all;
    for (const Column& column : table.columns) all.push_back(column.name);
    return all;
  }

  TempDir folder_;
  const std::string three_ = folder_.path("three.csv"), one_ = folder_.path("one.csv"), model_ = folder_.path("m"),
                    out_ = folder_.path("p.csv");
  Matrix<double> X_, Y_, sign_;
};

TEST_F(ClassCommands, ProbabilitiesOfEachClass) {
  fit(three_, "3");
  run_well({"predict", model_, three_, "--out", out_, "--probabilities"});
  const Table found = read_table(out_);
  EXPECT_EQ(names(found), (std::vector<std::string>{"low", "middle", "high"}));
  EXPECT_LT((found.values - same_fit(X_, Y_).probabilities(X_)).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_LT((found.values.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-9);
}

TEST_F(ClassCommands, ProbabilitiesOfTwoClasses) {
  fit(one_, "cold");
  run_well({"predict", model_, one_, "--out", out_, "--probabilities"});
  const Table found = read_table(out_);
  EXPECT_EQ(names(found), (std::vector<std::string>{"cold=-1", "cold=1"}));
  EXPECT_LT((found.values - same_fit(X_, sign_).probabilities(X_)).cwiseAbs().maxCoeff(), 1e-9);
}

TEST_F(ClassCommands, EvaluateTellsLogLossAndAccuracy) {
  fit(three_, "3");
  const Matrix<double> P = same_fit(X_, Y_).probabilities(X_);
  double loss = 0, right = 0;
  for (Index i = 0; i < 150; ++i) {
    Index own = 0, likeliest = 0;
    Y_.row(i).maxCoeff(&own);
    P.row(i).maxCoeff(&likeliest);
    loss -= std::log(P(i, own)) / 150;
    right += own == likeliest ? 1.0 / 150 : 0;
  }
  const Json report = Json::parse(run_well({"evaluate", model_, three_, "--json"}));
  EXPECT_NEAR(report["log_loss"], loss, 1e-9);
  EXPECT_NEAR(report["accuracy"], right, 1e-12);
  EXPECT_NEAR(report["average"]["loss"], loss, 1e-9);
  EXPECT_THAT(run_well({"evaluate", model_, three_}), HasSubstr("log loss "));
}

TEST_F(ClassCommands, OtherModelsHaveNoProbabilities) {
  fit(three_, "3", "squared");
  EXPECT_THAT(run_badly({"predict", model_, three_, "--out", out_, "--probabilities"}),
              HasSubstr("--probabilities: probabilities are known for the logistic loss and for calibrated scores"));
  EXPECT_FALSE(Json::parse(run_well({"evaluate", model_, three_, "--json"})).contains("log_loss"));
}

TEST_F(ClassCommands, TargetsThatAreNoClasses) {
  EXPECT_THAT(run_badly({"fit", three_, "--targets", "2", "--model", model_, "--loss", "logistic", "--components", "20",
                         "--alpha", "1"}),
              HasSubstr("with loss 'logistic' the targets of a row must be 0 but for a single 1, found 0 0"));
}

}  // namespace
}  // namespace carmina::testing
