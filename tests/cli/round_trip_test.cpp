// tests/cli/round_trip_test.cpp -- fit, info, evaluate, predict, from every format, against the library called
// directly.
#include <carmina/models/kernel_machine.hpp>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <support/given_numbers.hpp>
#include "program.hpp"

namespace carmina::testing {

using ::testing::HasSubstr;
using Json = nlohmann::json;

namespace {

const Index n_train = 300, n_test = 90;
const Matrix<double>& train() {
  static const Matrix<double> table = friedman_table(n_train, 1);
  return table;
}
const Matrix<double>& test() {
  static const Matrix<double> table = friedman_table(n_test, 2);
  return table;
}

FitOptions small_fit() {
  FitOptions options = given_numbers();
  options.n_components = 64;
  options.alpha = 0.1;
  options.seed = 3;
  options.scale_inputs = true;
  return options;
}
const std::vector<std::string> small_fit_words = {"--components", "64", "--alpha", "0.1", "--seed", "3"};

Matrix<double> predicted_by_library(const FitOptions& options) {
  const auto machine = KernelMachine<double>::fit(train().leftCols(5), train().rightCols(2), options);
  return machine.predict(test().leftCols(5));
}

std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string text_rows(const Matrix<double>& table, const std::string& head) {
  std::string text = head;
  for (Index i = 0; i < table.rows(); ++i) {
    for (Index j = 0; j < table.cols(); ++j) text += format_text("{}{}", j == 0 ? "" : ",", table(i, j));
    text += '\n';
  }
  return text;
}

// The table in the format that the ending names.
std::string write(const TempDir& folder, const std::string& name, const Matrix<double>& table) {
  if (name.find("arff") != std::string::npos) {
    std::string head = "@relation friedman\n";
    for (const auto& column : friedman_names) head += "@attribute " + column + " numeric\n";
    const std::string text = text_rows(table, head + "@data\n");
    return name.ends_with(".gz") ? folder.gzipped(name, text) : folder.file(name, text);
  }
  const bool bare = name.find("bare") != std::string::npos;
  write_table(folder.path(name), bare ? std::vector<std::string>() : friedman_names, table);
  return folder.path(name);
}

}  // namespace

class RoundTrip : public ::testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, AgreesWithTheLibrary) {
  const TempDir folder;
  const std::string ending = GetParam(), model = folder.path("m.safetensors");
  const std::string fitted = write(folder, "train" + ending, train()), tested = write(folder, "test" + ending, test());
  const auto said =
      run_well(with_numbers(joined({"fit", fitted, "--targets", "2", "--model", model}, small_fit_words)));
  EXPECT_THAT(said, HasSubstr("300 rows, 5 inputs, 2 targets; gaussian kernel of width"));
  EXPECT_THAT(said, HasSubstr("64 Fourier features; direct solver"));

  const Json about = Json::parse(run_well({"info", model, "--json"}));
  EXPECT_EQ(about["type"], "kernel_machine");
  EXPECT_EQ(about["precision"], "float64");
  EXPECT_EQ(about["kernel"][0]["name"], "gaussian");
  EXPECT_EQ(about["n_inputs"], 5);
  EXPECT_EQ(about["n_targets"], 2);
  EXPECT_EQ(about["n_features"], 64);
  EXPECT_EQ(about["bytes"], std::filesystem::file_size(model));
  EXPECT_EQ(about["fit"]["rows"], 300);
  EXPECT_EQ(about["fit"]["alpha"], 0.1);
  EXPECT_EQ(about["fit"]["seed"], 3);
  EXPECT_EQ(about["fit"]["solver"], "direct");
  EXPECT_THAT(about["fit"]["reason"].get<std::string>(), HasSubstr("fits in memory"));
  EXPECT_TRUE(about["fit"]["seconds"].is_object());

  const Matrix<double> expected = predicted_by_library(small_fit());
  for (const char* out : {"p.csv", "p.npy", "p.csv.gz", "p.npy.gz"}) {
    EXPECT_EQ(run_well({"predict", model, tested, "--out", folder.path(out)}), "");
    const Table found = read_table(folder.path(out));
    ASSERT_EQ(found.values.rows(), n_test);
    EXPECT_LT((found.values - expected).cwiseAbs().maxCoeff(), 1e-9) << out;
  }
  const bool names = ending.find("bare") == std::string::npos && ending.find("npy") == std::string::npos;
  EXPECT_EQ(read_table(folder.path("p.csv")).columns[1].name, names ? "y2" : "c2");

