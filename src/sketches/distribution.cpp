// sketches/distribution.cpp -- the registry at work: sketches by name.
#include "core/registry.hpp"

#include <carmina/core/error.hpp>
#include <carmina/sketches/distribution.hpp>

#include <cmath>
#include <utility>

namespace carmina::sketches {
namespace {

template <class D>
concept Sparsified = requires(const D& d) { d.density; };
template <class D>
concept Weighted = requires(const D& d) { d.weights; };
template <class D>
concept Penalised = requires(const D& d) { d.alpha; };

// The parameters that a sketch takes are named here and in parameters_of alone.
class Given {
 public:
  Given(std::string owner, const Parameters& parameters) : owner_(std::move(owner)), rest_(parameters) {}

  std::optional<std::vector<double>> list(const std::string& key) {
    const auto at = rest_.find(key);
    if (at == rest_.end()) return {};
    std::vector<double> values = std::move(at->second);
    rest_.erase(at);
    return values;
  }
  std::optional<double> number(const std::string& key) {
    const auto values = list(key);
    if (!values) return {};
    require(values->size() == 1, "the {} sketch: {} must be one number, found {}", owner_, key, values->size());
    return values->front();
  }
  std::optional<Index> count(const std::string& key) {
    const auto value = number(key);
    if (!value) return {};
    require(*value == std::floor(*value) && std::abs(*value) < 0x1p53, "the {} sketch: {} must be an integer, found {}",
            owner_, key, *value);
    return static_cast<Index>(*value);
  }
  void check_empty() const {
    require(rest_.empty(), "the {} sketch has no parameter '{}'", owner_, rest_.empty() ? "" : rest_.begin()->first);
  }

 private:
  std::string owner_;
  Parameters rest_;
};

template <class D>
D from_parameters(Index n_components, Given& given) {
  if constexpr (Weighted<D>) {
    const auto weights = given.list("weights").value_or(std::vector<double>());
    return D(n_components, Eigen::Map<const Vector<double>>(weights.data(), static_cast<Index>(weights.size())));
  } else if constexpr (Sparsified<D>) {
    return D(n_components, given.number("density"));
  } else if constexpr (std::same_as<D, Accumulation>) {
    return D(n_components, given.count("m").value_or(usual_entries));
  } else if constexpr (Penalised<D>) {
    return D(n_components, given.number("alpha").value_or(D().alpha));
  } else {
    return D(n_components);
  }
}

template <class D>
Parameters parameters_of_law(const D& d) {
  if constexpr (Weighted<D>) {
    if (d.weights.size() > 0) return {{"weights", {d.weights.begin(), d.weights.end()}}};
  } else if constexpr (Sparsified<D>) {
    if (d.density) return {{"density", {*d.density}}};
  } else if constexpr (std::same_as<D, Accumulation>) {
    return {{"m", {static_cast<double>(d.m)}}};
  } else if constexpr (Penalised<D>) {
    return {{"alpha", {d.alpha}}};
  }
  return {};
}

}  // namespace

std::vector<std::string> sketch_names() { return alternative_names<Distribution>(); }

Distribution make_sketch(const std::string& name, Index n_components, const Parameters& parameters) {
  std::optional<Distribution> made;
  for_alternatives<Distribution>([&]<class D>(std::type_identity<D>) {
    if (name != D::name) return;
    Given given(name, parameters);
    made = from_parameters<D>(n_components, given);
    given.check_empty();
  });
  if (!made) fail("there is no sketch named '{}'; known: {}", name, join_text(sketch_names(), ", "));
  return *std::move(made);
}

std::string sketch_name(const Distribution& distribution) {
  return std::visit([](const auto& d) { return std::string(d.name); }, distribution);
}

Index n_components(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.n_components; }, distribution);
}

Parameters sketch_parameters(const Distribution& distribution) {
  return std::visit([](const auto& d) { return parameters_of_law(d); }, distribution);
}

bool needs_data(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.needs_data; }, distribution);
}

template <Real T>
Sketch sample(const Distribution& distribution, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
              const InputTransform& transform, const Execution& execution) {
  return std::visit(
      [&]<class D>(const D& d) {
        if constexpr (D::needs_data) {
          return d.sample(X.rows(), seed, X, kernel, transform, execution);
        } else {
          return d.sample(X.rows(), seed, execution);
        }
      },
      distribution);
}
template Sketch sample(const Distribution&, std::uint64_t, ConstView<float>, const ScalarKernel&, const InputTransform&,
                       const Execution&);
template Sketch sample(const Distribution&, std::uint64_t, ConstView<double>, const ScalarKernel&,
                       const InputTransform&, const Execution&);

Sketch sample(const Distribution& distribution, Index n, std::uint64_t seed, const Execution& execution) {
  return std::visit(
      [&]<class D>(const D& d) -> Sketch {
        if constexpr (D::needs_data) {
          fail("the {} sketch looks at the data: X and a kernel must be given", D::name);
        } else {
          return d.sample(n, seed, execution);
        }
      },
      distribution);
}

}  // namespace carmina::sketches
