// Spectral mixtures from a source of rows: precision, samples to learn from, weights, gaps, places of bad rows, memory,
// the record in the file.
#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/models/tune.hpp>
#include "solvers/evidence/fourier_evidence.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "mixture_data.hpp"
#include "models/fit/sampled_rows.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using carmina::testing::message_of;
using carmina::testing::random_matrix;
using carmina::testing::rmse;
using carmina::testing::Series;
using carmina::testing::TempDir;
using ::testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

SpectralMixtureOptions small_options() { return carmina::testing::small_mixture(40, 30, 20); }

TEST(RowSampler, TakesAnEvenSampleInRuns) {
  for (const Index run : {1, 8}) {
    RowSampler sampler(1000, 100, run, Random(5, 1));
    std::vector<Index> taken;
    for (Index i = 0; i < 1000; ++i) {
      const double count = sampler.take(1);
      ASSERT_LE(count, 1);
      if (count == 1) taken.push_back(i);
    }
    ASSERT_EQ(static_cast<Index>(taken.size()), 100 / run * run);
    // One run in each stretch.
    const Index stretches = 100 / run;
    for (Index k = 0; k < stretches; ++k) {
      const auto first = static_cast<std::size_t>(k * run);
      EXPECT_GE(taken[first], 1000 * k / stretches);
      EXPECT_LT(taken[first + static_cast<std::size_t>(run) - 1], 1000 * (k + 1) / stretches);
      EXPECT_EQ(taken[first + static_cast<std::size_t>(run) - 1] - taken[first], run - 1);
    }
  }
  RowSampler all(50, 50, 8, Random(5, 1));
  EXPECT_TRUE(all.all());
  EXPECT_EQ(all.take(50), 50);
}

TEST(RowSampler, CountsWeightsAsRepetitions) {
  RowSampler one_by_one(600, 100, 1, Random(5, 1)), together(600, 100, 1, Random(5, 1));
  for (Index i = 0; i < 200; ++i) {
    double sum = 0;
    for (Index copy = 0; copy < 3; ++copy) sum += one_by_one.take(1);
    EXPECT_EQ(together.take(3), sum);
  }
}

// Learnt from some rows, the posterior is that of all: against the evidence of all rows in memory.
TEST(SpectralMixtureRows, ThePosteriorIsOfAllRows) {
  const Series series(900);
  SpectralMixtureOptions options = small_options();
  options.learning_rows = 200;
  const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
  EXPECT_NEAR(machine.intercept()[0], series.Y.mean(), 1e-12);
  const Matrix<double> centred = series.Y.array() - machine.intercept()[0];
  const auto whole = FourierEvidence<double>(series.X, centred).posterior(machine.points()[0], {});
  EXPECT_NEAR(machine.log_marginal_likelihood(), whole.evidence, 1e-8 * std::abs(whole.evidence));
  Matrix<double> mean;
  predict_fourier<double>(machine.points()[0], whole, series.X, mean, nullptr, {});
  EXPECT_LE((machine.predict(series.X) - mean - Matrix<double>::Constant(900, 1, machine.intercept()[0])).norm(),
            1e-8 * mean.norm());
  EXPECT_LT(rmse(machine.predict(series.X), series.Y), 0.4);
  EXPECT_EQ(machine.options().learning_rows, 200);
  EXPECT_THAT(machine.report().reason, HasSubstr("learnt from 200 of 900 rows"));
  // All rows to learn from: nothing of the sort.
  options.learning_rows = 900;
  EXPECT_EQ(SpectralMixtureMachine::fit(series.X, series.Y, options).options().learning_rows, 0);
}

// A fast rhythm of a long series, which a sample of every thirtieth row still shows.
TEST(SpectralMixtureRows, ASampleOfASeriesFindsItsLines) {
  const Index n = 30000;
  Matrix<double> X(n, 1), Y = 0.3 * random_matrix(n, 1, 4);
  for (Index i = 0; i < n; ++i) {
    X(i, 0) = 0.1 * static_cast<double>(i);
    Y(i, 0) += std::sin(2 * std::numbers::pi * 2.611 * X(i, 0));
  }
  SpectralMixtureOptions options = small_options();
  options.learning_rows = 1000;
  const auto machine = SpectralMixtureMachine::fit(X, Y, options);
  EXPECT_LT(rmse(machine.predict(X), Y), 0.35);
}

