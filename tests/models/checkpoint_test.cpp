// tests/models/checkpoint_test.cpp -- a fit that is stopped and made again from its checkpoint gives the same bits, for
// every way of the table and every kind of learning before it; a checkpoint of something else is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/models/tune.hpp>

#include <filesystem>
#include <optional>

#include "mixture_data.hpp"
#include "models/file/checkpoint_file.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include "ways_settings.hpp"

namespace carmina::ways_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::small_mixture;
using testing::TempDir;

// Counts what a fit says of its progress, and stops it at the k-th word.
struct Stop {
  Index words = 0, steps = 0, at = -1;

  std::function<void(const Progress&)> counter() {
    return [this](const Progress& now) {
      if (words++ == at) throw Cancelled();
      steps += now.step.empty() ? 0 : 1;
    };
  }
};

CheckpointOptions every_step(const TempDir& folder) {
  CheckpointOptions options(folder.path("fit.checkpoint"));
  options.seconds = 0;
  return options;
}

// fit(options) made whole, and stopped at several places and made again: same(whole, again) each time. At most
// `together` steps are between two states. Returns how many were resumed from a file.
template <class Options, class Fit, class Same>
Index stop_and_resume(const Options& given, const Fit& fit, const Same& same, Index together = 1) {
  Options options = given;
  options.execution.threads = 1;
  Stop all;
  options.execution.progress = all.counter();
  const auto whole = fit(options);
  Index resumed = 0;
  for (const Index at : {all.words / 3, all.words * 2 / 3, all.words - 1}) {
    SCOPED_TRACE(at);
    const TempDir folder;
    options.checkpoint = every_step(folder);
    Stop first{.at = at}, second;
    options.execution.progress = first.counter();
    EXPECT_THROW((void)fit(options), Cancelled);
    const bool left = std::filesystem::exists(options.checkpoint.path);
    resumed += left ? 1 : 0;
    EXPECT_EQ(folder.entries(), left ? 1U : 0U);
    options.execution.progress = second.counter();
    same(whole, fit(options));
    EXPECT_EQ(folder.entries(), 0U);
    if (left) {
      EXPECT_LE(first.steps + second.steps, all.steps + together);  // those since the last state are made again
    }
  }
  return resumed;
}

template <class T>
class CheckpointOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CheckpointOf, Precisions);

TYPED_TEST(CheckpointOf, EveryWayGoesOnToTheSameBits) {
  using T = TypeParam;
  for (const Setting& setting : settings()) {
    if (setting.options.loss.index() > 1) continue;  // losses share their ways
    if (sizeof(T) == sizeof(float) && setting.missing) continue;
    SCOPED_TRACE(setting.name);
    const Data<T> data(setting.rows(), setting.options.loss, setting.missing);
    const auto fit = [&](const FitOptions& options) {
      return KernelMachine<T>::fit(data.X, data.Y, options, data.w.data());
    };
    const auto same = [](const auto& whole, const auto& again) { expect_equal(whole, again, "made again"); };
    const Index resumed = stop_and_resume(setting.options, fit, same, setting.options.solver == "idr" ? 5 : 1);
    if (const FitTask task = setting.task(); !task.may_factor()) {
      EXPECT_GE(resumed, 1);
    }
  }
}

TEST(Checkpoint, KernelsThatAreLearntGoOn) {
  const Data<double> data(500, Squared{});
  const auto fit = [&](const FitOptions& options) { return KernelMachine<double>::fit(data.X, data.Y, options); };
  const auto same = [](const auto& whole, const auto& again) { expect_equal(whole, again, "made again"); };
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.by_evidence = true;
  EXPECT_EQ(stop_and_resume(options, fit, same), 3);
  options.by_evidence = false;
  options.alpha_by = AlphaScore::leave_one_out;
  EXPECT_GE(stop_and_resume(options, fit, same), 1);
  FitOptions open = given_numbers();
  open.solver = "cg";
  open.n_components = 100;
  open.length_scale = 1.5;
  open.alpha.reset();  // the data choose
  EXPECT_GE(stop_and_resume(open, fit, same), 1);
}

TEST(Checkpoint, QuantilesOfOneTargetGoOn) {
  const Data<double> data(900, Squared{});
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.loss = Pinball({0.2, 0.5, 0.8});
  const auto fit = [&](const FitOptions& o) {
    return KernelMachine<double>::fit(data.X, Matrix<double>(data.Y.leftCols(1)), o);
  };
  EXPECT_GE(stop_and_resume(options, fit, [](const auto& a, const auto& b) { expect_equal(a, b, "made again"); }), 2);
}

