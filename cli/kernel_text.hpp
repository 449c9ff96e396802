// cli/kernel_text.hpp -- kernels, losses and approximations in words, for what `fit` and `info` print.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <string>

namespace carmina::cli {

// "matern (nu 2.5)", "0.3 * curl-free gaussian"
std::string kernel_text(const Term& term);
// The numbers, eight at most; empty for a kernel without.
std::string length_scale_text(const Term& term);
// "exact", "1000 Fourier features", "sparse_rademacher sketch of size 200"
std::string approximation_text(const FitRecord& record);
// "squared", "huber (kappa 1)", "pinball (levels 0.1, 0.9)"
std::string loss_text(const Loss& loss);

}  // namespace carmina::cli
