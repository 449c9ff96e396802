// tests/cli/quantiles_test.cpp -- quantiles of one target: fitted jointly, predicted, evaluated and described.
#include <carmina/models/kernel_machine.hpp>

#include <nlohmann/json.hpp>

#include <support/given_numbers.hpp>
#include "program.hpp"

namespace carmina::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class QuantileCommands : public ::testing::Test {
 protected:
  QuantileCommands() {
    all_ = friedman_table(120, 1).leftCols(6);
    write_table(table_, {"x1", "x2", "x3", "x4", "x5", "price"}, all_);
  }
  void fit(const std::string& table) {
    run_well(with_numbers({"fit", table, "--targets", "1", "--model", model_, "--components", "20", "--loss", "pinball",
                           "--levels", "0.1,0.5,0.9"}));
  }

  TempDir folder_;
  const std::string table_ = folder_.path("t.csv"), model_ = folder_.path("m"), out_ = folder_.path("p.csv");
  Matrix<double> all_;
};

TEST_F(QuantileCommands, PredictAColumnForEachLevel) {
  fit(table_);
  run_well({"predict", model_, table_, "--out", out_});
  const Table predicted = read_table(out_);
  std::vector<std::string> names;
  for (const Column& column : predicted.columns) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"price@0.1", "price@0.5", "price@0.9"}));
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.scale_inputs = true;
  options.loss = Pinball({0.1, 0.5, 0.9});
  const Matrix<double> X = all_.leftCols(5);
  const Matrix<double> expected = KernelMachine<double>::fit(X, Matrix<double>(all_.col(5)), options).predict(X);
  EXPECT_LT((predicted.values - expected).cwiseAbs().maxCoeff(), 1e-9);
}

TEST_F(QuantileCommands, EvaluateEachLevelAgainstTheTarget) {
  fit(table_);
  run_well({"predict", model_, table_, "--out", out_});
  const Matrix<double> predicted = read_table(out_).values;
  const Json report = Json::parse(run_well({"evaluate", model_, table_, "--json"}));
  EXPECT_EQ(report["loss"], "pinball");
  ASSERT_EQ(report["targets"].size(), 3U);
  double sum = 0;
  for (Index j = 0; j < 3; ++j) {
    const double tau = 0.1 + 0.4 * static_cast<double>(j);
    double loss = 0;
    for (Index i = 0; i < 120; ++i) {
      const double e = all_(i, 5) - predicted(i, j);
      loss += (e > 0 ? tau : tau - 1) * e / 120;
    }
    EXPECT_NEAR(report["targets"][static_cast<std::size_t>(j)]["loss"].get<double>(), loss, 1e-9);
    sum += loss;
  }
  EXPECT_NEAR(report["average"]["loss"].get<double>(), sum, 1e-9);
  const std::string text = run_well({"evaluate", model_, table_});
  EXPECT_THAT(text, HasSubstr("\nprice@0.9 "));
  EXPECT_THAT(text, HasSubstr("120 rows; loss: pinball (levels 0.1, 0.5, 0.9), the average's of whole rows\n"));

  write_table(folder_.path("y.csv"), {"price"}, all_.col(5));
  write_table(folder_.path("x.csv"), {"x1", "x2", "x3", "x4", "x5"}, all_.leftCols(5));
  EXPECT_EQ(run_well({"evaluate", model_, folder_.path("x.csv"), "--target-file", folder_.path("y.csv")}), text);
  EXPECT_THAT(run_badly({"evaluate", model_, table_, "--targets", "2"}),
              HasSubstr("2 targets chosen, the model has 1"));
}

TEST_F(QuantileCommands, WithoutNamesOneTargetIsLast) {
  write_table(folder_.path("plain.npy"), {}, all_);
  fit(folder_.path("plain.npy"));
  EXPECT_THAT(run_well({"evaluate", model_, folder_.path("plain.npy")}), HasSubstr("\nc6@0.5 "));
  run_well({"predict", model_, folder_.path("plain.npy"), "--out", folder_.path("p.npy")});
  EXPECT_EQ(read_table(folder_.path("p.npy")).values.cols(), 3);
}

TEST_F(QuantileCommands, InfoSaysWhatTheyAre) {
  fit(table_);
  const std::string text = run_well({"info", model_});
  EXPECT_THAT(text, HasSubstr("targets        1 (price)\n"));
  EXPECT_THAT(text, HasSubstr("quantiles      3 (price@0.1, price@0.5, price@0.9), may cross\n"));
  const Json about = Json::parse(run_well({"info", model_, "--json"}));
  EXPECT_EQ(about["n_targets"], 1);
  EXPECT_EQ(about["n_outputs"], 3);
  EXPECT_EQ(about["fit"]["joint_quantiles"], true);
}

// Levels this near, each by a machine of its own, do cross.
TEST_F(QuantileCommands, NonCrossingOnesAreInOrder) {
  const auto crossings = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"fit",      table_,         "--targets", "1",      "--model",
                                        model_,     "--components", "20",        "--loss", "pinball",
                                        "--levels", "0.4,0.5,0.6",  "--alpha",   "0.01"};
    command.insert(command.end(), more.begin(), more.end());
    run_well(with_numbers(command));
    run_well({"predict", model_, table_, "--out", out_});
    const Matrix<double> q = read_table(out_).values;
    return (q.leftCols(2).array() > q.rightCols(2).array()).count();
  };
  EXPECT_GT(crossings({}), 0);
  EXPECT_EQ(crossings({"--non-crossing"}), 0);
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("put in order\n"));
  EXPECT_THAT(run_badly({"fit", table_, "--targets", "1", "--model", model_, "--non-crossing"}),
              HasSubstr("non_crossing is for the pinball loss with levels in ascending order"));
}

TEST_F(QuantileCommands, AdamStopsByRowsHeldOut) {
  const std::vector<std::string> command =
      with_numbers({"fit", table_, "--targets", "1", "--model", model_, "--components", "20", "--loss", "pinball",
                    "--solver", "adam"});
  run_well(command);
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("the mean loss of 12 rows held out was least"));
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), command.begin(), command.end());
    return more;
  };
  run_well(with({"--validation-fraction", "0.25", "--patience", "2"}));
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("30 rows held out"));
  EXPECT_THAT(run_badly(with({"--validation-fraction", "1"})), HasSubstr("validation_fraction must be"));
}

TEST_F(QuantileCommands, TheLossOfAnEvaluationIsTheModelsOwn) {
  run_well({"fit", table_, "--targets", "1", "--model", model_, "--components", "20", "--loss", "absolute"});
  run_well({"predict", model_, table_, "--out", out_});
  const double expected = (read_table(out_).values - all_.col(5)).cwiseAbs().mean();
  const Json report = Json::parse(run_well({"evaluate", model_, table_, "--json"}));
  EXPECT_NEAR(report["targets"][0]["loss"].get<double>(), expected, 1e-9);
}

}  // namespace
}  // namespace carmina::testing
