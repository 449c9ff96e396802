// models/machine/incremental.cpp -- sums of more rows, or of another machine, joined to those that are kept; then a
// solve.
#include "models/fit/leave_out.hpp"
#include "models/fit/summary.hpp"
#include "models/machine/machine_map.hpp"
#include "models/plan/memory_plan.hpp"
#include "solvers/squared/squared_loss.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

template <Real T>
const Moments& kept_sums(const KernelMachine<T>& machine, const char* what) {
  const FitRecord& record = machine.record();
  require(std::holds_alternative<Squared>(record.loss) && std::holds_alternative<FourierMap<T>>(machine.map()),
          "{}: only Fourier machines with the squared loss learn in parts; this one is '{}' with loss '{}'", what,
          record.approximation, loss_name(record.loss));
  require(record.moments != nullptr,
          "{}: the machine holds no sums over its rows; they are kept by a direct fit that is asked to, in memory, not "
          "in files",
          what);
  return *record.moments;
}

// Sums of z = [phi, y - origin, 1] about another origin: y - o' = (y - o) + (o - o').
void move_origin(Moments& moments, const Vector<double>& origin) {
  Matrix<double>& S = moments.sums;
  S.triangularView<Eigen::StrictlyUpper>() = S.transpose();
  const Index ones = moments.features + moments.outputs;
  const Vector<double> shift = moments.origin - origin;
  for (Index j = 0; j < moments.outputs; ++j) S.row(moments.features + j) += shift[j] * S.row(ones);
  for (Index j = 0; j < moments.outputs; ++j) S.col(moments.features + j) += shift[j] * S.col(ones);
  moments.origin = origin;
}

// tr delta H (delta H + alpha I)^-1 = m - alpha tr (delta H + alpha I)^-1, by delta.
struct Freedom {
  double alpha;
  Index order;
  std::vector<std::pair<double, double>> by_delta = {};

  void add(double delta, const Whiten& whiten) {
    constexpr Index together = 256;
    double trace = 0;
    for (Index first = 0; first < order; first += together) {
      const Index count = std::min(together, order - first);
      Matrix<double> Z = Matrix<double>::Identity(order - first, count);
      whiten.apply(first, Z);
      trace += Z.squaredNorm();
    }
    by_delta.emplace_back(delta, static_cast<double>(order) - alpha * trace);
  }
  double of(double delta) const {
    const auto nearer = [delta](const auto& a, const auto& b) {
      return std::abs(a.first - delta) < std::abs(b.first - delta);
    };
    return std::min_element(by_delta.begin(), by_delta.end(), nearer)->second;
  }
};

// `machine` with these sums in the place of its own. Rows that were seen before cannot be left out: the noise is that
// of the sums, and there are no intervals.
template <Real T>
KernelMachine<T> solved(const KernelMachine<T>& machine, Moments moments, Index rows, const Execution& execution) {
  const auto& map = std::get<FourierMap<T>>(machine.map());
  const Index p = machine.dim_out();
  FitRecord record = machine.record();
  record.moments = std::make_shared<const Moments>(moments);
  record.rows = rows;
  record.target_mean = moments.target_sums().transpose() / moments.total_weight() + moments.origin;
  record.report.seconds.clear();
  record.report.message.clear();
  record.report.iterations = 1;
  LinearSolution solution;
  Matrix<T> root;
  {
    PhaseTimer timer(record.report, "solve");
    const double intercept = record.fit_intercept ? 1 : 0;
    Vector<double> freedom = Vector<double>::Constant(p, intercept);
    Matrix<double> full;  // coefficients (features, p)
    Freedom found{record.alpha, map.n_features()};
    const auto use = [&](double delta, const Whiten& whiten) { found.add(delta, whiten); };
    if (const Term* term = machine.kernel().separable()) {
      const OutputFactor outputs = output_factor(*term, p);
      if (!outputs.identity()) root = outputs.root().template cast<T>();
      solution = solve_primal(moments, {outputs, record.alpha, record.fit_intercept}, execution, record.report, use,
                              std::numeric_limits<T>::epsilon());
      for (Index a = 0; a < p; ++a) {
        for (Index j = 0; j < outputs.rank(p); ++j) {
          const double share = outputs.identity() ? (a == j ? 1.0 : 0.0) : std::pow(outputs.vectors(a, j), 2);
          freedom[a] += share * found.of(outputs.eigenvalue(j));
        }
      }
      full = outputs.identity() ? solution.coefficients
                                : Matrix<double>(solution.coefficients * outputs.root().transpose());
    } else {
      const Expansion expansion(machine.kernel(), map.unit_frequencies(), p);
      found.order = expansion.dim_coef();
      solution = solve_expanded(moments, expansion, record.alpha, record.fit_intercept, execution, record.report, use,
                                std::numeric_limits<T>::epsilon());
      freedom.array() += found.of(1) / static_cast<double>(p);
      full = solution.coefficients;
    }
    record.noise = noise_of_sums(*record.moments, full, solution.intercept, freedom);
    record.left_out.resize(0, 0);
  }
  return KernelMachine<T>(machine.kernel(), machine.shared_map(), solution.coefficients.template cast<T>(),
                          std::move(root), solution.intercept.template cast<T>(), std::move(record));
}

