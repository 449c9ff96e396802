// tests/cli/columns_test.cpp -- which columns are inputs, weights or nothing; text and dates among them; standard
// input and output.
#include <carmina/models/predictor.hpp>

#include <cmath>
#include <cstdlib>
#include <random>

#include "program.hpp"

namespace carmina::testing::columns_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

// Text, a truth value, a date, numbers, a note that is nothing; every 40th cell of text and numbers is missing where
// `missing`.
std::string mixed_table(int n, bool missing, unsigned seed = 0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::string csv = "colour,x,note,on,day,times,y\n";
  const char* colours[] = {"red", "green", "blue"};
  for (int i = 0; i < n; ++i) {
    const auto colour = random() % 3;
    const bool on = random() % 2 == 0;
    const double x = uniform(random);
    const int day = 1 + static_cast<int>(random() % 28);
    const double y = std::sin(x) + (colour == 0) + 0.5 * on + 0.05 * day;
    csv += format_text("{},{},hello {},{},2024-01-{:02},{},{}\n", missing && i % 40 == 3 ? "" : colours[colour],
                       missing && i % 40 == 7 ? "" : format_text("{}", x), i, on ? "True" : "False", day, i % 3, y);
  }
  return csv;
}

std::vector<std::string> words(const std::string& command, const std::string& data, const std::string& model,
                               std::vector<std::string> more) {
  more.insert(more.begin(), {command, data, "--targets", "y", "--model", model});
  return with_numbers(std::move(more));
}

}  // namespace

TEST(Columns, TextTruthValuesAndDatesAreInputs) {
  TempDir dir;
  const auto data = dir.file("a.csv", mixed_table(200, true)), model = dir.path("m.safetensors");
  const auto out = run_well(words("fit", data, model, {"--ignore", "note,times", "--dates", "days", "--fill-missing"}));
  EXPECT_THAT(out, HasSubstr("200 rows, 4 inputs as 7 numbers, 1 target"));
  const Predictor predictor = Predictor::load(model);
  ASSERT_NE(predictor.encoder(), nullptr);
  EXPECT_THAT(predictor.input_names(),
              ElementsAre("colour=blue", "colour=green", "colour=red", "x", "on=false", "on=true", "day"));
  run_well({"predict", model, data, "--out", dir.path("p.csv")});
  const Matrix<double> predicted = read_table(dir.path("p.csv")).values;
  ASSERT_EQ(predicted.rows(), 200);
  // Columns are found by name, in whatever order.
  const auto few = dir.file("few.csv", "day,on,x,colour\n2024-01-05,true,0.5,red\n2024-01-05,true,0.5,blue\n");
  run_well({"predict", model, few, "--out", dir.path("q.csv")});
  const Matrix<double> of_few = read_table(dir.path("q.csv")).values;
  EXPECT_GT(of_few(0, 0), of_few(1, 0) + 0.3);
  const auto unseen = dir.file("unseen.csv", "day,on,x,colour\n2024-01-05,true,0.5,mauve\n");
  EXPECT_THAT(run_badly({"predict", model, unseen, "--out", dir.path("r.csv")}),
              HasSubstr("unseen.csv:2: column 'colour': 'mauve' is not one of the 3 levels"));
  EXPECT_THAT(run_well({"evaluate", model, data}), HasSubstr("200 rows"));
}

TEST(Columns, UnseenLevelsAreZerosWhereAsked) {
  TempDir dir;
  const auto data = dir.file("a.csv", mixed_table(100, false)), model = dir.path("m.safetensors");
  run_well(words("fit", data, model, {"--inputs", "colour,x", "--unseen", "zeros"}));
  const auto unseen = dir.file("unseen.csv", "x,colour\n0.5,mauve\n");
  run_well({"predict", model, unseen, "--out", dir.path("p.csv")});
  const Predictor predictor = Predictor::load(model);
  Matrix<double> row(1, 4);
  row << 0, 0, 0, 0.5;
  EXPECT_EQ(read_table(dir.path("p.csv")).values(0, 0), predictor.predict(row)(0, 0));
}

