// tests/cli/kernels_test.cpp -- every kernel that the program can be asked for, against the library; kernels in words.
#include <carmina/models/kernel_machine.hpp>

#include <nlohmann/json.hpp>

#include <support/given_numbers.hpp>
#include "program.hpp"

namespace carmina::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// A field seen at 150 places, and a fit of it by the program and by the library.
class Kernels : public ::testing::Test {
 protected:
  Kernels() {
    Matrix<double> all(field_.X.rows(), 4);
    all << field_.X, field_.Y;
    write_table(table_, {"x", "y", "east", "north"}, all);
    options_.n_components = 64;
    options_.alpha = 0.1;
    options_.scale_inputs = true;
  }
  // What the program says; its predictions must be the library's with options_.
  std::string fit(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"fit",  table_,         "--targets", "east,north", "--model",
                                      model_, "--components", "64",        "--alpha",    "0.1"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string said = run_well(with_numbers(words));
    run_well({"predict", model_, table_, "--out", folder_.path("p.npy")});
    const Matrix<double> expected = KernelMachine<double>::fit(field_.X, field_.Y, options_).predict(field_.X);
    EXPECT_LT((read_table(folder_.path("p.npy")).values - expected).cwiseAbs().maxCoeff(), 1e-9) << said;
    return said;
  }

  TempDir folder_;
  const std::string table_ = folder_.path("field.csv"), model_ = folder_.path("m");
  const Dataset field_ = vector_field("curl-free", 150, {.noise = 0.05, .seed = 1});
  FitOptions options_ = given_numbers();
};

// What the registries have, down to each parameter, is an option of the program, and its help says so.
TEST(Help, FollowsFromTheRegistries) {
  const std::string help = run_well({"fit", "--help"});
  std::vector<std::string> expected = {join_text(scalar_kernel_names(), "|") + "|spectral_mixture",
                                       join_text(loss_names(), "|"), join_text(solver_names(), "|"),
                                       "none|decomposable|curl-free|divergence-free"};
  for (const std::string& name : scalar_kernel_names()) {
    for (const auto& parameter : kernel_parameters(make_scalar_kernel(name, std::nullopt))) {
      expected.push_back("--" + parameter.first + " NUMBER");
    }
  }
  for (const std::string& name : loss_names()) {
    for (const auto& parameter : loss_parameters(make_loss(name))) {
      expected.push_back("--" + parameter.first + (parameter.first == "levels" ? " NUMBER" : " auto|NUMBER"));
    }
  }
  EXPECT_GE(expected.size(), 13u);
  for (const std::string& words : expected) EXPECT_THAT(help, HasSubstr(words));
}

TEST_F(Kernels, EveryScalarOneByName) {
  for (const std::string name : {"gaussian", "laplacian", "matern", "cauchy", "rational_quadratic"}) {
    options_.kernel_name = name;
    EXPECT_THAT(fit({"--kernel", name}), HasSubstr("; " + name));
  }
}

TEST_F(Kernels, WithTheirParameters) {
  options_.kernel_name = "matern";
  options_.kernel_parameters = {{"nu", 2.5}};
  EXPECT_THAT(fit({"--kernel", "matern", "--nu", "2.5"}), HasSubstr("matern (nu 2.5) kernel of width"));
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("kernel         matern (nu 2.5), length scale"));
  options_.kernel_name = "rational_quadratic";
  options_.kernel_parameters = {{"shape", 0.7}};
  fit({"--kernel", "rational_quadratic", "--shape", "0.7"});
  const Json about = Json::parse(run_well({"info", model_, "--json"}));
  EXPECT_EQ(about["kernel"][0]["parameters"], (Json{{"shape", 0.7}}));
}

