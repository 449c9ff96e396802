// data/sinusoids.cpp -- noisy sums of sinusoids; every number is a function of (seed, row, component), so a longer
// series begins like a shorter one.
#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>
#include <carmina/random/philox.hpp>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

// Dirichlet's distribution is that of independent Gamma(theta_q), divided by their sum.
Vector<double> dirichlet_weights(std::string_view kind, Index components, const Random& random) {
  require(kind == "almost" || kind == "half" || kind == "rarely",
          "sinusoids: kind must be 'almost', 'half' or 'rarely', found '{}'", kind);
  Vector<double> weights(components);
  for (Index q = 0; q < components; ++q) {
    const bool strong = kind == "almost" || (kind == "half" && 2 * q < components);
    weights(q) = random.gamma(strong ? 100 : kind == "half" ? 1 : 0.1, static_cast<std::uint64_t>(q));
  }
  return weights / weights.sum();
}

}  // namespace

Sinusoids sinusoids(std::string_view kind, Index n, const SinusoidOptions& options) {
  require(n >= 1, "sinusoids: the number of rows must be positive, found {}", n);
  require(options.components >= 1, "sinusoids: the number of components must be positive, found {}",
          options.components);
  require(options.step > 0 && std::isfinite(options.step), "sinusoids: step must be positive, found {}", options.step);
  require(options.highest > 0 && std::isfinite(options.highest), "sinusoids: highest must be positive, found {}",
          options.highest);
  require(options.noise >= 0 && std::isfinite(options.noise),
          "sinusoids: noise must be finite and not negative, found {}", options.noise);
  const Random random(options.seed, Stream::data), noise(options.seed, Stream::noise);
  const Index Q = options.components;
  Sinusoids data;
  data.weights = dirichlet_weights(kind, Q, random);
  data.frequencies.resize(Q);
  data.noise.resize(Q);
  for (Index q = 0; q < Q; ++q) {
    data.frequencies(q) = options.highest * random.uniform(static_cast<std::uint64_t>(q), 0);
    data.noise(q) = options.noise * random.uniform(static_cast<std::uint64_t>(q), 1);
  }
  data.X.resize(n, 1);
  data.clean = Matrix<double>::Zero(n, 1);
  data.Y.resize(n, 1);
  for (Index i = 0; i < n; ++i) {
    const double t = options.step * static_cast<double>(i);
    double disturbance = 0;
    for (Index q = 0; q < Q; ++q) {
      const Index own = options.shared_noise ? 0 : q;
      data.clean(i, 0) += data.weights(q) * std::sin(2 * std::numbers::pi * data.frequencies(q) * t);
      disturbance += data.noise(q) * noise.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(own));
    }
    data.X(i, 0) = t;
    data.Y(i, 0) = data.clean(i, 0) + disturbance;
  }
  return data;
}

}  // namespace carmina
