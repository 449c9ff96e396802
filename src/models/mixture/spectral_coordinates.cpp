// models/mixture/spectral_coordinates.cpp -- spectral points of parameters and back; coordinates; divergences.
#include "models/mixture/spectral_coordinates.hpp"
#include "features/output_factors.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace carmina {
namespace {

constexpr double turn = 2 * std::numbers::pi;
// Of standardised targets: less noise, or larger weights, and rounding is all that is left of a matrix.
constexpr double least_noise = 1e-7, largest_weight = 1e4;

struct Divergence {
  double value, by_mean, by_scale;
};

// KL between normal distributions of one coordinate (mathematics.md 3c).
Divergence divergence(const GaussianFamily&, double mean, double scale, double mean0, double scale0) {
  const double shift = mean - mean0, square = scale0 * scale0;
  return {std::log(scale0 / scale) + (scale * scale + shift * shift) / (2 * square) - 0.5, shift / square,
          scale / square - 1 / scale};
}
// The same for Laplace's: log(b0 / b) + |m| / b0 + (b / b0) exp(-|m| / b) - 1.
Divergence divergence(const LaplaceFamily&, double mean, double scale, double mean0, double scale0) {
  const double shift = mean - mean0, distance = std::abs(shift), e = std::exp(-distance / scale);
  const double sign = shift > 0 ? 1 : shift < 0 ? -1 : 0;
  return {std::log(scale0 / scale) + distance / scale0 + scale / scale0 * e - 1, sign * (1 - e) / scale0,
          -1 / scale + (1 + distance / scale) * e / scale0};
}

// Factors that are functions of the frequency; none where each component has its own.
std::optional<OutputFactors> frequency_factors(const SpectralParameters& at) {
  if (!is_differential(at.coupling)) return std::nullopt;
  return OutputFactors(at.coupling, at.dim_out());
}

auto flat(const Matrix<double>& A) { return Eigen::Map<const Vector<double>>(A.data(), A.size()); }
auto flat(Matrix<double>& A) { return Eigen::Map<Vector<double>>(A.data(), A.size()); }

}  // namespace

SpectralParameters SpectralParameters::zeros() const {
  SpectralParameters out = *this;
  out.mixture.weights.setZero(), out.mixture.means.setZero(), out.mixture.scales.setZero();
  out.real.setZero(), out.imaginary.setZero(), out.noise.setZero(), out.inducing.setZero();
  return out;
}

SpectralDraw draw_points(const Mixture& mixture, const std::vector<Index>& counts, const Random& random) {
  SpectralDraw draw{counts, {}, {}};
  for (Index q = 0; q < mixture.size(); ++q) {
    draw.component.insert(draw.component.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(q)]), q);
  }
  draw.eps.resize(static_cast<Index>(draw.component.size()), mixture.dim_in());
  std::visit(
      [&](const auto& family) {
        Index at = 0;
        for (Index q = 0; q < mixture.size(); ++q) {
          const Random own = random.child(static_cast<std::uint32_t>(q));
          for (Index i = 0; i < counts[static_cast<std::size_t>(q)]; ++i, ++at) {
            for (Index k = 0; k < mixture.dim_in(); ++k) draw.eps(at, k) = family.draw(own, i, k);
          }
        }
      },
      mixture.family);
  return draw;
}

