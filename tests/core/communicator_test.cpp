// tests/core/communicator_test.cpp -- collective operations over messages: values, order, counts, and errors that end
// all.
#include <carmina/core/communicator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/message_of.hpp"
#include "support/processes.hpp"

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::run_processes;

// Numbers whose sum depends on its order.
double number(int rank, Index i) { return std::pow(10.0, (7 * rank + 3 * i) % 17) + 1.0 / static_cast<double>(i + 3); }

TEST(Communicator, OfOneProcessNeedsNoFunctions) {
  const Communicator alone;
  double x = 3;
  alone.sum(&x, 1);
  EXPECT_EQ(x, 3);
  EXPECT_EQ(alone.gather(std::vector<float>{1, 2}), (std::vector<float>{1, 2}));
  alone.barrier();
  EXPECT_EQ(alone.traffic().messages, 0);
  EXPECT_THAT(testing::message_of([] { Communicator({.rank = 0, .size = 2}); }), HasSubstr("2 processes need"));
  EXPECT_THAT(testing::message_of([] { Communicator({.rank = 2, .size = 2}); }), HasSubstr("process 2 of 2"));
}

class Processes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Numbers, Processes, ::testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(Processes, SumsAreInTheirOrder) {
  const int size = GetParam();
  for (const Index count : {Index{0}, Index{1}, Index{1000}, (Index{1} << 16) + 5}) {
    Vector<double> expected = Vector<double>::Zero(count);
    for (int rank = 0; rank < size; ++rank) {
      for (Index i = 0; i < count; ++i) expected[i] = rank == 0 ? number(0, i) : expected[i] + number(rank, i);
    }
    const auto all = run_processes(size, [&](const Communicator& processes) {
      Vector<double> x = Vector<double>::NullaryExpr(count, [&](Index i) { return number(processes.rank(), i); });
      processes.sum(x.data(), count);
      return x;
    });
    for (const auto& one : all) EXPECT_EQ(*one.result, expected) << one.error;
  }
}

TEST_P(Processes, PartsAreAddedOneByOne) {
  const int size = GetParam();
  constexpr Index count = 70000;
  // Rank r has r parts, so one has none.
  Vector<double> expected = Vector<double>::Constant(count, 0.1);
  for (int rank = 0; rank < size; ++rank) {
    for (int part = 0; part < rank; ++part) {
      for (Index i = 0; i < count; ++i) expected[i] += number(rank + 5 * part, i);
    }
  }
  const auto all = run_processes(size, [&](const Communicator& processes) {
    std::vector<Vector<double>> parts;
    std::vector<const double*> pointers;
    for (int part = 0; part < processes.rank(); ++part) {
      parts.push_back(
          Vector<double>::NullaryExpr(count, [&](Index i) { return number(processes.rank() + 5 * part, i); }));
    }
    for (const auto& part : parts) pointers.push_back(part.data());
    Vector<double> total = Vector<double>::Constant(count, processes.rank() == 0 ? 0.1 : 77.0);
    processes.sum_in_order(total.data(), count, pointers);
    return total;
  });
  for (const auto& one : all) EXPECT_EQ(*one.result, expected) << one.error;
}

TEST_P(Processes, GatherBroadcastAndCount) {
  const int size = GetParam();
  const auto all = run_processes(size, [&](const Communicator& processes) {
    const int rank = processes.rank();
    std::vector<float> own(static_cast<std::size_t>(rank % 3), static_cast<float>(rank));  // some have none
    const std::vector<float> gathered = processes.gather(own);
    std::int64_t counts[] = {rank, -1};
    processes.sum(counts, 2);
    double word = rank == size - 1 ? 42.5 : 0;
    processes.broadcast(&word, sizeof word, size - 1);
    processes.barrier();
    return std::tuple(gathered, counts[0], counts[1], word);
  });
  std::vector<float> expected;
  for (int rank = 0; rank < size; ++rank) expected.insert(expected.end(), std::size_t(rank % 3), float(rank));
  for (const auto& one : all) {
    EXPECT_EQ(*one.result, std::tuple(expected, size * (size - 1) / 2, -size, 42.5)) << one.error;
  }
}

// Each number of a long sum is sent up and down once, but by those at the ends; the round before it takes two messages.
TEST_P(Processes, TrafficIsCounted) {
  const int size = GetParam();
  constexpr Index count = 200000;
  const auto all = run_processes(size, [&](const Communicator& processes) {
    std::vector<double> x(count, 1.0);
    processes.sum(x.data(), count);
    return 0;
  });
  std::int64_t bytes = 0;
  for (const auto& one : all) bytes += one.traffic.bytes;
  const std::int64_t numbers = 2 * (size - 1) * count * 8, status = 2 * (size - 1) * 40;
  EXPECT_EQ(bytes, numbers + status);
}

TEST_P(Processes, AnErrorOfOneEndsAll) {
  const int size = GetParam();
  for (int failing = 0; failing < size; ++failing) {
    for (const int after : {0, 1, 3}) {
      const auto all = run_processes(size, [&](const Communicator& processes) {
        return processes.together([&] {
          double x = 1;
          for (int step = 0; step < 3; ++step) {
            if (processes.rank() == failing && step == after) fail("part-7.csv: line 3: no number");
            processes.sum(&x, 1);
          }
          if (processes.rank() == failing && after == 3) fail("part-7.csv: line 3: no number");
          return x;
        });
      });
      for (int rank = 0; rank < size; ++rank) {
        const auto& one = all[static_cast<std::size_t>(rank)];
        EXPECT_FALSE(one.result);
        const std::string where = "process " + std::to_string(failing + 1) + " of " + std::to_string(size) + ": ";
        EXPECT_EQ(one.error, (rank == failing ? "" : where) + "part-7.csv: line 3: no number");
      }
    }
  }
}

TEST_P(Processes, ErrorsOfAllAreOne) {
  const auto all = run_processes(GetParam(), [&](const Communicator& processes) -> int {
    return processes.together([&]() -> int { fail("fit: alpha must be positive"); });
  });
  for (const auto& one : all) EXPECT_EQ(one.error, "fit: alpha must be positive");
}

// Another operation, or another size: an error, and nothing is waited for.
TEST_P(Processes, WhoDoesSomethingElseIsNoticed) {
  if (GetParam() == 1) return;
  for (const bool size_alone : {true, false}) {
    const auto all = run_processes(GetParam(), [&](const Communicator& processes) {
      return processes.together([&] {
        std::vector<double> x(10, 1.0);
        const bool other = processes.rank() == processes.size() - 1;
        if (other && !size_alone)
          processes.barrier();
        else
          processes.sum(x.data(), other ? 9 : 10);
        return 0;
      });
    });
    for (const auto& one : all) EXPECT_THAT(one.error, HasSubstr("do not do the same"));
  }
}

TEST_P(Processes, ServeAgainAfterAnError) {
  const auto all = run_processes(GetParam(), [&](const Communicator& processes) {
    try {
      processes.together([&]() -> int {
        if (processes.rank() == 0) fail("first");
        processes.barrier();
        return 0;
      });
    } catch (const Error&) {
    }
    double x = 2;
    processes.together([&] { return processes.sum(&x, 1), 0; });
    return x;
  });
  for (const auto& one : all) EXPECT_EQ(*one.result, 2.0 * GetParam());
}

}  // namespace
}  // namespace carmina
