// kernels/scalar_kernel.cpp -- the registry at work: kernels by name.
#include "core/registry.hpp"

#include <carmina/core/error.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

#include <algorithm>
#include <concepts>
#include <utility>

namespace carmina {
namespace {

template <class K>
KernelParameters parameters_of_kernel(const K& kernel) {
  return with_parameters<K>(
      [&](const auto&... one) { return KernelParameters{{one.name, static_cast<double>(kernel.*one.member)}...}; });
}

// What is more than numbers by name has none.
template <class K>
constexpr bool has_a_name =
    !std::same_as<K, Callable> && !std::same_as<K, SpectralMixture> && !std::same_as<K, Product>;

constexpr Index most_explicit = 1000000;

template <class K>
constexpr bool has_a_width = requires(const K& k) {
  { k.length_scale } -> std::convertible_to<LengthScale>;
};

template <class K>
K with_given(const std::optional<LengthScale>& width, const KernelParameters& given) {
  KernelParameters numbers = parameters_of_kernel(K());
  for (const auto& [key, value] : given) {
    require(numbers.contains(key), "the {} kernel has no parameter '{}'", K::name, key);
    numbers[key] = value;
  }
  return with_parameters<K>([&](const auto&... one) {
    if constexpr (has_a_width<K>) {
      return K(width.value_or(1.0), numbers.at(one.name)...);
    } else {
      require(!width, "the {} kernel has no length scale", K::name);
      return K(numbers.at(one.name)...);
    }
  });
}

}  // namespace

std::vector<std::string> scalar_kernel_names() {
  std::vector<std::string> names;
  for_alternatives<ScalarKernel>([&]<class K>(std::type_identity<K>) {
    if (has_a_name<K>) names.emplace_back(K::name);
  });
  return names;
}

const std::vector<ParameterHelp>& kernel_parameter_help() {
  static const std::vector<ParameterHelp> all = parameter_help<ScalarKernel>();
  return all;
}

ScalarKernel make_scalar_kernel(const std::string& name, const std::optional<LengthScale>& width,
                                const KernelParameters& parameters) {
  std::optional<ScalarKernel> made;
  for_alternatives<ScalarKernel>([&]<class K>(std::type_identity<K>) {
    if constexpr (has_a_name<K>) {
      if (name == K::name) made = with_given<K>(width, parameters);
    }
  });
  if (!made) fail("there is no kernel named '{}'; known: {}", name, join_text(scalar_kernel_names(), ", "));
  return *std::move(made);
}

std::string kernel_name(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return std::string(k.name); }, kernel);
}

KernelParameters kernel_parameters(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return parameters_of_kernel(k); }, kernel);
}

bool is_stationary(const ScalarKernel& kernel) {
  return std::visit([]<class K>(const K&) { return Stationary<K>; }, kernel);
}

bool has_spectral_measure(const ScalarKernel& kernel) {
  if (const auto* product = std::get_if<Product>(&kernel)) {
    return std::ranges::all_of(product->factors(), [](const auto& f) { return has_spectral_measure(f.kernel); });
  }
  return is_stationary(kernel) || std::holds_alternative<SpectralMixture>(kernel) ||
         std::holds_alternative<Periodic>(kernel);
}

bool has_fourier_features(const ScalarKernel& kernel) {
  return std::ranges::all_of(factors_of(kernel), [](const Product::Factor& f) {
    return has_spectral_measure(f.kernel) || explicit_features(f.kernel, 1) > 0;
  });
}

Index explicit_features(const ScalarKernel& kernel, Index d) {
  if (std::holds_alternative<Linear>(kernel)) return d;
  if (std::holds_alternative<Constant>(kernel)) return 1;
  const auto* product = std::get_if<Product>(&kernel);
  if (!product) return 0;
  Index count = 1;
  for (const Product::Factor& factor : product->factors()) {
    count *= explicit_features(factor.kernel, factor.columns.all() ? d : factor.columns.count());
    require(count <= most_explicit, "kernel: a product of linear kernels has more than {} features", most_explicit);
  }
  return count;
}

double own_weight(const ScalarKernel& kernel) {
  if (const auto* product = std::get_if<Product>(&kernel)) {
    double weight = 1;
    for (const Product::Factor& factor : product->factors()) weight *= own_weight(factor.kernel);
    return weight;
  }
  const auto* mixture = std::get_if<SpectralMixture>(&kernel);
  return mixture ? mixture->total() : 1;
}

void require_stationary(const ScalarKernel& kernel) {
  require_spectral_measure(kernel);
  require(is_stationary(kernel), "the {} kernel has no length scale", kernel_name(kernel));
}

void require_spectral_measure(const ScalarKernel& kernel) {
  if (has_spectral_measure(kernel)) return;
  for (const Product::Factor& factor : factors_of(kernel)) {
    if (std::holds_alternative<Product>(kernel)) require_spectral_measure(factor.kernel);
  }
  fail("the {} kernel is not a function of x - z, so it has no spectral measure; use approximation='exact' or a sketch",
       kernel_name(kernel));
}

const LengthScale& length_scale(const ScalarKernel& kernel) {
  return visit_stationary([](const auto& k) -> const LengthScale& { return k.length_scale; }, kernel);
}

const LengthScale* width_of(const ScalarKernel& kernel) {
  return std::visit(
      []<class K>(const K& k) -> const LengthScale* {
        if constexpr (has_a_width<K>) return &k.length_scale;
        return nullptr;
      },
      kernel);
}

std::vector<double> length_scale_values(const ScalarKernel& kernel) {
  const LengthScale* width = width_of(kernel);
  return width ? width->values() : std::vector<double>{};
}

bool has_width(const ScalarKernel& kernel) {
  return std::ranges::any_of(factors_of(kernel), [](const auto& factor) { return is_stationary(factor.kernel); });
}

void check_dimension(const ScalarKernel& kernel, Index d) {
  if (const LengthScale* width = width_of(kernel)) width->check_dimension(kernel_name(kernel), d);
  if (const auto* product = std::get_if<Product>(&kernel)) product->check_dimension(d);
  if (const auto* mixture = std::get_if<SpectralMixture>(&kernel)) {
    require(mixture->dim_in() == d, "SpectralMixture: means and scales are for inputs of {} columns, found {}",
            mixture->dim_in(), d);
  }
}

const char* why_not_differentiable(const ScalarKernel& kernel) {
  if (std::holds_alternative<SpectralMixture>(kernel)) return nullptr;
  if (std::holds_alternative<Periodic>(kernel)) return "fields over the periodic kernel are not known";
  if (std::holds_alternative<Product>(kernel)) {
    return "a product stands beside such a kernel, CurlFree(k1) * k2, not within it";
  }
  return is_stationary(kernel) ? visit_stationary([](const auto& k) { return k.why_not_differentiable(); }, kernel)
                               : "the kernel is not a function of x - z";
}

}  // namespace carmina