TEST(Columns, AreNamedWhereTheyAreNoNumbers) {
  TempDir dir;
  const auto data = dir.file("a.csv", mixed_table(50, false)), model = dir.path("m.safetensors");
  EXPECT_THAT(run_badly(words("fit", data, model, {"--ignore", "note"})),
              HasSubstr("column 'day': the cells are dates"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--ignore", "note,day", "--categories", "none"})),
              HasSubstr("a.csv:2: column 'colour': expected a number, found '"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--ignore", "notes"})), HasSubstr("did you mean 'note'?"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--ignore", "y"})),
              HasSubstr("the column 'y' is a target and in --ignore too"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--inputs", "x,y"})), HasSubstr("'y' is in --inputs, and a target"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--categories", "some"})), HasSubstr("there is auto, none"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--unseen", "some"})), HasSubstr("--unseen must be 'error' or"));
  EXPECT_THAT(run_badly(words("fit", data, model, {"--dates", "weeks"})), HasSubstr("--dates must be 'seconds' or"));
}

TEST(Columns, AWeightIsARepetition) {
  TempDir dir;
  const auto csv = mixed_table(90, false);
  const auto data = dir.file("a.csv", csv);
  std::string repeated;
  std::size_t at = 0;
  for (int line = -1; at < csv.size(); ++line) {
    const auto end = csv.find('\n', at) + 1;
    for (int k = 0; k < (line < 0 ? 1 : line % 3); ++k) repeated += csv.substr(at, end - at);
    at = end;
  }
  const auto again = dir.file("b.csv", repeated);
  const std::vector<std::string> inputs = {"--inputs", "x,on", "--length-scale", "1", "--approximation", "exact"};
  auto weighted = inputs;
  weighted.insert(weighted.end(), {"--weights", "times"});
  run_well(words("fit", data, dir.path("w.safetensors"), weighted));
  run_well(words("fit", again, dir.path("r.safetensors"), inputs));
  Matrix<double> X(2, 3);
  X << 0.3, 1, 0, -1, 0, 1;
  const auto a = Predictor::load(dir.path("w.safetensors")).predict(X);
  const auto b = Predictor::load(dir.path("r.safetensors")).predict(X);
  EXPECT_LT((a - b).cwiseAbs().maxCoeff(), 1e-9);
  const auto bad = dir.file("bad.csv", "x,w,y\n1,1,2\n2,-1,3\n");
  EXPECT_THAT(run_badly(words("fit", bad, dir.path("m.safetensors"), {"--weights", "w"})),
              HasSubstr("bad.csv:3: column 'w': a weight must be a number from 0, found -1"));
}

TEST(Columns, StandardInputAndOutput) {
  TempDir dir;
  const auto data = dir.file("a.csv", mixed_table(120, false)), model = dir.path("m.safetensors");
  const auto shell = [&](const std::string& line) {
    return std::system(("cd '" + dir.path(".") + "' && " + line).c_str());
  };
  const std::string program = std::string("'") + CARMINA_PROGRAM + "'";
  const std::string options =
      " --targets y --ignore note,day --components 64 --kernel gaussian --approximation fourier "
      "--length-scale median --alpha 1 --scale standard >/dev/null";
  ASSERT_EQ(shell(program + " fit a.csv --model m.safetensors" + options), 0);
  ASSERT_EQ(shell("cat a.csv | " + program + " fit - --model p.safetensors" + options), 0);
  ASSERT_EQ(shell(program + " fit - --model q.safetensors" + options + " < a.csv"), 0);
  ASSERT_EQ(shell(program + " predict m.safetensors a.csv --out m.csv"), 0);
  for (const std::string other : {"p", "q"}) {
    ASSERT_EQ(shell("cat a.csv | " + program + " predict " + other + ".safetensors - --out - > " + other + ".csv"), 0);
    EXPECT_EQ(dir.content(other + ".csv"), dir.content("m.csv"));
  }
  EXPECT_NE(shell("printf 'x,colour,on,times\\n1,red,True,0\\n1,red,True,oops\\n' | " + program +
                  " predict m.safetensors - --out p.csv 2> err"),
            0);
  EXPECT_THAT(dir.content("err"), HasSubstr("standard input:3: column 'times': expected a number, found 'oops'"));
}

}  // namespace carmina::testing::columns_test
