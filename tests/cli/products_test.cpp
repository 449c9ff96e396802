// tests/cli/products_test.cpp -- kernels as expressions, and derivatives in the place of predictions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/data/table.hpp>
#include <carmina/kernels/parse_kernel.hpp>
#include <carmina/models/predictor.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::cli_products_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_matrix;
using testing::run_badly;
using testing::run_well;

InputColumns at(std::vector<Index> columns) { return columns; }

TEST(KernelExpressions, AreTheKernels) {
  const std::vector<std::pair<std::string, Kernel>> cases = {
      {"Gaussian(2)", Gaussian(2.0)},
      {" rational_quadratic( 2 , shape = 0.5 ) ", RationalQuadratic(2.0, 0.5)},
      {"RationalQuadratic(shape=0.5, length_scale=[1, 2.5e0])", RationalQuadratic(LengthScale({1.0, 2.5}), 0.5)},
      {"Periodic(24, 0.5)", Periodic(0.5, 24)},
      {"0.3 * CurlFree(Gaussian(50)).on(0, 1) * Gaussian(3).on([2]) + Linear()",
       0.3 * CurlFree(Gaussian(50.0)).on(at({0, 1})) * Kernel(Gaussian(3.0)).on(at({2})) + Kernel(Linear{})},
      {"DivergenceFree(Matern(1, nu=2.5), normalized=True)", DivergenceFree(Matern(1.0, 2.5), false, true)},
      {"CurlFree(scalar=Gaussian(1), bounded=True)", CurlFree(Gaussian(1.0), true)},
      {"Decomposable(Gaussian(1), [[1, 0.5], [0.5, 1]]) * Constant()",
       Decomposable(Gaussian(1.0), Matrix<double>{{1, 0.5}, {0.5, 1}}) * Kernel(Constant{})},
      {"(Gaussian(1) + Matern(2)) * Linear().on('time')",
       (Kernel(Gaussian(1.0)) + Kernel(Matern(2.0))) * Kernel(Linear{}).on(std::vector<std::string>{"time"})},
      {"Polynomial(2, 0.5, 1)", Polynomial(2, 0.5, 1)}};
  for (const auto& [text, kernel] : cases) {
    EXPECT_EQ(parse_kernel(text), kernel) << text;
    EXPECT_EQ(parse_kernel(kernel_expression(kernel)), kernel) << kernel_expression(kernel);
  }
}

TEST(KernelExpressions, SayWhereTheyEndToBeOne) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Gaussian(", "expected a value at character 10"},
      {"Gaussian(1) Gaussian(2)", "expected an end, '+' or '*' at character 13"},
      {"Gausian(1)", "there is no kernel named 'gausian'"},
      {"Gaussian(1, 2)", "Gaussian takes 1 arguments, found 2"},
      {"Gaussian(width=1)", "has no 'width'; it has length_scale"},
      {"Gaussian(1).at(0)", "expected on(columns)"},
      {"Gaussian(1).on()", "on() takes columns"},
      {"Gaussian(1).on(0, x)", "one kind of them"},
      {"2 * 3", "expected a kernel"},
      {"", "expected the name of a kernel"},
      {"CurlFree(2)", "must be a kernel"},
      {"CurlFree(Gaussian(1)) * CurlFree(Gaussian(1))", "takes one factor that couples"},
      {"Gaussian(1) + -1 * Gaussian(2)", "must be positive"},
      {std::string(200, '('), "fewer brackets"}};
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(message_of([&] { parse_kernel(text); }), HasSubstr(message)) << text;
  }
}

class Products : public ::testing::Test {
 protected:
  void SetUp() override {
    Matrix<double> all(60, 5);
    all << X_, Y_;
    write_table(table_, {"x", "y", "time", "u", "v"}, all);
  }
  testing::TempDir folder_;
  Matrix<double> X_ = random_matrix(60, 3, 1), Y_ = random_matrix(60, 2, 2);
  std::string table_ = folder_.path("table.csv"), model_ = folder_.path("model.safetensors"),
              out_ = folder_.path("out.csv");
};

