// tests/core/execution_test.cpp -- the thread pool, cancellation and memory sizes.
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace carmina {
namespace {

TEST(ParallelFor, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const Index tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(tasks));
      std::atomic<bool> worker_in_range = true;
      parallel_for(tasks, threads, [&](Index task, int worker) {
        ++hits[static_cast<std::size_t>(task)];
        if (worker < 0 || worker >= threads) worker_in_range = false;
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
      EXPECT_TRUE(worker_in_range);
    }
  }
}

TEST(ParallelFor, RethrowsTheFirstErrorAndStaysUsable) {
  EXPECT_THROW(parallel_for(100, 2, [](Index task, int) { require(task != 17, "task {}", task); }), Error);
  std::atomic<int> count = 0;
  parallel_for(10, 2, [&](Index, int) { ++count; });
  EXPECT_EQ(count, 10);
}

TEST(ParallelFor, WorksNestedAndFromManyThreads) {
  std::atomic<int> count = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back(
        [&] { parallel_for(8, 2, [&](Index, int) { parallel_for(8, 2, [&](Index, int) { ++count; }); }); });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(count, 4 * 64);
}

TEST(Execution, StopsWhenAsked) {
  Execution execution;
  execution.checkpoint({"phase", 0, 1});
  execution.should_stop = [] { return true; };
  EXPECT_THROW(execution.checkpoint({"phase", 0, 1}), Cancelled);
  EXPECT_THROW(execution.poll(0), Cancelled);
  EXPECT_NO_THROW(execution.poll(1));
}

TEST(Bytes, ParseAndFormat) {
  EXPECT_EQ(parse_bytes("2G"), 2'000'000'000u);
  EXPECT_EQ(parse_bytes("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(parse_bytes("512M"), 512'000'000u);
  EXPECT_EQ(parse_bytes("1000"), 1000u);
  for (const char* bad : {"", "G", "2X", "-1G", "nan", "0", "2 G"}) EXPECT_THROW(parse_bytes(bad), Error) << bad;
  EXPECT_EQ(format_bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(format_bytes(12), "12 bytes");
}

}  // namespace
}  // namespace carmina
