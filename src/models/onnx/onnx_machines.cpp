// models/onnx/onnx_machines.cpp -- kernel machines and spectral mixtures as nodes: transform, features, coefficients,
// variances.
#include "features/expansion.hpp"
#include "models/machine/machine_map.hpp"
#include "models/machine/posterior_forms.hpp"
#include "models/onnx/onnx_kernels.hpp"
#include "models/onnx/onnx_series.hpp"
#include "solvers/evidence/frequency_factors.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/predictor.hpp>

#include <cmath>

namespace carmina::onnx {

namespace {

// data/input_transform.hpp
Name transformed(Graph& graph, const InputTransform& transform, Name x) {
  if (transform.fill.size() > 0) {
    x = graph.node("Where", {graph.node("IsNaN", {x}), row_constant(graph, transform.fill), x});
  }
  if (transform.shift.size() > 0) {
    x = graph.subtract(x, row_constant(graph, transform.shift));
    x = graph.multiply(x, row_constant(graph, transform.factor));
    if (transform.factor.size() == 1) x = graph.apart(x);
  }
  if (std::isfinite(transform.limit)) {
    x = graph.node("Max", {x, graph.constant(-transform.limit)});
    x = graph.node("Min", {x, graph.constant(transform.limit)});
  }
  if (transform.metric.size() > 0) x = graph.product(x, graph.constant(Matrix<double>(transform.metric.transpose())));
  return x;
}

// Anchors are kept before the transform.
template <Real T>
Matrix<double> placed(const InputTransform& transform, const Matrix<T>& anchors) {
  Matrix<double> Z = anchors.template cast<double>();
  transform.apply(Z.data(), Z.cols(), Z.rows(), Z.cols(), Z.data());
  return Z;
}

// phi(x) is `factor` times these (features/fourier_map.hpp).
struct Features {
  Name values;
  double factor = 1;
};
template <Real T>
Features features(Graph& graph, const FourierMap<T>& map, const Name& x) {
  const Matrix<double> W = map.frequencies().template cast<double>();
  const double factor = 1 / std::sqrt(static_cast<double>(map.units()));
  if (map.phases().size() == 0) {
    Name values = waves(graph, x, W);
    const Amplitudes& amplitudes = map.amplitudes();
    for (Index k = 0; k < amplitudes.columns.cols(); ++k) {
      // x S + b: the input that a unit is multiplied with, or 1
      Matrix<double> S = Matrix<double>::Zero(W.cols(), 2 * W.rows());
      Vector<double> b = Vector<double>::Zero(2 * W.rows());
      for (Index j = 0; j < 2 * W.rows(); ++j) {
        const Index unit = j % W.rows(), column = amplitudes.columns(unit, k);
        const double size = k == 0 ? amplitudes.factors[unit] : 1;
        (column < 0 ? b[j] : S(column, j)) = size;
      }
      values = graph.multiply(values, graph.add(graph.product(x, graph.constant(S)), row_constant(graph, b)));
    }
    return {values, factor};
  }
  const Name phases = graph.product(x, graph.constant(Matrix<double>(W.transpose())));
  const Vector<double> shifts = map.phases().template cast<double>();
  return {graph.node("Cos", {graph.add(phases, row_constant(graph, shifts))}), factor};
}
template <Real T>
Features features(Graph& graph, const KernelMap<T>& map, const Name& x) {
  return {kernel_values(graph, map.kernel(), x, placed(map.transform(), map.anchors()))};
}

// -g' = factor first and -g'' = second of k = g(r / 2), r the squared distance in units of the length scale.
struct SlopeNames {
  Name first, second;
  double factor = 1;
};
SlopeNames slopes(Graph& graph, const ScalarKernel& kernel, const Name& r) {
  const auto times = [&](const Name& a, double factor) { return graph.multiply(a, graph.constant(factor)); };
  if (std::holds_alternative<Gaussian>(kernel)) {
    const Name g = graph.node("Exp", {times(r, -0.5)});
    return {g, times(g, -1)};
  }
  if (const auto* k = std::get_if<RationalQuadratic>(&kernel)) {
    const Name base = graph.add(times(r, 1 / (2 * k->shape)), graph.constant(1.0));
    const Name first = graph.node("Pow", {base, graph.constant(-k->shape - 1)});
    return {first, times(graph.node("Div", {first, base}), -(k->shape + 1) / k->shape)};
  }
  if (std::holds_alternative<Cauchy>(kernel)) {
    const Name g = graph.node("Reciprocal", {graph.add(r, graph.constant(1.0))});
    const Name square = graph.multiply(g, g);
    return {square, times(graph.multiply(square, g), -8), 2};
  }
  const auto* matern = std::get_if<Matern>(&kernel);
  require(matern && (matern->nu == 1.5 || matern->nu == 2.5),
          "to_onnx: an exact field of this kernel ({}) cannot be converted; gaussian, rational_quadratic, cauchy and "
          "matern "
          "with nu 1.5 and 2.5 can, and every field of Fourier features",
          kernel_name(kernel));
  const Name a = graph.node("Sqrt", {times(r, 2 * matern->nu)});
  const Name e = graph.node("Exp", {times(a, -1)});
  if (matern->nu == 2.5) {
    return {graph.multiply(graph.add(a, graph.constant(1.0)), e), times(e, -25.0 / 3), 5.0 / 3};
  }
  // 3 exp(-a) / a, which stands beside a distance of 0 where a is 0
  const Name bounded = graph.node("Max", {a, graph.constant(1e-150)});
  return {e, times(graph.node("Div", {e, bounded}), -9), 3};
}

// Curl-free: F_b = sum_i s1_i c_ib / l_b^2 + s2_i <u_i, c_i> u_ib, u_i = (x - z_i) / l^2, s1 = -g', s2 = -g''.
// Divergence-free: F = sum_i tr_i c_i less that, tr_i = s1_i sum_b 1 / l_b^2 + s2_i |u_i|^2.
// Other factors of the term, k(x, z_i), multiply s1_i and s2_i.
Name field(Graph& graph, const Term& term, const Name& inputs, const Matrix<double>& anchors, const Matrix<double>& C) {
  const Product::Factor place = place_of(term);
  const Chosen at = chosen(graph, place.columns, inputs, anchors);
  const Name& x = at.x;
  const Matrix<double>& Z = at.Z;
  const LengthScale& scale = length_scale(place.kernel);
  const Vector<double> w = Vector<double>::NullaryExpr(Z.cols(), [&](Index j) { return 1 / (scale[j] * scale[j]); });
  const Name weights = row_constant(graph, w);
  auto [first, second, factor] = slopes(graph, place.kernel, squared_distances(graph, x, Z, w));
  if (const auto* product = std::get_if<Product>(&term.scalar); product && product->factors().size() > 1) {
    const std::vector<Product::Factor>& factors = product->factors();
    const Name others = kernel_values(graph, Product({factors.begin() + 1, factors.end()}), inputs, anchors);
    first = graph.multiply(first, others);
    second = graph.multiply(second, others);
  }
  const Matrix<double> wC = C.array().rowwise() * w.transpose().array();  // c_i / l^2
  // <u_i, c_i> = <x, c_i / l^2> - <z_i, c_i / l^2>
  const Vector<double> own = (Z.array() * wC.array()).rowwise().sum();
  const Name dots =
      graph.subtract(graph.product(x, graph.constant(Matrix<double>(wC.transpose()))), row_constant(graph, own));
  const Name s = graph.multiply(second, dots);
  const Name turned = graph.multiply(
      graph.subtract(graph.multiply(x, graph.sum_rows(s)), graph.product(s, graph.constant(Z))), weights);
  const Name curl = graph.add(graph.product(first, graph.constant(Matrix<double>(factor * wC))), turned);
  if (std::holds_alternative<CurlFreeCoupling>(term.coupling)) return curl;
  const Name lengths = squared_distances(graph, x, Z, w.cwiseAbs2());
  const Name trace =
      graph.add(graph.multiply(first, graph.constant(factor * w.sum())), graph.multiply(second, lengths));
  return graph.subtract(graph.product(trace, graph.constant(C)), curl);
}

template <Real T>
Name operator_values(Graph& graph, const OperatorMap<T>& map, const Name& x, const Matrix<double>& C) {
  const Matrix<double> Z = placed(map.transform(), map.anchors());
  Name sum;
  for (const Term& term : map.kernel().terms()) {
    Name one;
    if (is_differential(term.coupling)) {
      one = field(graph, term, x, Z, full_weight(term, Z.cols()) * C);
    } else {
      Matrix<double> coefficients = C;
      if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
        coefficients = C * matrix->A().transpose();
      } else {
        require(std::holds_alternative<Independent>(term.coupling),
                "to_onnx: an exact kernel that is a function of Python or C++ has no formula that ONNX could write");
      }
      coefficients *= term.weight;
      one = graph.product(kernel_values(graph, term.scalar, x, Z), graph.constant(coefficients));
    }
    sum = sum.empty() ? one : graph.add(sum, one);
  }
  return sum;
}

// models/machine/posterior_forms.hpp
template <Real T>
Name variance(Graph& graph, const KernelMachine<T>& machine, const Name& x, const Features& phi) {
  const PosteriorForms forms = posterior_forms(machine);
  if (forms.M.empty()) return {};
  // psi / factor
  const Name psi =
      forms.mean.size() == 0 ? phi.values : graph.subtract(phi.values, row_constant(graph, forms.mean / phi.factor));
  Name own;  // k(x, x), (rows, 1); empty: 1
  if (const Term* term = machine.kernel().separable(); forms.exact)
    own = own_values(graph, term->scalar, x, machine.dim_in());
  std::vector<Name> parts;
  for (std::size_t k = 0; k < forms.M.size(); ++k) {
    const double delta = forms.deltas[k];
    const Name u = graph.product(psi, graph.constant(Matrix<double>(phi.factor * forms.M[k].transpose())));
    if (!forms.exact) {
      parts.push_back(squares(graph, u));
      continue;
    }
    const Name prior = own.empty() ? graph.constant(delta) : graph.multiply(own, graph.constant(delta));
    Name v = graph.subtract(prior, graph.multiply(squares(graph, u), graph.constant(delta * delta)));
    if (!forms.ones.empty()) {
      const Vector<double>& one = forms.ones[k];
      const Name along = graph.product(u, graph.constant(Matrix<double>(delta * one)));
      const Name gap = graph.subtract(graph.constant(1.0), along);
      v = graph.add(v, graph.multiply(graph.multiply(gap, gap), graph.constant(1 / one.squaredNorm())));
    }
    parts.push_back(graph.node("Max", {v, graph.constant(0.0)}));
  }
  const Name all = parts.size() == 1 ? parts[0] : graph.node("Concat", parts, {{"axis", std::int64_t{1}}});
  Matrix<double> share = forms.share.transpose();  // (k, p)
  for (Index k = 0; !forms.exact && k < share.rows(); ++k) {
    share.row(k) *= forms.alpha * forms.deltas[static_cast<std::size_t>(k)];
  }
  const Vector<double> constant = forms.rest.array() + forms.alpha * (1 + forms.flat);
  const Name sum = graph.add(graph.product(all, graph.constant(share)), row_constant(graph, constant));
  return graph.multiply(sum, row_constant(graph, forms.noise / forms.alpha));
}

Name sorted_rows(Graph& graph, const Name& values, Index p) {
  const std::vector<Attribute> attributes = {
      {"axis", std::int64_t{1}}, {"largest", std::int64_t{0}}, {"sorted", std::int64_t{1}}};
  return graph.node("TopK", {values, graph.constant(std::vector<std::int64_t>{p})}, attributes, "", 2);
}

// Rows of a lower triangle, one after the other.
Matrix<double> lower_triangle(const Matrix<double>& packed, Index n) {
  Matrix<double> L = Matrix<double>::Zero(n, n);
  Index at = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) L(i, j) = packed.data()[at++];
  }
  return L;
}

}  // namespace

