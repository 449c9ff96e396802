// models/onnx/onnx_kernels.cpp -- kernel values against anchor rows, by ONNX's elementary operations.
#include "models/onnx/onnx_kernels.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <numbers>

namespace carmina::onnx {

namespace {

// exp(factor a)
Name exponential(Graph& graph, const Name& a, double factor) {
  return graph.node("Exp", {graph.multiply(a, graph.constant(factor))});
}

// Column j of x, (rows, 1), beside column j of Z as a row (1, s).
std::pair<Name, Name> column_and_row(Graph& graph, const Name& x, const Matrix<double>& Z, Index j) {
  const Name column =
      graph.node("Gather", {x, graph.constant(std::vector<std::int64_t>{j})}, {{"axis", std::int64_t{1}}});
  return {column, graph.constant(Matrix<double>(Z.col(j).transpose()))};
}

// sum_j or prod_j of step(column j of x, row j of Z)
template <class Step>
Name over_inputs(Graph& graph, const Name& x, const Matrix<double>& Z, const char* join, const Step& step) {
  Name all;
  for (Index j = 0; j < Z.cols(); ++j) {
    const auto [column, row] = column_and_row(graph, x, Z, j);
    const Name one = step(j, column, row);
    all = all.empty() ? one : graph.node(join, {all, one});
  }
  return all;
}

// The values of stationary kernels from squared distances r, in units of the length scale (kernels/stationary.hpp).
Name of_distances(Graph& graph, const Gaussian&, const Name& r) { return exponential(graph, r, -0.5); }
Name of_distances(Graph& graph, const Laplacian&, const Name& r) { return exponential(graph, r, -1); }
Name of_distances(Graph& graph, const Cauchy&, const Name& r) {
  return graph.node("Reciprocal", {graph.add(r, graph.constant(1.0))});
}
Name of_distances(Graph& graph, const RationalQuadratic& k, const Name& r) {
  const Name base = graph.add(graph.multiply(r, graph.constant(1 / (2 * k.shape))), graph.constant(1.0));
  return graph.node("Pow", {base, graph.constant(-k.shape)});
}
// exp(-a) times a polynomial in a = sqrt(2 nu r) for nu = m + 1/2: its coefficients are
//   (m + i)! m! 2^(m - i) a^(m - i) / (i! (m - i)! (2 m)!)
Name of_distances(Graph& graph, const Matern& k, const Name& r) {
  const double m = k.nu - 0.5;
  require(
      m == std::floor(m) && m <= 20,
      "to_onnx: a Matern kernel of nu {} has Bessel functions in it, which ONNX has not; nu = 0.5, 1.5, 2.5, ... can "
      "be converted",
      k.nu);
  const Name a = graph.node("Sqrt", {graph.multiply(r, graph.constant(2 * k.nu))});
  const Name decay = exponential(graph, a, -1);
  Name polynomial;  // by Horner's rule, from a^m down
  for (int i = 0; i <= static_cast<int>(m); ++i) {
    const double coefficient = std::exp(std::lgamma(m + i + 1) + std::lgamma(m + 1) + (m - i) * std::log(2.0) -
                                        std::lgamma(i + 1.0) - std::lgamma(m - i + 1) - std::lgamma(2 * m + 1));
    const Name term = graph.constant(coefficient);
    polynomial = polynomial.empty() ? term : graph.add(graph.multiply(polynomial, a), term);
  }
  return graph.multiply(decay, polynomial);
}

}  // namespace

Name waves(Graph& graph, const Name& x, const Matrix<double>& W) {
  const Name phases = graph.product(x, graph.constant(Matrix<double>(W.transpose())));
  return graph.node("Concat", {graph.node("Cos", {phases}), graph.node("Sin", {phases})}, {{"axis", std::int64_t{1}}});
}

// |x|^2 + |z|^2 - 2 <x, z> about the mean of Z
Name squared_distances(Graph& graph, const Name& x, const Matrix<double>& Z, const Vector<double>& w) {
  const Eigen::RowVectorXd centre = Z.colwise().mean();
  const Eigen::RowVectorXd factor = w.cwiseSqrt().transpose();
  const Matrix<double> z = (Z.rowwise() - centre).array().rowwise() * factor.array();
  Name u = graph.subtract(x, graph.constant(Matrix<double>(centre)));
  u = graph.multiply(u, graph.constant(Matrix<double>(factor)));
  if (Z.cols() == 1) u = graph.apart(u);
  const Name cross = graph.product(u, graph.constant(Matrix<double>(-2 * z.transpose())));
  const Name norms =
      graph.add(squares(graph, u), graph.constant(Matrix<double>(z.rowwise().squaredNorm().transpose())));
  return graph.node("Max", {graph.add(cross, norms), graph.constant(0.0)});
}

Name mixture_values(Graph& graph, const Mixture& mixture, const Name& x, const Matrix<double>& Z) {
  constexpr double turn = 2 * std::numbers::pi;
  Name sum;
  for (Index q = 0; q < mixture.size(); ++q) {
    const Vector<double> s = turn * mixture.scales.row(q).transpose();
    Name envelope;
    if (std::holds_alternative<GaussianFamily>(mixture.family)) {
      envelope = exponential(graph, squared_distances(graph, x, Z, s.cwiseAbs2()), -0.5);
    } else {  // prod_j 1 / (1 + t_j^2), t = s (x - z)
      const Name product = over_inputs(graph, x, Z, "Mul", [&](Index j, const Name& column, const Name& row) {
        const Name t = graph.multiply(graph.subtract(column, row), graph.constant(s[j]));
        return graph.add(graph.multiply(t, t), graph.constant(1.0));
      });
      envelope = graph.node("Reciprocal", {product});
    }
    const Matrix<double> b = turn * mixture.means.row(q);  // (1, d)
    const Vector<double> phases = Z * b.row(0).transpose();
    Matrix<double> of_anchors(2, Z.rows());
    of_anchors << phases.array().cos().transpose(), phases.array().sin().transpose();
    of_anchors *= mixture.weights[q];
    const Name wave = graph.product(waves(graph, x, b), graph.constant(of_anchors));
    const Name one = graph.multiply(envelope, wave);
    sum = sum.empty() ? one : graph.add(sum, one);
  }
  return sum;
}

Chosen chosen(Graph& graph, const InputColumns& columns, const Name& x, const Matrix<double>& Z) {
  if (columns.all()) return {x, Z};
  const std::vector<Index> numbers = columns.of(Z.cols());
  Matrix<double> choice = Matrix<double>::Zero(Z.cols(), std::ssize(numbers));
  for (std::size_t c = 0; c < numbers.size(); ++c) choice(numbers[c], static_cast<Index>(c)) = 1;
  return {graph.product(x, graph.constant(choice)), Z * choice};
}

Name own_values(Graph& graph, const ScalarKernel& kernel, const Name& x, Index dim_in) {
  if (const auto* k = std::get_if<Polynomial>(&kernel)) {
    const Name base = graph.add(graph.multiply(squares(graph, x), graph.constant(k->gamma)), graph.constant(k->coef0));
    Name power = base;
    for (int i = 1; i < k->degree; ++i) power = graph.multiply(power, base);
    return power;
  }
  if (std::holds_alternative<Sobolev1>(kernel)) {
    return graph.node("ReduceProd", {x}, {{"axes", std::vector<std::int64_t>{1}}});
  }
  if (std::holds_alternative<Linear>(kernel)) return squares(graph, x);
  Name values;
  if (const auto* product = std::get_if<Product>(&kernel)) {
    for (const Product::Factor& factor : product->factors()) {
      const Chosen at = chosen(graph, factor.columns, x, Matrix<double>(0, dim_in));
      const Name own = own_values(graph, factor.kernel, at.x, at.Z.cols());
      if (!own.empty()) values = values.empty() ? own : graph.multiply(values, own);
    }
  }
  return values;
}

Name kernel_values(Graph& graph, const ScalarKernel& kernel, const Name& x, const Matrix<double>& Z) {
  return std::visit(
      [&]<class K>(const K& k) -> Name {
        if constexpr (std::same_as<K, Polynomial>) {
          const Name product = graph.product(x, graph.constant(Matrix<double>(k.gamma * Z.transpose())));
          const Name base = graph.add(product, graph.constant(k.coef0));
          Name power = base;
          for (int i = 1; i < k.degree; ++i) power = graph.multiply(power, base);
          return power;
        } else if constexpr (std::same_as<K, Sobolev1>) {
          return over_inputs(graph, x, Z, "Mul", [&](Index, const Name& column, const Name& row) {
            return graph.node("Min", {column, row});
          });
        } else if constexpr (std::same_as<K, SpectralMixture>) {
          Mixture unit = k.mixture();
          unit.weights /= unit.weights.sum();
          return mixture_values(graph, unit, x, Z);
        } else if constexpr (std::same_as<K, Linear>) {
          return graph.product(x, graph.constant(Matrix<double>(Z.transpose())));
        } else if constexpr (std::same_as<K, Constant>) {
          return graph.add(graph.product(x, graph.constant(Matrix<double>(Matrix<double>::Zero(Z.cols(), Z.rows())))),
                           graph.constant(1.0));
        } else if constexpr (std::same_as<K, Periodic>) {
          const Name sum = over_inputs(graph, x, Z, "Add", [&](Index j, const Name& column, const Name& row) {
            const Name turn = graph.constant(std::numbers::pi / k.period);
            const Name s = graph.node("Sin", {graph.multiply(graph.subtract(column, row), turn)});
            return graph.multiply(graph.multiply(s, s), graph.constant(1 / (k.length_scale[j] * k.length_scale[j])));
          });
          return graph.node("Exp", {graph.multiply(sum, graph.constant(-2.0))});
        } else if constexpr (std::same_as<K, Product>) {
          Name values;
          for (const Product::Factor& factor : k.factors()) {
            const Chosen at = chosen(graph, factor.columns, x, Z);
            const Name own = kernel_values(graph, factor.kernel, at.x, at.Z);
            values = values.empty() ? own : graph.multiply(values, own);
          }
          return values;
        } else if constexpr (std::same_as<K, Callable>) {
          fail("to_onnx: a kernel that is a function of Python or C++ has no formula that ONNX could write");
        } else {
          const Vector<double> inverse =
              Vector<double>::NullaryExpr(Z.cols(), [&](Index j) { return 1 / k.length_scale[j]; });
          if constexpr (K::distance == Distance::squared) {
            return of_distances(graph, k, squared_distances(graph, x, Z, inverse.cwiseAbs2()));
          } else {
            return of_distances(graph, k,
                                over_inputs(graph, x, Z, "Add", [&](Index j, const Name& column, const Name& row) {
                                  const Name gap = graph.node("Abs", {graph.subtract(column, row)});
                                  return graph.multiply(gap, graph.constant(inverse[j]));
                                }));
          }
        }
      },
      kernel);
}

}  // namespace carmina::onnx
