// kernels/scalar_kernel.cpp -- the registry at work: kernels by name.
#include "core/registry.hpp"

#include <carmina/core/error.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

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
constexpr bool has_a_name = !std::same_as<K, Callable> && !std::same_as<K, SpectralMixture>;

template <class K>
K with_given(const std::optional<LengthScale>& width, const KernelParameters& given) {
  KernelParameters numbers = parameters_of_kernel(K());
  for (const auto& [key, value] : given) {
    require(numbers.contains(key), "the {} kernel has no parameter '{}'", K::name, key);
    numbers[key] = value;
  }
  return with_parameters<K>([&](const auto&... one) {
    if constexpr (Stationary<K>) {
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
  return is_stationary(kernel) || std::holds_alternative<SpectralMixture>(kernel);
}

double own_weight(const ScalarKernel& kernel) {
  const auto* mixture = std::get_if<SpectralMixture>(&kernel);
  return mixture ? mixture->total() : 1;
}

void require_stationary(const ScalarKernel& kernel) {
  require_spectral_measure(kernel);
  require(is_stationary(kernel), "the {} kernel has no length scale", kernel_name(kernel));
}

void require_spectral_measure(const ScalarKernel& kernel) {
  if (has_spectral_measure(kernel)) return;
  fail("the {} kernel is not a function of x - z, so it has no spectral measure; use approximation='exact' or a sketch",
       kernel_name(kernel));
}

const LengthScale& length_scale(const ScalarKernel& kernel) {
  return visit_stationary([](const auto& k) -> const LengthScale& { return k.length_scale; }, kernel);
}

std::vector<double> length_scale_values(const ScalarKernel& kernel) {
  return is_stationary(kernel) ? length_scale(kernel).values() : std::vector<double>{};
}

void check_dimension(const ScalarKernel& kernel, Index d) {
  if (is_stationary(kernel)) length_scale(kernel).check_dimension(kernel_name(kernel), d);
  if (const auto* mixture = std::get_if<SpectralMixture>(&kernel)) {
    require(mixture->dim_in() == d, "SpectralMixture: means and scales are for inputs of {} columns, found {}",
            mixture->dim_in(), d);
  }
}

const char* why_not_differentiable(const ScalarKernel& kernel) {
  if (std::holds_alternative<SpectralMixture>(kernel)) return nullptr;
  return is_stationary(kernel) ? visit_stationary([](const auto& k) { return k.why_not_differentiable(); }, kernel)
                               : "the kernel is not a function of x - z";
}

}  // namespace carmina
