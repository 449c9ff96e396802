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

Term field_term(ScalarKernel scalar, OutputCoupling coupling) {
  require(factors_of(scalar).size() == 1, "curl-free and divergence-free kernels: {}", why_not_differentiable(scalar));
  return own_term(std::move(scalar), std::move(coupling));
}

Product::Factor place_of(const Term& term) { return factors_of(term.scalar).front(); }

std::vector<Index> place_columns(const Term& term, Index dim_in) { return place_of(term).columns.of(dim_in); }

std::optional<ScalarKernel> beside_place(const Term& term) {
  std::vector<Product::Factor> factors = factors_of(term.scalar);
  if (factors.size() == 1) return std::nullopt;
  factors.erase(factors.begin());
  return Product(std::move(factors));
}

bool place_is_shared(const Term& term, Index dim_in) {
  if (!is_differential(term.coupling)) return false;
  const std::vector<Index> place = place_columns(term, dim_in);
  const std::vector<Product::Factor> factors = factors_of(term.scalar);
  return std::any_of(factors.begin() + 1, factors.end(), [&](const Product::Factor& factor) {
    const std::vector<Index> other = factor.columns.of(dim_in);
    return explicit_features(factor.kernel, 1) == 0 &&
           std::find_first_of(place.begin(), place.end(), other.begin(), other.end()) != place.end();
  });
}

namespace {

// tr K_curl(0) = -g'(0) sum_j 1 / l_j^2, of a mixture E|w|^2; tr K_div(0) = (p - 1) tr K_curl(0). Over p.
double field_size(const Term& term, Index dim_in) {
  const Product::Factor place = place_of(term);
  const auto p = static_cast<Index>(place.columns.of(dim_in).size());
  double trace = 0;
  if (const auto* mixture = std::get_if<SpectralMixture>(&place.kernel)) {
    trace = mixture->mean_square_frequency();
  } else {
    const LengthScale& width = length_scale(place.kernel);
    for (Index j = 0; j < p; ++j) trace += 1 / (width[j] * width[j]);
    trace *= -visit_stationary([](const auto& k) { return k.slopes(0).first; }, place.kernel);
  }
  if (std::holds_alternative<DivergenceFreeCoupling>(term.coupling)) trace *= static_cast<double>(p - 1);
  return trace / static_cast<double>(p);
}

}  // namespace

double full_weight(const Term& term, Index dim_in) {
  return is_normalized(term.coupling) ? term.weight / field_size(term, dim_in) : term.weight;
}

double kernel_size(const Kernel& kernel, Index dim_in) {
  double size = 0;
  for (const Term& term : kernel.terms()) {
    const auto* matrix = std::get_if<OutputMatrix>(&term.coupling);
    const double own = is_differential(term.coupling) ? field_size(term, dim_in)
                       : matrix                       ? matrix->A().diagonal().mean()
                                                      : 1;
    size += full_weight(term, dim_in) * own;
  }
  return size;
}

namespace {

Index explicit_units(const Term& term, Index dim_in) {
  return std::holds_alternative<UserSpectrum>(term.coupling) ? 0 : explicit_features(term.scalar, dim_in);
}

}  // namespace

std::vector<Index> term_units(const std::vector<Term>& terms, Index dim_in, Index drawn) {
  std::vector<Index> units;
  for (const Term& term : terms) {
    const Index own = explicit_units(term, dim_in);
    units.push_back(own > 0 ? own : drawn);
  }
  return units;
}

std::vector<Index> term_units_of(const std::vector<Term>& terms, Index dim_in, Index all) {
  Index left = all, drawn = 0;
  for (const Term& term : terms) {
    const Index own = explicit_units(term, dim_in);
    left -= own;
    if (own == 0) ++drawn;
  }
  require(drawn > 0 ? left > 0 && left % drawn == 0 : left == 0, "kernel: {} frequencies do not go with {} terms", all,
          terms.size());
  return term_units(terms, dim_in, drawn > 0 ? left / drawn : 0);
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
      const char* const reason = why_not_differentiable(place_of(term).kernel);
      require(reason == nullptr, "curl-free and divergence-free kernels need two derivatives in x - z: {}",
              reason ? reason : "");
    }
    require(!has_bounded_features(term.coupling) || std::holds_alternative<Gaussian>(place_of(term).kernel),
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
    const InputColumns columns = place_of(term).columns;  // perhaps by name
    const bool some = is_differential(term.coupling) && !columns.all();
    const Index own = some ? columns.count() : dim_in;
    if (const auto outputs = carmina::n_outputs(term.coupling, own)) return outputs;
  }
  return std::nullopt;
}

void Kernel::check_dimensions(Index dim_in, Index dim_out) const {
  for (const Term& term : terms_) {
    if (!std::holds_alternative<UserSpectrum>(term.coupling)) check_dimension(term.scalar, dim_in);
    const bool differential = is_differential(term.coupling);
    carmina::check_dimensions(term.coupling,
                              differential ? static_cast<Index>(place_columns(term, dim_in).size()) : dim_in, dim_out);
  }
}

Kernel operator+(const Kernel& a, const Kernel& b) {
  std::vector<Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Kernel(std::move(terms));
}

Kernel Kernel::on(const InputColumns& columns) const {
  std::vector<Term> terms = terms_;
  for (Term& term : terms) {
    require(!std::holds_alternative<UserSpectrum>(term.coupling),
            "kernel: a Spectral kernel is of all inputs; its sampler may leave frequencies of some at 0");
    term.scalar = on_columns(term.scalar, columns);
  }
  return Kernel(std::move(terms));
}

Kernel Kernel::with_columns_found(const std::vector<std::string>& input_names, const std::vector<Index>& firsts) const {
  std::vector<Term> terms = terms_;
  for (Term& term : terms) term.scalar = carmina::with_columns_found(term.scalar, input_names, firsts);
  return Kernel(std::move(terms));
}

Kernel operator*(const Kernel& a, const Kernel& b) {
  std::vector<Term> terms;
  for (const Term& first : a.terms_) {
    for (const Term& second : b.terms_) {
      const bool couples = !std::holds_alternative<Independent>(first.coupling);
      require(!couples || std::holds_alternative<Independent>(second.coupling),
              "kernel: a product takes one factor that couples the outputs, found '{}' and '{}'",
              coupling_name(first.coupling), coupling_name(second.coupling));
      // The factor that couples comes first: a vector field is made of it.
      const Term &coupled = couples ? first : second, &other = couples ? second : first;
      const bool plain = std::holds_alternative<Independent>(coupled.coupling);
      require(!std::holds_alternative<UserSpectrum>(coupled.coupling),
              "kernel: a Spectral kernel takes no factor; put it into the sampler, whose frequencies add up");
      terms.push_back({first.weight * second.weight,
                       plain ? product(first.scalar, second.scalar) : product(coupled.scalar, other.scalar),
                       coupled.coupling});
    }
  }
  return Kernel(std::move(terms));
}

Kernel operator*(double factor, const Kernel& kernel) {
  std::vector<Term> terms = kernel.terms_;
  for (Term& term : terms) term.weight *= factor;
  return Kernel(std::move(terms));
}

}  // namespace carmina
