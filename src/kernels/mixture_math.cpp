// kernels/mixture_math.cpp -- values of spectral mixtures and derivatives by their parameters and inputs, in tiles of
// rows.
#include "kernels/mixture_math.hpp"
#include "backends/vector_math.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace carmina {

double GaussianFamily::draw(const Random& random, Index i, Index coordinate) const {
  return random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(coordinate));
}
double GaussianFamily::chi(double t) const { return std::exp(-t * t / 2); }
double GaussianFamily::chi_slope(double t) const { return -t * chi(t); }

// v = 2u - 1 at the middle of u's step of 2^-53 is an odd multiple of 2^-53: exact, symmetric, never -1, 0 or 1.
double LaplaceFamily::draw(const Random& random, Index i, Index coordinate) const {
  const double u = random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(coordinate));
  const double v = 2 * u - 1 + 0x1p-53;
  return v < 0 ? std::log1p(v) : -std::log1p(-v);
}
double LaplaceFamily::chi(double t) const { return 1 / (1 + t * t); }
double LaplaceFamily::chi_slope(double t) const { return -2 * t / ((1 + t * t) * (1 + t * t)); }

namespace {

constexpr Index longest_run = 512;  // anchors at a time: their arrays stay in the first cache
constexpr Index rows_together = 32;

using Array = Eigen::ArrayXd;
// One line a dimension, one column an anchor of the run.
using Lines = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rows about an origin, as cosines and sines of 2 pi <mu_q, x>: those of differences follow by
//   cos(a - b) = cos a cos b + sin a sin b,  sin(a - b) = sin a cos b - cos a sin b,
// so that sines are taken n + m times a component and not n m times. The origin among the anchors keeps phases small.
// Each row by itself, sums in the order of its inputs: what stands beside it does not change a bit.
struct Waves {
  Lines x, cosines, sines;  // (d, rows), (Q, rows), (Q, rows)

  Waves(const Mixture& mixture, ConstView<double> X, const Eigen::RowVectorXd& origin)
      : x((X.rowwise() - origin).transpose()), cosines(mixture.size(), X.rows()), sines(mixture.size(), X.rows()) {
    const Index Q = mixture.size();
    Array phases(Q), cosine(Q), sine(Q);
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index q = 0; q < Q; ++q) {
        double sum = 0;
        for (Index p = 0; p < x.rows(); ++p) sum += mixture.means(q, p) * x(p, i);
        phases[q] = two_pi * sum;
      }
      backend::sincos_scaled(phases.data(), 1.0, cosine.data(), sine.data(), Q);
      cosines.col(i) = cosine;
      sines.col(i) = sine;
    }
  }
};

// prod_j chi(2 pi sigma_j delta_j) over a run of anchors, and its derivative by each t_j = 2 pi sigma_j delta_j.
struct Envelope {
  Array values;
  Lines slopes;  // (d, run)

  Envelope(Index d, Index run) : values(run), slopes(d, run), behind_(run) {}

  template <class Family>
  void fill(const Family& family, const auto& scales, const Lines& delta, Index run) {
    values.head(run).setOnes();
    for (Index p = 0; p < delta.rows(); ++p) {
      const double factor = two_pi * scales[p];
      for (Index j = 0; j < run; ++j) values[j] *= family.chi(factor * delta(p, j));
    }
  }
  void fill(const GaussianFamily&, const auto& scales, const Lines& delta, Index run) {
    auto E = values.head(run);
    E = delta.row(0).head(run).square() * (scales[0] * scales[0]);
    for (Index p = 1; p < delta.rows(); ++p) E += delta.row(p).head(run).square() * (scales[p] * scales[p]);
    backend::exp_scaled(values.data(), -two_pi * std::numbers::pi, run);
  }

  // chi'(t_p) times the factors before p, then those behind it.
  template <class Family>
  void fill_slopes(const Family& family, const auto& scales, const Lines& delta, Index run) {
    const Index d = delta.rows();
    values.head(run).setOnes();
    for (Index p = 0; p < d; ++p) {
      const double factor = two_pi * scales[p];
      for (Index j = 0; j < run; ++j) {
        slopes(p, j) = values[j] * family.chi_slope(factor * delta(p, j));
        values[j] *= family.chi(factor * delta(p, j));
      }
    }
    behind_.head(run).setOnes();
    for (Index p = d - 1; p-- > 0;) {
      const double factor = two_pi * scales[p + 1];
      for (Index j = 0; j < run; ++j) behind_[j] *= family.chi(factor * delta(p + 1, j));
      slopes.row(p).head(run) *= behind_.head(run).transpose();
    }
  }
  // chi'(t) = -t chi(t)
  void fill_slopes(const GaussianFamily& family, const auto& scales, const Lines& delta, Index run) {
    fill(family, scales, delta, run);
    for (Index p = 0; p < delta.rows(); ++p) {
      slopes.row(p).head(run) = (-two_pi * scales[p]) * delta.row(p).head(run) * values.head(run).transpose();
    }
  }

