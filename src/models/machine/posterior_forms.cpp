// models/machine/posterior_forms.cpp -- inverse factors of the systems that posteriors solve.
#include "models/machine/posterior_forms.hpp"
#include "models/fit/kernel_matrices.hpp"
#include "models/machine/feature_gram.hpp"
#include "models/machine/machine_map.hpp"
#include "models/machine/posterior_factors.hpp"

#include <carmina/models/posterior.hpp>

namespace carmina {

template <Real T>
PosteriorForms posterior_forms(const KernelMachine<T>& machine, const Execution& execution) {
  const FitRecord& record = machine.record();
  const Term* term = machine.kernel().separable();
  const auto* anchors = std::get_if<KernelMap<T>>(&machine.map());
  const bool fourier = std::holds_alternative<FourierMap<T>>(machine.map());
  PosteriorForms forms;
  if (!why_no_deviation(record).empty() || !record.patterns.empty() || !term || (!fourier && !anchors)) return forms;
  if (anchors && record.moments) return forms;  // of a sub-sample
  const Index p = machine.dim_out();
  const OutputFactor outputs = output_factor(*term, p);
  const posterior::Directions directions(outputs, p);
  forms.exact = !fourier;
  forms.alpha = record.alpha;
  forms.noise = record.noise;
  forms.deltas = directions.deltas;
  forms.rest = Vector<double>::Zero(p);
  Matrix<double> H;
  if (fourier) {
    FeatureGram gram(*record.moments, record.fit_intercept);
    if (record.fit_intercept) forms.flat = 1 / record.moments->total_weight();
    forms.mean = gram.mean;
    H = std::move(gram.gram);
  } else {
    H = exact_gram(anchors->kernel(), anchors->anchors(), anchors->transform(), execution);
  }
  const Index m = H.rows();
  for (const double delta : forms.deltas) {
    const Matrix<double> L =
        posterior::factor(H, delta, forms.alpha, fourier ? Vector<double>() : record.weights, execution);
    forms.M.push_back(posterior::solved(L, Matrix<double>::Identity(m, m), execution));
    if (forms.exact && record.fit_intercept)
      forms.ones.emplace_back(posterior::solved(L, Matrix<double>::Ones(m, 1), execution).col(0));
  }
  forms.share = Matrix<double>::Zero(p, static_cast<Index>(forms.deltas.size()));
  for (Index j = 0; j < outputs.rank(p); ++j) {
    const auto k = static_cast<Index>(directions.which[static_cast<std::size_t>(j)]);
    for (Index a = 0; a < p; ++a) {
      const double v = outputs.identity() ? static_cast<double>(a == j) : outputs.vectors(a, j);
      forms.share(a, k) += v * v;
    }
  }
  if (forms.exact && record.fit_intercept && !outputs.identity()) {
    const double weight = record.weights.size() > 0 ? record.weights.sum() : static_cast<double>(m);
    for (Index a = 0; a < p; ++a) forms.rest[a] = forms.alpha / weight * (1 - outputs.vectors.row(a).squaredNorm());
  }
  return forms;
}
template PosteriorForms posterior_forms(const KernelMachine<float>&, const Execution&);
template PosteriorForms posterior_forms(const KernelMachine<double>&, const Execution&);

}  // namespace carmina