  // Errors by hand: RMSE, relative to the training mean, relative to the rows' own variance, half of the
  // square.
  const Json report = Json::parse(run_well({"evaluate", model, tested, "--json"}));
  EXPECT_EQ(report["rows"], n_test);
  double loss = 0, rmse = 0;
  for (Index j = 0; j < 2; ++j) {
    const Vector<double> y = test().col(5 + j);
    const double error = (expected.col(j) - y).squaredNorm();
    const Json& score = report["targets"][static_cast<std::size_t>(j)];
    EXPECT_NEAR(score["rmse"].get<double>(), std::sqrt(error / n_test), 1e-8);
    EXPECT_NEAR(score["rrmse"].get<double>(), std::sqrt(error / (y.array() - train().col(5 + j).mean()).square().sum()),
                1e-8);
    EXPECT_NEAR(score["r2"].get<double>(), 1 - error / (y.array() - y.mean()).square().sum(), 1e-8);
    EXPECT_NEAR(score["loss"].get<double>(), error / (2 * n_test), 1e-8);
    EXPECT_GT(score["r2"].get<double>(), 0.5) << "a fit that learned nothing tests nothing";
    loss += error / (2 * n_test);
    rmse += std::sqrt(error / n_test) / 2;
  }
  EXPECT_NEAR(report["average"]["loss"].get<double>(), loss, 1e-8);
  EXPECT_NEAR(report["average"]["rmse"].get<double>(), rmse, 1e-8);

