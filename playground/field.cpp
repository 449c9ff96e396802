// playground/field.cpp -- fits of small vector fields in the plane: the kernels are those of the library, exact or by
// its Fourier features; the system is dense, of order 2 n, and is factorised by Eigen.
#include "features/expansion.hpp"
#include "features/map_operations.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

namespace {

using namespace carmina;
using Block = Eigen::Matrix2d;
using Blocks = Eigen::MatrixXd;

// What a fit needs of a term of the kernel: values among the arrows, from the grid to the arrows, and the trace of its
// own value at each point of the grid.
struct TermValues {
  Blocks among, across;   // (2 n, 2 n), (2 m, 2 n)
  Eigen::VectorXd trace;  // (m)
};

// mathematics.md 1b: curl-free -Hessian(k), divergence-free tr(-Hessian) I + Hessian.
Block exact_block(const Gaussian& kernel, bool curl_free, const double* x, const double* z) {
  const double scale = 1 / (kernel.length_scale[0] * kernel.length_scale[0]);
  const Eigen::Vector2d delta(x[0] - z[0], x[1] - z[1]);
  const Slopes g = kernel.slopes(delta.squaredNorm() * scale / 2);
  const Block own = -g.first * scale * Block::Identity() - g.second * scale * scale * delta * delta.transpose();
  return curl_free ? own : Block(own.trace() * Block::Identity() - own);
}

Blocks exact_values(const Gaussian& kernel, bool curl_free, const Matrix<double>& X, const Matrix<double>& Z) {
  Blocks K(2 * X.rows(), 2 * Z.rows());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < Z.rows(); ++j) {
      K.block<2, 2>(2 * i, 2 * j) = exact_block(kernel, curl_free, X.row(i).data(), Z.row(j).data());
    }
  }
  return K;
}

// Phi(x)ᵀ of the rows of X, two for each: (2 rows, coefficients). mathematics.md 1c
Blocks features(const FourierMap<double>& map, const Expansion& expansion, const Matrix<double>& X) {
  Matrix<double> phi(X.rows(), map.n_features());
  evaluate(map, ConstView<double>(X), View<double>(phi), {});
  Blocks Phi(2 * X.rows(), expansion.dim_coef());
  for (Index i = 0; i < 2 * X.rows(); ++i) {
    Matrix<double> R = Matrix<double>::Zero(map.n_features(), 2);
    R.col(i % 2) = phi.row(i / 2).transpose();
    Phi.row(i) = expansion.contract(R).transpose();
  }
  return Phi;
}

// Term t of the kernel; W (terms components / 2, 2) are the frequencies of all, none: exact.
TermValues term_values(const Kernel& kernel, std::size_t t, const Matrix<double>& W, const Matrix<double>& X,
                       const Matrix<double>& grid) {
  const Term& term = kernel.terms()[t];
  if (W.size() == 0) {
    const Gaussian& scalar = std::get<Gaussian>(term.scalar);
    const bool curl_free = std::holds_alternative<CurlFreeCoupling>(term.coupling);
    const double own = exact_block(scalar, curl_free, grid.data(), grid.data()).trace();
    return {term.weight * exact_values(scalar, curl_free, X, X), term.weight * exact_values(scalar, curl_free, grid, X),
            Eigen::VectorXd::Constant(grid.rows(), term.weight * own)};
  }
  const Index count = W.rows() / static_cast<Index>(kernel.terms().size());
  const Matrix<double> own = W.middleRows(static_cast<Index>(t) * count, count);
  const FourierMap<double> map(own);
  const Expansion expansion(Kernel(term), own, 2);
  const Blocks Phi = features(map, expansion, X), at = features(map, expansion, grid);
  const Eigen::VectorXd squares = at.rowwise().squaredNorm();
  return {Phi * Phi.transpose(), at * Phi.transpose(),
          Eigen::Map<const Eigen::Matrix2Xd>(squares.data(), 2, grid.rows()).colwise().sum().transpose()};
}

}  // namespace

// X, Y (n, 2) are places and arrows, grid (m, 2) where the field is wanted; components 0: the exact kernel. gradient
// and flow (m, 2) are the parts, and deviation (m) is the posterior one, of an arrow's length. Returns 0; 1 where the
// system is singular to rounding.
extern "C" int fit_field(double curl_free, double divergence_free, double width, int components, double alpha, int n,
                         const double* X, const double* Y, int m, const double* grid, double* gradient, double* flow,
                         double* deviation) {
  std::vector<Term> terms;
  std::vector<double*> parts;
  const auto part = [&](double weight, OutputCoupling coupling, double* out) {
    Eigen::Map<Eigen::VectorXd>(out, 2 * m).setZero();
    if (!(weight > 0)) return;
    terms.push_back({weight, Gaussian(width), std::move(coupling)});
    parts.push_back(out);
  };
  part(curl_free, CurlFreeCoupling{}, gradient);
  part(divergence_free, DivergenceFreeCoupling{}, flow);
  const Kernel kernel(std::move(terms));
  const Matrix<double> W = components > 0 ? sample_term_frequencies(kernel, 2, components, 0) : Matrix<double>();
  const Matrix<double> places = Eigen::Map<const Matrix<double>>(X, n, 2);
  const Matrix<double> at = Eigen::Map<const Matrix<double>>(grid, m, 2);

  std::vector<TermValues> values;
  Blocks system = Blocks::Zero(2 * n, 2 * n), both = Blocks::Zero(2 * m, 2 * n);
  Eigen::VectorXd variance = Eigen::VectorXd::Zero(m);
  for (std::size_t t = 0; t < parts.size(); ++t) {
    values.push_back(term_values(kernel, t, W, places, at));
    system += values[t].among;
    both += values[t].across;
    variance += values[t].trace;
  }
  system.diagonal().array() += alpha;
  const Eigen::LLT<Blocks> factor(system);
  if (factor.info() != Eigen::Success) return 1;
  const Eigen::VectorXd coefficients = factor.solve(Eigen::Map<const Eigen::VectorXd>(Y, 2 * n));
  for (std::size_t t = 0; t < parts.size(); ++t) {
    Eigen::Map<Eigen::VectorXd>(parts[t], 2 * m) = values[t].across * coefficients;
  }
  const Blocks half = factor.matrixL().solve(both.transpose());  // (2 n, 2 m)
  for (Index i = 0; i < m; ++i) {
    deviation[i] = std::sqrt(std::max(variance[i] - half.middleCols(2 * i, 2).squaredNorm(), 0.0));
  }
  return 0;
}
