// losses/logistic.cpp -- the logistic loss without overflow or cancellation, and its proximal operator by Newton's
// method.
#include <carmina/losses/logistic.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace carmina {
namespace {

double sigmoid(double t) {
  const double e = std::exp(-std::abs(t));
  return t >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// x log x, continuous at 0
double entropy_term(double x) { return x > 0 ? x * std::log(x) : 0.0; }
// (1 + u) log(1 + u) for u in [-1, 0], exact near 0
double entropy_below_one(double u) { return u > -1 ? (1 + u) * std::log1p(u) : 0.0; }

// One output: m = y f with q = y z solves m - q - rho sigma(-m) = 0, which grows with m. The root is in [q, q + rho].
double binary_prox(double q, double rho) {
  double low = q, high = q + rho, m = q + rho * sigmoid(-q - rho / 2);
  for (int k = 0; k < 100; ++k) {
    const double s = sigmoid(-m), excess = m - q - rho * s;
    (excess > 0 ? high : low) = m;
    double next = m - excess / (1 + rho * s * (1 - s));
    if (!(next >= low && next <= high)) next = (low + high) / 2;
    if (next == m) break;
    m = next;
  }
  return m;
}

// The v <= 0 with v + rho exp(v) = t, for t <= rho. The left side is convex, so Newton's steps from above stay above.
double log_share(double t, double rho) {
  double v = std::min(t, 0.0);
  for (int k = 0; k < 200; ++k) {
    const double grown = rho * std::exp(v), step = (v + grown - t) / (1 + grown);
    v -= step;
    if (std::abs(step) <= 1e-16 * (1 + std::abs(v))) break;
  }
  return v;
}

// s = softmax(x) at the prox x of z: with a = z + rho y it is x = a - rho s, so that log s_j + rho s_j = a_j - lambda
// with lambda such that sum_j s_j = 1. That sum falls with lambda and is convex: Newton's steps from where the largest
// s_j is 1, which is too much, never overshoot.
std::vector<double> shares_at_prox(const std::vector<double>& a, double rho) {
  std::vector<double> s(a.size());
  double lambda = *std::max_element(a.begin(), a.end()) - rho;
  for (int k = 0; k < 200; ++k) {
    double excess = -1, slope = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      s[j] = std::exp(log_share(a[j] - lambda, rho));
      excess += s[j];
      slope += s[j] / (1 + rho * s[j]);
    }
    const double step = excess / slope;
    if (std::abs(step) <= 1e-16 * (1 + std::abs(lambda)) || std::abs(excess) <= 1e-16) break;
    lambda += step;
  }
  return s;
}

}  // namespace

void softmax(const double* f, Index p, double* out) {
  if (p == 1) {
    out[1] = sigmoid(f[0]);
    out[0] = sigmoid(-f[0]);
    return;
  }
  const double largest = *std::max_element(f, f + p);
  double sum = 0;
  for (Index j = 0; j < p; ++j) sum += out[j] = std::exp(f[j] - largest);
  for (Index j = 0; j < p; ++j) out[j] /= sum;
}

// The largest term of the sum is 1 exactly: log1p of the others loses nothing where they are small.
double Logistic::value(const double* f, const double* y, Index p) const {
  if (p == 1) {
    const double m = y[0] * f[0];
    return std::log1p(std::exp(-std::abs(m))) + std::max(-m, 0.0);
  }
  const Index top = std::max_element(f, f + p) - f;
  double others = 0, below = 0;
  for (Index j = 0; j < p; ++j) {
    if (j != top) others += std::exp(f[j] - f[top]);
    below += y[j] * (f[top] - f[j]);
  }
  return std::log1p(others) + below;
}

double Logistic::part(const double* f, const double* y, Index p, Index j) const {
  if (p == 1) return value(f, y, p);
  if (y[j] != 1) return 0;
  const Index top = std::max_element(f, f + p) - f;
  double others = 0;
  for (Index l = 0; l < p; ++l) others += l == top ? 0.0 : std::exp(f[l] - f[top]);
  return std::log1p(others) + f[top] - f[j];
}

void Logistic::gradient(const double* f, const double* y, Index p, double* out) const {
  if (p == 1) {
    out[0] = -y[0] * sigmoid(-y[0] * f[0]);
    return;
  }
  softmax(f, p, out);
  double others = 0;
  for (Index j = 0; j < p; ++j) others += y[j] == 1 ? 0.0 : out[j];
  for (Index j = 0; j < p; ++j) {
    if (y[j] == 1) out[j] = -others;  // and not s_j - 1, which cancels
  }
}

