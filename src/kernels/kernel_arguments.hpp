// kernels/kernel_arguments.hpp -- the names of what a kernel's constructor takes in Python, in their order.
#pragma once
#include <carmina/kernels/scalar_kernel.hpp>

#include <string>
#include <vector>

namespace carmina {

std::vector<std::string> kernel_argument_names(const ScalarKernel& kernel);

}  // namespace carmina