template <Real T>
Prediction predict_machine(Graph& graph, const KernelMachine<T>& machine, const Name& x, bool deviations) {
  Matrix<double> C = machine.coefficients().template cast<double>();
  if (machine.output_root().size() > 0) C = C * machine.output_root().template cast<double>().transpose();
  Prediction found;
  std::visit(
      [&]<class M>(const M& map) {
        const Name u = transformed(graph, map.transform(), x);
        if constexpr (std::same_as<M, OperatorMap<T>>) {
          found.mean = operator_values(graph, map, u, C);
        } else {
          const Features phi = features(graph, map, u);
          found.mean = graph.product(phi.values, graph.constant(Matrix<double>(phi.factor * C)));
          if (deviations) found.variance = variance(graph, machine, u, phi);
        }
      },
      machine.map());
  const Vector<double> b = machine.intercept().template cast<double>();
  found.mean = graph.add(found.mean, row_constant(graph, b));
  if (machine.record().non_crossing) found.mean = sorted_rows(graph, found.mean, machine.dim_out());
  return found;
}
template Prediction predict_machine(Graph&, const KernelMachine<float>&, const Name&, bool);
template Prediction predict_machine(Graph&, const KernelMachine<double>&, const Name&, bool);

// mathematics.md 3e: means of means and covariances over the draws, the means' own variance, and noise.
Prediction predict_mixture(Graph& graph, const SpectralMixtureMachine& machine, const Name& x, bool deviations) {
  const ModelFile file = machine.to_file();
  const Index p = machine.dim_out();
  const Name intercept = row_constant(graph, machine.intercept());
  const Vector<double> noise = machine.parameters().noise;
  if (machine.inference() != Inference::fourier) return predict_members(graph, machine, x, deviations);
  const auto draws = static_cast<double>(machine.points().size());
  std::vector<Name> means;
  Name mean, latent;
  const auto add_to = [&](Name& sum, const Name& one) { sum = sum.empty() ? one : graph.add(sum, one); };
  for (std::size_t k = 0; k < machine.points().size(); ++k) {
    const WeightedFrequencies& at = machine.points()[k];
    const FrequencyFactors factors(at, 1.0);
    const Name phi = waves(graph, x, at.W);
    const Matrix<double> beta = file.get<double>(format_text("beta.{}", k)).transpose();
    Matrix<double> theta(factors.features(), p);
    for (Index a = 0; a < p; ++a) theta.col(a) = factors.contract(beta, a).row(0).transpose();
    means.push_back(graph.product(phi, graph.constant(theta)));
    add_to(mean, graph.product(phi, graph.constant(Matrix<double>(theta / draws))));
    if (!deviations) continue;
    const Matrix<double> inverse =
        inverse_of_lower(lower_triangle(file.get<double>(format_text("precision_root.{}", k)), at.dim_coef()));
    std::vector<Name> columns;
    for (Index a = 0; a < p; ++a) {
      const Matrix<double> E = factors.expand(Matrix<double>::Identity(factors.features(), factors.features()), a);
      columns.push_back(squares(graph, graph.product(phi, graph.constant(Matrix<double>(E * inverse.transpose())))));
    }
    const Name all = p == 1 ? columns[0] : graph.node("Concat", columns, {{"axis", std::int64_t{1}}});
    add_to(latent, graph.multiply(all, graph.constant(1 / draws)));
  }
  Prediction found;
  if (deviations) {
    for (std::size_t k = 0; draws > 1 && k < means.size(); ++k) {
      const Name gap = graph.subtract(means[k], mean);
      add_to(latent, graph.multiply(graph.multiply(gap, gap), graph.constant(1 / draws)));
    }
    found.variance = graph.add(latent, row_constant(graph, noise));
  }
  found.mean = graph.add(mean, intercept);
  return found;
}

}  // namespace carmina::onnx
