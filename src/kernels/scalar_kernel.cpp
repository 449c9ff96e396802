// kernels/scalar_kernel.cpp -- the registry at work: kernels by name.
#include <carmina/core/error.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

#include <utility>

namespace carmina {
namespace {

KernelParameters parameters_of(const Matern& k) { return {{"nu", k.nu}}; }
KernelParameters parameters_of(const RationalQuadratic& k) { return {{"shape", k.shape}}; }
KernelParameters parameters_of(const Polynomial& k) {
  return {{"degree", k.degree}, {"gamma", k.gamma}, {"coef0", k.coef0}};
}
template <class K>
KernelParameters parameters_of(const K&) {
  return {};
}

Matern with_parameters(const Matern& k, const KernelParameters& p) { return Matern(k.length_scale, p.at("nu")); }
RationalQuadratic with_parameters(const RationalQuadratic& k, const KernelParameters& p) {
  return RationalQuadratic(k.length_scale, p.at("shape"));
}
Polynomial with_parameters(const Polynomial&, const KernelParameters& p) {
  return Polynomial(p.at("degree"), p.at("gamma"), p.at("coef0"));
}
template <class K>
K with_parameters(const K& k, const KernelParameters&) {
  return k;
}

template <class K>
constexpr bool has_a_name = !std::same_as<K, Callable> && !std::same_as<K, SpectralMixture>;

template <class K>
K plain_kernel(const std::optional<LengthScale>& width) {
  if constexpr (Stationary<K>) {
    return K(width.value_or(1.0));
  } else {
    require(!width, "the {} kernel has no length scale", K::name);
    return K();
  }
}

template <class K>
K with_given(const std::optional<LengthScale>& width, const KernelParameters& given) {
  const K plain = plain_kernel<K>(width);
  KernelParameters parameters = parameters_of(plain);
  for (const auto& [key, value] : given) {
    require(parameters.contains(key), "the {} kernel has no parameter '{}'", K::name, key);
    parameters[key] = value;
  }
  return with_parameters(plain, parameters);
}

template <std::size_t I = 0>
ScalarKernel by_name(const std::string& name, const std::optional<LengthScale>& width, const KernelParameters& given) {
  if constexpr (I < std::variant_size_v<ScalarKernel>) {
    using K = std::variant_alternative_t<I, ScalarKernel>;
    if constexpr (has_a_name<K>) {
      if (name == K::name) return with_given<K>(width, given);
    }
    return by_name<I + 1>(name, width, given);
  } else {
    fail("there is no kernel named '{}'; known: {}", name, join_text(scalar_kernel_names(), ", "));
  }
}

}  // namespace

std::vector<std::string> scalar_kernel_names() {
  std::vector<std::string> names;
  const auto add = [&]<class K>(const K*) {
    if (has_a_name<K>) names.emplace_back(K::name);
  };
  [&]<std::size_t... J>(std::index_sequence<J...>) {
    (add(static_cast<std::variant_alternative_t<J, ScalarKernel>*>(nullptr)), ...);
  }(std::make_index_sequence<std::variant_size_v<ScalarKernel>>());
  return names;
}

// A parameter that two of them have is listed once.
const std::vector<KernelParameterHelp>& kernel_parameter_help() {
  static const std::vector<KernelParameterHelp> all = {
      {"nu", "Smoothness of the matern kernel [1.5]"},
      {"shape", "Shape of the rational_quadratic kernel [1]"},
      {"degree", "Degree of the polynomial kernel (gamma <x, z> + coef0)^degree [3]"},
      {"gamma", "Factor in the polynomial kernel [1 / number of inputs]"},
      {"coef0", "Constant in the polynomial kernel [1]"},
  };
  return all;
}

ScalarKernel make_scalar_kernel(const std::string& name, const std::optional<LengthScale>& width,
                                const KernelParameters& parameters) {
  return by_name(name, width, parameters);
}

std::string kernel_name(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return std::string(k.name); }, kernel);
}

KernelParameters kernel_parameters(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return parameters_of(k); }, kernel);
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
