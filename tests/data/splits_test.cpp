// tests/data/splits_test.cpp -- splits are partitions, depend on the seed alone, and are not the order of the file.
#include <carmina/data/splits.hpp>

#include <algorithm>
#include <numeric>
#include <set>

#include "table_checks.hpp"

namespace carmina::testing {

namespace {

void expect_partition(const Split& split, Index n) {
  std::vector<Index> all = split.train, expected(static_cast<std::size_t>(n));
  all.insert(all.end(), split.test.begin(), split.test.end());
  std::sort(all.begin(), all.end());
  std::iota(expected.begin(), expected.end(), Index{0});
  EXPECT_EQ(all, expected);
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  EXPECT_TRUE(std::is_sorted(split.test.begin(), split.test.end()));
}

TEST(GroupKFold, LeavesWholeGroupsOutInFoldsOfNearlyEqualSize) {
  std::vector<Index> groups;
  for (Index group = 0; group < 17; ++group) {
    groups.insert(groups.end(), static_cast<std::size_t>(3 + group % 5), 90 - group);
  }
  const auto n = static_cast<Index>(groups.size());
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(4)}) {
    for (const Index folds : {2, 5, 17}) {
      std::vector<int> tested(groups.size(), 0);
      Index least = n, most = 0;
      for (const Split& split : group_k_fold(groups, folds, seed)) {
        EXPECT_EQ(std::ssize(split.test) + std::ssize(split.train), n);
        for (const Index i : split.test) {
          ++tested[static_cast<std::size_t>(i)];
          for (const Index j : split.train) {
            EXPECT_NE(groups[static_cast<std::size_t>(i)], groups[static_cast<std::size_t>(j)]);
          }
        }
        EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
        least = std::min<Index>(least, std::ssize(split.test)), most = std::max<Index>(most, std::ssize(split.test));
      }
      EXPECT_EQ(tested, std::vector<int>(groups.size(), 1));
      EXPECT_LE(most - least, 7);
    }
  }
  EXPECT_THROW(group_k_fold(groups, 18), Error);
  EXPECT_THROW(group_k_fold(groups, 1), Error);
}

}  // namespace

TEST(TrainTestSplit, IsAPartitionOfTheAskedSize) {
  for (Index n : {2, 3, 10, 1001}) {
    for (double fraction : {0.001, 0.25, 0.5, 0.999}) {
      const Split split = train_test_split(n, fraction, 5);
      expect_partition(split, n);
      const auto wanted = std::clamp<Index>(std::llround(fraction * static_cast<double>(n)), 1, n - 1);
      EXPECT_EQ(static_cast<Index>(split.test.size()), wanted);
    }
  }
}

TEST(TrainTestSplit, DependsOnTheSeedAlone) {
  EXPECT_EQ(train_test_split(100, 0.3, 1).test, train_test_split(100, 0.3, 1).test);
  EXPECT_NE(train_test_split(100, 0.3, 1).test, train_test_split(100, 0.3, 2).test);
}

// The mean row number of m = 1000 of n = 10000 rows without replacement has standard deviation
// sqrt((n + 1) (n - m) / (12 m)) = 86.6; six of them are passed by chance with probability 2e-9.
TEST(TrainTestSplit, TakesRowsFromEverywhere) {
  const Split split = train_test_split(10'000, 0.1, 3);
  const double mean = std::accumulate(split.test.begin(), split.test.end(), 0.0) / 1000;
  EXPECT_NEAR(mean, 4999.5, 6 * 86.6);
  EXPECT_GT(split.test.back() - split.test.front(), 9000);
}

TEST(TrainTestSplit, RefusesWhatCannotBeSplit) {
  EXPECT_EQ(error_of([] { train_test_split(1, 0.5, 0); }), "train_test_split: at least 2 rows are needed, found 1");
  for (double fraction : {0.0, 1.0, -0.1, nan}) {
    EXPECT_THAT(error_of([&] { train_test_split(10, fraction, 0); }),
                ::testing::HasSubstr("test_fraction must be between 0 and 1"));
  }
}

TEST(KFold, TestsEveryRowOnceInFoldsOfNearlyEqualSize) {
  for (const auto seed : {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{4}}) {
    for (Index n : {2, 7, 100}) {
      for (Index folds = 2; folds <= std::min<Index>(n, 8); ++folds) {
        std::vector<int> tested(static_cast<std::size_t>(n), 0);
        const auto splits = k_fold(n, folds, seed);
        ASSERT_EQ(static_cast<Index>(splits.size()), folds);
        for (const Split& split : splits) {
          expect_partition(split, n);
          for (Index i : split.test) ++tested[static_cast<std::size_t>(i)];
          EXPECT_GE(static_cast<Index>(split.test.size()), n / folds);
          EXPECT_LE(static_cast<Index>(split.test.size()), n / folds + 1);
        }
        EXPECT_THAT(tested, ::testing::Each(1));
      }
    }
  }
}

TEST(KFold, FoldsAreContiguousWithoutASeed) {
  const auto splits = k_fold(7, 3);
  EXPECT_THAT(splits[0].test, ::testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(splits[1].test, ::testing::ElementsAre(3, 4));
  EXPECT_THAT(splits[2].test, ::testing::ElementsAre(5, 6));
  EXPECT_NE(k_fold(100, 4, 1)[0].test, k_fold(100, 4)[0].test);
}

TEST(KFold, RefusesImpossibleNumbersOfFolds) {
  for (Index folds : {-1, 0, 1, 11}) {
    EXPECT_EQ(error_of([&] { k_fold(10, folds); }),
              format_text("k_fold: the number of folds must be from 2 to the 10 rows, found {}", folds));
  }
}

// Against the definition: each row once, no group on both sides, folds as even as the groups allow.
TEST(KFold, GroupsAreTestedTogether) {
  std::vector<Index> groups;
  for (Index i = 0; i < 200; ++i) groups.push_back(i * i % 23 - 5);
  for (const std::uint64_t seed : {0, 1, 2}) {
    const std::vector<Split> folds = group_k_fold(groups, 4, seed);
    std::vector<int> tested(200, 0);
    std::size_t largest = 0, smallest = 200;
    for (const Split& fold : folds) {
      EXPECT_EQ(fold.train.size() + fold.test.size(), 200U);
      EXPECT_TRUE(std::is_sorted(fold.train.begin(), fold.train.end()));
      EXPECT_TRUE(std::is_sorted(fold.test.begin(), fold.test.end()));
      std::set<Index> inside, outside;
      for (const Index i : fold.test) {
        ++tested[static_cast<std::size_t>(i)];
        inside.insert(groups[static_cast<std::size_t>(i)]);
      }
      for (const Index i : fold.train) outside.insert(groups[static_cast<std::size_t>(i)]);
      for (const Index group : inside) EXPECT_FALSE(outside.contains(group));
      largest = std::max(largest, fold.test.size());
      smallest = std::min(smallest, fold.test.size());
    }
    for (const int times : tested) EXPECT_EQ(times, 1);
    EXPECT_LE(largest - smallest, 18U);  // a group has 18 rows at most
  }
  EXPECT_NE(group_k_fold(groups, 4, 0)[0].test, group_k_fold(groups, 4, 1)[0].test);
  EXPECT_EQ(group_k_fold(groups, 4, 1)[0].test, group_k_fold(groups, 4, 1)[0].test);
  EXPECT_THROW(group_k_fold({1, 1, 2}, 3, 0), Error);
}

}  // namespace carmina::testing
