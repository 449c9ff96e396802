// tests/cli/checkpoint_test.cpp -- `carmina fit --checkpoint`, killed at random moments and started again.
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/predictor.hpp>
#include <carmina/random/philox.hpp>

#include <cstdio>
#include <filesystem>

#include "killed.hpp"

namespace carmina {
namespace {

using testing::friedman_names;
using testing::friedman_table;
using ::testing::HasSubstr;
using testing::killed_after;
using testing::kills;
using testing::run;
using testing::run_badly;
using testing::TempDir;

struct Job {
  std::string name;
  std::vector<std::string> words;
};

const std::vector<Job>& jobs() {
  static const std::vector<std::string> fourier = {"--kernel",        "gaussian", "--length-scale", "2",
                                                   "--approximation", "fourier",  "--alpha",        "0.001",
                                                   "--components",    "200"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), fourier.begin(), fourier.end());
    return more;
  };
  static const std::vector<Job> all = {
      {"sums", with({"--solver", "direct"})},
      {"cg", with({"--solver", "cg", "--tol", "1e-10"})},
      {"lsmr", with({"--solver", "lsmr", "--tol", "1e-10"})},
      {"newton", with({"--loss", "huber"})},
      {"adam", with({"--loss", "huber", "--solver", "adam", "--max-iter", "30"})},
      {"mixture", {"--kernel", "spectral_mixture", "--mixtures", "2", "--components", "40", "--max-iter", "30"}},
  };
  return all;
}

// Killed, again and again until one run ends, at moments up to the time of a whole fit: the predictions of the model
// are those of a fit that was never killed. Prints counts.
TEST(Checkpoint, KilledFitsGiveTheSameModel) {
  const TempDir folder;
  const std::string data = folder.path("train.npy");
  write_table(data, {}, friedman_table(1500, 1));
  const std::string checkpoint = folder.path("fit.checkpoint"), model = folder.path("model");
  const Random random(1, 1);
  int done = 0, resumed = 0, restarts = 0;
  for (std::uint64_t draw = 0; done < kills(); ++done) {
    const Job& job = jobs()[static_cast<std::size_t>(done) % jobs().size()];
    SCOPED_TRACE(job.name);
    std::vector<std::string> words = {"fit", data, "--targets", "2", "--threads", "2", "--model", model};
    words.insert(words.end(), job.words.begin(), job.words.end());
    const auto whole = testing::time_of(words);
    const Predictor expected = Predictor::load(model);
    std::filesystem::remove(model);
    words.insert(words.end(), {"--checkpoint", checkpoint, "--checkpoint-seconds", "0"});
    for (int round = 0; round < 3; ++round) {
      const auto moment = static_cast<long>(random.uniform(draw++, 0) * static_cast<double>(whole.count()));
      if (!killed_after(words, std::chrono::microseconds(moment))) break;
      ++restarts;
      resumed += std::filesystem::exists(checkpoint) ? 1 : 0;
    }
    if (std::filesystem::exists(model)) {
      (void)Predictor::load(model);  // whole, if it is there
    }
    const auto outcome = run(words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(checkpoint));
    const Matrix<double> X = friedman_table(50, 2).leftCols(5);
    EXPECT_EQ(Predictor::load(model).predict(X), expected.predict(X));
    std::filesystem::remove(model);
  }
  EXPECT_EQ(testing::temporary_files(folder), 0);
  std::printf("%d fits, killed %d times, %d times with a checkpoint to go on from; all ended with the same bits\n",
              done, restarts, resumed);
}

TEST(Checkpoint, WhatIsNotAFileForItIsRefused) {
  const TempDir folder;
  const std::string data = folder.path("train.csv"), model = folder.path("model"), state = folder.path("state");
  write_table(data, friedman_names, friedman_table(60, 1));
  const auto fit = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"fit", data, "--targets", "y1,y2", "--model", model, "--components", "20"};
    words.insert(words.end(), more.begin(), more.end());
    return testing::with_numbers(words);
  };
  EXPECT_THAT(run_badly(fit({"--checkpoint", data})), HasSubstr("it is also an input"));
  EXPECT_THAT(run_badly(fit({"--checkpoint", model})), HasSubstr("--checkpoint and --model are the same file"));
  EXPECT_THAT(run_badly(fit({"--checkpoint", folder.path("no/state")})), HasSubstr("cannot write"));
  EXPECT_THAT(run_badly(fit({"--checkpoint", state, "--checkpoint-seconds", "-1"})), HasSubstr("must not be negative"));
  folder.file("state", "something of the user's, which nobody may lose");
  EXPECT_THAT(run_badly(fit({"--checkpoint", state})), HasSubstr("remove the file or name another"));
  EXPECT_EQ(folder.content("state"), "something of the user's, which nobody may lose");
  std::filesystem::remove(state);
  EXPECT_EQ(run(fit({"--checkpoint", state})).status, 0);
  EXPECT_FALSE(std::filesystem::exists(state));
  EXPECT_TRUE(std::filesystem::exists(model));
}

}  // namespace
}  // namespace carmina