WeightedFrequencies spectral_points(const SpectralParameters& at, const SpectralDraw& draw) {
  const Index M = draw.eps.rows(), d = draw.eps.cols(), p = at.dim_out();
  const Index beside = at.trend.size() > 0 ? p : 0;  // a point of the trend for each output
  const auto factors = frequency_factors(at);
  WeightedFrequencies points;
  points.W.resize(M + beside, d);
  points.noise = at.noise;
  points.real.resize(M + beside, factors ? p * factors->columns() : at.real.cols());
  if (!factors && at.imaginary.size() > 0) points.imaginary.resize(M + beside, at.imaginary.cols());
  if (beside > 0) {
    points.real.bottomRows(p).setZero(), points.imaginary.bottomRows(std::min(p, points.imaginary.rows())).setZero();
    const Index rank = points.real.cols() / p;
    for (Index a = 0; a < p; ++a) {
      points.W(M + a, 0) = turn * at.trend.means(0, 0);
      points.real(M + a, a * rank) = std::sqrt(at.trend.weights[0]);
    }
  }
  std::visit(
      [&](const auto& family) {
        for (Index j = 0; j < M; ++j) {
          const Index q = draw.component[static_cast<std::size_t>(j)];
          const double size =
              std::sqrt(at.mixture.weights[q] / static_cast<double>(draw.counts[static_cast<std::size_t>(q)]));
          for (Index k = 0; k < d; ++k) {
            points.W(j, k) =
                turn * family.frequency(at.mixture.means(q, k), at.mixture.scales(q, k), draw.eps(j, k)).frequency;
          }
          if (factors) {
            Eigen::Map<Matrix<double>>(points.real.row(j).data(), p, factors->columns()) =
                size * factors->factor(j, points.W.row(j).data());
          } else {
            points.real.row(j) = size * at.real.row(q);
            if (points.imaginary.size() > 0) points.imaginary.row(j) = size * at.imaginary.row(q);
          }
        }
      },
      at.mixture.family);
  return points;
}

void add_pulled_back(const SpectralParameters& at, const SpectralDraw& draw, const WeightedFrequencies& points,
                     const WeightedFrequencies& gradient, SpectralParameters& out) {
  const Index M = draw.eps.rows(), d = draw.eps.cols();  // the points of a trend come behind: they are fixed
  const auto factors = frequency_factors(at);
  out.noise += gradient.noise;
  Vector<double> by_frequency(d);
  std::visit(
      [&](const auto& family) {
        for (Index j = 0; j < M; ++j) {
          const Index q = draw.component[static_cast<std::size_t>(j)];
          const double w = at.mixture.weights[q],
                       size = std::sqrt(w / static_cast<double>(draw.counts[static_cast<std::size_t>(q)]));
          by_frequency = gradient.W.row(j).transpose();
          double by_size = gradient.real.row(j).dot(points.real.row(j));  // size times the derivative by it
          if (factors) {
            const Eigen::Map<const Matrix<double>> by(gradient.real.row(j).data(), at.dim_out(), factors->columns());
            factors->add_gradient(points.W.row(j).data(), size * by, by_frequency.data());
          } else {
            out.real.row(q) += size * gradient.real.row(j);
            if (points.imaginary.size() > 0) {
              by_size += gradient.imaginary.row(j).dot(points.imaginary.row(j));
              out.imaginary.row(q) += size * gradient.imaginary.row(j);
            }
          }
          out.mixture.weights[q] += by_size / (2 * w);
          for (Index k = 0; k < d; ++k) {
            const auto s = family.frequency(at.mixture.means(q, k), at.mixture.scales(q, k), draw.eps(j, k));
            out.mixture.means(q, k) += turn * s.by_mean * by_frequency[k];
            out.mixture.scales(q, k) += turn * s.by_scale * by_frequency[k];
          }
        }
      },
      at.mixture.family);
}

double mixture_divergence(const Mixture& at, const Mixture& prior, const std::vector<Index>& copies, double factor,
                          Mixture& out) {
  double sum = 0;
  std::visit(
      [&](const auto& family) {
        for (Index q = 0; q < at.size(); ++q) {
          const auto count = static_cast<double>(copies[static_cast<std::size_t>(q)]);
          for (Index k = 0; k < at.dim_in(); ++k) {
            const Divergence one =
                divergence(family, at.means(q, k), at.scales(q, k), prior.means(q, k), prior.scales(q, k));
            sum += count * one.value;
            out.means(q, k) += factor * count * one.by_mean;
            out.scales(q, k) += factor * count * one.by_scale;
          }
        }
      },
      at.family);
  return sum;
}

