// tests/models/processes_test.cpp -- fits whose rows several processes have: the same machine, to the bit, for any
// number of them and any division of the rows, for every way of the table that can be divided; and what they say
// otherwise.
#include <carmina/models/spectral_mixture.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/processes.hpp"
#include "support/row_sources.hpp"
#include "support/temp_dir.hpp"
#include "ways_settings.hpp"

namespace carmina::processes_test {
namespace {

using testing::FaultyRows;
using ::testing::HasSubstr;
using testing::run_processes;
using ::testing::StartsWith;
using ways_test::Data;
using ways_test::Setting;

// Rows [begin, end) of process `rank`: uneven, and in no regard of segments; of five processes one has none.
std::pair<Index, Index> share(Index n, int rank, int size) {
  const auto at = [&](int k) -> Index {
    if (k == 0) return 0;
    if (k >= size) return n;
    if (size == 5 && k == 3) k = 2;
    return n * k / size + 37 * k;
  };
  return {std::min(n, at(rank)), std::min(n, at(rank + 1))};
}

template <Real T>
KernelMachine<T> fit_share(const Data<T>& data, const FitOptions& options, const Communicator& processes) {
  const auto [begin, end] = share(data.X.rows(), processes.rank(), processes.size());
  // Two sources in a process, the first of few rows.
  const Index first = std::min<Index>(end, begin + 5);
  MemoryRows<T> few(data.X.middleRows(begin, first - begin), data.Y.middleRows(begin, first - begin),
                    data.w.data() + begin);
  MemoryRows<T> more(data.X.middleRows(first, end - first), data.Y.middleRows(first, end - first),
                     data.w.data() + first);
  return KernelMachine<T>::fit(std::vector<RowSource<T>*>{&few, &more}, options, processes);
}

template <Real T>
std::vector<testing::Outcome<KernelMachine<T>>> fits(int size, const Data<T>& data, const FitOptions& options) {
  FitOptions own = options;
  own.execution.threads = 1;
  return run_processes(size, [&](const Communicator& processes) { return fit_share(data, own, processes); });
}

bool divided(const Setting& setting) {
  FitTask task = setting.task();
  task.divided = true;
  try {
    task.check_divided();
    return true;
  } catch (const Error&) {
    return false;
  }
}

template <class T>
class ProcessesOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ProcessesOf, Precisions);

TYPED_TEST(ProcessesOf, NumberChangesNoBit) {
  using T = TypeParam;
  for (const Setting& setting : ways_test::settings()) {
    SCOPED_TRACE(setting.name);
    const Data<T> data(setting.rows(), setting.options.loss, setting.missing);
    if (!divided(setting)) {
      for (const auto& one : fits<T>(2, data, setting.options)) {
        EXPECT_THAT(one.error, AnyOf(HasSubstr("several processes do not share"), HasSubstr("in one process")));
      }
      continue;
    }
    const auto whole = KernelMachine<T>::fit(data.X, data.Y, setting.options, data.w.data());
    std::optional<KernelMachine<T>> first;
    for (const int size : {1, 2, 3, 5}) {
      for (const auto& one : fits<T>(size, data, setting.options)) {
        ASSERT_TRUE(one.result) << one.error;
        if (!first) first = *one.result;
        const std::string what = std::to_string(size) + " processes";
        ways_test::expect_equal(*first, *one.result, what);
        // A sketch that one process keeps has other products.
        if (setting.name != "sparse sketch") ways_test::expect_equal(whole, *one.result, what);
      }
    }
  }
}

// Words that leave the choice to the data, and what else reads the rows.
TEST(Processes, ChoicesAreTheSame) {
  std::vector<std::pair<std::string, FitOptions>> all;
  all.emplace_back("defaults", FitOptions{});
  FitOptions options = given_numbers();
  options.n_components = 40;
  options.alpha_by = AlphaScore::leave_one_out;
  all.emplace_back("path", options);
  options.alpha_by.reset();
  options.by_evidence = true;
  all.emplace_back("evidence", options);
  options = given_numbers();
  options.n_components = 40;
  options.scale_inputs = InputScaling::robust;
  options.fill_missing = true;
  options.keep_moments = true;
  all.emplace_back("median width, filled", options);
  options.coupling = TargetCovariance{};
  all.emplace_back("covariance", options);
  for (auto& [name, one] : all) {
    SCOPED_TRACE(name);
    Data<double> data(1500, Squared{});
    if (one.fill_missing) data.X(17, 1) = data.X(700, 0) = std::numeric_limits<double>::quiet_NaN();
    std::optional<KernelMachine<double>> first;
    for (const int size : {1, 2, 3}) {
      for (const auto& other : fits<double>(size, data, one)) {
        ASSERT_TRUE(other.result) << other.error;
        if (!first) first = *other.result;
        ways_test::expect_equal(*first, *other.result, std::to_string(size));
        EXPECT_EQ(first->record().alpha, other.result->record().alpha);
        EXPECT_EQ(first->record().rows, other.result->record().rows);
        EXPECT_FALSE(other.result->record().exact());
      }
    }
  }
}

// More curved rows than a Newton step takes at once: sums of segments.
TEST(Processes, ManyCurvedRows) {
  FitOptions options = given_numbers();
  options.loss = Logistic{};
  options.n_components = 20;
  options.length_scale = 1.5;
  options.max_iter = 5;
  const Data<double> data(20000, options.loss);
  const auto whole = KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
  for (const auto& one : fits<double>(3, data, options)) {
    ASSERT_TRUE(one.result) << one.error;
    ways_test::expect_equal(whole, *one.result, "3 processes");
  }
}

// Levels of one target: the rows are seen with that target several times.
TEST(Processes, JointQuantiles) {
  FitOptions options = given_numbers();
  options.loss = Pinball({0.1, 0.5, 0.9});
  options.n_components = 20;
  options.length_scale = 1.5;
  Data<double> data(700, Squared{});
  data.Y = Matrix<double>(data.Y.leftCols(1));
  const auto whole = KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
  for (const auto& one : fits<double>(3, data, options)) {
    ASSERT_TRUE(one.result) << one.error;
    ways_test::expect_equal(whole, *one.result, "3 processes");
    EXPECT_TRUE(one.result->record().joint_quantiles);
  }
}

TEST(Processes, SpectralMixtures) {
  SpectralMixtureOptions options;
  options.n_mixtures = 2;
  options.n_components = 20;
  options.max_iter = 5;
  options.learning_rows = 200;
  const Data<double> data(900, Squared{}, true);
  const auto fit = [&](const Communicator& processes) {
    const auto [begin, end] = share(900, processes.rank(), processes.size());
    MemoryRows<double> rows(data.X.middleRows(begin, end - begin), data.Y.middleRows(begin, end - begin),
                            data.w.data() + begin);
    return SpectralMixtureMachine::fit(std::vector<RowSource<double>*>{&rows}, options, processes);
  };
  const auto whole = SpectralMixtureMachine::fit(data.X, data.Y, options, data.w.data());
  for (const int size : {1, 2, 3, 5}) {
    for (const auto& one : run_processes(size, fit)) {
      ASSERT_TRUE(one.result) << one.error;
      EXPECT_EQ(one.result->log_marginal_likelihood(), whole.log_marginal_likelihood());
      EXPECT_EQ(one.result->predict(data.X.topRows(5)), whole.predict(data.X.topRows(5)));
    }
  }
}

// A row that cannot be read, in any block of one process: all end with its sentence.
TEST(Processes, ABadRowEndsAll) {
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.length_scale = 1.5;
  options.solver = "cg";
  options.max_iter = 3;
  const Data<double> data(900, Squared{});
  int faults = 0;
  for (const Index fails_at : {1, 2, 4, 7, 11}) {
    const auto all = run_processes(3, [&](const Communicator& processes) {
      const auto [begin, end] = share(900, processes.rank(), 3);
      MemoryRows<double> rows(data.X.middleRows(begin, end - begin), data.Y.middleRows(begin, end - begin));
      FaultyRows<double> faulty(rows, processes.rank() == 1 ? fails_at : 0);
      return KernelMachine<double>::fit(faulty, options, processes);
    });
    if (all[0].result) continue;
    ++faults;
    EXPECT_EQ(all[0].error, "process 2 of 3: rows.csv: line 17: the disk is gone");
    EXPECT_EQ(all[1].error, "rows.csv: line 17: the disk is gone");
    EXPECT_EQ(all[2].error, all[0].error);
  }
  EXPECT_GE(faults, 4);
}

TEST(Processes, WhatTheySayOfTheirRows) {
  const Data<double> data(600, Squared{});
  FitOptions options = given_numbers();
  options.n_components = 20;
  const auto message = [&](const std::function<void(Data<double>&, FitOptions&, int rank)>& spoil) {
    const auto all = run_processes(2, [&](const Communicator& processes) {
      Data<double> own = data;
      FitOptions mine = options;
      spoil(own, mine, processes.rank());
      return fit_share(own, mine, processes);
    });
    return all[0].error;
  };
  EXPECT_THAT(message([](auto& own, auto&, int rank) {
                if (rank == 1) own.X(500, 1) = std::numeric_limits<double>::infinity();
              }),
              AllOf(StartsWith("process 2 of 2: "), HasSubstr("input column 2 is infinite")));
  EXPECT_THAT(message([](auto& own, auto&, int rank) {
                if (rank == 1) own.X = Matrix<double>(own.X.leftCols(2));
              }),
              HasSubstr("the rows of process 2 of 2 have 2 inputs and 3 targets, those of the first 3 and 3"));
  EXPECT_THAT(message([](auto& own, auto&, int) { own.w.setZero(); }), HasSubstr("no rows with a positive weight"));
  EXPECT_THAT(message([](auto&, auto& mine, int) { mine.alpha = -1; }), HasSubstr("alpha"));
  EXPECT_THAT(message([](auto&, auto& mine, int rank) {
                if (rank == 1) mine.solver = "lsmr";
              }),
              HasSubstr("do not do the same"));
}

// A fit that ends in the middle goes on from its checkpoint, perhaps on another number of processes: that of the first
// process, or one of those that each has kept.
TEST(Processes, GoOnFromACheckpoint) {
  FitOptions options = given_numbers();
  options.solver = "cg";  // a pass for each step
  options.tol = 1e-12;
  options.n_components = 20;
  options.length_scale = 1.5;
  const Data<double> data(900, options.loss);
  const auto whole = KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
  for (const bool each : {false, true}) {
    const testing::TempDir dir;
    options.checkpoint.seconds = 0;
    options.checkpoint.each = each;
    // The machine, and how many blocks the first process has asked for.
    const auto fit = [&](int size, Index fails_at, const std::string& state) {
      return run_processes(size, [&](const Communicator& processes) {
        const auto [begin, end] = share(900, processes.rank(), size);
        MemoryRows<double> rows(data.X.middleRows(begin, end - begin), data.Y.middleRows(begin, end - begin),
                                data.w.data() + begin);
        FaultyRows<double> faulty(rows, processes.rank() == 0 ? fails_at : 0);
        FitOptions own = options;
        own.checkpoint.path = dir.path(state + (each ? std::to_string(processes.rank()) : ""));
        auto machine = KernelMachine<double>::fit(faulty, own, processes);
        return std::pair(machine.coefficients(), faulty.asked());
      });
    };
    const Index asked = fit(2, 0, "unused")[0].result->second;
    EXPECT_THAT(fit(2, asked - 3, "state")[1].error, HasSubstr("the disk is gone"));
    // Of three processes the last has kept none; the first may have lost its own.
    if (each) std::filesystem::remove(dir.path("state0"));
    for (const auto& one : fit(each ? 3 : 2, 0, "state")) {
      ASSERT_TRUE(one.result) << one.error;
      EXPECT_EQ(one.result->first, whole.coefficients());
    }
    EXPECT_EQ(dir.entries(), 0u);

    EXPECT_THAT(fit(2, asked - 3, "state")[1].error, HasSubstr("the disk is gone"));
    EXPECT_LT(fit(2, 0, "state")[0].result->second, asked / 2);
  }
}

}  // namespace
}  // namespace carmina::processes_test