TEST_F(Products, AreFittedByNamesOfColumns) {
  const std::string kernel = "CurlFree(Gaussian(1.5), normalized=True).on(x, y) * Gaussian(2).on(time) + Linear()";
  EXPECT_THAT(run_well({"fit", table_, "--targets", "u,v", "--model", model_, "--kernel", kernel, "--alpha", "0.1",
                        "--approximation", "exact"}),
              HasSubstr("CurlFree(Gaussian(length_scale=1.5), normalized=True).on([0, 1]) * "
                        "Gaussian(length_scale=2).on([2]) + Linear() kernel, exact"));
  FitOptions options;
  options.kernel =
      CurlFree(Gaussian(1.5), false, true).on(at({0, 1})) * Kernel(Gaussian(2.0)).on(at({2})) + Kernel(Linear{});
  options.alpha = 0.1;
  options.approximation = "exact";
  const auto expected = KernelMachine<double>::fit(X_, Y_, options);
  const Predictor model = Predictor::load(model_);
  EXPECT_EQ(model.predict(X_), expected.predict(X_));
  const auto about = nlohmann::json::parse(run_well({"info", model_, "--json"}));
  EXPECT_EQ(about["kernel"][0]["expression"],
            "CurlFree(Gaussian(length_scale=1.5), normalized=True).on([0, 1]) * Gaussian(length_scale=2).on([2])");
  EXPECT_TRUE(about["kernel"][0]["normalized"]);

  run_well({"predict", model_, table_, "--out", out_, "--divergence", "--gradient", "--potential", "--std"});
  const Table derived = read_table(out_);
  EXPECT_EQ(derived.columns[0].name, "du/dx");
  EXPECT_EQ(derived.columns[12].name, "divergence");
  EXPECT_EQ(derived.columns[13].name, "divergence_std");
  EXPECT_EQ(derived.columns[14].name, "potential");
  EXPECT_LT(testing::max_difference(derived.values.leftCols(6), model.derive(Derived::gradient, X_)), 1e-12);
  EXPECT_LT(testing::max_difference(derived.values.col(13), model.derived_std(Derived::divergence, X_)), 1e-12);
  EXPECT_THAT(run_badly({"predict", model_, table_, "--out", out_, "--curl", "--parts"}), HasSubstr("--std alone"));
  EXPECT_THAT(run_badly({"predict", model_, table_, "--out", out_, "--stream-function"}),
              HasSubstr("the kernel has no divergence-free term"));
}

TEST_F(Products, TakeNoOtherOptionOfTheKernel) {
  const std::vector<std::string> fit = {"fit",     table_, "--targets", "u,v",
                                        "--model", model_, "--kernel",  "Gaussian(1)"};
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--length-scale", "2"}, {"--nu", "2"}, {"--operator", "none"}, {"--bounded"}}) {
    std::vector<std::string> all = fit;
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_THAT(run_badly(all), HasSubstr("its numbers and couplings are in it"));
  }
  std::vector<std::string> missing = fit;
  missing.back() = "Gaussian(1).on(depth)";
  EXPECT_THAT(run_badly(missing), HasSubstr("there is no input 'depth'; there is x, y, time"));
}

TEST_F(Products, FoldsByGroupTakeAColumn) {
  Matrix<double> all(60, 6);
  all << X_, Y_, Vector<double>::NullaryExpr(60, [](Index i) { return static_cast<double>(i % 6); });
  write_table(table_, {"x", "y", "time", "u", "v", "track"}, all);
  const auto report = nlohmann::json::parse(
      run_well({"tune", table_, "--targets", "u,v", "--model", model_, "--kernel", "gaussian", "--approximation",
                "exact", "--groups", "track", "--folds", "3", "--alphas", "0.1", "--length-scales", "1", "--json"}));
  EXPECT_EQ(report["groups"], "track");
  EXPECT_EQ(Predictor::load(model_).dim_in(), 3);
  EXPECT_THAT(run_badly({"tune", table_, "--targets", "u,v", "--model", model_, "--groups", "track", "--folds", "7"}),
              HasSubstr("to the 6 groups, found 7"));
}

TEST_F(Products, WordsForFieldsAreNormalized) {
  run_well({"fit", table_, "--targets", "u,v", "--ignore", "time", "--model", model_, "--operator", "curl-free",
            "--length-scale", "3", "--alpha", "0.1", "--approximation", "exact"});
  FitOptions options;
  options.kernel = CurlFree(Gaussian(3.0), false, true);
  options.alpha = 0.1;
  options.approximation = "exact";
  const Matrix<double> places = X_.leftCols(2);
  EXPECT_EQ(Predictor::load(model_).predict(places), KernelMachine<double>::fit(places, Y_, options).predict(places));
}

}  // namespace
}  // namespace carmina::cli_products_test
