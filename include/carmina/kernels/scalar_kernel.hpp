// kernels/scalar_kernel.hpp -- any scalar kernel, and its name for files and the command line.
#pragma once
#include <carmina/kernels/gaussian.hpp>
#include <string>
#include <variant>

namespace carmina {

// The registry of scalar kernels. A kernel supplies: name, length_scale, of_squared_distances, unit_frequency.
using ScalarKernel = std::variant<Gaussian>;

// By name, with a width. Error, with the names there are, for an unknown name.
ScalarKernel make_scalar_kernel(const std::string& name, const LengthScale& length_scale);
std::string kernel_name(const ScalarKernel& kernel);
const LengthScale& length_scale(const ScalarKernel& kernel);

}  // namespace carmina
