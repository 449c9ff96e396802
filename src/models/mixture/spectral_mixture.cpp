// models/mixture/spectral_mixture.cpp -- options by name, and predictions of a learnt spectral mixture.
#include "backends/covariance_root.hpp"
#include "core/words.hpp"
#include "models/mixture/mixture_learner.hpp"
#include "models/mixture/mixture_state.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
constexpr Words<Inference, 4> inferences{"inference", {"fourier", "exact", "inducing", "auto"}};
Inference parse_inference(const std::string& name) { return inferences.parse(name); }
std::string inference_name(Inference inference) { return inferences.name(inference); }

constexpr Words<Trend, 3> trends{"trend", {"none", "linear", "auto"}};
Trend parse_trend(const std::string& name) { return trends.parse(name); }
std::string trend_name(Trend trend) { return trends.name(trend); }

constexpr Words<Parameterization, 2> parameterizations{"parameterization", {"natural", "general"}};
Parameterization parse_parameterization(const std::string& name) { return parameterizations.parse(name); }
std::string parameterization_name(Parameterization one) { return parameterizations.name(one); }

constexpr Words<KlCopies, 3> copy_names{"kl_copies", {"all", "one", "none"}};
KlCopies parse_kl_copies(const std::string& name) { return copy_names.parse(name); }
std::string kl_copies_name(KlCopies copies) { return copy_names.name(copies); }

constexpr Words<MixtureSolver, 4> solvers{"solver", {"auto", "adam", "natural_gradient", "lbfgs"}};
MixtureSolver parse_mixture_solver(const std::string& name) { return solvers.parse(name); }
std::string mixture_solver_name(MixtureSolver solver) { return solvers.name(solver); }
std::vector<std::string> mixture_solver_names() { return solvers.names(); }

void SpectralMixtureOptions::check() const {
  require(n_mixtures > 0, "fit: n_mixtures must be at least 1, found {}", n_mixtures);
  const Index components = start ? start->size() : n_mixtures;
  for (const double period : periods) {
    require(period > 0 && std::isfinite(period), "fit: periods must be positive numbers, found {}", period);
  }
  require(!start || periods.empty(), "fit: a start has its own means; give it or periods, not both");
  require(trend != Trend::linear || inference != Inference::inducing,
          "fit: a trend is not known for inference 'inducing'; take 'exact' or 'fourier'");
  if (inference == Inference::fourier || inference == Inference::automatic) {
    require(n_components >= 0 && n_components % 2 == 0,
            "fit: n_components must be positive and even, a cosine and a sine for each spectral point; found {}",
            n_components);
    require(features() / 2 >= components,
            "fit: {} components of the mixture need at least {} feature columns, one spectral point each; "
            "n_components is {}",
            components, 2 * components, features());
  }
  parse_mixture_solver(solver);
  require(max_iter >= 0, "fit: max_iter must not be negative, found {}", max_iter);
  require(tol >= 0 && std::isfinite(tol), "fit: tol must not be negative, found {}", tol);
  require(learning_rate > 0 && std::isfinite(learning_rate), "fit: learning_rate must be positive, found {}",
          learning_rate);
  require(step_draws > 0 && n_draws > 0 && n_starts > 0, "fit: numbers of draws and starts must be at least 1");
  const auto* factors = std::get_if<LearntFactors>(&coupling);
  require(n_inducing >= 0 && (!factors || factors->rank >= 0), "fit: n_inducing and rank must not be negative");
  require(factors || is_differential(coupling) || std::holds_alternative<Independent>(coupling),
          "fit: a spectral mixture has learnt factors, independent outputs or a curl-free or divergence-free field; "
          "found '{}'",
          coupling_name(coupling));
  require(!has_bounded_features(coupling), "fit: bounded features are not known for a spectral mixture");
  require(learning_rows >= 0, "fit: learning_rows must be at least 1, or 0 for the usual number; found {}",
          learning_rows);
}

Trend SpectralMixtureMachine::trend() const {
  const Mixture& beside = parameters_.trend;
  return beside.size() > 0 && beside.means(0, 0) != 0 ? Trend::linear : Trend::none;
}