TEST(Checkpoint, MixturesGoOnToTheSameBits) {
  const testing::Series series(400);
  for (const std::string solver : {"lbfgs", "adam", "natural_gradient"}) {
    for (const Inference inference : {Inference::fourier, Inference::inducing}) {
      SCOPED_TRACE(solver + " " + inference_name(inference));
      if (inference != Inference::fourier && solver != "lbfgs") continue;
      SpectralMixtureOptions options = small_mixture(40, 12, 20);
      options.solver = solver;
      options.inference = inference;
      options.n_starts = 2;
      options.learning_rows = 200;
      const auto fit = [&](const SpectralMixtureOptions& o) {
        return SpectralMixtureMachine::fit(series.X, series.Y, o);
      };
      const Index resumed = stop_and_resume(options, fit, [&](const auto& whole, const auto& again) {
        EXPECT_EQ(whole.predict(series.X), again.predict(series.X));
        EXPECT_EQ(whole.curve(), again.curve());
        EXPECT_EQ(whole.start_evidences(), again.start_evidences());
        EXPECT_EQ(whole.report().iterations, again.report().iterations);
        EXPECT_EQ(whole.report().status, again.report().status);
      });
      EXPECT_EQ(resumed, 3);
    }
  }
}

// ---- files that are refused

class StoppedFit : public ::testing::Test {
 protected:
  StoppedFit() {
    options.solver = "cg";
    options.n_components = 20;
    options.length_scale = 1.5;
    options.tol = 1e-9;
    options.checkpoint = every_step(folder);
    Stop stop{.at = 6};
    FitOptions stopped = options;
    stopped.execution.progress = stop.counter();
    EXPECT_THROW((void)KernelMachine<double>::fit(data.X, data.Y, stopped), Cancelled);
    EXPECT_TRUE(std::filesystem::exists(options.checkpoint.path));
  }
  std::string refusal(const FitOptions& other) const {
    return message_of([&] { (void)KernelMachine<double>::fit(data.X, data.Y, other); });
  }

  const TempDir folder;
  const Data<double> data{900, Squared{}};
  FitOptions options = given_numbers();
};

TEST_F(StoppedFit, OtherOptionsAreRefused) {
  const std::string before = folder.content("fit.checkpoint");
  const std::string start = "checkpoint: '" + options.checkpoint.path + "' is of a fit with ";
  FitOptions other = options;
  other.alpha = 0.25;
  EXPECT_EQ(refusal(other), start + "alpha 1.0, this one has 0.25; remove the file or name another");
  other = options;
  other.seed = 3;
  EXPECT_EQ(refusal(other), start + "seed 0, this one has 3; remove the file or name another");
  other = options;
  other.solver = "lsmr";
  EXPECT_EQ(refusal(other), start + "solver cg, this one has lsmr; remove the file or name another");
  other = options;
  other.max_iter = 7;
  EXPECT_EQ(refusal(other), start + "max_iter 1000, this one has 7; remove the file or name another");
  other = options;
  other.length_scale = 1.25;
  EXPECT_EQ(refusal(other), start + "another kernel; remove the file or name another");
  EXPECT_EQ(folder.content("fit.checkpoint"), before);
}

TEST_F(StoppedFit, OtherRowsAreRefused) {
  Matrix<double> Y = data.Y;
  Y(700, 1) += 1e-9;
  EXPECT_THAT(message_of([&] { (void)KernelMachine<double>::fit(data.X, Y, options); }),
              HasSubstr("is of a fit with a sum over the rows of "));
  EXPECT_THAT(message_of([&] { (void)KernelMachine<double>::fit(data.X.topRows(899), data.Y.topRows(899), options); }),
              HasSubstr("is of a fit with rows 900, this one has 899"));
  EXPECT_THAT(message_of([&] { (void)KernelMachine<float>::fit(data.X.cast<float>(), data.Y.cast<float>(), options); }),
              HasSubstr("is of a fit with precision float64, this one has float32"));
}

