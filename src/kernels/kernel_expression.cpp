// kernels/kernel_expression.cpp -- a kernel in the form that parse_kernel reads.
#include "kernels/kernel_arguments.hpp"

#include <carmina/core/format.hpp>
#include <carmina/kernels/parse_kernel.hpp>

#include <cctype>

namespace carmina {

std::vector<std::string> kernel_argument_names(const ScalarKernel& kernel) {
  std::vector<std::string> names;
  for (const ParameterHelp& one : kernel_parameter_help()) {
    if (kernel_parameters(kernel).contains(one.name)) names.push_back(one.name);
  }
  const bool last = std::holds_alternative<Periodic>(kernel);
  if (width_of(kernel)) names.insert(last ? names.end() : names.begin(), "length_scale");
  return names;
}

namespace {

std::string number_text(double value) { return format_text("{}", value); }

std::string list_text(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(number_text(value));
  return values.size() == 1 ? texts[0] : "[" + join_text(texts, ", ") + "]";
}

std::string scalar_text(const ScalarKernel& kernel) {
  std::string text, name = kernel_name(kernel);
  bool upper = true;
  for (const char c : name) {
    if (c != '_') text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  if (std::holds_alternative<Callable>(kernel) || std::holds_alternative<SpectralMixture>(kernel))
    return text + "(...)";
  std::vector<std::string> given;
  const KernelParameters parameters = kernel_parameters(kernel);
  for (const std::string& one : kernel_argument_names(kernel)) {
    given.push_back(one + "=" +
                    (one == "length_scale" ? list_text(width_of(kernel)->values()) : number_text(parameters.at(one))));
  }
  return text + "(" + join_text(given, ", ") + ")";
}

std::string columns_text(const InputColumns& columns) {
  std::vector<std::string> texts;
  for (const Index number : columns.numbers) texts.push_back(std::to_string(number));
  for (const std::string& name : columns.names) texts.push_back("'" + name + "'");
  return columns.all() ? "" : ".on([" + join_text(texts, ", ") + "])";
}

std::string term_text(const Term& term) {
  std::string text;
  const double multiple = term.weight / own_weight(term.scalar);
  if (multiple != 1) text = number_text(multiple) + " * ";
  if (std::holds_alternative<UserSpectrum>(term.coupling)) return text + "Spectral(...)";
  const bool field = is_differential(term.coupling);
  std::string factors;
  for (const Product::Factor& factor : factors_of(term.scalar)) {
    std::string one = scalar_text(factor.kernel);
    if (field && factors.empty()) {
      one = (std::holds_alternative<CurlFreeCoupling>(term.coupling) ? "CurlFree(" : "DivergenceFree(") + one +
            (has_bounded_features(term.coupling) ? ", bounded=True" : "") +
            (is_normalized(term.coupling) ? ", normalized=True" : "") + ")";
    }
    factors += (factors.empty() ? "" : " * ") + one + columns_text(factor.columns);
  }
  const auto* matrix = std::get_if<OutputMatrix>(&term.coupling);
  if (!matrix) return text + factors;
  std::vector<std::string> rows;
  for (Index i = 0; i < matrix->A().rows(); ++i) {
    std::vector<std::string> row;
    for (Index j = 0; j < matrix->A().cols(); ++j) row.push_back(number_text(matrix->A()(i, j)));
    rows.push_back("[" + join_text(row, ", ") + "]");
  }
  return text + "Decomposable(" + factors + ", A=[" + join_text(rows, ", ") + "])";
}

}  // namespace

std::string kernel_expression(const Kernel& kernel) {
  std::vector<std::string> terms;
  for (const Term& term : kernel.terms()) terms.push_back(term_text(term));
  return join_text(terms, " + ");
}

}  // namespace carmina