TEST(SpectralMixtureRows, ProcessesOfAllRowsToo) {
  const Series series(240);
  for (const auto inference : {Inference::exact, Inference::inducing}) {
    SpectralMixtureOptions options = small_options();
    options.inference = inference;
    options.learning_rows = 80;
    const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
    const Matrix<double> centred = series.Y.array() - machine.intercept()[0];
    const auto& at = machine.parameters();
    const double expected =
        inference == Inference::exact
            ? exact_evidence(at.mixture, at.noise[0], series.X, centred, false, {}).value
            : inducing_evidence(at.mixture, at.noise[0], at.inducing, series.X, centred, false, {}).value;
    EXPECT_NEAR(machine.log_marginal_likelihood(), expected, 1e-8 * std::abs(expected));
  }
}

TEST(SpectralMixtureRows, FloatRowsLearnWhatDoublesLearn) {
  const Series series(300);
  const Matrix<float> X = series.X.cast<float>(), Y = series.Y.cast<float>();
  const auto wide = SpectralMixtureMachine::fit(series.X, series.Y, small_options());
  const auto narrow = SpectralMixtureMachine::fit(X, Y, small_options());
  EXPECT_LT(rmse(narrow.predict(series.X), wide.predict(series.X)), 0.05);
  EXPECT_NEAR(narrow.intercept()[0], wide.intercept()[0], 1e-6);
  // Phases of many digits are computed in double.
  Matrix<float> late = X;
  late.array() += 4096;
  EXPECT_LT(rmse(SpectralMixtureMachine::fit(late, Y, small_options()).predict(late.cast<double>()), series.Y), 0.5);
}

TEST(SpectralMixtureRows, WeightsAreRepetitionsInSamplesToo) {
  const Series series(300);
  const Vector<double> weights =
      Vector<double>::NullaryExpr(300, [](Index i) { return static_cast<double>((i * 7) % 4); });
  const auto total = static_cast<Index>(weights.sum());
  Matrix<double> X(total, 1), Y(total, 1);
  for (Index i = 0, at = 0; i < 300; ++i) {
    for (Index copy = 0; copy < static_cast<Index>(weights[i]); ++copy, ++at) {
      X.row(at) = series.X.row(i), Y.row(at) = series.Y.row(i);
    }
  }
  SpectralMixtureOptions options = small_options();
  options.max_iter = 5;
  for (const Index learning : {0, 100}) {
    options.learning_rows = learning;
    const auto weighted = SpectralMixtureMachine::fit(series.X, series.Y, options, weights.data());
    const auto repeated = SpectralMixtureMachine::fit(X, Y, options);
    EXPECT_LE((weighted.predict(series.X) - repeated.predict(series.X)).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_NEAR(weighted.log_marginal_likelihood(), repeated.log_marginal_likelihood(), 1e-6);
  }
}

// Each of these would run for ever, or out of memory, if a row cost as much as it weighs.
TEST(SpectralMixtureRows, LargeWeightsCostNothing) {
  const Series series(200);
  for (const double weight : {1e7, 0x1p53, 1e18, 1e300}) {
    const std::vector<double> weights(200, weight);
    for (const Inference inference : {Inference::fourier, Inference::exact, Inference::inducing}) {
      SpectralMixtureOptions options = small_options();
      options.inference = inference;
      options.max_iter = 2;
      const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options, weights.data());
      EXPECT_TRUE(machine.predict(series.X).allFinite()) << weight << " " << inference_name(inference);
    }
  }
}

TEST(RowSampler, LargeWeightsAreSampledEvenly) {
  for (const double weight : {1e10, 0x1p53, 1e300}) {
    RowSampler sampler(1000 * weight, 200, 1, Random(5, 1));
    std::vector<double> taken;
    for (Index i = 0; i < 1000; ++i) taken.push_back(sampler.take(weight));
    for (Index k = 0; k < 200; ++k) {  // one of five rows
      double sum = 0;
      for (Index i = 5 * k; i < 5 * k + 5; ++i) sum += taken[static_cast<std::size_t>(i)];
      EXPECT_EQ(sum, 1) << weight << " " << k;
    }
  }
}

