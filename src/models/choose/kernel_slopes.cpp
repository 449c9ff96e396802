// models/choose/kernel_slopes.cpp -- in closed form for Gaussian and Matérn kernels, which choices are made among.
#include "models/choose/kernel_slopes.hpp"
#include "backends/blas.hpp"
#include "backends/vector_math.hpp"

namespace carmina {
namespace {

// t -> g'(t), in place; 0 where it is infinite.
void to_slopes(const ScalarKernel& kernel, Eigen::Map<Eigen::ArrayXd> t) {
  if (std::holds_alternative<Gaussian>(kernel)) {
    backend::exp_scaled(t.data(), -1.0, t.size());
    t = -t;
    return;
  }
  const auto* matern = std::get_if<Matern>(&kernel);
  if (matern && (matern->nu == 0.5 || matern->nu == 1.5 || matern->nu == 2.5)) {
    // With s = 2 sqrt(nu t): -exp(-s) / s, -3 exp(-s) and -5/3 (1 + s) exp(-s).
    const double nu = matern->nu;
    t = (4 * nu * t).sqrt();
    const Eigen::ArrayXd s = nu == 1.5 ? Eigen::ArrayXd() : Eigen::ArrayXd(t);
    backend::exp_scaled(t.data(), -1.0, t.size());
    if (nu == 0.5) t = (s > 0).select(-t / s, 0.0);
    if (nu == 1.5) t *= -3;
    if (nu == 2.5) t *= -5.0 / 3 * (1 + s);
    return;
  }
  t = t.unaryExpr([&](double at) {
    return at > 0 ? visit_stationary([&](const auto& k) { return k.slopes(at).first; }, kernel) : 0.0;
  });
}

}  // namespace

Matrix<double> KernelSlopes::values(Index block, Index columns) const {
  const Index begin = first(block), rows = count(block), d = Z_.cols();
  const double scale = 1 / (2 * length_scale(kernel_)[0] * length_scale(kernel_)[0]);
  Matrix<double> S(rows, columns);
  backend::gemm<double>(backend::Transpose::no, backend::Transpose::yes, rows, columns, d, -2 * scale,
                        Z_.row(begin).data(), d, Z_.data(), d, 0.0, S.data(), columns);
  const auto norms = norms_.head(columns).transpose().array() * scale;
  for (Index i = 0; i < rows; ++i) {
    S.row(i) = (S.row(i).array() + (norms + norms_[begin + i] * scale)).max(0);
    if (begin + i < columns) S(i, begin + i) = 0;
  }
  to_slopes(kernel_, {S.data(), S.size()});
  return S;
}

}  // namespace carmina
