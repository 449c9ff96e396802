// features/kernel_jet.cpp -- slopes of profiles, products of functions of one input, and Leibniz's rule.
#include "features/kernel_jet.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <complex>
#include <numbers>

namespace carmina {
namespace {

using Complex = std::complex<double>;

// g'(t), g''(t), g'''(t) of k = g(|delta|^2 / 2); where one is infinite at 0 it is taken as 0 there, since the first
// two stand beside a delta, but for g''(0) of the fourth order, which is then infinite.
struct ThreeSlopes {
  double first, second, third;
};

ThreeSlopes slopes_of(const Gaussian&, double t) {
  const double g = std::exp(-t);
  return {-g, g, -g};
}
ThreeSlopes slopes_of(const RationalQuadratic& k, double t) {
  const Slopes two = k.slopes(t);
  return {two.first, two.second, -two.second * (k.shape + 2) / (k.shape + t)};
}
ThreeSlopes slopes_of(const Cauchy& k, double t) {
  const Slopes two = k.slopes(t);
  return {two.first, two.second, -6 * two.second / (1 + 2 * t)};
}
ThreeSlopes slopes_of(const Laplacian& k, double t) { return {k.slopes(t).first, 0, 0}; }  // an Error
// (a^nu K_nu)' = -a^nu K_(nu-1): each slope in t lowers the order by one, by -2 nu.
ThreeSlopes slopes_of(const Matern& k, double t) {
  const Slopes two = k.slopes(t);
  const double nu = k.nu, a = std::sqrt(4 * nu * t), mu = nu - 3;
  if (a < 1e-7 || a > 600) return {two.first, two.second, 0};
  const double scale = std::exp((1 - nu) * std::log(2.0) - std::lgamma(nu) + mu * std::log(a));
  return {two.first, two.second, -8 * nu * nu * nu * scale * std::cyl_bessel_k(std::abs(mu), a)};
}

// How often each input stands among the indices of an entry; entries go through all in their order.
template <class Body>
void for_entries(Index d, int order, const Body& body) {
  std::array<Index, KernelJet::highest> index{};
  std::size_t size = 1;
  for (int k = 0; k < order; ++k) size *= static_cast<std::size_t>(d);
  for (std::size_t entry = 0; entry < size; ++entry) {
    std::size_t rest = entry;
    for (int k = order - 1; k >= 0; --k) {
      index[static_cast<std::size_t>(k)] = static_cast<Index>(rest % static_cast<std::size_t>(d));
      rest /= static_cast<std::size_t>(d);
    }
    body(entry, index);
  }
}

// prod_j h_j(delta_j), by the derivatives of the h_j: h (d, 5).
template <class Value>
void add_separable(const Matrix<Value>& h, KernelJet& jet) {
  for (int order = 0; order <= jet.order; ++order) {
    for_entries(jet.d, order, [&](std::size_t entry, const auto& index) {
      Value product = 1;
      for (Index j = 0; j < jet.d; ++j) {
        Index count = 0;
        for (int k = 0; k < order; ++k) count += index[static_cast<std::size_t>(k)] == j ? 1 : 0;
        product *= h(j, count);
      }
      jet.of[static_cast<std::size_t>(order)][entry] += std::real(product);
    });
  }
}

// exp L and its derivatives by those of L.
template <class Value>
void put_exponential(Value h, Value a, Value b, Value c, Value e,
                     Eigen::Ref<Eigen::Matrix<Value, 1, Eigen::Dynamic>> out) {
  out << h, a * h, (b + a * a) * h, (c + 3.0 * a * b + a * a * a) * h,
      (e + 4.0 * a * c + 3.0 * b * b + 6.0 * a * a * b + a * a * a * a) * h;
}

// exp(z (cos(kappa delta) - 1))
void fill(const Periodic& k, const double* x, const double* z, KernelJet& jet) {
  Matrix<double> h(jet.d, 5);
  const double kappa = 2 * std::numbers::pi / k.period;
  for (Index j = 0; j < jet.d; ++j) {
    const double size = 1 / (k.length_scale[j] * k.length_scale[j]), phase = kappa * (x[j] - z[j]);
    const double s = size * std::sin(phase), c = size * std::cos(phase);
    put_exponential<double>(std::exp(c - size), -kappa * s, -kappa * kappa * c, kappa * kappa * kappa * s,
                            kappa * kappa * kappa * kappa * c, h.row(j));
  }
  add_separable(h, jet);
}

// Of a component: prod_j exp(i b delta) chi(s delta), with chi's derivatives; real parts add up.
void fill(const SpectralMixture& k, const double* x, const double* z, KernelJet& jet) {
  constexpr double turn = 2 * std::numbers::pi;
  const Mixture& mixture = k.mixture();
  const bool gaussian = std::holds_alternative<GaussianFamily>(mixture.family);
  for (Index q = 0; q < mixture.size(); ++q) {
    Matrix<Complex> h(jet.d, 5);
    for (Index j = 0; j < jet.d; ++j) {
      const double b = turn * mixture.means(q, j), s = turn * mixture.scales(q, j), t = s * (x[j] - z[j]);
      const Complex wave = std::exp(Complex(0, b * (x[j] - z[j]))), i(0, 1);
      std::array<double, 5> chi;
      if (gaussian) {
        const double g = std::exp(-t * t / 2);
        chi = {g, -t * g, (t * t - 1) * g, (3 * t - t * t * t) * g, (t * t * t * t - 6 * t * t + 3) * g};
      } else {  // 1 / (1 + t^2)
        const double u = 1 / (1 + t * t), t2 = t * t;
        chi = {u, -2 * t * u * u, (6 * t2 - 2) * u * u * u, 24 * t * (1 - t2) * u * u * u * u,
               24 * (5 * t2 * t2 - 10 * t2 + 1) * u * u * u * u * u};
      }
      constexpr double binomial[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};
      for (int n = 0; n < 5; ++n) {
        Complex sum = 0;
        for (int m = 0; m <= n; ++m) {
          sum += binomial[n][m] * std::pow(i * b, m) * std::pow(s, n - m) * chi[static_cast<std::size_t>(n - m)];
        }
        h(j, n) = sum * wave;
      }
    }
    h.row(0) *= mixture.weights[q] / k.total();
    add_separable(h, jet);
  }
}

void fill(const Linear&, const double* x, const double* z, KernelJet& jet) {
  for (Index j = 0; j < jet.d; ++j) jet.of[0][0] += x[j] * z[j];
  for (Index j = 0; jet.order >= 1 && j < jet.d; ++j) jet.of[1][static_cast<std::size_t>(j)] = z[j];
}
void fill(const Constant&, const double*, const double*, KernelJet& jet) { jet.of[0][0] = 1; }

void fill(const Polynomial& k, const double* x, const double* z, KernelJet& jet) {
  double base = k.coef0;
  for (Index j = 0; j < jet.d; ++j) base += k.gamma * x[j] * z[j];
  double factor = 1;
  for (int order = 0; order <= jet.order; ++order) {
    const int power = k.degree - order;
    const double common = power >= 0 ? factor * std::pow(base, power) : 0;
    for_entries(jet.d, order, [&](std::size_t entry, const auto& index) {
      double product = common;
      for (int m = 0; m < order; ++m) product *= k.gamma * z[index[static_cast<std::size_t>(m)]];
      jet.of[static_cast<std::size_t>(order)][entry] = product;
    });
    factor *= power;
  }
}

// With u = L^-2 delta and M = L^-2: g' u; g' M + g'' u u; g'' (M u + M u + M u) + g''' u u u; at 0 g'' (M M + M M + M
// M).
template <Stationary K>
void fill(const K& k, const double* x, const double* z, KernelJet& jet) {
  const Index d = jet.d;
  Vector<double> u(d), M(d);
  double square = 0;
  for (Index j = 0; j < d; ++j) {
    M[j] = 1 / (k.length_scale[j] * k.length_scale[j]);
    u[j] = M[j] * (x[j] - z[j]);
    square += u[j] * (x[j] - z[j]);
  }
  const ThreeSlopes g = slopes_of(k, square / 2);
  double value = square;
  k.of_distances(&value, 1);
  jet.of[0][0] = value;
  const auto m = [&](Index a, Index b) { return a == b ? M[a] : 0.0; };
  for (int order = 1; order <= jet.order; ++order) {
    for_entries(d, order, [&](std::size_t entry, const auto& index) {
      const Index a = index[0], b = index[1], c = index[2], e = index[3];
      double& out = jet.of[static_cast<std::size_t>(order)][entry];
      if (order == 1) out = g.first * u[a];
      if (order == 2) out = g.first * m(a, b) + g.second * u[a] * u[b];
      if (order == 3) {
        out = g.second * (m(a, b) * u[c] + m(a, c) * u[b] + m(b, c) * u[a]) + g.third * u[a] * u[b] * u[c];
      }
      if (order == 4) out = g.second * (m(a, b) * m(c, e) + m(a, c) * m(b, e) + m(a, e) * m(b, c));
    });
  }
  if constexpr (std::same_as<K, Matern>) {
    require(jet.order < 4 || k.nu > 2,
            "deviations of derivatives: a field over the Matern kernel has them for nu > 2, found {}", k.nu);
  }
}

template <class K>
void fill(const K& k, const double*, const double*, KernelJet&) {
  fail("derivatives: the {} kernel has none that are known", k.name);
}

// jet = jet times one, which is of some columns: sums over the ways to divide the indices.
void multiply(KernelJet& jet, const KernelJet& one, const std::vector<Index>& columns) {
  std::vector<Index> place(static_cast<std::size_t>(jet.d), -1);  // of a column among those of `one`
  for (std::size_t k = 0; k < columns.size(); ++k) place[static_cast<std::size_t>(columns[k])] = static_cast<Index>(k);
  KernelJet out;
  out.resize(jet.d, jet.order);
  for (int order = 0; order <= jet.order; ++order) {
    for_entries(jet.d, order, [&](std::size_t entry, const auto& index) {
      double sum = 0;
      for (unsigned mask = 0; mask < (1u << order); ++mask) {
        std::size_t left = 0, right = 0;
        int lefts = 0, rights = 0;
        bool zero = false;
        for (int k = 0; k < order; ++k) {
          const auto at = static_cast<std::size_t>(index[static_cast<std::size_t>(k)]);
          if (mask >> k & 1) {
            left = left * static_cast<std::size_t>(jet.d) + at, ++lefts;
          } else if (place[at] < 0) {
            zero = true;
          } else {
            right = right * static_cast<std::size_t>(one.d) + static_cast<std::size_t>(place[at]), ++rights;
          }
        }
        if (!zero)
          sum += jet.of[static_cast<std::size_t>(lefts)][left] * one.of[static_cast<std::size_t>(rights)][right];
      }
      out.of[static_cast<std::size_t>(order)][entry] = sum;
    });
  }
  jet = std::move(out);
}

Vector<double> gathered(const double* x, const std::vector<Index>& columns) {
  Vector<double> out(static_cast<Index>(columns.size()));
  for (std::size_t k = 0; k < columns.size(); ++k) out[static_cast<Index>(k)] = x[columns[k]];
  return out;
}

}  // namespace

void KernelJet::resize(Index inputs, int most) {
  d = inputs, order = most;
  std::size_t size = 1;
  for (int k = 0; k <= order; ++k) {
    of[static_cast<std::size_t>(k)].assign(size, 0.0);
    size *= static_cast<std::size_t>(d);
  }
}

const char* why_no_gradient(const ScalarKernel& kernel) {
  for (const Product::Factor& factor : factors_of(kernel)) {
    if (std::holds_alternative<Callable>(factor.kernel)) return "a kernel that is a function has no known derivative";
    if (std::holds_alternative<Sobolev1>(factor.kernel)) return "the sobolev1 kernel has no derivative";
    if (is_stationary(factor.kernel) && why_not_differentiable(factor.kernel)) {
      return why_not_differentiable(factor.kernel);
    }
  }
  return nullptr;
}

void fill_jet(const ScalarKernel& kernel, const double* x, const double* z, Index d, int order, KernelJet& jet) {
  jet.resize(d, order);
  const auto* product = std::get_if<Product>(&kernel);
  if (product == nullptr) return std::visit([&](const auto& k) { fill(k, x, z, jet); }, kernel);
  jet.of[0][0] = 1;
  KernelJet one;
  for (const Product::Factor& factor : product->factors()) {
    const std::vector<Index> columns = factor.columns.of(d);
    const Vector<double> xf = gathered(x, columns), zf = gathered(z, columns);
    fill_jet(factor.kernel, xf.data(), zf.data(), static_cast<Index>(columns.size()), order, one);
    multiply(jet, one, columns);
  }
}

// Of a product by its factors: (A B)_lm' = A_lm' B + A_l B_m' + A_m' B_l + A B_lm', and A_m' = A_m at z = x.
Matrix<double> mixed_second(const ScalarKernel& kernel, const double* x, Index d) {
  if (std::holds_alternative<Linear>(kernel)) return Matrix<double>::Identity(d, d);
  KernelJet jet;
  if (const auto* k = std::get_if<Polynomial>(&kernel)) {
    fill_jet(kernel, x, x, d, 2, jet);
    const Eigen::Map<const Matrix<double>> second(jet.of[2].data(), d, d);
    double base = k->coef0;
    for (Index j = 0; j < d; ++j) base += k->gamma * x[j] * x[j];
    Matrix<double> out = second;  // gamma^2 n (n-1) (..)^(n-2) x xᵀ
    out.diagonal().array() += k->gamma * k->degree * std::pow(base, k->degree - 1);
    return out;
  }
  const auto* product = std::get_if<Product>(&kernel);
  if (product == nullptr) {
    fill_jet(kernel, x, x, d, 2, jet);
    return -Eigen::Map<const Matrix<double>>(jet.of[2].data(), d, d);  // zero of Constant
  }
  double value = 1;
  Vector<double> slope = Vector<double>::Zero(d);
  Matrix<double> mixed = Matrix<double>::Zero(d, d);
  for (const Product::Factor& factor : product->factors()) {
    const std::vector<Index> columns = factor.columns.of(d);
    const Vector<double> xf = gathered(x, columns);
    fill_jet(factor.kernel, xf.data(), xf.data(), xf.size(), 1, jet);
    Vector<double> own_slope = Vector<double>::Zero(d);
    Matrix<double> own_mixed = Matrix<double>::Zero(d, d);
    own_slope(columns) = Eigen::Map<const Vector<double>>(jet.of[1].data(), xf.size());
    own_mixed(columns, columns) = mixed_second(factor.kernel, xf.data(), xf.size());
    mixed = Matrix<double>(own_mixed * value + own_slope * slope.transpose() + slope * own_slope.transpose() +
                           jet.value() * mixed);
    slope = Vector<double>(jet.value() * slope + value * own_slope);
    value *= jet.value();
  }
  return mixed;
}

}  // namespace carmina
