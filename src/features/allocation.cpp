// features/allocation.cpp -- spectral points per component: equal, by temperature, by least variance.
#include "features/allocation.hpp"
#include "core/words.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <queue>

namespace carmina {
namespace {

std::vector<Index> one_each(Index components, Index m) {
  require(components >= 1, "allocation: a mixture has at least one component, found {}", components);
  require(m >= components, "allocation: each of {} components needs a spectral point, found {} points", components, m);
  return std::vector<Index>(static_cast<std::size_t>(components), 1);
}

void require_positive(const Vector<double>& values, bool zero_allowed, const char* what) {
  for (const double v : values) {
    require(std::isfinite(v) && (v > 0 || (zero_allowed && v == 0)), "allocation: {} must be finite and {}, found {}",
            what, zero_allowed ? "not negative" : "positive", v);
  }
}

// One component at delta: k_q(delta) = cos(2 pi <mu, delta>) prod_j chi(2 pi sigma_j delta_j).
template <class Family>
double component_value(const Family& family, const double* mean, const double* scale, const double* delta, Index d) {
  double phase = 0, envelope = 1;
  for (Index j = 0; j < d; ++j) {
    phase += mean[j] * delta[j];
    envelope *= family.chi(2 * std::numbers::pi * scale[j] * delta[j]);
  }
  return std::cos(2 * std::numbers::pi * phase) * envelope;
}

}  // namespace

constexpr Words<Allocation, 3> allocations{"allocation", {"equal", "softmax", "optimal"}};
Allocation parse_allocation(const std::string& name) { return allocations.parse(name); }
std::string allocation_name(Allocation allocation) { return allocations.name(allocation); }

std::vector<Index> equal_allocation(Index components, Index m) {
  std::vector<Index> counts = one_each(components, m);
  for (Index q = 0; q < components; ++q) counts[static_cast<std::size_t>(q)] = m / components + (q < m % components);
  return counts;
}

std::vector<Index> softmax_allocation(const Vector<double>& weights, Index m, double temperature) {
  const Index Q = weights.size();
  std::vector<Index> counts = one_each(Q, m);
  require_positive(weights, false, "weights");
  require(temperature > 0, "allocation: the temperature must be positive, found {}", temperature);
  const Vector<double> logs = weights.array().log();
  const Vector<double> unnormalised = ((logs.array() - logs.maxCoeff()) / temperature).exp();
  const Vector<double> shares = unnormalised * (static_cast<double>(m - Q) / unnormalised.sum());

  Index left = m - Q;
  for (Index q = 0; q < Q; ++q) {
    const auto whole = std::min(left, static_cast<Index>(shares(q)));
    counts[static_cast<std::size_t>(q)] += whole;
    left -= whole;
  }
  // What is left is less than Q but for rounding; a tie goes to the earlier component.
  std::vector<Index> order(static_cast<std::size_t>(Q));
  std::iota(order.begin(), order.end(), Index{0});
  const auto remainder = [&](Index q) { return shares(q) - std::floor(shares(q)); };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return remainder(a) > remainder(b); });
  for (Index k = 0; left > 0; ++k, --left) ++counts[static_cast<std::size_t>(order[static_cast<std::size_t>(k % Q)])];
  return counts;
}

std::vector<Index> optimal_allocation(const Vector<double>& costs, Index m) {
  std::vector<Index> counts = one_each(costs.size(), m);
  require_positive(costs, true, "costs");
  // A point more in component q lowers the sum by cost_q / (m_q (m_q + 1)), less each time: greedy is exact. The second
  // key spreads points evenly where costs are equal, for instance all zero.
  struct Gain {
    double value;
    Index count, component;
    bool operator<(const Gain& other) const {
      if (value != other.value) return value < other.value;
      if (count != other.count) return count > other.count;
      return component > other.component;
    }
  };
  std::priority_queue<Gain> gains;
  for (Index q = 0; q < costs.size(); ++q) gains.push({costs(q) / 2, 1, q});
  for (Index left = m - costs.size(); left > 0; --left) {
    const Index q = gains.top().component;
    gains.pop();
    const Index count = ++counts[static_cast<std::size_t>(q)];
    gains.push({costs(q) / (static_cast<double>(count) * static_cast<double>(count + 1)), count, q});
  }
  return counts;
}

Vector<double> allocation_costs(const Mixture& mixture, ConstView<double> X, Index pairs, const Random& random) {
  mixture.check();
  const Index n = X.rows(), d = X.cols(), Q = mixture.size();
  require(d == mixture.dim_in(), "allocation: the mixture has {} inputs, X has {} columns", mixture.dim_in(), d);
  require(n >= 1 && pairs >= 1, "allocation: at least one row and one pair are needed, found {} and {}", n, pairs);
  Vector<double> sums = Vector<double>::Zero(Q), delta(d), twice(d);
  // V_q(delta) = (1 + k_q(2 delta) - 2 k_q(delta)^2) / 2: the variance of the cosine of one spectral point.
  const auto add_pair = [&](Index i, Index j, double times) {
    delta = X.row(i) - X.row(j);
    twice = 2 * delta;
    std::visit(
        [&](const auto& family) {
          for (Index q = 0; q < Q; ++q) {
            const double *mean = mixture.means.row(q).data(), *scale = mixture.scales.row(q).data();
            const double once = component_value(family, mean, scale, delta.data(), d);
            const double doubled = component_value(family, mean, scale, twice.data(), d);
            sums(q) += times * std::max(0.0, (1 + doubled - 2 * once * once) / 2);
          }
        },
        mixture.family);
  };
  const double all_pairs = static_cast<double>(n) * static_cast<double>(n);
  if (all_pairs <= static_cast<double>(pairs)) {
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) add_pair(i, j, 2);  // V is even and zero at 0
    }
  } else {
    const auto any_row = [&](Index pair, std::uint32_t side) {
      const double u = random.uniform(static_cast<std::uint64_t>(pair), side);
      return std::min(n - 1, static_cast<Index>(u * static_cast<double>(n)));
    };
    for (Index pair = 0; pair < pairs; ++pair) {
      add_pair(any_row(pair, 0), any_row(pair, 1), all_pairs / static_cast<double>(pairs));
    }
  }
  return mixture.weights.array().square() * sums.array();
}

}  // namespace carmina
