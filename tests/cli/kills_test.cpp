// tests/cli/kills_test.cpp -- `fit` and `predict`, killed while they work and write: what is there is whole.
#include <carmina/models/predictor.hpp>
#include <carmina/random/philox.hpp>

#include <cstdio>
#include <functional>

#include "killed.hpp"

namespace carmina::testing {
namespace {

class Kills : public ::testing::Test {
 protected:
  Kills() { write_table(folder_.path("train.npy"), {}, friedman_table(1000, 1)); }

  const TempDir folder_;
  const std::vector<std::string> fit_ =
      with_numbers({"fit", folder_.path("train.npy"), "--targets", "2", "--threads", "1", "--model",
                    folder_.path("model"), "--components", "400", "--variances"});

  // Kills at moments up to the time of a whole run, every second time in its last third, where files are written, and
  // lets each tenth run end: what is at `output` is good, by expect_good, whenever something is there; nothing is lost;
  // and what killed runs left is removed by one that ends. Prints counts.
  void expect_whole(const char* what, const std::vector<std::string>& words, const std::string& output,
                    const std::function<void()>& expect_good) const {
    const Random random(2, 1);
    const auto whole = time_of(words);
    const int count = kills() * 5 / 2;
    int killed = 0, left = 0;
    for (int turn = 0; killed < count; ++turn) {
      SCOPED_TRACE(turn);
      if (turn % 3 == 0) std::filesystem::remove(output);  // else it is replaced
      const bool was_there = std::filesystem::exists(output);
      const double part = random.uniform(static_cast<std::uint64_t>(turn), 0),
                   moment = turn % 2 == 0 ? part : (2 + part) / 3;
      const auto time = static_cast<long>(moment * static_cast<double>(whole.count()));
      killed += killed_after(words, std::chrono::microseconds(time)) ? 1 : 0;
      ASSERT_TRUE(std::filesystem::exists(output) || !was_there) << "a file was lost";
      if (std::filesystem::exists(output)) expect_good();
      left += temporary_files(folder_) > 0 ? 1 : 0;
      if (turn % 10 != 9 && killed < count) continue;
      (void)time_of(words);
      expect_good();
      EXPECT_EQ(temporary_files(folder_), 0) << "what killed runs left is still there";
    }
    std::printf("%s: killed %d times, a temporary file was left %d times and always removed\n", what, killed, left);
  }
};

TEST_F(Kills, OfFitLeaveAWholeModelOrNone) {
  const std::string model = folder_.path("model");
  const Matrix<double> X = friedman_table(20, 2).leftCols(5);
  (void)time_of(fit_);
  const Matrix<double> expected = Predictor::load(model).predict(X);
  expect_whole("fit", fit_, model, [&] { EXPECT_EQ(Predictor::load(model).predict(X), expected); });
}

TEST_F(Kills, OfPredictLeaveAWholeTableOrNone) {
  (void)time_of(fit_);
  write_table(folder_.path("new.npy"), {}, friedman_table(5000, 2).leftCols(5));
  const std::string out = folder_.path("predictions.csv");
  const std::vector<std::string> words = {"predict", folder_.path("model"), folder_.path("new.npy"), "--out", out};
  (void)time_of(words);
  const std::string expected = folder_.content("predictions.csv");
  expect_whole("predict", words, out, [&] { EXPECT_EQ(folder_.content("predictions.csv"), expected); });
}

}  // namespace
}  // namespace carmina::testing