SpectralCoordinates::SpectralCoordinates(SpectralParameters start, Parameterization parameterization,
                                         bool learn_factors)
    : start_(std::move(start)), parameterization_(parameterization), learn_factors_(learn_factors) {
  require(
      parameterization == Parameterization::general || std::holds_alternative<GaussianFamily>(start_.mixture.family),
      "parameterization 'natural' needs an exponential family; the family '{}' has no natural parameters for its "
      "mean, use 'general'",
      family_name(start_.mixture.family));
  means_at_ = start_.mixture.weights.size();
  scales_at_ = means_at_ + start_.mixture.means.size();
  noise_at_ = scales_at_ + start_.mixture.scales.size();
  real_at_ = noise_at_ + start_.noise.size();
  imaginary_at_ = real_at_ + (learn_factors_ ? start_.real.size() : 0);
  inducing_at_ = imaginary_at_ + (learn_factors_ ? start_.imaginary.size() : 0);
  size_ = inducing_at_ + start_.inducing.size();
  if (start_.inducing.size() > 0) {
    const auto m = static_cast<double>(start_.inducing.rows());
    inducing_unit_ = ((start_.inducing.colwise().maxCoeff() - start_.inducing.colwise().minCoeff()) / m).transpose();
    for (double& unit : inducing_unit_) unit = unit > 0 ? unit : 1;
  }
}

Vector<double> SpectralCoordinates::encode(const SpectralParameters& at) const {
  Vector<double> out(size_);
  out.head(means_at_) = at.mixture.weights.array().log();
  const Index count = at.mixture.means.size();
  for (Index k = 0; k < count; ++k) {
    const double shift = at.mixture.means.data()[k] - start_.mixture.means.data()[k],
                 scale = at.mixture.scales.data()[k], unit = start_.mixture.scales.data()[k], ratio = unit / scale;
    const bool natural = parameterization_ == Parameterization::natural;
    out[means_at_ + k] = natural ? shift / unit * ratio * ratio : shift / unit;
    out[scales_at_ + k] = natural ? -ratio * ratio / 2 : -std::log(ratio);
  }
  out.segment(noise_at_, at.noise.size()) = (at.noise.array() - least_noise).max(1e-12).log();
  if (learn_factors_) {
    out.segment(real_at_, at.real.size()) = flat(at.real);
    out.segment(imaginary_at_, at.imaginary.size()) = flat(at.imaginary);
  }
  for (Index k = 0; k < at.inducing.size(); ++k) {
    out[inducing_at_ + k] = at.inducing.data()[k] / inducing_unit_[k % inducing_unit_.size()];
  }
  return out;
}

SpectralParameters SpectralCoordinates::decode(const Vector<double>& at) const {
  SpectralParameters out = start_;
  out.mixture.weights = at.head(means_at_).array().exp();
  for (Index k = 0; k < out.mixture.means.size(); ++k) {
    const double unit = start_.mixture.scales.data()[k];
    const bool natural = parameterization_ == Parameterization::natural;
    const double ratio = natural ? 1 / std::sqrt(-2 * at[scales_at_ + k]) : std::exp(at[scales_at_ + k]);
    out.mixture.scales.data()[k] = unit * ratio;
    out.mixture.means.data()[k] += unit * at[means_at_ + k] * (natural ? ratio * ratio : 1);
  }
  out.noise = least_noise + at.segment(noise_at_, out.noise.size()).array().exp();
  if (learn_factors_) {
    flat(out.real) = at.segment(real_at_, out.real.size());
    flat(out.imaginary) = at.segment(imaginary_at_, out.imaginary.size());
  }
  for (Index k = 0; k < out.inducing.size(); ++k) {
    out.inducing.data()[k] = at[inducing_at_ + k] * inducing_unit_[k % inducing_unit_.size()];
  }
  return out;
}