  // The table shows the same to six digits.
  const std::string table = run_well({"evaluate", model, tested});
  EXPECT_THAT(table, HasSubstr("R²"));
  EXPECT_THAT(table, HasSubstr(format_text("{:.6g}", rmse)));
  EXPECT_THAT(table, HasSubstr(format_text("{:.6g}", loss)));
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip,
                         ::testing::Values(".csv", ".bare.csv", ".npy", ".arff", ".csv.gz", ".npy.gz", ".arff.gz"),
                         [](const auto& ending) {
                           std::string name = ending.param.substr(1);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

class Program : public ::testing::Test {
 protected:
  std::string fit(const std::vector<std::string>& more, const std::string& model = "m") {
    return run_well(with_numbers(
        joined({"fit", train_, "--targets", "y1,y2", "--model", folder_.path(model)}, joined(small_fit_words, more))));
  }
  Matrix<double> predict(const std::string& model = "m") {
    run_well({"predict", folder_.path(model), test_, "--out", folder_.path("p.npy")});
    return read_table(folder_.path("p.npy")).values;
  }
  void expect_library(const FitOptions& options, double tolerance = 1e-9) {
    EXPECT_LT((predict() - predicted_by_library(options)).cwiseAbs().maxCoeff(), tolerance);
  }

  TempDir folder_;
  std::string train_ = write(folder_, "train.csv", train()), test_ = write(folder_, "test.csv", test());
};

TEST_F(Program, TakesEveryChoiceOfAFit) {
  FitOptions options = small_fit();
  options.approximation = "exact";
  EXPECT_THAT(fit({"--approximation", "exact"}), HasSubstr("exact; direct solver"));
  expect_library(options);

  options = small_fit();
  options.scale_inputs = options.fit_intercept = false;
  options.length_scale = 0.7;
  EXPECT_THAT(fit({"--no-scale", "--no-intercept", "--length-scale", "0.7"}), HasSubstr("width 0.7,"));
  expect_library(options);

  options = small_fit();
  options.solver = "cg";
  options.tol = 1e-9;
  EXPECT_THAT(fit({"--solver", "cg", "--tol", "1e-9", "--max-iter", "900"}), HasSubstr("cg solver"));
  expect_library(options);

  for (const char* solver : {"lsmr", "idr", "sgd", "adam"}) {
    options = small_fit();
    options.solver = solver;
    options.tol = 0.01;
    fit({"--solver", solver, "--tol", "0.01"});
    expect_library(options);
    const std::string about = run_well({"info", folder_.path("m")});
    EXPECT_THAT(about, HasSubstr(format_text("chosen         {}: asked for\n", solver)));
  }

  for (const char* sampling : {"orthogonal", "sobol", "hadamard", "phases"}) {
    options = small_fit();
    options.sampling = parse_sampling(sampling);
    fit({"--sampling", sampling});
    expect_library(options);
    EXPECT_EQ(Json::parse(run_well({"info", folder_.path("m"), "--json"}))["fit"]["sampling"], sampling);
  }

  fit({"--threads", "2", "--memory", "20M"});
  expect_library(small_fit());
}

TEST_F(Program, CouplesTargetsByAMatrix) {
  FitOptions options = small_fit();
  const Matrix<double> A{{1, 0.5}, {0.5, 2}};
  options.coupling = OutputMatrix(A);
  write_table(folder_.path("A.csv"), {}, A);
  fit({"--output-matrix", folder_.path("A.csv")});
  expect_library(options);
  const Json about = Json::parse(run_well({"info", folder_.path("m"), "--json"}));
  EXPECT_EQ(about["kernel"][0]["output_matrix"], Json::parse("[[1, 0.5], [0.5, 2]]"));
  EXPECT_THAT(run_well({"info", folder_.path("m")}), HasSubstr("2 x 2"));

  options.coupling = TargetCovariance{};
  fit({"--operator", "decomposable", "--output-matrix", "covariance"});
  expect_library(options);
  options.coupling = OutputMatrix(Matrix<double>::Identity(2, 2));
  fit({"--operator", "decomposable"});
  expect_library(options);
}

TEST_F(Program, WorksInSinglePrecision) {
  fit({"--float32"});
  expect_library(small_fit(), 1e-2);
  EXPECT_GT((predict() - predicted_by_library(small_fit())).cwiseAbs().maxCoeff(), 1e-9) << "it was double";
  EXPECT_EQ(Json::parse(run_well({"info", folder_.path("m"), "--json"}))["precision"], "float32");
}

TEST_F(Program, FillsMissingInputsWhenAsked) {
  const auto with_gap = folder_.file("gap.csv", text_rows(train(), "x1,x2,x3,x4,x5,y1,y2\n,0.1,0.2,0.3,0.4,5,6\n"));
  run_well(
      {"fit", with_gap, "--targets", "2", "--model", folder_.path("filled"), "--fill-missing", "--components", "8"});
  fit({}, "strict");
  run_well({"predict", folder_.path("filled"), with_gap, "--out", folder_.path("p.csv")});
  EXPECT_THAT(run_badly({"predict", folder_.path("strict"), with_gap, "--out", folder_.path("q.csv")}),
              HasSubstr("gap.csv:2: column 'x1'"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("q.csv")));
}

// An empty cell, the word and a NaN of a binary table are the same missing target, and the model that of the library.
TEST_F(Program, TakesMissingTargets) {
  Matrix<double> all = train();
  const Index n = all.rows();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (Index i = 0; i < n; i += 3) all(i, 5 + i % 2) = nan;
  all(1, 5) = all(1, 6) = nan;
  std::string text = "x1,x2,x3,x4,x5,y1,y2\n";
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < 7; ++j) {
      const std::string cell = std::isnan(all(i, j)) ? (i % 2 ? "" : "NaN") : format_text("{:.17g}", all(i, j));
      text += cell + (j == 6 ? "\n" : ",");
    }
  }
  const auto csv = folder_.file("gaps.csv", text);
  write_table(folder_.path("gaps.npy"), {}, all);
  const FitOptions options = small_fit();
  const auto expected = KernelMachine<double>::fit(all.leftCols(5), all.rightCols(2), options);
  for (const std::string& data : {csv, folder_.path("gaps.npy")}) {
    const Outcome outcome = run(with_numbers(
        joined({"fit", data, "--targets", "2", "--model", folder_.path("gaps"), "--variances"}, small_fit_words)));
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "carmina: warning: 1 row has no target and was ignored\n");
    const auto machine = std::get<KernelMachine<double>>(load_kernel_machine(folder_.path("gaps")));
    EXPECT_LT((machine.predict(all.leftCols(5)) - expected.predict(all.leftCols(5))).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_TRUE(machine.record().missing_targets);
    const Json scores = Json::parse(run_well({"evaluate", folder_.path("gaps"), data, "--targets", "2", "--json"}));
    EXPECT_EQ(scores["rows"], n - 1);
    run_well({"predict", folder_.path("gaps"), data, "--out", folder_.path("ends.csv"), "--interval", "0.8"});
  }
}

