// models/mixture/mixture_objective.cpp -- the evidence of spectral points less their divergence from the prior; of
// processes, as it is.
#include "models/mixture/mixture_objective.hpp"
#include "features/allocation.hpp"
#include "models/mixture/produced_evidence.hpp"
#include "models/mixture/spectral_coordinates.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

namespace carmina {
namespace {

constexpr Index posterior_draw = Index{1} << 31;  // the number of its first; those of the search come before
constexpr Index cost_pairs = 2000;
// Float phases have seven digits; beyond this less than four of them are left for their sines, and features are made in
// double.
constexpr double largest_float_phase = 1000;

template <Real T>
class FourierObjective final : public MixtureObjective {
 public:
  FourierObjective(ConstView<T> X, const Matrix<double>& Y, const T* weights, const SpectralMixtureOptions& options)
      : X_(X), Y_(Y), options_(options), random_(0) {
    if (weights) weights_ = Eigen::Map<const Vector<T>>(weights, X.rows());
  }

  void begin(const Mixture& prior, const Random& random) override {
    prior_ = prior;
    random_ = random;
    frozen_ = false;
    if constexpr (std::same_as<T, float>) {
      // A trend's two coefficients are of another size than all others: their sums need the digits.
      const bool trend = X_.cols() == 1 && options_.trend != Trend::none;
      if (!trend && largest_phase() <= largest_float_phase) return make_evidence<float>();
    }
    make_evidence<double>();
  }

  void redraw(const SpectralParameters& at, Index step, double temperature) override {
    counts_ = allocate(at.mixture, temperature);
    draws_.clear();
    for (Index k = 0; k < options_.step_draws; ++k) {
      draws_.push_back(draw_points(at.mixture, counts_, of_draw(step * options_.step_draws + k)));
    }
  }
  void freeze(const SpectralParameters& at) override {
    counts_ = allocate(at.mixture, 1);
    draws_ = {draw_points(at.mixture, counts_, of_draw(posterior_draw))};
    frozen_ = true;
  }

  double value(const SpectralParameters& at, SpectralParameters* gradient) override {
    const double share = 1 / static_cast<double>(draws_.size());
    if (gradient) *gradient = at.zeros();
    double sum = 0;
    for (const SpectralDraw& draw : draws_) {
      sum += share * produced_evidence([&](const WeightedFrequencies& points,
                                           WeightedFrequencies* by) { return evidence(points, by); },
                                       [&] { return spectral_points(at, draw); }, gradient != nullptr,
                                       [&](const WeightedFrequencies& points, WeightedFrequencies& by) {
                                         by.W *= share, by.real *= share, by.imaginary *= share, by.noise *= share;
                                         add_pulled_back(at, draw, points, by, *gradient);
                                       });
      if (!std::isfinite(sum)) return sum;
    }
    if (options_.kl_copies == KlCopies::none) return sum;
    Mixture unused = at.mixture;
    return sum - mixture_divergence(at.mixture, prior_, copies(), -1, gradient ? gradient->mixture : unused);
  }

  std::vector<Index> copies() const override {
    return options_.kl_copies == KlCopies::one ? std::vector<Index>(counts_.size(), 1) : counts_;
  }