 private:
  Array behind_;  // product of the factors behind p
};

// Differences of a row with a run of anchors.
void fill_differences(const Waves& rows, Index i, const Waves& anchors, Index begin, Index run, Lines& delta) {
  for (Index p = 0; p < delta.rows(); ++p) {
    delta.row(p).head(run) = rows.x(p, i) - anchors.x.row(p).segment(begin, run);
  }
}

void check_inputs(const char* place, const Mixture& mixture, Index d_x, Index d_z) {
  require(d_x == mixture.dim_in() && d_z == mixture.dim_in(),
          "{}: the mixture has {} input dimensions, X has {} and Z has {} columns", place, mixture.dim_in(), d_x, d_z);
}

Eigen::RowVectorXd origin_of(ConstView<double> Z) { return Z.colwise().mean(); }

// Calls body(first, count) for tiles of rows.
template <class Body>
void over_tiles(Index n, const Execution& execution, const Body& body) {
  parallel_for((n + rows_together - 1) / rows_together, execution.thread_count(), [&](Index tile, int worker) {
    execution.poll(worker);
    const Index first = tile * rows_together;
    body(first, std::min(rows_together, n - first));
  });
}

// Sums of one tile over its rows and the anchors, for each component: by weights (Q), by means and scales (Q, d).
struct TileSums {
  Array weights;
  Lines means, scales;
  TileSums(Index Q, Index d) : weights(Array::Zero(Q)), means(Lines::Zero(Q, d)), scales(Lines::Zero(Q, d)) {}
};

// With C, S the cosine and sine of the phase, E the envelope and R_p its slope, all over the anchors of a row,
//   dk/dw = E C,   dk/dmu_p = -2 pi w delta_p E S,   dk/dsigma_p = 2 pi w delta_p R_p C,
//   dk/dx_p = w (2 pi sigma_p R_p C - 2 pi mu_p E S).
template <class Family>
void tile_gradient(const Family& family, const Mixture& mixture, const Waves& rows, Index first, const Waves& anchors,
                   ConstView<double> G, TileSums& sums, Matrix<double>* by_inputs) {
  const Index Q = mixture.size(), d = mixture.dim_in(), m = anchors.x.cols(), longest = std::min(longest_run, m);
  Lines delta(d, longest);
  Envelope envelope(d, longest);
  Array even(longest), odd(longest);  // G C and G E S
  for (Index i = 0; i < rows.x.cols(); ++i) {
    for (Index begin = 0; begin < m; begin += longest) {
      const Index run = std::min(longest, m - begin);
      fill_differences(rows, i, anchors, begin, run, delta);
      const auto g = G.row(first + i).segment(begin, run).array();
      for (Index q = 0; q < Q; ++q) {
        envelope.fill_slopes(family, mixture.scales.row(q), delta, run);
        const auto cosines = anchors.cosines.row(q).segment(begin, run),
                   sines = anchors.sines.row(q).segment(begin, run);
        const double c = rows.cosines(q, i), s = rows.sines(q, i), w = mixture.weights[q];
        const auto E = envelope.values.head(run);
        even.head(run) = (g * (c * cosines + s * sines)).transpose();
        odd.head(run) = (g * (s * cosines - c * sines)).transpose() * E;
        sums.weights[q] += (even.head(run) * E).sum();
        const double odd_sum = by_inputs ? odd.head(run).sum() : 0;
        for (Index p = 0; p < d; ++p) {
          const auto difference = delta.row(p).head(run).transpose(),
                     slope = envelope.slopes.row(p).head(run).transpose();
          sums.means(q, p) -= two_pi * w * (odd.head(run) * difference).sum();
          sums.scales(q, p) += two_pi * w * (even.head(run) * slope * difference).sum();
          if (!by_inputs) continue;
          const double along = mixture.scales(q, p) * (even.head(run) * slope).sum() - mixture.means(q, p) * odd_sum;
          (*by_inputs)(first + i, p) += two_pi * w * along;
        }
      }
    }
  }
}

}  // namespace

MixtureFamily make_mixture_family(const std::string& name) {
  if (name == GaussianFamily::name) return GaussianFamily{};
  if (name == LaplaceFamily::name) return LaplaceFamily{};
  fail("there is no mixture family named '{}'; known: {}, {}", name, GaussianFamily::name, LaplaceFamily::name);
}

std::string family_name(const MixtureFamily& family) {
  return std::visit([](const auto& f) { return std::string(f.name); }, family);
}

