// kernels/scalar_kernel.cpp -- the registry at work: kernels by name.
#include <carmina/core/error.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

#include <utility>

namespace carmina {
namespace {

KernelParameters parameters_of(const Matern& k) { return {{"nu", k.nu}}; }
KernelParameters parameters_of(const RationalQuadratic& k) { return {{"shape", k.shape}}; }
template <class K>
KernelParameters parameters_of(const K&) {
  return {};
}

Matern with_parameters(const Matern& k, const KernelParameters& p) { return Matern(k.length_scale, p.at("nu")); }
RationalQuadratic with_parameters(const RationalQuadratic& k, const KernelParameters& p) {
  return RationalQuadratic(k.length_scale, p.at("shape"));
}
template <class K>
K with_parameters(const K& k, const KernelParameters&) {
  return k;
}

template <std::size_t I = 0>
ScalarKernel by_name(const std::string& name, const LengthScale& width, const KernelParameters& given) {
  if constexpr (I < std::variant_size_v<ScalarKernel>) {
    using K = std::variant_alternative_t<I, ScalarKernel>;
    if (name != K::name) return by_name<I + 1>(name, width, given);
    const K plain(width);
    KernelParameters parameters = parameters_of(plain);
    for (const auto& [key, value] : given) {
      require(parameters.contains(key), "the {} kernel has no parameter '{}'", name, key);
      parameters[key] = value;
    }
    return with_parameters(plain, parameters);
  } else {
    std::string known;
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      ((known += (J ? ", " : "") + std::string(std::variant_alternative_t<J, ScalarKernel>::name)), ...);
    }(std::make_index_sequence<std::variant_size_v<ScalarKernel>>());
    fail("there is no kernel named '{}'; known: {}", name, known);
  }
}

}  // namespace

ScalarKernel make_scalar_kernel(const std::string& name, const LengthScale& width, const KernelParameters& parameters) {
  return by_name(name, width, parameters);
}

std::string kernel_name(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return std::string(k.name); }, kernel);
}

const LengthScale& length_scale(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) -> const LengthScale& { return k.length_scale; }, kernel);
}

KernelParameters kernel_parameters(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return parameters_of(k); }, kernel);
}

const char* roughness(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return k.roughness(); }, kernel);
}

}  // namespace carmina
