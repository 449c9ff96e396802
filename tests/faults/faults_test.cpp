// tests/faults/faults_test.cpp -- every allocation and every call on a file may fail: what comes out is one clear
// error, nothing is left behind, and the next call works.
//
// A few places of each kind in every run; all of them with CARMINA_ALL_FAULTS=1, a share with 16+3 (support/share.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/data/read_ahead.hpp>
#include <carmina/data/table.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/predictor.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/models/tune.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include "injected.hpp"
#include "models/mixture_data.hpp"
#include "models/ways_settings.hpp"
#include "support/share.hpp"
#include "support/temp_dir.hpp"

namespace carmina::faults_test {
namespace {

using testing::Fault;
using testing::Injected;
using testing::Share;
using testing::TempDir;
using ways_test::Data;
using ways_test::Setting;
using ways_test::settings;

// Of `calls` places: the first ones, and some more evenly spread; or the share of all that is asked for.
std::vector<long> places(long calls, long some) {
  std::vector<long> chosen;
  Share share(testing::all_faults, std::max(1L, calls / some));
  for (long n = 1; n <= calls; ++n) {
    if (share.has_next() || (n < 3 && !share.is_given())) chosen.push_back(n);
  }
  return chosen;
}

struct Counts {
  long places = 0, errors = 0, borne = 0;
  void print(const char* what) const {
    std::printf("%s: %ld places, %ld errors, %ld borne\n", what, places, errors, borne);
  }
};

// One line that says something.
void expect_clear(const std::string& message) {
  EXPECT_GT(message.size(), 10U);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << message;
}

// f() with the fault at the n-th call: its result where it bears that, or nothing after an error of the right kind.
template <class F>
auto with_fault(Fault fault, long n, const F& f, std::size_t least_bytes = 0) -> std::optional<decltype(f())> {
  std::string message;
  try {
    const Injected injected(fault, n, least_bytes);
    return f();
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(fault, Fault::memory);
    return std::nullopt;
  } catch (const Error& error) {
    message = error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "neither an Error nor bad_alloc: " << error.what();
    return std::nullopt;
  }
  expect_clear(message);
  return std::nullopt;
}

// What is not ours. nlohmann's JSON allocates while it is destroyed, and ends the program where there is not even
// memory for that: model files are tried with blocks larger than its own. A copy of a sparse matrix of Eigen that fails
// loses its outer index: sketches may lose a block.
struct Allowance {
  std::size_t least_bytes = 0;
  long lost = 0;
};

// Memory that runs out at some places of f(), at each of them until two runs leave the same number of blocks: a block
// that is lost is lost by every run. (Workspaces that threads keep may grow in one run or another, and shift the places
// of those after it: `several` runs are allowed to settle.)
template <class F, class Same>
void starve(const char* what, const F& f, long some, const Same& same, Counts& counts,
            const Allowance& allowance = {}) {
  constexpr int several = 8;
  const auto whole = f();
  long calls = 0;
  {
    const Injected none(Fault::memory, 0, allowance.least_bytes);
    (void)f();
    calls = Injected::calls();
  }
  for (const long n : places(calls, some)) {
    SCOPED_TRACE(format_text("{}, allocation {} of {}", what, n, calls));
    bool borne = false, settled = false;
    long live = 0;
    for (int run = 0; run < several && !settled; ++run) {
      const auto result = with_fault(Fault::memory, n, f, allowance.least_bytes);
      if (result) same(whole, *result);
      borne = run == 0 ? result.has_value() : borne;
      const long before = live;
      live = Injected::live_blocks();
      settled = run > 1 && live <= before + allowance.lost;
    }
    EXPECT_TRUE(settled) << "each of " << several << " runs lost a block";
    ++(borne ? counts.borne : counts.errors);
    ++counts.places;
  }
  same(whole, f());
}

// ---- memory

TEST(Memory, RunsOutInEveryWay) {
  if (!Injected::memory_fails()) GTEST_SKIP() << "the sanitizer has the allocations";
  Counts counts;
  for (const Setting& setting : settings()) {
    if (setting.options.loss.index() > 1) continue;  // losses share their ways
    SCOPED_TRACE(setting.name);
    const Data<double> data(setting.rows(), setting.options.loss, setting.missing);
    FitOptions options = setting.options;
    options.execution.threads = 1;
    starve(
        "fit", [&] { return KernelMachine<double>::fit(data.X, data.Y, options, data.w.data()); }, 2,
        [](const auto& a, const auto& b) { ways_test::expect_equal(a, b, "after a fault"); }, counts,
        {.lost = setting.task().sketched() ? 1 : 0});
  }
  counts.print("fits");
}

TEST(Memory, RunsOutInThreads) {
  if (!Injected::memory_fails()) GTEST_SKIP() << "the sanitizer has the allocations";
  Counts counts;
  const Data<double> data(900, Squared{});
  for (const std::string solver : {"direct", "cg", "sgd"}) {
    FitOptions options = given_numbers();
    options.solver = solver;
    options.n_components = 20;
    options.max_iter = 4;
    options.execution.threads = 3;
    const auto fit = [&] { return KernelMachine<double>::fit(data.X, data.Y, options, data.w.data()); };
    const auto whole = fit();
    long calls = 0;
    {
      const Injected none(Fault::memory, 0);
      (void)fit();
      calls = Injected::calls();
    }
    for (const long n : places(calls, 20)) {
      SCOPED_TRACE(n);
      with_fault(Fault::memory, n, fit) ? ++counts.borne : ++counts.errors;
      ++counts.places;
    }
    ways_test::expect_equal(whole, fit(), "after faults in threads");
  }
  counts.print("fits in threads");
}

TEST(Memory, RunsOutInWhatIsDoneWithModels) {
  if (!Injected::memory_fails()) GTEST_SKIP() << "the sanitizer has the allocations";
  Counts counts;
  const TempDir folder;
  const Data<double> data(300, Squared{});
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.keep_moments = true;
  options.solver = "direct";
  options.execution.threads = 1;
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
  const auto equal = [](const auto& a, const auto& b) { EXPECT_EQ(a, b); };
  starve("predict", [&] { return machine.predict(data.X, options.execution); }, 10, equal, counts);
  starve("save and load",
         [&] {
           machine.save(folder.path("model"), true);
           return Predictor::load(folder.path("model")).predict(data.X);
         },
         20, equal, counts, {.least_bytes = 1024});
  EXPECT_EQ(folder.entries(), 1U);
  MemoryRows<double> rows(data.X, data.Y);
  starve(
      "fit further", [&] { return Matrix<double>(fit_further(machine, rows, options.execution).coefficients()); }, 10,
      equal, counts);
  TuneOptions tune;
  tune.fit = options;
  tune.fit.keep_moments = false;
  tune.alphas = {0.1, 1};
  tune.folds = 3;
  starve("tune", [&] { return cross_validate(rows, tune).chosen.alpha; }, 20, equal, counts);
  FitOptions open;  // the data choose
  open.execution.threads = 1;
  const Matrix<double> X = data.X.topRows(60), Y = data.Y.topRows(60);
  starve(
      "fit with auto", [&] { return Matrix<double>(KernelMachine<double>::fit(X, Y, open).coefficients()); }, 20, equal,
      counts);
  const testing::Series series(100);
  SpectralMixtureOptions mixture = testing::small_mixture(20, 4, 10);
  mixture.execution.threads = 1;
  starve(
      "mixture", [&] { return SpectralMixtureMachine::fit(series.X, series.Y, mixture).predict(series.X); }, 20, equal,
      counts);
  counts.print("models");
}

// ---- files

constexpr Fault file_faults[] = {Fault::error, Fault::interrupted, Fault::partial};

// Calls on files that fail at some places of f(): an error, or the same result; never for half of what was asked.
template <class F, class Check>
void disturb(const F& f, const Check& check, Counts& counts) {
  const auto whole = f();
  for (const Fault fault : file_faults) {
    long calls = 0;
    {
      const Injected none(fault, 0);
      (void)f();
      calls = Injected::calls();
    }
    for (const long n : places(calls, 20)) {
      SCOPED_TRACE(format_text("fault {} at {}", static_cast<int>(fault), n));
      const auto borne = with_fault(fault, n, f);
      if (borne) {
        EXPECT_EQ(whole, *borne);
      }
      EXPECT_TRUE(borne || fault != Fault::partial) << "half of what was asked is no error";
      borne ? ++counts.borne : ++counts.errors;
      ++counts.places;
      check();
    }
  }
  EXPECT_EQ(whole, f());
}

Matrix<double> table_of(Index rows) {
  const Data<double> data(rows, Squared{});
  Matrix<double> all(rows, 6);
  all << data.X, data.Y;
  return all;
}

TableRows<double> rows_of(const std::string& path) {
  return {open_table(path), nullptr, {.inputs = {0, 1, 2}, .targets = {3, 4, 5}}, false};
}

TEST(Files, TablesAreReadOrRefused) {
  Counts counts;
  const TempDir folder;
  for (const std::string name : {"t.csv", "t.csv.gz", "t.npy", "t.npy.gz"}) {
    SCOPED_TRACE(name);
    write_table(folder.path(name), {}, table_of(3000));
    disturb([&] { return read_table(folder.path(name)).values; }, [] {}, counts);
  }
  folder.file("t.arff", "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n1,2\n3,4\n");
  folder.file("t.libsvm", "1 1:2 3:4\n-1 2:1\n");
  for (const std::string name : {"t.arff", "t.libsvm"}) {
    SCOPED_TRACE(name);
    disturb([&] { return read_table(folder.path(name)).values; }, [] {}, counts);
  }
  counts.print("tables read");
}

TEST(Files, TablesAreWrittenWholeOrNotAtAll) {
  Counts counts;
  for (const std::string name : {"t.csv", "t.csv.gz", "t.npy", "t.npy.gz"}) {
    SCOPED_TRACE(name);
    const TempDir folder;
    const Matrix<double> values = table_of(3000), other = table_of(10);
    write_table(folder.path(name), {}, other);
    const auto write = [&] {
      write_table(folder.path(name), {}, values);
      return true;
    };
    const auto check = [&] {
      EXPECT_EQ(folder.entries(), 1U);
      const Matrix<double> there = read_table(folder.path(name)).values;
      EXPECT_TRUE(there == (there.rows() == values.rows() ? values : other));
      write_table(folder.path(name), {}, other);
    };
    disturb(write, check, counts);
  }
  counts.print("tables written");
}

TEST(Files, ModelsAreWrittenAndReadOrRefused) {
  Counts counts;
  const TempDir folder;
  const Data<double> data(300, Squared{});
  FitOptions options = given_numbers();
  options.n_components = 20;
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
  const auto save = [&] {
    machine.save(folder.path("model"));
    return true;
  };
  save();
  const std::string before = folder.content("model");
  const auto check = [&] {
    EXPECT_EQ(folder.entries(), 1U);
    EXPECT_EQ(folder.content("model"), before);
  };
  disturb(save, check, counts);
  disturb([&] { return Predictor::load(folder.path("model")).predict(data.X); }, check, counts);
  counts.print("models");
}

TEST(Files, FitsFromFilesEndInAnErrorOrTheSameModel) {
  Counts counts;
  const TempDir folder;
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.max_iter = 3;
  options.execution.memory_budget = 20'000'000;
  for (const std::string name : {"t.csv", "t.npy.gz"}) {
    write_table(folder.path(name), {}, table_of(1000));
    for (const std::string solver : {"direct", "cg"}) {
      SCOPED_TRACE(name + " " + solver);
      options.solver = solver;
      const auto fit = [&] {
        ReadAhead<double> rows(rows_of(folder.path(name)));
        return Matrix<double>(KernelMachine<double>::fit(rows, options).coefficients());
      };
      disturb(fit, [] {}, counts);
    }
  }
  counts.print("fits from files");
}

// Whatever happens to the checkpoint's file, the model is the same, or the fit has not begun.
TEST(Files, CheckpointsDoNotCostTheFit) {
  Counts counts;
  const TempDir folder;
  const Data<double> data(300, Squared{});
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.solver = "cg";
  options.checkpoint = folder.path("state");
  options.checkpoint.seconds = 0;
  options.max_iter = 4;
  const auto fit = [&] { return Matrix<double>(KernelMachine<double>::fit(data.X, data.Y, options).coefficients()); };
  disturb(fit, [&] { EXPECT_EQ(folder.entries(), 0U); }, counts);
  counts.print("checkpoints");
}

// ---- files that change

// A file that has fewer rows when it is read again, or none, or other text.
TEST(Files, ATableThatChangesWhileItIsReadIsRefused) {
  const TempDir folder;
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.solver = "cg";
  options.tol = 1e-12;
  options.execution.memory_budget = 20'000'000;
  write_table(folder.path("whole.csv"), {}, table_of(3000));
  const std::string whole = folder.content("whole.csv");
  for (const std::string& later : {whole.substr(0, whole.size() / 2), whole.substr(0, whole.find('\n') + 1),
                                   std::string("a,b\nx\n"), whole.substr(0, whole.size() / 2) + "?,?,?\n"}) {
    folder.file("t.csv", whole);
    ReadAhead<double> rows(rows_of(folder.path("t.csv")));
    Index words = 0;
    options.execution.progress = [&](const Progress& now) {
      if (now.phase == "cg" && ++words == 2) folder.file("t.csv", later);
    };
    std::string message;
    try {
      (void)KernelMachine<double>::fit(rows, options);
      ADD_FAILURE() << "a table of " << later.size() << " bytes in the place of " << whole.size() << " was not noticed";
    } catch (const Error& error) {
      message = error.what();
    }
    expect_clear(message);
  }
}

}  // namespace
}  // namespace carmina::faults_test