TEST(SpectralMixtureRows, MissingTargetsAreNotSeen) {
  const Series series(400);
  Matrix<double> two(400, 2);
  two << series.Y, 2 * series.Y;
  for (Index i = 0; i < 400; i += 5) two(i, 1) = nan;
  SpectralMixtureOptions options = small_options();
  options.learning_rows = 150;
  const auto machine = SpectralMixtureMachine::fit(series.X, two, options);
  const Matrix<double> centred = two.rowwise() - machine.intercept().transpose();
  const auto whole = FourierEvidence<double>(series.X, centred).posterior(machine.points()[0], {});
  EXPECT_NEAR(machine.log_marginal_likelihood(), whole.evidence, 1e-8 * std::abs(whole.evidence));

  // Evaluation leaves them out, too: the same as the rows that are there, for each target.
  MemoryRows<double> rows(series.X, two);
  const Evaluation result = evaluate_machine<double>(Predictor(machine), rows);
  double squares = 0;
  const Matrix<double> predicted = machine.predict(series.X);
  for (Index i = 0; i < 400; ++i) {
    if (i % 5 != 0) squares += std::pow(predicted(i, 1) - two(i, 1), 2);
  }
  EXPECT_NEAR(result.targets[1].rmse, std::sqrt(squares / 320), 1e-12);
  EXPECT_EQ(result.rows, 400);

  // A row without any target is as if it were not there.
  two.row(7).setConstant(nan);
  std::vector<Index> others;
  for (Index i = 0; i < 400; ++i) {
    if (i != 7) others.push_back(i);
  }
  options.learning_rows = 0;
  options.max_iter = 3;
  const Matrix<double> X = series.X(others, Eigen::all), Y = two(others, Eigen::all);
  const auto with_row = SpectralMixtureMachine::fit(series.X, two, options);
  const auto without = SpectralMixtureMachine::fit(X, Y, options);
  EXPECT_NEAR(with_row.log_marginal_likelihood(), without.log_marginal_likelihood(), 1e-6);
  EXPECT_EQ(with_row.record().rows, 399);
  EXPECT_THAT(with_row.record().report.message, HasSubstr("1 row has no target and was ignored"));
}

TEST(SpectralMixtureRows, BadRowsAreNamed) {
  const Series series(50);
  const auto message = [&](Index column, double value, Inference inference) {
    Matrix<double> X = series.X, Y = series.Y;
    (column == 0 ? X : Y)(17, 0) = value;
    SpectralMixtureOptions options = small_options();
    options.inference = inference;
    return message_of([&] { SpectralMixtureMachine::fit(X, Y, options); });
  };
  EXPECT_THAT(message(0, nan, Inference::fourier),
              HasSubstr("row 18: input column 1 is NaN; a spectral mixture needs"));
  EXPECT_THAT(message(1, HUGE_VAL, Inference::fourier), HasSubstr("row 18: target column 1 is infinite"));
  EXPECT_THAT(message(1, nan, Inference::exact), HasSubstr("row 18: target column 1 is NaN or infinite"));
  Vector<double> weights = Vector<double>::Ones(50);
  weights[3] = -1;
  EXPECT_THAT(message_of([&] { SpectralMixtureMachine::fit(series.X, series.Y, small_options(), weights.data()); }),
              HasSubstr("row 4: a weight must be finite and not negative, found -1"));
  weights[3] = 0.5;
  SpectralMixtureOptions exact = small_options();
  exact.inference = Inference::exact;
  EXPECT_THAT(message_of([&] { SpectralMixtureMachine::fit(series.X, series.Y, exact, weights.data()); }),
              HasSubstr("whole numbers as weights"));
}

TEST(SpectralMixtureRows, TheBudgetIsKeptOrRefused) {
  const Series series(3000);
  SpectralMixtureOptions options = small_options();
  options.max_iter = 2;
  options.execution.memory_budget = 1'100'000;
  const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
  EXPECT_THAT(machine.report().memory, HasSubstr("of 1.1 MB planned"));
  EXPECT_GE(machine.options().learning_rows, 100);
  EXPECT_LT(machine.options().learning_rows, 3000);
  const auto refused = [&](auto change) {
    SpectralMixtureOptions other = options;
    change(other);
    return message_of([&] { SpectralMixtureMachine::fit(series.X, series.Y, other); });
  };
  EXPECT_THAT(refused([](auto& o) { o.learning_rows = 3000; }),
              ::testing::MatchesRegex("fit: inference 'fourier' needs .* for 3000 rows to learn from, and the memory "
                                      "budget is 1.1 MB; learning_rows of at most [0-9]+ would fit"));
  EXPECT_THAT(refused([](auto& o) { o.n_components = 2000; }),
              ::testing::MatchesRegex(".*; at most [0-9]+ components with learning_rows of 100 would fit"));
  EXPECT_THAT(refused([](auto& o) { o.inference = Inference::exact; }),
              ::testing::MatchesRegex(".*; inference 'fourier' with at most [0-9]+ components would fit"));
  EXPECT_THAT(refused([](auto& o) { o.execution.memory_budget = 1000; }), HasSubstr("even the smallest model needs"));
  options.inference = Inference::inducing;
  options.execution.memory_budget = 20'000'000;
  EXPECT_THAT(SpectralMixtureMachine::fit(series.X, series.Y, options).report().memory, HasSubstr("of 20 MB planned"));
}

