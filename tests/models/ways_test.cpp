// tests/models/ways_test.cpp -- what holds for every way in the table: the same machine, to the bit, for any number of
// parts and threads; an error in any block of rows ends the fit in that error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/row_sources.hpp"
#include "ways_settings.hpp"

namespace carmina::ways_test {
namespace {

using testing::FaultyRows;
using ::testing::HasSubstr;
using testing::Parts;

template <class T>
class WaysOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(WaysOf, Precisions);

TYPED_TEST(WaysOf, PartsAndThreadsChangeNoBit) {
  using T = TypeParam;
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.name);
    const Data<T> data(setting.rows(), setting.options.loss, setting.missing);
    const auto whole = KernelMachine<T>::fit(data.X, data.Y, setting.options, data.w.data());
    for (const Index k : {1, 2, 3, 7}) {
      const Parts<T> parts(data.X, data.Y, data.w.data(), k);
      expect_equal(whole, KernelMachine<T>::fit(parts.sources, setting.options), std::to_string(k) + " parts");
    }
    FitOptions options = setting.options;
    for (const int threads : {1, 3}) {
      options.execution.threads = threads;
      expect_equal(whole, KernelMachine<T>::fit(data.X, data.Y, options, data.w.data()),
                   std::to_string(threads) + " threads");
    }
  }
}

// Every way of the table is met by the settings above, so that none can be forgotten.
TEST(Ways, AreAllTested) {
  std::set<std::string> met, all;
  for (const Setting& setting : settings()) {
    const FitTask task = setting.task();
    for (const auto& way : ways<double>()) {
      if (way.applies(task) && way.asked_for(task))
        met.insert(std::string(way.name) + " " + std::string(way.solver.word));
    }
  }
  for (const auto& way : ways<double>()) all.insert(std::string(way.name) + " " + std::string(way.solver.word));
  EXPECT_EQ(met, all);
}

// The n-th block, for every n: the error comes out as it was thrown, and the rows serve a fit afterwards.
TEST(Ways, AnErrorInAnyBlockEndsTheFit) {
  for (const Setting& setting : settings()) {
    if (setting.options.loss.index() > 1) continue;  // losses share their ways
    SCOPED_TRACE(setting.name);
    const Data<double> data(setting.rows(), setting.options.loss, setting.missing);
    FitOptions options = setting.options;
    Index fails_at = 1, faults = 0;
    for (bool done = false; !done && fails_at < 400; fails_at += fails_at < 30 ? 1 : 17) {
      const Parts<double> parts(data.X, data.Y, data.w.data(), 2);
      FaultyRows<double> faulty(*parts.sources[1], fails_at);
      try {
        (void)KernelMachine<double>::fit(std::vector<RowSource<double>*>{parts.sources[0], &faulty}, options);
        done = true;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("line 17: the disk is gone"));
        ++faults;
      }
    }
    EXPECT_GE(faults, 2);
  }
}

// A path of alphas and a choice among them, too.
TEST(Ways, PathsOfPartsChangeNoBit) {
  for (const auto& [approximation, missing] : {std::pair<std::string, bool>("fourier", false),
                                               {"exact", false},
                                               {"sub_sample", false},
                                               {"fourier", true},
                                               {"exact", true},
                                               {"sub_sample", true}}) {
    FitOptions options = given_numbers();
    options.approximation = approximation;
    options.n_components = 20;
    options.length_scale = 1.5;
    options.alpha_by = AlphaScore::leave_one_out;
    const Data<double> data(600, options.loss, missing);
    const auto whole = KernelMachine<double>::fit(data.X, data.Y, options, data.w.data());
    for (const Index k : {2, 7}) {
      const Parts<double> parts(data.X, data.Y, data.w.data(), k);
      const auto divided = KernelMachine<double>::fit(parts.sources, options);
      EXPECT_EQ(divided.record().alpha, whole.record().alpha);
      expect_equal(whole, divided, approximation);
    }
  }
}

}  // namespace
}  // namespace carmina::ways_test
