// kernel_values.hpp -- the classes that Python knows kernels by: each holds a Kernel, whose terms decide the class.
#pragma once
#include <carmina/kernels/kernel.hpp>

#include "bindings.hpp"

namespace carmina::python {

// A scalar kernel, alone, with its own weight.
template <class K>
struct Scalar : Kernel {
  explicit Scalar(K scalar) : Kernel(std::move(scalar)) {}
  const K& value() const { return std::get<K>(terms()[0].scalar); }
};

// Several terms, or one that is multiplied.
struct Sum : Kernel {
  explicit Sum(Kernel kernel) : Kernel(std::move(kernel)) {}
};

// One kernel of some of the inputs.
struct OnColumns : Kernel {
  explicit OnColumns(Kernel kernel) : Kernel(std::move(kernel)) {}
};

// Several scalar kernels, or a vector field and scalar kernels, each of all inputs or of some.
struct ProductOfKernels : Kernel {
  explicit ProductOfKernels(Kernel kernel) : Kernel(std::move(kernel)) {}
};

// The kernel as an object of its class: Gaussian, ..., Decomposable, CurlFree, DivergenceFree, Spectral,
// FromSignature, OnColumns, Product or Sum.
nb::object to_python(const Kernel& kernel);
nb::object to_python(const ScalarKernel& kernel);
nb::object to_python(const UserSpectrum& spectrum);  // of Python functions
nb::object to_python(const InputColumns& columns);   // a list of numbers or names
InputColumns to_columns(nb::handle columns);         // from one of them, or several
// OnColumns or Product, of a term whose scalar kernel is a product and whose weight is its own.
nb::object product_object(const Kernel& kernel);
// Class of a term without what its weight has beyond the scalar kernel's own.
nb::object unweighted(const Term& term);

void bind_scalar_kernels(nb::module_& m);
void bind_pairwise_kernels(nb::module_& m);
void bind_mixture_kernels(nb::module_& m);
void bind_operator_kernels(nb::module_& m);
void bind_products(nb::module_& m);
void bind_spectral_kernels(nb::module_& m);

}  // namespace carmina::python