TEST(SpectralMixtureRows, TheRecordIsInTheFile) {
  const Series series(200);
  SpectralMixtureOptions options = small_options();
  options.seed = 11;
  options.n_starts = 2;
  options.kl_copies = KlCopies::one;
  options.input_names = {"time"};
  options.target_names = {"load"};
  const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
  const auto again = SpectralMixtureMachine::from_file(machine.to_file(), "file");
  for (const auto* one : {&machine, &again}) {
    const FitRecord& record = one->record();
    EXPECT_EQ(record.rows, 200);
    EXPECT_EQ(record.seed, 11u);
    EXPECT_EQ(record.input_names, std::vector<std::string>{"time"});
    EXPECT_EQ(record.target_names, std::vector<std::string>{"load"});
    EXPECT_EQ(record.evidence, machine.log_marginal_likelihood());
    EXPECT_NEAR(record.target_mean[0], series.Y.mean(), 1e-12);
    EXPECT_THAT(record.report.memory, HasSubstr("planned"));
    std::vector<std::string> phases;
    for (const auto& [phase, seconds] : record.report.seconds) phases.push_back(phase);
    EXPECT_EQ(phases, (std::vector<std::string>{"summary", "reading", "learning", "posterior"}));
    EXPECT_EQ(one->options().n_starts, 2);
    EXPECT_EQ(one->options().kl_copies, KlCopies::one);
    EXPECT_EQ(one->options().n_components, 40);
  }
}

// Before there was a record, what the solver did stood beside the mixture.
TEST(SpectralMixtureRows, OldFilesAreRead) {
  const Series series(100);
  const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, small_options());
  ModelFile file = machine.to_file();
  auto about = nlohmann::json::parse(file.texts["mixture"]);
  about.erase("fit");
  about.erase("options");
  about.update({{"solver", "lbfgs"},
                {"reason", "lbfgs: inference 'fourier'"},
                {"iterations", 7},
                {"converged", false},
                {"message", "still rising"},
                {"seconds", {{"learning", 0.5}}}});
  about["seconds"] = nlohmann::json::array({nlohmann::json::array({"learning", 0.5})});
  file.texts["mixture"] = about.dump();
  file.tensors.erase("target_mean");
  const auto old = SpectralMixtureMachine::from_file(file, "old");
  EXPECT_EQ(old.predict(series.X), machine.predict(series.X));
  EXPECT_EQ(old.report().iterations, 7);
  EXPECT_EQ(old.report().message, "still rising");
  EXPECT_EQ(old.record().target_mean, machine.intercept());
}

// A file read block by block gives what memory gives.
TEST(SpectralMixtureRows, RowsOfAFileAreRowsInMemory) {
  const Series series(700);
  const TempDir folder;
  {
    std::ofstream out(folder.path("series.csv"));
    out.precision(17);
    for (Index i = 0; i < 700; ++i) out << series.X(i, 0) << ',' << series.Y(i, 0) << '\n';
  }
  SpectralMixtureOptions options = small_options();
  options.max_iter = 5;
  options.learning_rows = 128;
  TableRows<double> rows(open_table(folder.path("series.csv")), {{0}, {1}}, false);
  const auto from_file = SpectralMixtureMachine::fit(rows, options);
  const auto from_memory = SpectralMixtureMachine::fit(series.X, series.Y, options);
  EXPECT_LE((from_file.predict(series.X) - from_memory.predict(series.X)).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(TuneMixture, TheLargestEvidenceIsKept) {
  const Series series(300);
  MemoryRows<double> rows(series.X, series.Y);
  const MixtureTuneResult result = tune_mixture(rows, small_options(), {1, 2, 3});
  ASSERT_EQ(result.trials.size(), 3u);
  const auto best = std::max_element(result.trials.begin(), result.trials.end(),
                                     [](const auto& a, const auto& b) { return a.evidence < b.evidence; });
  EXPECT_EQ(result.machine.options().n_mixtures, best->n_mixtures);
  EXPECT_EQ(result.machine.log_marginal_likelihood(), best->evidence);
  EXPECT_GT(best->n_mixtures, 1);  // there are two rhythms
  EXPECT_THROW(tune_mixture(rows, small_options(), {1, 100}), Error);
}

}  // namespace
}  // namespace carmina