TEST_F(Kernels, ThatAreNotFunctionsOfADifference) {
  options_.approximation = "exact";
  options_.kernel_name = "polynomial";
  EXPECT_THAT(fit({"--kernel", "polynomial", "--approximation", "exact"}),
              HasSubstr("; polynomial (coef0 1, degree 3, gamma 0.5) kernel, exact"));
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("kernel         polynomial (coef0 1, degree 3, gamma 0.5)\n"));
  options_.kernel_parameters = {{"degree", 2}, {"gamma", 0.3}, {"coef0", 0.7}};
  fit({"--kernel", "polynomial", "--degree", "2", "--gamma", "0.3", "--coef0", "0.7", "--approximation", "exact"});
  const Json about = Json::parse(run_well({"info", model_, "--json"}));
  EXPECT_EQ(about["kernel"][0]["parameters"], (Json{{"degree", 2.0}, {"gamma", 0.3}, {"coef0", 0.7}}));
  EXPECT_EQ(about["kernel"][0]["length_scale"], Json::array());

  const auto says = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"fit", table_, "--targets", "2", "--model", model_, "--kernel"};
    words.insert(words.end(), more.begin(), more.end());
    return run_badly(with_numbers(words));
  };
  EXPECT_THAT(says({"polynomial"}), HasSubstr("has no spectral measure; use approximation='exact' or a sketch"));
  EXPECT_THAT(says({"polynomial", "--length-scale", "2"}), HasSubstr("the polynomial kernel has no length scale"));
  EXPECT_THAT(says({"polynomial", "--nu", "2"}), HasSubstr("has no parameter 'nu'"));
  EXPECT_THAT(says({"polynomial", "--operator", "curl-free"}), HasSubstr("not a function of x - z"));
  EXPECT_THAT(says({"sobolev1", "--approximation", "exact"}), HasSubstr("inputs must be at least 0"));
}

TEST_F(Kernels, OfVectorFields) {
  for (const std::string kind : {"curl-free", "divergence-free"}) {
    options_.coupling = parse_coupling(kind, false, true);
    for (const std::string approximation : {"fourier", "exact"}) {
      options_.approximation = approximation;
      EXPECT_THAT(fit({"--operator", kind, "--approximation", approximation}),
                  HasSubstr("; " + kind + " gaussian kernel of width"));
    }
    EXPECT_THAT(run_well({"info", model_}), HasSubstr("kernel         " + kind + " gaussian, length scale"));
  }
}

TEST_F(Kernels, OfVectorFieldsWithBoundedFeatures) {
  options_.coupling = DivergenceFreeCoupling{true, true};
  EXPECT_THAT(fit({"--operator", "divergence-free", "--bounded"}), HasSubstr("; bounded divergence-free gaussian"));
  EXPECT_EQ(Json::parse(run_well({"info", model_, "--json"}))["kernel"][0]["bounded"], true);
}

TEST_F(Kernels, EveryTermOfASumIsTold) {
  options_.kernel = 0.3 * CurlFree(Gaussian(0.5)) + DivergenceFree(Matern(LengthScale(2.0), 2.5)) +
                    Decomposable(Cauchy(LengthScale({1.0, 3.0})), Matrix<double>::Identity(2, 2));
  KernelMachine<double>::fit(field_.X, field_.Y, options_).save(model_);
  EXPECT_THAT(run_well({"info", model_}), HasSubstr("kernel         0.3 * curl-free gaussian, length scale 0.5\n"
                                                    "  +            divergence-free matern (nu 2.5), length scale 2\n"
                                                    "  +            cauchy, length scale 1, 3, output matrix 2 x 2\n"));
  const Json about = Json::parse(run_well({"info", model_, "--json"}));
  ASSERT_EQ(about["kernel"].size(), 3);
  EXPECT_EQ(about["kernel"][0]["weight"], 0.3);
  EXPECT_EQ(about["kernel"][1]["operator"], "divergence-free");
  EXPECT_EQ(about["kernel"][2]["output_matrix"], Json::parse("[[1, 0], [0, 1]]"));
}

}  // namespace
}  // namespace carmina::testing
