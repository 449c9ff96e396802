// kernels/coupling.cpp -- couplings by their words, and what they fit.
#include <carmina/kernels/coupling.hpp>

namespace carmina {
namespace {

// Those that a word is enough for.
const std::vector<OutputCoupling>& plain_couplings() {
  static const std::vector<OutputCoupling> all = {Independent{}, TargetCovariance{}, LearntFactors{},
                                                  CurlFreeCoupling{}, DivergenceFreeCoupling{}};
  return all;
}

}  // namespace

std::vector<std::string> coupling_names() {
  std::vector<std::string> names;
  for (const OutputCoupling& coupling : plain_couplings()) names.push_back(coupling_name(coupling));
  return names;
}

std::string coupling_name(const OutputCoupling& coupling) {
  return std::visit([]<class C>(const C&) -> std::string { return C::name; }, coupling);
}

OutputCoupling parse_coupling(const std::string& word, bool bounded, bool normalized) {
  const std::string name = word == "independent" ? Independent::name : word == "factors" ? LearntFactors::name : word;
  for (OutputCoupling coupling : plain_couplings()) {
    if (name != coupling_name(coupling)) continue;
    require(!bounded || is_differential(coupling), "bounded features are for curl-free and divergence-free, found '{}'",
            word);
    require(!normalized || is_differential(coupling),
            "normalized sizes are for curl-free and divergence-free, found '{}'", word);
    std::visit(
        [&](auto& c) {
          if constexpr (requires { c.bounded; }) c.bounded = bounded, c.normalized = normalized;
        },
        coupling);
    return coupling;
  }
  fail("the coupling of outputs must be one of '{}', found '{}'", join_text(coupling_names(), "', '"), word);
}

bool has_bounded_features(const OutputCoupling& coupling) {
  return std::visit(
      [](const auto& c) {
        if constexpr (requires { c.bounded; }) return c.bounded;
        return false;
      },
      coupling);
}

bool is_normalized(const OutputCoupling& coupling) {
  return std::visit(
      [](const auto& c) {
        if constexpr (requires { c.normalized; }) return c.normalized;
        return false;
      },
      coupling);
}

std::optional<Index> n_outputs(const OutputCoupling& coupling, Index dim_in) {
  if (const auto* matrix = std::get_if<OutputMatrix>(&coupling)) return matrix->A().rows();
  if (const auto* spectrum = std::get_if<UserSpectrum>(&coupling)) return (*spectrum)->dim_out();
  if (is_differential(coupling)) return dim_in;
  return std::nullopt;
}

void check_dimensions(const OutputCoupling& coupling, Index dim_in, Index dim_out) {
  if (const auto* spectrum = std::get_if<UserSpectrum>(&coupling)) {
    (*spectrum)->check_inputs(dim_in);
    require((*spectrum)->dim_out() == dim_out, "fit: the kernel's factors are for {} outputs, Y has {} columns",
            (*spectrum)->dim_out(), dim_out);
  }
  if (const auto* matrix = std::get_if<OutputMatrix>(&coupling)) {
    require(matrix->A().rows() == dim_out, "fit: the output matrix A is {} x {}, Y has {} columns", matrix->A().rows(),
            matrix->A().cols(), dim_out);
  }
  require(!is_differential(coupling) || dim_in == dim_out,
          "fit: a {} kernel needs as many targets as inputs, found {} and {}; where only some inputs are places, give "
          "it these, kernel.on(columns), and the others another factor",
          coupling_name(coupling), dim_out, dim_in);
  require(!std::holds_alternative<DivergenceFreeCoupling>(coupling) || dim_in >= 2,
          "fit: a divergence-free kernel is zero in one dimension; at least 2 inputs are needed");
}

Index factor_columns(const OutputCoupling& coupling, Index dim_out) {
  if (std::holds_alternative<CurlFreeCoupling>(coupling)) return 1;
  return std::holds_alternative<DivergenceFreeCoupling>(coupling) ? dim_out - 1 : dim_out;
}

}  // namespace carmina
