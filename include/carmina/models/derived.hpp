// models/derived.hpp -- what is derived from a fitted function: its gradient, and what a vector field has.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <string>
#include <vector>

namespace carmina {

// Linear functionals of f at a row, exact: derivatives of the features, or of the kernel, not differences.
//
// Output a of a vector field belongs to input column_a: the columns that its curl-free or divergence-free terms are of,
// else input a of as many inputs as outputs.
//   gradient         df_a / dx_l, output after output: p d numbers, of all inputs
//   divergence       sum_a df_a / dx_a
//   curl             of two outputs df_2 / dx_1 - df_1 / dx_2; of three the three components
//   potential        psi with grad psi = the curl-free part of f: the sum of such terms of the kernel, without the
//                    intercept
//   stream_function  psi with (dpsi/dx_2, -dpsi/dx_1) = the divergence-free part of f, for two outputs
//   vector_potential A with curl A = the divergence-free part of f and div A = 0, for three outputs
enum class Derived { gradient, divergence, curl, potential, stream_function, vector_potential };

std::vector<std::string> derived_names();
Derived parse_derived(const std::string& name);
std::string derived_name(Derived what);

// (n, numbers of it). Error where it is not known: for a kernel without derivatives, sampling 'phases', quantiles that
// are put in order, other numbers of inputs and outputs, a kernel that has no such part.
template <Real T>
Matrix<double> derive(const KernelMachine<T>& machine, Derived what, ConstView<T> X, const Execution& execution = {});

// Error where inputs that wrap round leave it unknown: deviations of gradients, what a field has whose columns the
// kernel does not say; and for text and dates.
void check_derived_inputs(const Kernel& kernel, const InputEncoder& encoder, Derived what, bool deviations);

// Names of the columns: "du/dlon", "divergence", "curl", ...
std::vector<std::string> derived_columns(Derived what, const std::vector<std::string>& inputs,
                                         const std::vector<std::string>& outputs);

}  // namespace carmina
