// models/onnx/onnx_series.cpp -- the members of a series, and its bands.
#include "models/onnx/onnx_series.hpp"
#include "models/mixture/mixture_state.hpp"

namespace carmina::onnx {
namespace {

// The square of the factor that bands are wider by, piecewise linear in the time: f(t) = 1 + sum_k c_k max(0, t - t_k).
Name band_factor(Graph& graph, const ForecastBands& bands, const Name& x) {
  const Index count = bands.places.size();
  Name factor;
  double slope = 0;
  for (Index k = 0; k < count; ++k) {
    const double next =
        k + 1 < count ? (bands.factors[k + 1] - bands.factors[k]) / (bands.places[k + 1] - bands.places[k]) : 0;
    const Name beyond = graph.node("Max", {graph.subtract(x, graph.constant(bands.places[k])), graph.constant(0.0)});
    const Name part = graph.multiply(beyond, graph.constant(next - slope));
    factor = factor.empty() ? part : graph.add(factor, part);
    slope = next;
  }
  factor = graph.add(factor, graph.constant(1.0));
  return graph.multiply(factor, factor);
}

}  // namespace

Prediction predict_members(Graph& graph, const SpectralMixtureMachine& machine, const Name& x, bool deviations) {
  const MixtureState& state = machine.state();
  std::vector<Name> means;
  Name mean, variance;
  const auto add_share = [&](Name& sum, const Name& one, std::size_t k) {
    const double share = state.shares[static_cast<Index>(k)];
    const Name part = share == 1 ? one : graph.multiply(one, graph.constant(share));
    sum = sum.empty() ? part : graph.add(sum, part);
  };
  for (std::size_t k = 0; k < state.members.size(); ++k) {
    const auto& [mixture, noise, process] = state.members[k];
    const Name values = mixture_values(graph, mixture, x, process.anchors);
    means.push_back(graph.product(values, graph.constant(process.coefficients)));
    add_share(mean, means.back(), k);
    if (!deviations) continue;
    const Name u = graph.product(values, graph.constant(Matrix<double>(inverse_of_lower(process.L).transpose())));
    Name v = graph.subtract(graph.constant(mixture.weights.sum()), squares(graph, u));
    if (process.LB.size() > 0) {
      const Matrix<double> second = inverse_of_lower(process.LB);
      v = graph.add(v, squares(graph, graph.product(u, graph.constant(Matrix<double>(second.transpose())))));
    }
    add_share(variance,
              graph.add(graph.node("Max", {v, graph.constant(0.0)}),
                        row_constant(graph, Vector<double>::Constant(machine.dim_out(), noise))),
              k);
  }
  for (std::size_t k = 0; deviations && means.size() > 1 && k < means.size(); ++k) {
    const Name gap = graph.subtract(means[k], mean);
    add_share(variance, graph.multiply(gap, gap), k);
  }
  if (deviations && state.bands.places.size() > 0) {
    variance = graph.multiply(variance, band_factor(graph, state.bands, x));
  }
  return {graph.add(mean, row_constant(graph, machine.intercept())), variance};
}

}  // namespace carmina::onnx
