// kernels/scalar_kernel.hpp -- any scalar kernel, and its name and numbers for files and the command line.
#pragma once
#include <carmina/kernels/mixture_kernel.hpp>
#include <carmina/kernels/pairwise.hpp>
#include <carmina/kernels/periodic.hpp>
#include <carmina/kernels/product.hpp>
#include <carmina/kernels/stationary.hpp>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace carmina {

// The registry of scalar kernels; stationary.hpp, pairwise.hpp, mixture_kernel.hpp, periodic.hpp and product.hpp say
// what each supplies.
using ScalarKernel = std::variant<Gaussian, Laplacian, Matern, Cauchy, RationalQuadratic, Polynomial, Sobolev1,
                                  Callable, SpectralMixture, Linear, Constant, Periodic, Product>;

struct Product::Factor {
  ScalarKernel kernel;
  InputColumns columns;
  bool operator==(const Factor&) const = default;
};

// The kernel of the columns alone. Error where it has columns of its own already.
ScalarKernel on_columns(const ScalarKernel& kernel, const InputColumns& columns);
ScalarKernel product(const ScalarKernel& a, const ScalarKernel& b);
// With the columns of products by number.
ScalarKernel with_columns_found(const ScalarKernel& kernel, const std::vector<std::string>& input_names,
                                const std::vector<Index>& firsts = {});
// The factors of a product, of another kernel itself.
std::vector<Product::Factor> factors_of(const ScalarKernel& kernel);
// Values of each of some rows against each of some others, (rows, count), for any kernel: distances are summed
// directly.
template <Real T>
void pair_values(const ScalarKernel& kernel, const T* X, Index rows, const T* Z, Index count, Index d, T* out,
                 Index ldo);

// What a kernel has besides its width, by name: Matern's nu, RationalQuadratic's shape, Polynomial's degree.
using KernelParameters = std::map<std::string, double>;

// The names that make_scalar_kernel takes.
std::vector<std::string> scalar_kernel_names();
const std::vector<ParameterHelp>& kernel_parameter_help();

// By name, with a width if it has one, else without; what is not given takes its default. Error, with what there is,
// for an unknown kernel or parameter. A Callable or a SpectralMixture has more than numbers by name.
ScalarKernel make_scalar_kernel(const std::string& name, const std::optional<LengthScale>& length_scale,
                                const KernelParameters& parameters = {});
std::string kernel_name(const ScalarKernel& kernel);
KernelParameters kernel_parameters(const ScalarKernel& kernel);
// Whether it is a function of x - z with a spectral measure and the value 1 at x = z: a stationary one or a mixture.
bool has_spectral_measure(const ScalarKernel& kernel);
void require_spectral_measure(const ScalarKernel& kernel);
// Whether there are Fourier features of it: it has a spectral measure, or is Linear or Constant, or a product of such.
bool has_fourier_features(const ScalarKernel& kernel);
// How many features are the kernel exactly, for d inputs: of Linear, Constant and products of these; 0 of others.
Index explicit_features(const ScalarKernel& kernel, Index d);
// The weight of a term that is this kernel as it was given: k(0) of a SpectralMixture, 1 of the others; of a product
// that of its factors, multiplied.
double own_weight(const ScalarKernel& kernel);
// Whether it is such a function of (x - z) / length scale.
bool is_stationary(const ScalarKernel& kernel);
// The error that a kernel which is not gives to those who need it to be.
void require_stationary(const ScalarKernel& kernel);
const LengthScale& length_scale(const ScalarKernel& kernel);  // of a stationary one, else Error
// The width of a kernel that has one, a Periodic too; null for others.
const LengthScale* width_of(const ScalarKernel& kernel);
// Of one that has a width; empty for others.
std::vector<double> length_scale_values(const ScalarKernel& kernel);
// Error when the length scales or frequencies do not fit inputs of d columns.
void check_dimension(const ScalarKernel& kernel, Index d);

// Error when the kernel is not for one of these numbers.
template <Real T>
void check_inputs(const ScalarKernel& kernel, const T* x, Index size) {
  if (const auto* sobolev = std::get_if<Sobolev1>(&kernel)) sobolev->check_inputs(x, size);
}

// visitor(k) for the kernel behind a stationary one; Error for others.
template <class Visitor>
decltype(auto) visit_stationary(Visitor&& visitor, const ScalarKernel& kernel) {
  require_stationary(kernel);
  return std::visit(
      [&]<class K>(const K& k) -> std::invoke_result_t<Visitor, const Gaussian&> {
        if constexpr (Stationary<K>) {
          return visitor(k);
        } else {
          fail("{} is not stationary", K::name);
        }
      },
      kernel);
}

// change(width) for every width that a kernel has, those of the factors of a product too.
template <class F>
ScalarKernel with_widths(ScalarKernel kernel, F change) {
  std::visit(
      [&]<class K>(K& k) {
        if constexpr (Stationary<K>) {
          k.length_scale = change(k.length_scale);
        } else if constexpr (std::same_as<K, Product>) {
          std::vector<Product::Factor> factors = k.factors();
          for (Product::Factor& factor : factors) factor.kernel = with_widths(std::move(factor.kernel), change);
          k = Product(std::move(factors));
        }
      },
      kernel);
  return kernel;
}
// Whether with_widths changes anything.
bool has_width(const ScalarKernel& kernel);

// Why there is no curl-free or divergence-free kernel over this one; null when there is.
const char* why_not_differentiable(const ScalarKernel& kernel);

}  // namespace carmina
