// cli/kernel_text.hpp -- kernels in words, for what `fit` and `info` print.
#pragma once
#include <carmina/kernels/kernel.hpp>
#include <string>

namespace carmina::cli {

// "none", "decomposable", "curl-free" or "divergence-free": the words of --operator.
std::string coupling_word(const Term& term);
// "matern (nu 2.5)", "0.3 * curl-free gaussian"
std::string kernel_text(const Term& term);
// The numbers, eight at most.
std::string length_scale_text(const Term& term);

}  // namespace carmina::cli
