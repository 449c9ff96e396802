// kernels/kernel.hpp -- the kernels there are. A new scalar kernel is a header beside gaussian.hpp and a line here.
#pragma once
#include <carmina/kernels/decomposable.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <variant>

namespace carmina {

// What a user can ask a machine to use: a scalar kernel (each output on its own) or an operator-valued one.
using Kernel = std::variant<Gaussian, Decomposable>;

// The scalar kernel inside, and how outputs are coupled: K(x, z) = k(x, z) A.
ScalarKernel scalar_part(const Kernel& kernel);
// Null when outputs are not coupled (any number of them may be fitted).
const Matrix<double>* output_matrix(const Kernel& kernel);

}  // namespace carmina