TEST_F(Program, FindsColumnsByNameElseByPosition) {
  fit({});
  const Matrix<double> expected = predict();
  const auto same = [&](const std::string& data) {
    run_well({"predict", folder_.path("m"), data, "--out", folder_.path("p.npy")});
    EXPECT_EQ(read_table(folder_.path("p.npy")).values, expected) << data;
  };
  Matrix<double> shuffled(n_test, 6);
  shuffled << test().col(4), Matrix<double>::Constant(n_test, 1, 7), test().col(0), test().middleCols(1, 3);
  write_table(folder_.path("shuffled.csv"), {"x5", "other", "x1", "x2", "x3", "x4"}, shuffled);
  same(folder_.path("shuffled.csv"));
  write_table(folder_.path("all.npy"), {}, test());
  same(folder_.path("all.npy"));
  write_table(folder_.path("inputs.npy"), {}, test().leftCols(5));
  same(folder_.path("inputs.npy"));

  const auto refused = [&](const std::vector<std::string>& names, const std::string& file, Index columns) {
    write_table(folder_.path(file), names, test().leftCols(columns));
    const auto line = run_badly({"predict", folder_.path("m"), folder_.path(file), "--out", folder_.path("q.csv")});
    EXPECT_FALSE(std::filesystem::exists(folder_.path("q.csv")));
    return line;
  };
  EXPECT_THAT(refused({"x1", "x2", "x3", "u", "v"}, "named.csv", 5), HasSubstr("input 'x4', 'x5' are missing"));
  EXPECT_THAT(refused({}, "short.npy", 4), HasSubstr("expected 5 columns (the model's inputs) or 7"));

  // A target in the middle of a file without a header is not taken for an input.
  run_well(with_numbers(
      {"fit", folder_.path("all.npy"), "--targets", "c2", "--model", folder_.path("middle"), "--components", "8"}));
  run_well({"predict", folder_.path("middle"), folder_.path("all.npy"), "--out", folder_.path("p.npy")});
  Matrix<double> others(n_test, 6);
  others << test().col(0), test().rightCols(5);
  FitOptions options = given_numbers();
  options.n_components = 8;
  options.scale_inputs = true;
  const auto machine = KernelMachine<double>::fit(others, test().col(1), options);
  EXPECT_LT((read_table(folder_.path("p.npy")).values - machine.predict(others)).cwiseAbs().maxCoeff(), 1e-9);
}

TEST_F(Program, EvaluatesTheTargetsItIsTold) {
  fit({});
  const auto usual = Json::parse(run_well({"evaluate", folder_.path("m"), test_, "--json"}));
  Matrix<double> renamed(n_test, 7);
  renamed << test().rightCols(2), test().leftCols(5);
  write_table(folder_.path("renamed.csv"), {"u", "v", "x1", "x2", "x3", "x4", "x5"}, renamed);
  const auto data = folder_.path("renamed.csv"), model = folder_.path("m");
  EXPECT_THAT(run_badly({"evaluate", model, data}), HasSubstr("target 'y1', 'y2' are missing"));
  EXPECT_THAT(run_badly({"evaluate", model, data, "--targets", "u"}), HasSubstr("1 targets chosen, the model has 2"));
  EXPECT_THAT(run_badly({"evaluate", model, data, "--targets", "u,x1"}), HasSubstr("'x1' is an input of the model"));
  EXPECT_EQ(Json::parse(run_well({"evaluate", model, data, "--targets", "u,v", "--json"}))["average"],
            usual["average"]);

  write_table(folder_.path("targets.npy"), {}, test().rightCols(2));
  const auto apart = run_well({"evaluate", model, test_, "--target-file", folder_.path("targets.npy"), "--json"});
  EXPECT_EQ(Json::parse(apart)["average"], usual["average"]);
}

TEST_F(Program, PadsLibsvmAndReadsLabelsFromIdx) {
  const auto data = folder_.file("a.libsvm", "1 1:1 3:2\n-1 2:1\n2 1:3\n0 3:1\n"), model = folder_.path("m");
  run_well({"fit", data, "--targets", "1", "--model", model, "--components", "8"});
  const auto narrow = folder_.file("narrow.libsvm", "1 1:1\n");
  run_well({"predict", model, narrow, "--out", folder_.path("p.npy")});
  const auto wide = folder_.file("wide.csv", "1,0,0\n");
  run_well({"predict", model, wide, "--out", folder_.path("q.npy")});
  EXPECT_EQ(read_table(folder_.path("p.npy")).values, read_table(folder_.path("q.npy")).values);

  const auto idx = folder_.file("labels.idx", std::string("\0\0\x08\x01\0\0\0\x04\x01\0\x02\x07", 12));
  EXPECT_THAT(run_well({"fit", data, "--target-file", idx, "--model", model, "--components", "8"}),
              HasSubstr("4 rows, 3 inputs, 1 target;"));
}

TEST_F(Program, WarnsWhenTheSolverDidNotConverge) {
  const auto outcome =
      run(with_numbers(joined({"fit", train_, "--targets", "2", "--model", folder_.path("m"), "--alpha", "1e-6"},
                              {"--components", "64", "--solver", "cg", "--max-iter", "1"})));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("carmina: warning: "));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_THAT(run_well({"info", folder_.path("m")}), HasSubstr("not converged"));
}

}  // namespace carmina::testing
