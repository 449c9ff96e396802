// cli/kernel_text.cpp -- names and numbers of what a fit chose.
#include "kernel_text.hpp"

#include <algorithm>
#include <carmina/kernels/parse_kernel.hpp>

namespace carmina::cli {

std::string kernel_text(const Term& term) {
  if (std::holds_alternative<Product>(term.scalar)) return kernel_expression(Kernel(term));
  std::string text;
  if (term.weight != 1) text += format_text("{:.6g} * ", term.weight);
  if (is_differential(term.coupling))
    text += (has_bounded_features(term.coupling) ? "bounded " : "") + coupling_name(term.coupling) + " ";
  text += kernel_name(term.scalar);
  std::string numbers;
  for (const auto& [name, value] : kernel_parameters(term.scalar)) {
    numbers += format_text("{}{} {:.6g}", numbers.empty() ? "" : ", ", name, value);
  }
  return numbers.empty() ? text : format_text("{} ({})", text, numbers);
}

std::string length_scale_text(const Term& term) {
  constexpr std::size_t most = 8;
  const std::vector<double> values = length_scale_values(term.scalar);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, values.size()); ++i) {
    text += format_text("{}{:.6g}", i == 0 ? "" : ", ", values[i]);
  }
  return values.size() > most ? text + format_text(" and {} more", values.size() - most) : text;
}

std::string approximation_text(const FitRecord& record) {
  if (record.exact()) return "exact";
  if (record.fourier()) return format_text("{} Fourier features", record.n_components);
  return format_text("{} sketch of size {}", record.approximation, record.n_components);
}

std::string loss_text(const Loss& loss) {
  std::string numbers;
  for (const auto& [name, values] : loss_parameters(loss)) {
    numbers += (numbers.empty() ? "" : ", ") + name;
    for (std::size_t i = 0; i < values.size(); ++i) numbers += format_text("{} {:.6g}", i == 0 ? "" : ",", values[i]);
  }
  return numbers.empty() ? loss_name(loss) : format_text("{} ({})", loss_name(loss), numbers);
}

}  // namespace carmina::cli
