// models/file/kernel_json.cpp -- the terms of a kernel, written.
#include "models/file/kernel_json.hpp"

#include <carmina/core/format.hpp>

#include <algorithm>

namespace carmina {
namespace {

// A kernel is a list of terms; the output matrix of term i is the tensor "output_matrix.i", a mixture's arrays are
// "mixture_weights.i", "mixture_means.i" and "mixture_scales.i".
void put_mixture(ModelFile& file, std::size_t i, const Mixture& mixture) {
  file.put<double>(format_text("mixture_weights.{}", i), Matrix<double>(mixture.weights));
  file.put<double>(format_text("mixture_means.{}", i), mixture.means);
  file.put<double>(format_text("mixture_scales.{}", i), mixture.scales);
}

nlohmann::json lists_of(const Matrix<double>& values) {
  nlohmann::json rows = nlohmann::json::array();
  for (Index i = 0; i < values.rows(); ++i)
    rows.push_back(std::vector<double>(values.row(i).begin(), values.row(i).end()));
  return rows;
}

// A factor of a product: its numbers, the columns that it is of, and of a mixture its arrays as lists.
nlohmann::json factor_to_json(const Product::Factor& factor) {
  nlohmann::json json = {{"name", kernel_name(factor.kernel)},
                         {"length_scale", length_scale_values(factor.kernel)},
                         {"parameters", kernel_parameters(factor.kernel)},
                         {"columns", factor.columns.numbers}};
  if (const auto* kernel = std::get_if<SpectralMixture>(&factor.kernel)) {
    const Mixture& mixture = kernel->mixture();
    json["family"] = family_name(mixture.family);
    json["weights"] = std::vector<double>(mixture.weights.begin(), mixture.weights.end());
    json["means"] = lists_of(mixture.means);
    json["scales"] = lists_of(mixture.scales);
  }
  return json;
}

}  // namespace

bool made_of_functions(const Kernel& kernel) {
  return std::any_of(kernel.terms().begin(), kernel.terms().end(), [](const Term& term) {
    const std::vector<Product::Factor> factors = factors_of(term.scalar);
    return std::any_of(factors.begin(), factors.end(),
                       [](const auto& factor) { return std::holds_alternative<Callable>(factor.kernel); }) ||
           std::holds_alternative<UserSpectrum>(term.coupling);
  });
}

nlohmann::json kernel_to_json(const Kernel& kernel, ModelFile& file) {
  using Json = nlohmann::json;
  Json terms = Json::array();
  for (const Term& term : kernel.terms()) {
    Json json = {{"weight", term.weight},
                 {"name", kernel_name(term.scalar)},
                 {"length_scale", length_scale_values(term.scalar)},
                 {"parameters", kernel_parameters(term.scalar)},
                 {"coupling", coupling_name(term.coupling)}};
    if (const auto* mixture = std::get_if<SpectralMixture>(&term.scalar)) {
      json["family"] = family_name(mixture->mixture().family);
      put_mixture(file, terms.size(), mixture->mixture());
    }
    if (const auto* product = std::get_if<Product>(&term.scalar)) {
      Json factors = Json::array();
      for (const Product::Factor& factor : product->factors()) factors.push_back(factor_to_json(factor));
      json["factors"] = std::move(factors);
    }
    if (has_bounded_features(term.coupling)) json["bounded"] = true;
    if (is_normalized(term.coupling)) json["normalized"] = true;
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
      json["coupling"] = "matrix";
      file.put<double>(format_text("output_matrix.{}", terms.size()), matrix->A());
    }
    terms.push_back(std::move(json));
  }
  return terms;
}

}  // namespace carmina
