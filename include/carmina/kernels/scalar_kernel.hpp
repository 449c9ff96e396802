// kernels/scalar_kernel.hpp -- any scalar kernel, and its name and numbers for files and the command line.
#pragma once
#include <carmina/kernels/gaussian.hpp>
#include <carmina/kernels/laplacian.hpp>
#include <carmina/kernels/matern.hpp>
#include <carmina/kernels/rational_quadratic.hpp>
#include <map>
#include <string>
#include <variant>

namespace carmina {

// The registry of scalar kernels; radial.hpp says what each supplies.
using ScalarKernel = std::variant<Gaussian, Laplacian, Matern, Cauchy, RationalQuadratic>;

// What a kernel has besides its width, by name: Matern's nu, RationalQuadratic's shape.
using KernelParameters = std::map<std::string, double>;

// By name, with a width; parameters that are not given take their defaults. Error, with what there is, for an unknown
// kernel or parameter.
ScalarKernel make_scalar_kernel(const std::string& name, const LengthScale& length_scale,
                                const KernelParameters& parameters = {});
std::string kernel_name(const ScalarKernel& kernel);
const LengthScale& length_scale(const ScalarKernel& kernel);
KernelParameters kernel_parameters(const ScalarKernel& kernel);

// Why there is no curl-free or divergence-free kernel over this one; null when there is.
const char* roughness(const ScalarKernel& kernel);

}  // namespace carmina
