// models/incremental.hpp -- squared-loss Fourier machines that learn in parts: sums over rows add up.
#pragma once
#include <carmina/models/kernel_machine.hpp>

namespace carmina {

// The machine that a fit to the rows it has seen and to these gives, with its kernel, width and scaling as they are.
// Error when it holds no sums: it must be a direct Fourier fit with keep_moments, not from a file.
template <Real T>
KernelMachine<T> fit_further(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution = {});

// The machine that a fit to the rows of both gives. Error when they differ in kernel, frequencies, scaling, alpha or
// intercept.
template <Real T>
KernelMachine<T> merge(const KernelMachine<T>& a, const KernelMachine<T>& b, const Execution& execution = {});

}  // namespace carmina
