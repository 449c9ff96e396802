// models/machine/derived.cpp -- gradients, divergence, curl, potentials and stream functions of a fitted machine.
#include "features/kernel_jet.hpp"
#include "models/machine/derived_plan.hpp"
#include "models/machine/machine_map.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <numeric>

namespace carmina {
namespace {

// Inputs that the outputs of a vector field belong to.
std::vector<Index> field_columns(const Kernel& kernel, Derived what, Index d, Index p) {
  std::vector<Index> columns;
  for (const Term& term : kernel.terms()) {
    if (!is_differential(term.coupling)) continue;
    const std::vector<Index> own = place_columns(term, d);
    require(columns.empty() || columns == own, "{}: terms of the kernel are fields of different columns",
            derived_name(what));
    columns = own;
  }
  require(!columns.empty() || d == p,
          "{}: which inputs the {} outputs belong to is known of as many inputs, or of a kernel with a curl-free or "
          "divergence-free term; found {} inputs",
          derived_name(what), p, d);
  if (columns.empty()) {
    columns.resize(static_cast<std::size_t>(p));
    std::iota(columns.begin(), columns.end(), Index{0});
  }
  return columns;
}

template <class Coupling>
void require_term(const Kernel& kernel, Derived what, Index d) {
  const auto own = [](const Term& term) { return std::holds_alternative<Coupling>(term.coupling); };
  const auto found = std::find_if(kernel.terms().begin(), kernel.terms().end(), own);
  require(found != kernel.terms().end(), "{}: the kernel has no {} term", derived_name(what), Coupling::name);
  for (const Term& term : kernel.terms()) {
    if (!own(term)) continue;
    const auto beside = beside_place(term);
    if (!beside) continue;
    const std::vector<Index> place = place_columns(term, d);
    for (const Product::Factor& factor : factors_of(*beside)) {
      const std::vector<Index> other = factor.columns.of(d);
      require(std::find_first_of(place.begin(), place.end(), other.begin(), other.end()) == place.end() ||
                  std::holds_alternative<Constant>(factor.kernel),
              "{}: the {} term is multiplied by a kernel of the same inputs, so that it is none any more",
              derived_name(what), Coupling::name);
    }
  }
}

}  // namespace

template <Real T>
DerivedPlan derived_plan(const KernelMachine<T>& machine, Derived what) {
  const Index d = machine.dim_in(), p = machine.dim_out();
  const Kernel& kernel = machine.kernel();
  const std::string name = derived_name(what);
  require(!machine.record().non_crossing, "{}: quantiles that are put in order have no derivatives", name);
  DerivedPlan plan;
  if (what == Derived::vector_potential) {
    plan.basis = DerivedPlan::Basis::vector;
    require_term<DivergenceFreeCoupling>(kernel, what, d);
    require(p == 3, "vector_potential: it is of fields in space, found {} outputs", p);
    plan.columns = field_columns(kernel, what, d, p);
    plan.bases = p;
    for (Index a = 0; a < p; ++a) {
      const Index b = (a + 1) % p, c = (a + 2) % p;
      plan.quantities.push_back({{b, c, 1}, {c, b, -1}});
    }
    return plan;
  }
  if (what == Derived::potential || what == Derived::stream_function) {
    const bool potential = what == Derived::potential;
    plan.basis = potential ? DerivedPlan::Basis::potential : DerivedPlan::Basis::stream;
    potential ? require_term<CurlFreeCoupling>(kernel, what, d) : require_term<DivergenceFreeCoupling>(kernel, what, d);
    require(potential || p == 2, "stream_function: it is of fields in the plane, found {} outputs", p);
    plan.columns = field_columns(kernel, what, d, p);
    plan.bases = p;
    plan.quantities.resize(1);
    for (Index a = 0; a < p; ++a) plan.quantities[0].push_back({a, a, 1});
    return plan;
  }
  for (const Term& term : kernel.terms()) {
    if (std::holds_alternative<UserSpectrum>(term.coupling)) continue;
    const char* const reason = why_no_gradient(term.scalar);
    require(reason == nullptr, "{}: {}", name, reason ? reason : "");
  }
  plan.bases = d;
  if (what == Derived::gradient) {
    for (Index a = 0; a < p; ++a) {
      for (Index l = 0; l < d; ++l) plan.quantities.push_back({{a, l, 1}});
    }
    return plan;
  }
  plan.columns = field_columns(kernel, what, d, p);
  const auto column = [&](Index a) { return plan.columns[static_cast<std::size_t>(a)]; };
  if (what == Derived::divergence) {
    plan.quantities.resize(1);
    for (Index a = 0; a < p; ++a) plan.quantities[0].push_back({a, column(a), 1});
    return plan;
  }
  require(p == 2 || p == 3, "curl: it is of fields of two or three outputs, found {}", p);
  // (a, b): df_b / dx_a - df_a / dx_b
  const std::vector<std::pair<Index, Index>> pairs = p == 2
                                                         ? std::vector<std::pair<Index, Index>>{{0, 1}}
                                                         : std::vector<std::pair<Index, Index>>{{1, 2}, {2, 0}, {0, 1}};
  for (const auto& [a, b] : pairs) plan.quantities.push_back({{b, column(a), 1}, {a, column(b), -1}});
  return plan;
}

template <Real T>
Matrix<double> derive(const KernelMachine<T>& machine, Derived what, ConstView<T> X, const Execution& execution) {
  require(X.cols() == machine.dim_in(), "{}: X has {} columns, the model was fitted with {}", derived_name(what),
          X.cols(), machine.dim_in());
  const DerivedPlan plan = derived_plan(machine, what);
  Matrix<double> C = machine.coefficients().template cast<double>();
  if (machine.output_root().size() > 0) C = C * machine.output_root().template cast<double>().transpose();
  Matrix<double> out = Matrix<double>::Zero(X.rows(), plan.size());
  const Index features = std::visit([](const auto& map) { return map.n_features(); }, machine.map());
  const Index at_once = derived_rows_at_once(plan, features, machine.dim_out());
  for (Index first = 0; first < X.rows(); first += at_once) {
    execution.checkpoint({derived_name(what).c_str(), first, X.rows()});
    const Index count = std::min(at_once, X.rows() - first);
    const Matrix<T> rows = X.middleRows(first, count);
    auto block = out.middleRows(first, count);
    std::visit(
        [&]<class Map>(const Map& map) {
          if constexpr (std::same_as<Map, OperatorMap<T>>) {
            const Matrix<double> blocks = derived_blocks<T>(map, plan, rows, execution);
            const Vector<double> values = blocks * Eigen::Map<const Vector<double>>(C.data(), C.size());
            block = Eigen::Map<const Matrix<double>>(values.data(), count, plan.size());
          } else {
            const std::vector<Matrix<double>> bases = derived_features<T>(map, machine.kernel(), plan, rows, execution);
            std::vector<Matrix<double>> values;  // of each basis, all outputs: (rows, p)
            for (const Matrix<double>& basis : bases) values.push_back(basis * C);
            for (Index q = 0; q < plan.size(); ++q) {
              for (const auto& part : plan.quantities[static_cast<std::size_t>(q)]) {
                block.col(q) += part.factor * values[static_cast<std::size_t>(part.basis)].col(part.output);
              }
            }
          }
        },
        machine.map());
  }
  for (Index i = 0; i < out.rows(); ++i) {
    if (out.row(i).allFinite()) continue;
    throw RowError(derived_name(what), i, "the inputs are too large: the result is not a finite number");
  }
  return out;
}

void check_derived_inputs(const Kernel& kernel, const InputEncoder& encoder, Derived what, bool deviations) {
  const std::string name = derived_name(what);
  require(encoder.takes_numbers(), "{}: inputs that are text or dates have no derivatives; fit to numbers", name);
  require(what != Derived::gradient || !deviations,
          "gradient: its deviations are not known for inputs that wrap round; its values are");
  const auto& terms = kernel.terms();
  const bool field = std::any_of(terms.begin(), terms.end(), [](const auto& t) { return is_differential(t.coupling); });
  require(what == Derived::gradient || field,
          "{}: inputs that wrap round are no coordinates of a field; take a kernel with a curl-free or divergence-free "
          "term on the others",
          name);
}

#define CARMINA_INSTANTIATE(T)                                         \
  template DerivedPlan derived_plan(const KernelMachine<T>&, Derived); \
  template Matrix<double> derive(const KernelMachine<T>&, Derived, ConstView<T>, const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
