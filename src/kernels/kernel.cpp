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

namespace {

// Outputs that a term is for whatever the inputs.
std::optional<Index> fixed_outputs(const Term& term) {
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) return matrix->A().rows();
  if (const auto* spectrum = std::get_if<OwnSpectrum>(&term.coupling)) return (*spectrum)->dim_out();
  return std::nullopt;
}

template <class Coupled>
bool any_is(const std::vector<Term>& terms) {
  return std::any_of(terms.begin(), terms.end(),
                     [](const Term& term) { return std::holds_alternative<Coupled>(term.coupling); });
}

}  // namespace

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
    require(!term.bounded ||
                (std::holds_alternative<Differential>(term.coupling) && std::holds_alternative<Gaussian>(term.scalar)),
            "bounded features are known for curl-free and divergence-free kernels over 'gaussian' only, whose "
            "frequencies weighted by their squared length can be drawn; found '{}'",
            kernel_name(term.scalar));
    if (const auto fixed = fixed_outputs(term)) {
      require(outputs.value_or(*fixed) == *fixed, "kernel: terms of a sum are for {} and {} outputs", *outputs, *fixed);
      outputs = fixed;
    }
  }
}

const Term* Kernel::separable() const { return terms_.size() == 1 && !keeps_directions() ? terms_.data() : nullptr; }

bool Kernel::has_differential() const { return any_is<Differential>(terms_); }
bool Kernel::has_own_spectrum() const { return any_is<OwnSpectrum>(terms_); }
bool Kernel::keeps_directions() const { return has_differential() || has_own_spectrum(); }

std::optional<Index> Kernel::n_outputs(Index dim_in) const {
  for (const Term& term : terms_) {
    if (const auto fixed = fixed_outputs(term)) return fixed;
    if (std::holds_alternative<Differential>(term.coupling)) return dim_in;
  }
  return std::nullopt;
}

void Kernel::check_dimensions(Index dim_in, Index dim_out) const {
  for (const Term& term : terms_) {
    if (const auto* spectrum = std::get_if<OwnSpectrum>(&term.coupling)) {
      (*spectrum)->check_inputs(dim_in);
      require((*spectrum)->dim_out() == dim_out, "fit: the kernel's factors are for {} outputs, Y has {} columns",
              (*spectrum)->dim_out(), dim_out);
      continue;
    }
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