TEST_F(StoppedFit, OtherFilesAreRefused) {
  std::string content = folder.content("fit.checkpoint");
  content[content.size() - 3] = static_cast<char>(content[content.size() - 3] ^ 1);
  folder.file("fit.checkpoint", content);
  EXPECT_THAT(refusal(options), HasSubstr("altered: its checksum does not match; remove the file or name another"));
  const std::string table = "x,y\n1,2\n3,4\n5,6\n";
  folder.file("fit.checkpoint", table);
  EXPECT_THAT(refusal(options), HasSubstr("not a Carmina model; remove the file or name another"));
  EXPECT_EQ(folder.content("fit.checkpoint"), table);
  FitOptions small = given_numbers();
  small.n_components = 20;
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, small);
  machine.save(folder.path("fit.checkpoint"));
  EXPECT_THAT(refusal(options), HasSubstr("is not the state of a fit; name another file"));
  FitOptions nowhere = options;
  nowhere.checkpoint.path = folder.path("no/such/folder");
  EXPECT_THAT(refusal(nowhere), HasSubstr("cannot write"));
}

TEST_F(StoppedFit, ThreadsAndMemoryMayDiffer) {
  FitOptions other = options;
  other.execution.threads = 3;
  const auto again = KernelMachine<double>::fit(data.X, data.Y, other);
  other.checkpoint = {};
  expect_equal(KernelMachine<double>::fit(data.X, data.Y, other), again, "with other threads");
}

TEST_F(StoppedFit, ItMayBeLeftForWhoSavesTheModel) {
  FitOptions kept = options;
  kept.checkpoint.keep = true;
  const auto first = KernelMachine<double>::fit(data.X, data.Y, kept);
  EXPECT_TRUE(std::filesystem::exists(options.checkpoint.path));
  expect_equal(first, KernelMachine<double>::fit(data.X, data.Y, options), "once more");
  EXPECT_FALSE(std::filesystem::exists(options.checkpoint.path));
}

// A disk that is full must not cost the fit.
TEST_F(StoppedFit, AFileThatCannotBeWrittenIsSaidAtTheEnd) {
  FitOptions lost = options;
  const TempDir other;
  std::filesystem::create_directory(other.path("gone"));
  lost.checkpoint.path = other.path("gone/fit.checkpoint");
  lost.execution.progress = [&](const Progress&) { std::filesystem::remove_all(other.path("gone")); };
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, lost);
  EXPECT_THAT(machine.record().report.message, HasSubstr("the checkpoint was not kept: cannot write '"));
  lost.checkpoint = {};
  expect_equal(KernelMachine<double>::fit(data.X, data.Y, lost), machine, "without a checkpoint");
}

TEST(Checkpoint, KernelsOfFunctionsAndPathsHaveNone) {
  const TempDir folder;
  const Data<double> data(100, Squared{});
  FitOptions options = given_numbers();
  options.checkpoint = every_step(folder);
  options.approximation = "exact";
  options.kernel = Kernel(
      own_term(Callable([](ConstView<double> X, ConstView<double> Z, View<double> out) { out = X * Z.transpose(); }),
               Independent{}));
  EXPECT_THAT(message_of([&] { (void)KernelMachine<double>::fit(data.X, data.Y, options); }),
              HasSubstr("checkpoint: the kernel is made of functions"));
  TuneOptions tune;
  tune.fit = given_numbers();
  tune.fit.checkpoint = every_step(folder);
  MemoryRows<double> rows(data.X, data.Y);
  EXPECT_EQ(message_of([&] { (void)cross_validate(rows, tune); }), "tune: a checkpoint is for one fit, here are many");
}

TEST(Checkpoint, AValueOfAnotherShapeIsRefused) {
  const TempDir folder;
  Vector<double> value = Vector<double>::Ones(3);
  {
    CheckpointFile file(every_step(folder));
    Resumable loop({&file, "loop"}, [&](LoopState& state) { state("value", value); });
    loop.step();
  }
  const auto read = [&](const std::string& name, Vector<double> into) {
    return message_of([&] {
      CheckpointFile file(every_step(folder));
      const Resumable loop({&file, "loop"}, [&](LoopState& state) { state(name, into); });
    });
  };
  EXPECT_EQ(read("value", value), "");
  EXPECT_EQ(read("value", Vector<double>(4)), "the checkpoint's 'loop/value' is 3 x 1, expected 4 x 1");
  EXPECT_THAT(read("lost", value), HasSubstr("has no 'loop/lost'; remove the file or name another"));
}

}  // namespace
}  // namespace carmina::ways_test
