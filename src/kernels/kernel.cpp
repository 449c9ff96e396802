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
    require(!std::holds_alternative<TargetCovariance>(term.coupling) &&
                !std::holds_alternative<LearntFactors>(term.coupling),
            "kernel: the coupling '{}' of outputs is known to a fit alone", coupling_name(term.coupling));
    if (is_differential(term.coupling)) {
      require(why_not_differentiable(term.scalar) == nullptr,
              "curl-free and divergence-free kernels need two derivatives in x - z: {}",
              why_not_differentiable(term.scalar) ? why_not_differentiable(term.scalar) : "");
    }
    require(!has_bounded_features(term.coupling) || std::holds_alternative<Gaussian>(term.scalar),
            "bounded features are known for curl-free and divergence-free kernels over 'gaussian' only, whose "
            "frequencies weighted by their squared length can be drawn; found '{}'",
            kernel_name(term.scalar));
    if (is_differential(term.coupling)) continue;  // for as many outputs as inputs, which are not known yet
    if (const auto fixed = carmina::n_outputs(term.coupling, 0)) {
      const Index known = outputs.value_or(*fixed);
      require(known == *fixed, "kernel: terms of a sum are for {} and {} outputs", known, *fixed);
      outputs = fixed;
    }
  }
}

const Term* Kernel::separable() const { return terms_.size() == 1 && !keeps_directions() ? terms_.data() : nullptr; }

bool Kernel::has_differential() const {
  return std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return is_differential(term.coupling); });
}
bool Kernel::has_user_spectrum() const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [](const Term& term) { return std::holds_alternative<UserSpectrum>(term.coupling); });
}
bool Kernel::keeps_directions() const { return has_differential() || has_user_spectrum(); }

std::optional<Index> Kernel::n_outputs(Index dim_in) const {
  for (const Term& term : terms_) {
    if (const auto outputs = carmina::n_outputs(term.coupling, dim_in)) return outputs;
  }
  return std::nullopt;
}

void Kernel::check_dimensions(Index dim_in, Index dim_out) const {
  for (const Term& term : terms_) {
    if (!std::holds_alternative<UserSpectrum>(term.coupling)) check_dimension(term.scalar, dim_in);
    carmina::check_dimensions(term.coupling, dim_in, dim_out);
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