void Logistic::prox(const double* z, const double* y, double rho, Index p, double* out) const {
  if (p == 1) {
    out[0] = y[0] * binary_prox(y[0] * z[0], rho);
    return;
  }
  std::vector<double> a(static_cast<std::size_t>(p));
  for (Index j = 0; j < p; ++j) a[static_cast<std::size_t>(j)] = z[j] + rho * y[j];
  const std::vector<double> s = shares_at_prox(a, rho);
  for (Index j = 0; j < p; ++j) out[j] = a[static_cast<std::size_t>(j)] - rho * s[static_cast<std::size_t>(j)];
}

// H = diag(s) - s sᵀ at x = v, or at the prox of v, where the envelope has H (I + rho H)^-1. With q_j = s_j / (1 +
// rho s_j) and the Sherman-Morrison formula that is diag(q) - q qᵀ / sum_j q_j, as 1 - rho sum_j s_j q_j = sum_j q_j.
void Logistic::curvature(const double* v, const double* y, double rho, Index p, double* diagonal, double* direction,
                         double& along) const {
  std::vector<double> x(v, v + p), s(static_cast<std::size_t>(std::max<Index>(p, 2)));
  if (rho > 0) prox(v, y, rho, p, x.data());
  softmax(x.data(), p, s.data());
  along = 0;
  if (p == 1) {
    const double h = s[0] * s[1];
    diagonal[0] = h / (1 + rho * h);
    direction[0] = 0;
    return;
  }
  double sum = 0, square = 0;
  for (Index j = 0; j < p; ++j) {
    const double share = s[static_cast<std::size_t>(j)];
    diagonal[j] = share / (1 + rho * share);
    sum += diagonal[j];
    square += diagonal[j] * diagonal[j];
  }
  const double length = std::sqrt(square);
  along = -square / sum;
  for (Index j = 0; j < p; ++j) direction[j] = diagonal[j] / length;
}

double Logistic::conjugate(const double* u, const double* y, Index p) const {
  if (p == 1) {
    const double a = -u[0] * y[0];
    return entropy_term(a) + entropy_below_one(-a);
  }
  double sum = 0;
  for (Index j = 0; j < p; ++j) sum += y[j] == 1 ? entropy_below_one(u[j]) : entropy_term(u[j]);
  return sum;
}

// Of several outputs: the projection of s = u + y on the simplex takes the same amount from every s_j, but none below
// 0.
void Logistic::into_domain(double* u, const double* y, Index p) const {
  if (p == 1) {
    u[0] = y[0] > 0 ? std::clamp(u[0], -1.0, 0.0) : std::clamp(u[0], 0.0, 1.0);
    return;
  }
  std::vector<double> s(static_cast<std::size_t>(p));
  for (Index j = 0; j < p; ++j) s[static_cast<std::size_t>(j)] = u[j] + y[j];
  const double excess = std::accumulate(u, u + p, 0.0);
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * static_cast<double>(p);
  if (std::abs(excess) <= rounding && *std::min_element(s.begin(), s.end()) >= 0) return;
  std::sort(s.begin(), s.end(), std::greater<>());
  double sum = -1, taken = 0;
  for (std::size_t k = 0; k < s.size(); ++k) {
    sum += s[k];
    const double share = sum / static_cast<double>(k + 1);
    if (s[k] - share > 0) taken = share;
  }
  for (Index j = 0; j < p; ++j) u[j] = std::max(u[j] + y[j] - taken, 0.0) - y[j];
}

// s_j <- s_j growth_j / sum_l s_l growth_l. Of one output the class -1 has the rest, and does not grow.
void Logistic::shift(double* u, const double* y, const double* growth, Index p) const {
  if (p == 1) {
    const double s = y[0] > 0 ? 1 + u[0] : u[0], rest = y[0] > 0 ? -u[0] : 1 - u[0], sum = rest + s * growth[0];
    u[0] = y[0] > 0 ? -rest / sum : s * growth[0] / sum;
    return;
  }
  double sum = 0, others = 0;
  for (Index j = 0; j < p; ++j) {
    u[j] = std::max(0.0, u[j] + y[j]) * growth[j];
    sum += u[j];
    if (y[j] != 1) others += u[j];
  }
  for (Index j = 0; j < p; ++j) u[j] = y[j] == 1 ? -others / sum : u[j] / sum;
}

const char* Logistic::expected_row(const double* y, Index p) const {
  if (p == 1) return y[0] == 1 || y[0] == -1 ? nullptr : "-1 or 1";
  Index ones = 0;
  for (Index j = 0; j < p; ++j) {
    if (y[j] != 0 && y[j] != 1) return "0 but for a single 1";
    ones += y[j] == 1;
  }
  return ones == 1 ? nullptr : "0 but for a single 1";
}

}  // namespace carmina
