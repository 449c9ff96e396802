// kernels/kernel.cpp -- sums and multiples of kernels, and what fits what.
#include <carmina/kernels/kernel.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

OutputFactor output_factor(const Term& term, Index p) {
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling))
    return factor_output_matrix(term.weight * matrix->A());
  return term.weight == 1 ? OutputFactor{} : factor_output_matrix(term.weight * Matrix<double>::Identity(p, p));
}

Kernel::Kernel(std::vector<Term> terms) : terms_(std::move(terms)) {
  require(!terms_.empty(), "kernel: a sum needs at least one term");
  std::optional<Index> outputs;
  for (const Term& term : terms_) {
    require(term.weight > 0 && std::isfinite(term.weight), "kernel: a multiple must be positive and finite, found {}",
            term.weight);
    if (std::holds_alternative<Differential>(term.coupling)) {
      require(roughness(term.scalar) == nullptr,
              "curl-free and divergence-free kernels need two derivatives in x - z: {}",
              roughness(term.scalar) ? roughness(term.scalar) : "");
    }
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
      require(outputs.value_or(matrix->A().rows()) == matrix->A().rows(),
              "kernel: terms of a sum are for {} and {} outputs", *outputs, matrix->A().rows());
      outputs = matrix->A().rows();
    }
  }
}

const Term* Kernel::separable() const {
  return terms_.size() == 1 && !std::holds_alternative<Differential>(terms_[0].coupling) ? terms_.data() : nullptr;
}

bool Kernel::has_differential() const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [](const Term& term) { return std::holds_alternative<Differential>(term.coupling); });
}

std::optional<Index> Kernel::n_outputs(Index dim_in) const {
  for (const Term& term : terms_) {
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) return matrix->A().rows();
    if (std::holds_alternative<Differential>(term.coupling)) return dim_in;
  }
  return std::nullopt;
}

void Kernel::check_dimensions(Index dim_in, Index dim_out) const {
  for (const Term& term : terms_) {
    check_dimension(term.scalar, dim_in);
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
      require(matrix->A().rows() == dim_out, "fit: the output matrix A is {} x {}, Y has {} columns",
              matrix->A().rows(), matrix->A().cols(), dim_out);
    }
    if (const auto* kind = std::get_if<Differential>(&term.coupling)) {
      require(dim_in == dim_out, "fit: a {} kernel needs as many targets as inputs, found {} and {}",
              *kind == Differential::curl_free ? "curl-free" : "divergence-free", dim_out, dim_in);
      require(*kind == Differential::curl_free || dim_in >= 2,
              "fit: a divergence-free kernel is zero in one dimension; at least 2 inputs are needed");
    }
  }
}

Kernel operator+(const Kernel& a, const Kernel& b) {
  std::vector<Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Kernel(std::move(terms));
}

Kernel operator*(double factor, const Kernel& kernel) {
  std::vector<Term> terms = kernel.terms_;
  for (Term& term : terms) term.weight *= factor;
  return Kernel(std::move(terms));
}

}  // namespace carmina