std::vector<SpectralMixtureMachine::DrawPrediction> SpectralMixtureMachine::predict_draws(
    ConstView<double> X, const Execution& execution) const {
  require(X.cols() == dim_in(), "predict: X has {} columns, the model takes {}", X.cols(), dim_in());
  require(X.allFinite(), "predict: X holds NaN or infinity");
  std::vector<DrawPrediction> out;
  const Index p = dim_out();
  for (std::size_t k = 0; k < state_->points.size(); ++k) {
    DrawPrediction& one = out.emplace_back();
    predict_fourier<double>(state_->points[k], state_->posteriors[k], X, one.mean, &one.covariance, execution);
  }
  for (const MixtureMember& member : state_->members) {
    DrawPrediction& one = out.emplace_back();
    Vector<double> variance;
    predict_process(member.mixture, member.process, X, one.mean, variance, execution);
    // Members have noise of their own: what differs from that of the parameters is a part of the covariance.
    one.covariance.setZero(X.rows(), p * p);
    for (Index a = 0; a < p; ++a) {
      one.covariance.col(a * p + a) = variance.array() + (member.noise - parameters_.noise[a]);
    }
  }
  for (DrawPrediction& one : out) one.mean.rowwise() += intercept_.transpose();
  if (state_->bands.places.size() == 0) return out;
  // s^2 (C + noise) = (s^2 C + (s^2 - 1) noise) + noise
  for (Index i = 0; i < X.rows(); ++i) {
    const double square = std::pow(state_->bands.factor(X(i, 0)), 2);
    if (square == 1) continue;
    for (DrawPrediction& one : out) {
      one.covariance.row(i) *= square;
      for (Index a = 0; a < p; ++a) one.covariance(i, a * p + a) += (square - 1) * parameters_.noise[a];
    }
  }
  return out;
}

Matrix<double> SpectralMixtureMachine::predict(ConstView<double> X, const Execution& execution) const {
  require(X.cols() == dim_in(), "predict: X has {} columns, the model takes {}", X.cols(), dim_in());
  require(X.allFinite(), "predict: X holds NaN or infinity");
  Matrix<double> sum = Matrix<double>::Zero(X.rows(), dim_out()), mean;
  const auto add = [&](std::size_t k, const Matrix<double>& one) {  // the bits of predict_observation
    sum += state_->shares[static_cast<Index>(k)] * (one.rowwise() + intercept_.transpose());
  };
  for (std::size_t k = 0; k < state_->points.size(); ++k) {
    predict_fourier<double>(state_->points[k], state_->posteriors[k], X, mean, nullptr, execution);
    add(k, mean);
  }
  for (std::size_t k = 0; k < state_->members.size(); ++k) {
    const MixtureMember& member = state_->members[k];
    add(k, process_mean(member.mixture, member.process, X, execution));
  }
  return sum;
}

SpectralMixtureMachine::DrawPrediction SpectralMixtureMachine::predict_observation(ConstView<double> X,
                                                                                   const Execution& execution) const {
  const auto draws = predict_draws(X, execution);
  const Vector<double>& shares = state_->shares;
  const Index p = dim_out();
  DrawPrediction out{Matrix<double>::Zero(X.rows(), p), Matrix<double>::Zero(X.rows(), p * p)};
  for (std::size_t k = 0; k < draws.size(); ++k) {
    const double share = shares[static_cast<Index>(k)];
    out.mean += share * draws[k].mean, out.covariance += share * draws[k].covariance;
  }
  Vector<double> widened = Vector<double>::Ones(X.rows());  // as the covariances of the draws are
  for (Index i = 0; i < X.rows(); ++i) widened[i] = std::pow(state_->bands.factor(X(i, 0)), 2);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) {
      auto entry = out.covariance.col(a * p + b);
      for (std::size_t k = 0; k < draws.size(); ++k) {
        const DrawPrediction& draw = draws[k];
        const Vector<double> between =
            (draw.mean.col(a) - out.mean.col(a)).cwiseProduct(draw.mean.col(b) - out.mean.col(b));
        entry += shares[static_cast<Index>(k)] * between.cwiseProduct(widened);
      }
      if (a == b) entry.array() += parameters_.noise[a];
    }
  }
  return out;
}

