// tests/cli/manual_test.cpp -- options from a file, groups of options, completions, the manual, and JSON of a fit.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace carmina::testing::manual_test {

using ::testing::HasSubstr;
using ::testing::Not;

namespace {

std::string small_table(const TempDir& dir) {
  write_table(dir.path("a.csv"), friedman_names, friedman_table(60, 1));
  return dir.path("a.csv");
}

}  // namespace

TEST(Config, GivesOptionsThatTheCommandLineOverrides) {
  TempDir dir;
  const auto data = small_table(dir), model = dir.path("m.safetensors");
  const auto config =
      dir.file("fit.toml",
               "# what we always take\ntargets = \"y1,y2\"\nkernel = \"matern\"\nnu = 1.5\n"
               "length_scale = 1\nno-intercept = true\nfill-missing = false\ncomponents = 32\nalpha = 0.5\n"
               "approximation = \"fourier\"\n[predict]\nstd = true\n");
  EXPECT_THAT(run_well({"fit", data, "--model", model, "--config", config}), HasSubstr("matern (nu 1.5)"));
  const auto info = run_well({"info", model, "--json"});
  EXPECT_THAT(info, HasSubstr("\"fit_intercept\": false"));
  EXPECT_THAT(info, HasSubstr("\"n_features\": 32"));
  EXPECT_THAT(run_well({"fit", data, "--model", model, "--config=" + config, "--components", "16"}),
              HasSubstr("16 Fourier features"));
}

TEST(Config, IsRefusedWhereItIsWrong) {
  TempDir dir;
  const auto data = small_table(dir), model = dir.path("m.safetensors");
  const auto with = [&](const std::string& text) {
    return run_badly({"fit", data, "--targets", "2", "--model", model, "--config", dir.file("c.toml", text)});
  };
  EXPECT_THAT(with("kernels = \"matern\"\n"), HasSubstr("c.toml: 'carmina fit' has no option '--kernels'"));
  EXPECT_THAT(with("no-scale = maybe\n"), HasSubstr("'--no-scale' is true or false, found 'maybe'"));
  EXPECT_THAT(run_badly({"fit", data, "--targets", "2", "--model", model, "--config", dir.path("none.toml")}),
              HasSubstr("none.toml'"));
}

TEST(Manual, OptionsAreListedInGroups) {
  const auto help = run({"fit", "--help"}).out;
  for (const char* group : {"Files and columns:", "Kernel:", "Approximation:", "Spectral mixtures:", "Machine:"}) {
    EXPECT_THAT(help, HasSubstr(group));
  }
}

TEST(Manual, CompletionsAndThePageForMan) {
  const auto bash = run_well({"completion", "bash"});
  EXPECT_THAT(bash, HasSubstr("'fit --sampling') COMPREPLY=($(compgen -W \"iid orthogonal sobol hadamard phases\""));
  EXPECT_THAT(run_well({"completion", "zsh"}), HasSubstr("#compdef carmina"));
  EXPECT_THAT(run_well({"completion", "fish"}), HasSubstr("__fish_seen_subcommand_from predict' -l interval"));
  const auto page = run_well({"completion", "man"});
  EXPECT_THAT(page, HasSubstr(".TH CARMINA 1"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-length\\-scale\\fR"));
  EXPECT_THAT(run_badly({"completion", "tcsh"}), HasSubstr("there is bash, zsh, fish, man"));
  TempDir dir;
  dir.file("c.bash", bash +
                         "COMP_WORDS=(carmina pre); COMP_CWORD=1; _carmina; echo \"${COMPREPLY[@]}\"\n"
                         "COMP_WORDS=(carmina fit --ker); COMP_CWORD=2; _carmina; echo \"${COMPREPLY[@]}\"\n");
  ASSERT_EQ(std::system(("bash '" + dir.path("c.bash") + "' > '" + dir.path("out") + "'").c_str()), 0);
  EXPECT_EQ(dir.content("out"), "predict\n--kernel\n");
}

TEST(FitJson, TellsWhatWasFitted) {
  TempDir dir;
  const auto data = small_table(dir), model = dir.path("m.safetensors");
  const auto report =
      nlohmann::json::parse(run_well(with_numbers({"fit", data, "--targets", "2", "--model", model, "--json"})));
  EXPECT_EQ(report["rows"], 60);
  EXPECT_EQ(report["kernel"]["name"], "gaussian");
  EXPECT_EQ(report["n_components"], 1000);
  EXPECT_EQ(report["target_names"], nlohmann::json({"y1", "y2"}));
  const auto mixture = nlohmann::json::parse(
      run_well({"fit", data, "--targets", "1", "--ignore", "y1", "--model", model, "--kernel", "spectral_mixture",
                "--mixtures", "1", "--components", "10", "--tol", "0.1", "--json"}));
  EXPECT_EQ(mixture["kernel"]["name"], "spectral_mixture");
}

TEST(Parts, AddUpToThePrediction) {
  TempDir dir;
  const auto data = small_table(dir), model = dir.path("m.safetensors");
  run_well(with_numbers({"fit", data, "--targets", "2", "--model", model}));
  run_well({"predict", model, data, "--out", dir.path("p.csv")});
  run_well({"predict", model, data, "--out", dir.path("q.csv"), "--parts"});
  const Table whole = read_table(dir.path("p.csv")), parts = read_table(dir.path("q.csv"));
  ASSERT_EQ(parts.values.cols(), 4);
  EXPECT_EQ(parts.columns[0].name, "y1_part1");
  EXPECT_EQ(parts.columns[3].name, "y2_intercept");
  const Matrix<double> sum = parts.values.leftCols(2) + parts.values.rightCols(2);
  EXPECT_LT((sum - whole.values).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_THAT(run_badly({"predict", model, data, "--out", dir.path("r.csv"), "--parts", "--probabilities"}),
              HasSubstr("--parts excludes"));
  EXPECT_THAT(run_badly({"predict", model, data, "--out", dir.path("r.csv"), "--parts", "--std"}), HasSubstr("--std"));
}

// Of one part the deviation is that of the function.
TEST(Parts, HaveDeviations) {
  TempDir dir;
  const auto data = small_table(dir), model = dir.path("m.safetensors");
  run_well(with_numbers({"fit", data, "--targets", "2", "--model", model, "--variances", "--no-intercept"}));
  run_well({"predict", model, data, "--out", dir.path("p.csv"), "--std"});
  run_well({"predict", model, data, "--out", dir.path("q.csv"), "--parts", "--std"});
  const Table whole = read_table(dir.path("p.csv")), parts = read_table(dir.path("q.csv"));
  ASSERT_EQ(parts.values.cols(), 6);
  EXPECT_EQ(parts.columns[4].name, "y1_part1_std");
  EXPECT_EQ(parts.columns[5].name, "y2_part1_std");
  EXPECT_GT(parts.values.rightCols(2).minCoeff(), 0);
  EXPECT_GT((whole.values.rightCols(2) - parts.values.rightCols(2)).minCoeff(), 0);  // the noise is theirs too
}

}  // namespace carmina::testing::manual_test