Vector<double> SpectralCoordinates::pull_back(const SpectralParameters& at, const SpectralParameters& gradient) const {
  Vector<double> out(size_);
  out.head(means_at_) = gradient.mixture.weights.cwiseProduct(at.mixture.weights);
  for (Index k = 0; k < at.mixture.means.size(); ++k) {
    const double by_mean = gradient.mixture.means.data()[k], by_scale = gradient.mixture.scales.data()[k];
    const double scale = at.mixture.scales.data()[k], unit = start_.mixture.scales.data()[k];
    if (parameterization_ == Parameterization::natural) {
      // mathematics.md 3b: d eta_1 = sigma^2 d mu, d eta_2 = 2 sigma^2 mu d mu + sigma^3 d sigma.
      const double shift = at.mixture.means.data()[k] - start_.mixture.means.data()[k], square = scale * scale;
      out[means_at_ + k] = square * by_mean / unit;
      out[scales_at_ + k] = (2 * square * shift * by_mean + square * scale * by_scale) / (unit * unit);
    } else {
      out[means_at_ + k] = unit * by_mean;
      out[scales_at_ + k] = scale * by_scale;
    }
  }
  out.segment(noise_at_, at.noise.size()) = gradient.noise.array() * (at.noise.array() - least_noise);
  if (learn_factors_) {
    out.segment(real_at_, at.real.size()) = flat(gradient.real);
    out.segment(imaginary_at_, at.imaginary.size()) = flat(gradient.imaginary);
  }
  for (Index k = 0; k < at.inducing.size(); ++k) {
    out[inducing_at_ + k] = gradient.inducing.data()[k] * inducing_unit_[k % inducing_unit_.size()];
  }
  return out;
}

bool SpectralCoordinates::in_range(const SpectralParameters& at) const {
  return at.mixture.weights.allFinite() && at.mixture.weights.minCoeff() > 0 &&
         at.mixture.weights.maxCoeff() <= largest_weight * std::max(1.0, start_.mixture.weights.maxCoeff()) &&
         at.mixture.means.allFinite() && at.mixture.scales.allFinite() && at.mixture.scales.minCoeff() > 0 &&
         at.noise.allFinite() && at.real.allFinite() && at.imaginary.allFinite() && at.inducing.allFinite();
}

void SpectralCoordinates::clamp(Vector<double>& at) const {
  constexpr double widest = 50, smallest = -30;  // in units of the start's scale; a logarithm
  at.head(means_at_) = at.head(means_at_).cwiseMax(smallest).cwiseMin(
      std::log(largest_weight * std::max(1.0, start_.mixture.weights.maxCoeff())));
  auto scales = at.segment(scales_at_, noise_at_ - scales_at_);
  if (parameterization_ == Parameterization::natural) {
    scales = scales.cwiseMin(-1 / (2 * widest * widest));
  } else {
    scales = scales.cwiseMax(smallest).cwiseMin(std::log(widest));
  }
  auto noise = at.segment(noise_at_, start_.noise.size());
  noise = noise.cwiseMax(smallest);
}

Vector<double> SpectralCoordinates::natural_move(const SpectralParameters& at, const SpectralParameters& gradient,
                                                 const std::vector<Index>& copies) const {
  Vector<double> out = Vector<double>::Zero(size_);
  const Index d = at.mixture.dim_in();
  for (Index k = 0; k < at.mixture.means.size(); ++k) {
    const double scale = at.mixture.scales.data()[k], unit = start_.mixture.scales.data()[k];
    const double shift = at.mixture.means.data()[k] - start_.mixture.means.data()[k];
    const double by_mean = gradient.mixture.means.data()[k];
    const double by_square = gradient.mixture.scales.data()[k] / (2 * scale);
    const auto count = static_cast<double>(copies[static_cast<std::size_t>(k / d)]);
    out[means_at_ + k] = unit * (by_mean - 2 * shift * by_square) / count;
    out[scales_at_ + k] = unit * unit * by_square / count;
  }
  return out;
}

}  // namespace carmina
