// models/choose/kernel_slopes.cpp -- in closed form for Gaussian and Matérn kernels, which choices are made among.
#include "models/choose/kernel_slopes.hpp"

namespace carmina {
namespace {

// t -> g'(t), in place.
void to_slopes(const ScalarKernel& kernel, Eigen::Ref<Eigen::ArrayXXd> t) {
  if (std::holds_alternative<Gaussian>(kernel)) {
    t = -(-t).exp();
    return;
  }
  if (const auto* matern = std::get_if<Matern>(&kernel)) {
    const double nu = matern->nu;
    if (nu == 0.5 || nu == 1.5 || nu == 2.5) {
      t = (4 * nu * t).sqrt();  // s, with g' of -exp(-s) / s, -3 exp(-s) and -5/3 (1 + s) exp(-s)
      if (nu == 0.5) t = -(-t).exp() / t;
      if (nu == 1.5) t = -3 * (-t).exp();
      if (nu == 2.5) t = -5.0 / 3 * (1 + t) * (-t).exp();
      return;
    }
  }
  t = t.unaryExpr([&](double at) {
    return at > 0 ? visit_stationary([&](const auto& k) { return k.slopes(at).first; }, kernel) : 0.0;
  });
}

}  // namespace

Matrix<double> KernelSlopes::values(Index block) const {
  const Index begin = first(block), rows = count(block), n = Z_.rows();
  const double width = length_scale(kernel_)[0];
  Matrix<double> S = Z_.middleRows(begin, rows) * Z_.transpose();
  for (Index i = 0; i < rows; ++i) {
    S.row(i) = (norms_[begin + i] + norms_.transpose().array() - 2 * S.row(i).array()).max(0) / (2 * width * width);
  }
  // t at rounding of 0 is that of equal rows.
  const Matrix<double> t = S;
  Eigen::Map<Eigen::ArrayXXd> columns(S.data(), n, rows);
  to_slopes(kernel_, columns);
  for (Index i = 0; i < rows; ++i) {
    for (Index l = 0; l < n; ++l) {
      if (l == begin + i || !(t(i, l) > 0)) S(i, l) = 0;
    }
  }
  return S;
}

}  // namespace carmina
