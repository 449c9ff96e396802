// data/splits.cpp -- shuffles by sorting counter-based random keys, and cuts.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/data/splits.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace carmina {

namespace {

// The positions [begin, end) of `order` are for testing.
Split cut(const std::vector<Index>& order, Index begin, Index end) {
  Split split;
  split.test.assign(order.begin() + begin, order.begin() + end);
  split.train.assign(order.begin(), order.begin() + begin);
  split.train.insert(split.train.end(), order.begin() + end, order.end());
  std::sort(split.test.begin(), split.test.end());
  std::sort(split.train.begin(), split.train.end());
  return split;
}

}  // namespace

std::vector<Index> shuffled_rows(Index n, const Random& random, std::uint32_t column) {
  require(n >= 0, "shuffle: the number of rows must not be negative, found {}", n);
  std::vector<std::pair<std::uint64_t, Index>> keys(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = {random.bits(i, column), static_cast<Index>(i)};
  std::sort(keys.begin(), keys.end());
  std::vector<Index> order(keys.size());
  std::transform(keys.begin(), keys.end(), order.begin(), [](const auto& key) { return key.second; });
  return order;
}

Split train_test_split(Index n, double test_fraction, std::uint64_t seed) {
  require(n >= 2, "train_test_split: at least 2 rows are needed, found {}", n);
  require(test_fraction > 0 && test_fraction < 1, "train_test_split: test_fraction must be between 0 and 1, found {}",
          test_fraction);
  const auto wanted = static_cast<Index>(std::llround(static_cast<double>(n) * test_fraction));
  return cut(shuffled_rows(n, Random(seed, Stream::split)), 0, std::clamp<Index>(wanted, 1, n - 1));
}

std::vector<Split> k_fold(Index n, Index folds, std::optional<std::uint64_t> seed) {
  require(folds >= 2 && folds <= n, "k_fold: the number of folds must be from 2 to the {} rows, found {}", n, folds);
  std::vector<Index> order;
  if (seed) {
    order = shuffled_rows(n, Random(*seed, Stream::split));
  } else {
    order.resize(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
  }
  std::vector<Split> splits;
  Index begin = 0;
  for (Index k = 0; k < folds; ++k) {
    const Index end = begin + n / folds + (k < n % folds ? 1 : 0);
    splits.push_back(cut(order, begin, end));
    begin = end;
  }
  return splits;
}

std::vector<Split> group_k_fold(const std::vector<Index>& groups, Index folds, std::optional<std::uint64_t> seed) {
  std::vector<std::vector<Index>> members;  // rows of each group, in the order of their first rows
  std::map<Index, std::size_t> places;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [at, is_new] = places.emplace(groups[i], members.size());
    if (is_new) members.emplace_back();
    members[at->second].push_back(static_cast<Index>(i));
  }
  const auto count = static_cast<Index>(members.size());
  require(folds >= 2 && folds <= count, "k_fold: the number of folds must be from 2 to the {} groups, found {}", count,
          folds);
  std::vector<Index> order(members.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (seed) order = shuffled_rows(count, Random(*seed, Stream::split));
  const auto size = [&](Index group) { return members[static_cast<std::size_t>(group)].size(); };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size(a) > size(b); });
  std::vector<std::vector<Index>> tested(static_cast<std::size_t>(folds));
  for (const Index group : order) {
    const auto least = std::min_element(tested.begin(), tested.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const auto& rows = members[static_cast<std::size_t>(group)];
    least->insert(least->end(), rows.begin(), rows.end());
  }
  std::vector<Split> splits;
  for (std::vector<Index>& test : tested) {
    std::sort(test.begin(), test.end());
    Split split;
    for (Index i = 0; i < std::ssize(groups); ++i) {
      if (!std::binary_search(test.begin(), test.end(), i)) split.train.push_back(i);
    }
    split.test = std::move(test);
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace carmina
