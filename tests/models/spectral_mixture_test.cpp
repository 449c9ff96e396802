// Learning a spectral mixture: every inference and solver, one and several outputs, files, predictions.
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include "solvers/evidence/fourier_evidence.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "mixture_data.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::spectral_mixture_test {
namespace {

using carmina::testing::message_of;
using carmina::testing::random_matrix;
using carmina::testing::rmse;
using carmina::testing::Series;
using carmina::testing::TempDir;

SpectralMixtureOptions small_options() { return carmina::testing::small_mixture(60, 150, 40); }

struct Way {
  const char* name;
  Inference inference;
  const char* solver;
  Parameterization parameterization;
  Allocation allocation;
  KlCopies copies;
  const char* family;
};

class Learning : public ::testing::TestWithParam<Way> {};

TEST_P(Learning, ContinuesASeries) {
  const Series series(300);
  const Way& way = GetParam();
  SpectralMixtureOptions options = small_options();
  options.inference = way.inference;
  options.solver = way.solver;
  options.parameterization = way.parameterization;
  options.allocation = way.allocation;
  options.kl_copies = way.copies;
  options.family = make_mixture_family(way.family);
  options.n_draws = 2;
  const auto machine = SpectralMixtureMachine::fit(series.X.topRows(220), series.Y.topRows(220), options);
  const auto later = series.X.bottomRows(80);
  const auto predicted = machine.predict_observation(later);
  // The series itself has a deviation of 1.6.
  EXPECT_LT(rmse(predicted.mean, series.Y.bottomRows(80)), 0.8);
  EXPECT_LE((predicted.mean - machine.predict(later)).norm(), 1e-9);
  EXPECT_GT(predicted.covariance.minCoeff(), 0);
  Index covered = 0;
  for (Index i = 0; i < 80; ++i) {
    covered += std::abs(predicted.mean(i, 0) - series.Y(220 + i, 0)) < 1.96 * std::sqrt(predicted.covariance(i, 0));
  }
  EXPECT_GE(covered, 68);
  EXPECT_TRUE(std::isfinite(machine.log_marginal_likelihood()));
  EXPECT_GT(machine.negative_mean_log_likelihood(later, series.Y.bottomRows(80)), -1);
  EXPECT_EQ(static_cast<Index>(machine.curve().size()), machine.report().iterations);

  // To a file and back: the same to the bit.
  const TempDir folder;
  machine.save(folder.path("model"));
  const auto again = SpectralMixtureMachine::load(folder.path("model"));
  EXPECT_EQ(again.predict(later), machine.predict(later));
  EXPECT_EQ(again.predict_observation(later).covariance, predicted.covariance);
  EXPECT_EQ(again.log_marginal_likelihood(), machine.log_marginal_likelihood());
  EXPECT_EQ(again.parameters().mixture, machine.parameters().mixture);

  // Draws have the mean and the latent variance: 400 of them, 5 standard errors.
  const Matrix<double> place = later.topRows(1);
  double sum = 0;
  for (const auto& draw : machine.sample(place, 400, 7)) sum += draw(0, 0);
  EXPECT_NEAR(sum / 400, predicted.mean(0, 0), 5 * std::sqrt(predicted.covariance(0, 0) / 400));
}

INSTANTIATE_TEST_SUITE_P(Ways, Learning,
                         ::testing::Values(Way{"fourier_lbfgs", Inference::fourier, "lbfgs", Parameterization::natural,
                                               Allocation::softmax, KlCopies::all, "gaussian"},
                                           Way{"fourier_adam", Inference::fourier, "adam", Parameterization::natural,
                                               Allocation::softmax, KlCopies::all, "gaussian"},
                                           Way{"general_equal", Inference::fourier, "adam", Parameterization::general,
                                               Allocation::equal, KlCopies::one, "gaussian"},
                                           Way{"optimal_natural_gradient", Inference::fourier, "natural_gradient",
                                               Parameterization::natural, Allocation::optimal, KlCopies::all,
                                               "gaussian"},
                                           Way{"laplace", Inference::fourier, "lbfgs", Parameterization::general,
                                               Allocation::optimal, KlCopies::none, "laplace"},
                                           Way{"exact", Inference::exact, "auto", Parameterization::natural,
                                               Allocation::softmax, KlCopies::all, "gaussian"},
                                           Way{"inducing", Inference::inducing, "auto", Parameterization::general,
                                               Allocation::softmax, KlCopies::all, "gaussian"}),
                         [](const auto& tested) { return tested.param.name; });

TEST(SpectralMixture, EvidenceIsThatOfTheTargetsInTheirOwnUnits) {
  const Series series(300);
  SpectralMixtureOptions options = small_options();
  options.max_iter = 20;
  for (const auto inference : {Inference::fourier, Inference::exact}) {
    options.inference = inference;
    const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
    const Matrix<double> centred = series.Y.array() - machine.intercept()[0];
    const double dense =
        inference == Inference::exact
            ? exact_evidence(machine.parameters().mixture, machine.parameters().noise[0], series.X, centred, false, {})
                  .value
            : FourierEvidence<double>(series.X, centred)(machine.points()[0], nullptr, {});
    EXPECT_NEAR(machine.log_marginal_likelihood(), dense, 1e-6 * std::abs(dense));
  }
}

TEST(SpectralMixture, DoesNotDependOnUnits) {
  const Series series(300);
  SpectralMixtureOptions options = small_options();
  options.max_iter = 40;
  const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
  const auto other = SpectralMixtureMachine::fit(series.X, (1000 * series.Y.array() - 3).matrix(), options);
  EXPECT_LE((1000 * machine.predict(series.X).array() - 3 - other.predict(series.X).array()).matrix().norm(),
            1e-3 * other.predict(series.X).norm());
  EXPECT_NEAR(other.parameters().noise[0] / machine.parameters().noise[0], 1e6, 1e3);
}

TEST(SpectralMixture, TheBestOfSeveralStartsIsKept) {
  const Series series(300);
  SpectralMixtureOptions options = small_options();
  options.max_iter = 20;
  options.n_starts = 3;
  const auto machine = SpectralMixtureMachine::fit(series.X, series.Y, options);
  ASSERT_EQ(machine.start_evidences().size(), 3u);
  EXPECT_EQ(machine.log_marginal_likelihood(),
            *std::max_element(machine.start_evidences().begin(), machine.start_evidences().end()));
}

// One series has a gap; its twin, shifted by a quarter of a period, does not.
TEST(SpectralMixture, CoupledOutputsFillAGap) {
  const Series series(300);
  Matrix<double> Y(300, 2);
  const Matrix<double> noise = random_matrix(300, 2, 9);
  for (Index i = 0; i < 300; ++i) {
    const double t = series.X(i, 0), a = 2 * std::numbers::pi * 0.31 * t + std::sin(0.3 * t);
    Y(i, 0) = std::sin(a) + 0.1 * noise(i, 0);
    Y(i, 1) = 3 * std::cos(a) + 0.1 * noise(i, 1);
  }
  Matrix<double> known = Y;
  known.block(100, 1, 120, 1).setConstant(std::numeric_limits<double>::quiet_NaN());
  SpectralMixtureOptions options = small_options();
  options.max_iter = 300;
  options.n_starts = 5;  // a single one may end in a poor optimum, coupled or not; the evidence chooses
  const auto error = [&](const OutputCoupling& coupling) {
    options.coupling = coupling;
    const auto machine = SpectralMixtureMachine::fit(series.X, known, options);
    return rmse(machine.predict(series.X).block(100, 1, 120, 1), Y.block(100, 1, 120, 1));
  };
  const double alone = error(Independent{}), shifted = error(LearntFactors{.phases = true});
  EXPECT_LT(shifted, 0.7 * alone);
}

// Older files hold the factors of a field without divergence as squares, |w| I - w wᵀ / |w|: the same process.
TEST(SpectralMixture, ReadsFieldsWithSquareFactors) {
  const Matrix<double> X = random_matrix(40, 3, 1), Y = random_matrix(40, 3, 2);
  SpectralMixtureOptions options = small_options();
  options.coupling = DivergenceFreeCoupling{};
  options.max_iter = 3;
  options.fit_intercept = false;
  const auto machine = SpectralMixtureMachine::fit(X, Y, options);
  WeightedFrequencies square = machine.points()[0];
  ASSERT_EQ(square.rank(), 2);
  square.real.resize(square.size(), 9);
  for (Index j = 0; j < square.size(); ++j) {
    const Eigen::Map<const Matrix<double>> B(machine.points()[0].real.row(j).data(), 3, 2);
    const Matrix<double> A = B * B.transpose(), root = A / std::sqrt(A.trace() / 2);  // A^2 = (tr A / 2) A
    square.real.row(j) = Eigen::Map<const Vector<double>>(root.data(), 9).transpose();
  }
  const FourierPosterior posterior = FourierEvidence<double>(X, Y).posterior(square, {});
  EXPECT_NEAR(posterior.evidence, machine.log_marginal_likelihood(), 1e-9 * std::abs(posterior.evidence));
  ModelFile file = machine.to_file();
  const Index r = posterior.beta.size();
  Matrix<double> packed(r * (r + 1) / 2, 1);
  for (Index i = 0, at = 0; i < r; at += ++i) packed.col(0).segment(at, i + 1) = posterior.L.row(i).head(i + 1);
  file.put<double>("points.0.real", square.real);
  file.put<double>("beta.0", Matrix<double>(posterior.beta));
  file.put<double>("precision_root.0", packed);
  const auto again = SpectralMixtureMachine::from_file(file, "older");
  EXPECT_LE((again.predict(X) - machine.predict(X)).norm(), 1e-8 * Y.norm());
}

TEST(SpectralMixture, FieldsHaveNoCurlOrDivergence) {
  const Matrix<double> X = random_matrix(80, 2, 1);
  Matrix<double> Y(80, 2);
  for (Index i = 0; i < 80; ++i) {
    Y(i, 0) = std::cos(X(i, 0)) * std::sin(X(i, 1)), Y(i, 1) = std::sin(X(i, 0)) * std::cos(X(i, 1));
  }
  for (const bool curl : {true, false}) {
    SpectralMixtureOptions options = small_options();
    options.coupling = parse_coupling(curl ? "curl-free" : "divergence-free");
    options.max_iter = 40;
    Matrix<double> field = Y;
    if (!curl) field.col(0) = -Y.col(1), field.col(1) = Y.col(0);
    const auto machine = SpectralMixtureMachine::fit(X, field, options);
    EXPECT_LT(rmse(machine.predict(X), field), 0.2);
    const double h = 1e-4;
    const Matrix<double> at{{0.3, -0.2}};
    const auto slope = [&](Index input) {
      Matrix<double> up = at, down = at;
      up(0, input) += h, down(0, input) -= h;
      return Matrix<double>((machine.predict(up) - machine.predict(down)) / (2 * h));
    };
    const double defect = curl ? slope(1)(0, 0) - slope(0)(0, 1) : slope(0)(0, 0) + slope(1)(0, 1);
    EXPECT_NEAR(defect, 0, 1e-6);
  }
}

TEST(SpectralMixture, ItsFileIsNotTakenForAKernelMachine) {
  const Series series(300);
  SpectralMixtureOptions options = small_options();
  options.max_iter = 1;
  const TempDir folder;
  SpectralMixtureMachine::fit(series.X, series.Y, options).save(folder.path("model"));
  EXPECT_THAT(message_of([&] { load_kernel_machine(folder.path("model")); }),
              ::testing::HasSubstr("a spectral mixture, not a kernel machine"));
}

TEST(SpectralMixture, RefusesWhatCannotBe) {
  const Series series(300);
  const auto refused = [&](auto change) {
    SpectralMixtureOptions options = small_options();
    change(options);
    EXPECT_THROW(SpectralMixtureMachine::fit(series.X, series.Y, options), Error);
  };
  refused([](auto& o) { o.n_components = 7; });
  refused([](auto& o) { o.n_components = 4; });
  refused([](auto& o) { o.n_mixtures = 0; });
  refused([](auto& o) { o.solver = "sgd"; });
  refused([](auto& o) { o.coupling = LearntFactors{.rank = 2}; });
  refused([](auto& o) { o.learning_rate = 0; });
  refused([](auto& o) { o.family = LaplaceFamily{}; });  // with natural parameters
  Matrix<double> gap = series.Y;
  gap(3, 0) = std::numeric_limits<double>::quiet_NaN();
  SpectralMixtureOptions exact = small_options();
  exact.inference = Inference::exact;
  EXPECT_THROW(SpectralMixtureMachine::fit(series.X, gap, exact), Error);
  SpectralMixtureOptions field = small_options();
  field.coupling = CurlFreeCoupling{};
  EXPECT_THROW(SpectralMixtureMachine::fit(series.X, Matrix<double>(random_matrix(300, 2, 1)), field), Error);
  field.coupling = DivergenceFreeCoupling{};  // which is zero in one dimension
  EXPECT_THROW(SpectralMixtureMachine::fit(series.X, series.Y, field), Error);
  refused([](auto& o) { o.coupling = TargetCovariance{}; });
  refused([](auto& o) { o.coupling = CurlFreeCoupling{.bounded = true}; });
}

}  // namespace
}  // namespace carmina::spectral_mixture_test