void Mixture::check() const {
  const Index Q = weights.size(), d = means.cols();
  require(Q > 0 && d > 0, "spectral mixture: at least one component and one input dimension, found {} and {}", Q, d);
  require(means.rows() == Q && scales.rows() == Q && scales.cols() == d,
          "spectral mixture: {} weights need means and scales of shape ({}, dimensions), found ({}, {}) and ({}, {})",
          Q, Q, means.rows(), d, scales.rows(), scales.cols());
  for (Index q = 0; q < Q; ++q) {
    require(weights[q] > 0 && std::isfinite(weights[q]),
            "spectral mixture: weights must be positive and finite, found {} for component {}", weights[q], q);
    for (Index p = 0; p < d; ++p) {
      require(std::isfinite(means(q, p)), "spectral mixture: means must be finite, found {} for component {}",
              means(q, p), q);
      require(scales(q, p) > 0 && std::isfinite(scales(q, p)),
              "spectral mixture: scales must be positive and finite, found {} for component {}", scales(q, p), q);
    }
  }
}

void mixture_values(const Mixture& mixture, ConstView<double> X, ConstView<double> Z, View<double> out,
                    const Execution& execution) {
  check_inputs("mixture_values", mixture, X.cols(), Z.cols());
  require(out.rows() == X.rows() && out.cols() == Z.rows(), "mixture_values: out must be ({}, {}), found ({}, {})",
          X.rows(), Z.rows(), out.rows(), out.cols());
  if (out.size() == 0) return;
  const Eigen::RowVectorXd origin = origin_of(Z);
  const Waves anchors(mixture, Z, origin);
  const Index m = Z.rows(), d = mixture.dim_in(), longest = std::min(longest_run, m);
  over_tiles(X.rows(), execution, [&](Index first, Index count) {
    const Waves rows(mixture, X.middleRows(first, count), origin);
    Lines delta(d, longest);
    Envelope envelope(d, longest);
    for (Index i = 0; i < count; ++i) {
      for (Index begin = 0; begin < m; begin += longest) {
        const Index run = std::min(longest, m - begin);
        fill_differences(rows, i, anchors, begin, run, delta);
        auto k = out.row(first + i).segment(begin, run).array();
        k.setZero();
        for (Index q = 0; q < mixture.size(); ++q) {
          std::visit([&](const auto& f) { envelope.fill(f, mixture.scales.row(q), delta, run); }, mixture.family);
          const double c = mixture.weights[q] * rows.cosines(q, i), s = mixture.weights[q] * rows.sines(q, i);
          k += envelope.values.head(run).transpose() *
               (c * anchors.cosines.row(q).segment(begin, run) + s * anchors.sines.row(q).segment(begin, run));
        }
      }
    }
  });
}

void mixture_gradient(const Mixture& mixture, ConstView<double> X, ConstView<double> Z, ConstView<double> G,
                      Mixture& by_parameters, Matrix<double>* by_inputs, const Execution& execution) {
  check_inputs("mixture_gradient", mixture, X.cols(), Z.cols());
  const Index n = X.rows(), Q = mixture.size(), d = mixture.dim_in();
  require(G.rows() == n && G.cols() == Z.rows(), "mixture_gradient: G must be ({}, {}), found ({}, {})", n, Z.rows(),
          G.rows(), G.cols());
  require(by_parameters.size() == Q && by_parameters.means.rows() == Q && by_parameters.means.cols() == d &&
              by_parameters.scales.rows() == Q && by_parameters.scales.cols() == d,
          "mixture_gradient: the derivatives must have the mixture's {} components and {} dimensions", Q, d);
  require(by_inputs == nullptr || (by_inputs->rows() == n && by_inputs->cols() == d),
          "mixture_gradient: the derivatives by inputs must be ({}, {})", n, d);
  if (G.size() == 0) return;
  const Eigen::RowVectorXd origin = origin_of(Z);
  const Waves anchors(mixture, Z, origin);
  std::vector<TileSums> parts(static_cast<std::size_t>((n + rows_together - 1) / rows_together), TileSums(Q, d));
  over_tiles(n, execution, [&](Index first, Index count) {
    const Waves rows(mixture, X.middleRows(first, count), origin);
    TileSums& sums = parts[static_cast<std::size_t>(first / rows_together)];
    std::visit([&](const auto& f) { tile_gradient(f, mixture, rows, first, anchors, G, sums, by_inputs); },
               mixture.family);
  });
  for (const TileSums& part : parts) {
    by_parameters.weights.array() += part.weights;
    by_parameters.means.array() += part.means;
    by_parameters.scales.array() += part.scales;
  }
}

}  // namespace carmina
