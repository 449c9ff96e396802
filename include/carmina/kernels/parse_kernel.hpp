// kernels/parse_kernel.hpp -- kernels written as Python prints them, for the command line.
#pragma once
#include <carmina/kernels/kernel.hpp>
#include <string>
#include <string_view>

namespace carmina {

// "0.3 * CurlFree(Gaussian(50), normalized=True).on(['lon', 'lat']) * Gaussian(3).on(2) + Linear()". Kernels by their
// names in Python or in the library, numbers, lists, sums, products and columns. Error with the place where it ends to
// be one.
Kernel parse_kernel(std::string_view text);
// The kernel in that form: what parse_kernel makes the same kernel of, but for functions.
std::string kernel_expression(const Kernel& kernel);

}  // namespace carmina