  std::vector<WeightedFrequencies> points(const SpectralParameters& at, const Vector<double>& scale) const override {
    const auto counts = frozen_ ? counts_ : allocate(at.mixture, 1);
    std::vector<WeightedFrequencies> out;
    for (Index k = 0; k < options_.n_draws; ++k) {
      const auto draw = draw_points(at.mixture, counts, of_draw(posterior_draw + k));
      WeightedFrequencies one = spectral_points(at, draw);
      const Index rank = one.rank();
      for (Index j = 0; j < one.real.cols(); ++j) {
        one.real.col(j) *= scale[j / rank];
        if (one.imaginary.size() > 0) one.imaginary.col(j) *= scale[j / rank];
      }
      one.noise = one.noise.cwiseProduct(scale.cwiseAbs2());
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  // What the prior's frequencies come to over the inputs, in radians.
  double largest_phase() const {
    const Vector<double> reach = (prior_.means.cwiseAbs() + 4 * prior_.scales).colwise().maxCoeff().transpose();
    const Vector<double> largest = X_.cwiseAbs().colwise().maxCoeff().transpose().template cast<double>();
    return 2 * std::numbers::pi * reach.dot(largest);
  }

  template <Real F>
  void make_evidence() {
    const Vector<F> weights = weights_.template cast<F>();
    evidence_.emplace<FourierEvidence<F>>(X_.template cast<F>(), Y_.cast<F>(),
                                          weights.size() > 0 ? weights.data() : nullptr);
  }

  Random of_draw(Index k) const { return random_.child(static_cast<std::uint32_t>(k)); }

  double evidence(const WeightedFrequencies& points, WeightedFrequencies* gradient) const {
    if (const auto* narrow = std::get_if<FourierEvidence<float>>(&evidence_)) {
      return (*narrow)(points, gradient, options_.execution);
    }
    return std::get<FourierEvidence<double>>(evidence_)(points, gradient, options_.execution);
  }

  std::vector<Index> allocate(const Mixture& mixture, double temperature) const {
    const Index m = options_.features() / 2;
    switch (options_.allocation) {
      case Allocation::equal:
        return equal_allocation(mixture.size(), m);
      case Allocation::softmax:
        return softmax_allocation(mixture.weights, m, temperature);
      case Allocation::optimal:
        return optimal_allocation(allocation_costs(mixture, X_.template cast<double>(), cost_pairs,
                                                   Random(options_.seed, Stream::allocation)),
                                  m);
    }
    fail("unknown allocation");
  }

  ConstView<T> X_;
  Matrix<double> Y_;
  Vector<T> weights_;
  const SpectralMixtureOptions& options_;
  std::variant<std::monostate, FourierEvidence<float>, FourierEvidence<double>> evidence_;
  Mixture prior_;
  Random random_;
  std::vector<Index> counts_;
  std::vector<SpectralDraw> draws_;
  bool frozen_ = false;
};

class ProcessObjective final : public MixtureObjective {
 public:
  ProcessObjective(ConstView<double> X, const Matrix<double>& Y, const Vector<double>& weights,
                   const SpectralMixtureOptions& options)
      : X_(X), Y_(Y), weights_(weights), options_(options) {}

  void begin(const Mixture& prior, const Random&) override {
    counts_.assign(static_cast<std::size_t>(prior.size()), 1);
  }
  void redraw(const SpectralParameters&, Index, double) override {}
  void freeze(const SpectralParameters&) override {}
  std::vector<Index> copies() const override { return counts_; }

  double value(const SpectralParameters& at, SpectralParameters* gradient) override {
    const MixtureEvidence result = evidence(at, Y_, gradient != nullptr);
    if (gradient) {
      *gradient = at.zeros();
      gradient->mixture.weights = result.by_mixture.weights;
      gradient->mixture.means = result.by_mixture.means;
      gradient->mixture.scales = result.by_mixture.scales;
      gradient->noise[0] = result.by_noise;
      gradient->inducing = result.by_inducing;
    }
    return result.value;
  }

  std::vector<WeightedFrequencies> points(const SpectralParameters&, const Vector<double>&) const override {
    return {};
  }

 private:
  MixtureEvidence evidence(const SpectralParameters& at, const Matrix<double>& Y, bool gradient) const {
    return at.inducing.size() > 0
               ? inducing_evidence(at.mixture, at.noise[0], at.inducing, X_, Y, gradient, options_.execution, weights_)
               : exact_evidence(at.mixture, at.noise[0], X_, Y, gradient, options_.execution, weights_);
  }

  ConstView<double> X_;
  Matrix<double> Y_;
  Vector<double> weights_;
  const SpectralMixtureOptions& options_;
  std::vector<Index> counts_;
};

}  // namespace

template <Real T>
std::unique_ptr<MixtureObjective> make_fourier_objective(ConstView<T> X, const Matrix<double>& Y, const T* weights,
                                                         const SpectralMixtureOptions& options) {
  return std::make_unique<FourierObjective<T>>(X, Y, weights, options);
}
template std::unique_ptr<MixtureObjective> make_fourier_objective(ConstView<float>, const Matrix<double>&, const float*,
                                                                  const SpectralMixtureOptions&);
template std::unique_ptr<MixtureObjective> make_fourier_objective(ConstView<double>, const Matrix<double>&,
                                                                  const double*, const SpectralMixtureOptions&);
std::unique_ptr<MixtureObjective> make_process_objective(ConstView<double> X, const Matrix<double>& Y,
                                                         const Vector<double>& weights,
                                                         const SpectralMixtureOptions& options) {
  return std::make_unique<ProcessObjective>(X, Y, weights, options);
}

}  // namespace carmina
