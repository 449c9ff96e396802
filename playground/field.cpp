// playground/field.cpp -- exact fits of small vector fields in the plane, compiled for the browser. Kernels are those
// of the library; the system is dense, of order 2 n, and is factorised by Eigen.
#include <carmina/core/parameter.hpp>
#include <string>

// Debian's emscripten is of clang 14, which deduces no arguments of aggregates by itself.
namespace carmina {
template <class Member>
Parameter(const char*, Member, const char*) -> Parameter<Member>;
}  // namespace carmina

#include <carmina/kernels/stationary.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdlib>

// The page gives positive widths alone, so no message is ever put together.
void carmina::throw_error(std::string_view, std::span<const carmina::formatting::Value>) { std::abort(); }

namespace {

using Block = Eigen::Matrix2d;
using Blocks = Eigen::MatrixXd;
using carmina::Index;

// The two terms, each with its weight: mathematics.md 1b, curl-free -Hessian(k), divergence-free tr(-Hessian) I +
// Hessian.
struct Terms {
  carmina::Gaussian kernel;
  double weights[2];  // of the curl-free and of the divergence-free term

  Block block(int term, const double* x, const double* z) const {
    const double scale = 1 / (kernel.length_scale[0] * kernel.length_scale[0]);
    const Eigen::Vector2d delta(x[0] - z[0], x[1] - z[1]);
    const carmina::Slopes g = kernel.slopes(delta.squaredNorm() * scale / 2);
    const Block curl_free = -g.first * scale * Block::Identity() - g.second * scale * scale * delta * delta.transpose();
    if (term == 0) return weights[0] * curl_free;
    return weights[1] * (curl_free.trace() * Block::Identity() - curl_free);
  }

  Blocks matrix(int term, const double* X, Index n, const double* Z, Index m) const {
    Blocks K(2 * n, 2 * m);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < m; ++j) K.block<2, 2>(2 * i, 2 * j) = block(term, X + 2 * i, Z + 2 * j);
    }
    return K;
  }
};

}  // namespace

// X, Y (n, 2) are places and arrows, grid (m, 2) where the field is wanted. gradient and flow (m, 2) are the parts, and
// deviation (m) is the posterior one, of an arrow's length. Returns 0; 1 where the system is singular to rounding.
extern "C" int fit_field(double curl_free, double divergence_free, double width, double alpha, int n, const double* X,
                         const double* Y, int m, const double* grid, double* gradient, double* flow,
                         double* deviation) {
  const Terms terms{carmina::Gaussian(width), {curl_free, divergence_free}};
  Blocks system = terms.matrix(0, X, n, X, n) + terms.matrix(1, X, n, X, n);
  system.diagonal().array() += alpha;
  const Eigen::LLT<Blocks> factor(system);
  if (factor.info() != Eigen::Success) return 1;
  const Eigen::VectorXd coefficients = factor.solve(Eigen::Map<const Eigen::VectorXd>(Y, 2 * n));

  Blocks both = Blocks::Zero(2 * m, 2 * n);
  double* const parts[2] = {gradient, flow};
  for (int term = 0; term < 2; ++term) {
    const Blocks K = terms.matrix(term, grid, m, X, n);
    Eigen::Map<Eigen::VectorXd>(parts[term], 2 * m) = K * coefficients;
    both += K;
  }
  const Blocks half = factor.matrixL().solve(both.transpose());  // (2 n, 2 m)
  for (Index i = 0; i < m; ++i) {
    const Block own = terms.block(0, grid + 2 * i, grid + 2 * i) + terms.block(1, grid + 2 * i, grid + 2 * i);
    const double variance = own.trace() - half.middleCols(2 * i, 2).squaredNorm();
    deviation[i] = std::sqrt(std::max(variance, 0.0));
  }
  return 0;
}