bool same(const Vector<double>& a, const Vector<double>& b) { return a.size() == b.size() && a == b; }

}  // namespace

template <Real T>
KernelMachine<T> fit_further(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution) {
  Moments moments = kept_sums(machine, "partial_fit");
  require(rows.dim_in() == machine.dim_in() && rows.dim_out() == machine.dim_out(),
          "partial_fit: X has {} columns and Y {}, the machine was fitted to {} and {}", rows.dim_in(), rows.dim_out(),
          machine.dim_in(), machine.dim_out());
  DataRows<T> data(rows);
  data.read_at_once(block_rows(rows.dim_in() + rows.dim_out(), execution));
  const DataSummary summary = summarize(data, machine.record().fill_missing, false, execution, false);
  require(!summary.has_missing_targets(),
          "partial_fit: a row must have targets for all outputs or for none, found rows that lack a part of them; take "
          "fit");
  const Index more = summary.rows;
  rows_of(std::get<FourierMap<T>>(machine.map()), data, FeatureStorage::none, execution)->moments(moments);
  require_finite(moments);
  return solved(machine, std::move(moments), machine.record().rows + more, execution);
}

template <Real T>
KernelMachine<T> merge(const KernelMachine<T>& a, const KernelMachine<T>& b, const Execution& execution) {
  Moments moments = kept_sums(a, "merge"), other = kept_sums(b, "merge");
  const auto &left = std::get<FourierMap<T>>(a.map()), &right = std::get<FourierMap<T>>(b.map());
  require(a.kernel() == b.kernel(), "merge: the machines have different kernels; give both the same width");
  require(a.dim_in() == b.dim_in() && a.dim_out() == b.dim_out() && left.units() == right.units() &&
              left.frequencies() == right.frequencies() && left.phases() == right.phases() &&
              left.place() == right.place(),
          "merge: the machines have different frequencies; give both the same random_state and n_components");
  const InputTransform &one = left.transform(), &two = right.transform();
  require(same(one.fill, two.fill) && same(one.shift, two.shift) && same(one.factor, two.factor),
          "merge: the machines scale or fill their inputs differently");
  require(a.record().alpha == b.record().alpha && a.record().fit_intercept == b.record().fit_intercept,
          "merge: the machines differ in alpha ({} and {}) or in having an intercept", a.record().alpha,
          b.record().alpha);
  move_origin(other, moments.origin);
  moments.sums.template triangularView<Eigen::Lower>() += other.sums;
  moments.rows += other.rows;
  return solved(a, std::move(moments), a.record().rows + b.record().rows, execution);
}

#define CARMINA_INSTANTIATE(T)                                                                     \
  template KernelMachine<T> fit_further(const KernelMachine<T>&, RowSource<T>&, const Execution&); \
  template KernelMachine<T> merge(const KernelMachine<T>&, const KernelMachine<T>&, const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