std::vector<Matrix<double>> SpectralMixtureMachine::sample(ConstView<double> X, Index draws, std::uint64_t seed,
                                                           const Execution& execution) const {
  require(X.cols() == dim_in(), "sample: X has {} columns, the model takes {}", X.cols(), dim_in());
  require(draws > 0, "sample: the number of draws must be at least 1, found {}", draws);
  std::vector<Matrix<double>> out(static_cast<std::size_t>(draws));
  if (inference_ == Inference::fourier) {
    const auto sets = static_cast<Index>(state_->points.size());
    for (Index set = 0; set < std::min(sets, draws); ++set) {
      const Index count = (draws - set + sets - 1) / sets;
      const auto at = static_cast<std::size_t>(set);
      auto some = sample_fourier<double>(state_->points[at], state_->posteriors[at], X, count,
                                         seed + static_cast<std::uint64_t>(set) * 0x9e3779b97f4a7c15ULL, execution);
      for (Index k = 0; k < count; ++k) {
        out[static_cast<std::size_t>(set + k * sets)] = std::move(some[static_cast<std::size_t>(k)]);
      }
    }
    for (auto& one : out) one.rowwise() += intercept_.transpose();
    return out;
  }
  // Members take turns: draw k is of the one whose shares, added up, first exceed (k + 1/2) / draws.
  const auto drawn = predict_draws(X, execution);
  const Random random(seed, Stream::posterior_draws);
  std::size_t k = 0;
  double until = 0;
  for (std::size_t m = 0; m < state_->members.size(); ++m) {
    const MixtureMember& member = state_->members[m];
    until += state_->shares[static_cast<Index>(m)];
    const auto here = [&] { return (static_cast<double>(k) + 0.5) / static_cast<double>(draws) < until; };
    if (k == out.size() || (!here() && m + 1 < state_->members.size())) continue;
    Matrix<double> covariance = process_covariance(member.mixture, member.process, X, execution);
    if (state_->bands.places.size() > 0) {
      // As wide as the bands: the covariance by the factors of both rows, the noise that these add by itself.
      for (Index i = 0; i < X.rows(); ++i) {
        const double factor = state_->bands.factor(X(i, 0));
        covariance.row(i) *= factor, covariance.col(i) *= factor;
        covariance(i, i) += (factor * factor - 1) * member.noise;
      }
    }
    const Matrix<double> root = backend::covariance_root(covariance, execution);
    for (; k < out.size() && (here() || m + 1 == state_->members.size()); ++k) {
      out[k] = drawn[m].mean;
      for (Index a = 0; a < dim_out(); ++a) {
        Vector<double> z(root.cols());
        for (Index i = 0; i < z.size(); ++i) {
          z[i] = random.normal(static_cast<std::uint64_t>(i),
                               static_cast<std::uint32_t>(static_cast<Index>(k) * dim_out() + a));
        }
        out[k].col(a) += root * z;
      }
    }
  }
  return out;
}

double SpectralMixtureMachine::negative_mean_log_likelihood(ConstView<double> X, ConstView<double> Y,
                                                            const Execution& execution) const {
  require(Y.rows() == X.rows() && Y.cols() == dim_out(), "nmll: Y is {} x {}, expected {} x {}", Y.rows(), Y.cols(),
          X.rows(), dim_out());
  const auto draws = predict_draws(X, execution);
  double sum = 0, seen = 0;
  std::vector<double> logs(draws.size());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index a = 0; a < dim_out(); ++a) {
      if (std::isnan(Y(i, a))) continue;
      for (std::size_t k = 0; k < draws.size(); ++k) {
        const double v = draws[k].covariance(i, a * dim_out() + a) + parameters_.noise[a],
                     r = Y(i, a) - draws[k].mean(i, a);
        logs[k] = -(std::log(2 * std::numbers::pi * v) + r * r / v) / 2;
      }
      const double largest = *std::max_element(logs.begin(), logs.end());
      double density = 0;
      for (std::size_t k = 0; k < logs.size(); ++k) {
        density += state_->shares[static_cast<Index>(k)] * std::exp(logs[k] - largest);
      }
      sum -= largest + std::log(density);
      seen += 1;
    }
  }
  require(seen > 0, "nmll: there is no target");
  return sum / seen;
}

const std::vector<WeightedFrequencies>& SpectralMixtureMachine::points() const { return state_->points; }

}  // namespace carmina
