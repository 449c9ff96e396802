// tests/theory/sketch_bounds_test.cpp -- bounds of sketched machines against their formulas and simulation; sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/sketches/distribution.hpp>
#include <carmina/theory/sketching.hpp>
#include "features/kernel_map.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "support/random_matrix.hpp"

namespace carmina::theory {
namespace {

using ::testing::HasSubstr;
using testing::random_matrix;
using testing::random_psd;

TEST(SketchConstant, IsTheProofsAndThePrintedOneIsTooSmall) {
  EXPECT_NEAR(satisfiability_constant_as_printed(0.7), 6.42, 0.005);
  EXPECT_NEAR(satisfiability_constant(0.7, Entries::gaussian), 7.68, 0.005);
  EXPECT_NEAR(satisfiability_constant(0.7, Entries::rademacher), 11.97, 0.005);
  EXPECT_THROW(satisfiability_constant(0, Entries::gaussian), Error);
  EXPECT_THROW(satisfiability_constant(1.5, Entries::gaussian), Error);
}

// Lemma 3, scalar: inf over gamma of |K Sᵀ gamma - z|^2 / n + lambda gammaᵀ S K Sᵀ gamma <= C^2 (delta_n^2 + lambda)
// for every z with zᵀ K^-1 z <= 1, c as measured. The supremum over z is an eigenvalue, so that none is missed.
TEST(SketchBound, ApproximationTermHoldsForTheWorstFunction) {
  const Index n = 80;
  const Matrix<double> X = random_matrix(n, 1, 6);
  const ScalarKernel kernel = Laplacian(1.0);
  const Eigen::MatrixXd K = kernel_matrix<double>(kernel, X, X);
  const Eigen::MatrixXd root = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K).operatorSqrt();
  int satisfiable = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto sketch = sketches::SubSample(70).sample(n, seed);
    const KSatisfiability found = k_satisfiability(sketch, K, 100);
    if (found.isometry_error > 0.5) continue;
    ++satisfiable;
    const Eigen::MatrixXd G = K * sketch.toarray().transpose(), H = sketch.toarray() * G;
    for (const double lambda : {1e-4, 1e-2, 1.0}) {
      // min over gamma leaves zᵀ R z / n, R = I - G (GᵀG + n lambda H)^-1 Gᵀ; with z = K^(1/2) u, |u| <= 1.
      const Eigen::MatrixXd R =
          Eigen::MatrixXd::Identity(n, n) -
          G * (G.transpose() * G + double(n) * lambda * H).completeOrthogonalDecomposition().solve(G.transpose());
      const double worst =
          Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(root * R * root / double(n)).eigenvalues().maxCoeff();
      const double C = 1 + std::sqrt(6.0) * found.c;
      EXPECT_GT(worst, 0);
      EXPECT_LE(worst, C * C * (found.spectrum.squared() + lambda));
    }
  }
  EXPECT_GE(satisfiable, 5);
}

TEST(SketchBound, IsTheFormulaOfTheorems2And4) {
  const CriticalRadius spectrum{1000, 0.1, 8};
  RiskSetting setting{.alpha = 2, .lipschitz = 0.5, .kernel_bound = 3, .probability = 0.9};
  const double C = 1 + std::sqrt(6.0) * 1.5, lambda = 2.0 / 1000;
  const RiskBound one = excess_risk_bound(spectrum, 1.5, setting);
  EXPECT_NEAR(one.approximation, 0.5 * C * std::sqrt(lambda + 0.01) + lambda / 2, 1e-14);
  EXPECT_NEAR(one.generalization, 8 * 0.5 * std::sqrt(3.0 / 1000) + 2 * std::sqrt(8 * std::log(40.0) / 1000), 1e-13);
  EXPECT_DOUBLE_EQ(one.value, one.approximation + one.generalization);
  EXPECT_TRUE(one.proven);
  EXPECT_THAT(one.note, HasSubstr("[0, 1]"));

  setting.outputs = random_psd(3, 3, 8);
  const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(setting.outputs).eigenvalues();
  const double norm = eigenvalues[2], trace = eigenvalues.sum();
  const RiskBound several = excess_risk_bound(spectrum, 1.5, setting);
  EXPECT_NEAR(several.approximation, 0.5 * C * std::sqrt(lambda + norm * 0.01) + lambda / 2, 1e-12);
  EXPECT_NEAR(several.generalization, 8 * 0.5 * std::sqrt(3 * trace / 1000) + 2 * std::sqrt(8 * std::log(40.0) / 1000),
              1e-12);

  setting.loss = RiskLoss::squared;
  const RiskBound squared = excess_risk_bound(spectrum, 1.5, setting);
  EXPECT_FALSE(squared.proven);
  EXPECT_THAT(squared.note, HasSubstr("false"));
  EXPECT_NEAR(squared.approximation, (C * C + 0.5) * lambda + C * C * norm * 0.01, 1e-12);
  EXPECT_NEAR(squared.generalization,
              8 * std::sqrt(trace) * (3 * std::sqrt(norm) + std::sqrt(3.0)) / std::sqrt(1000.0) +
                  2 * std::sqrt(8 * std::log(40.0) / 1000),
              1e-12);
}

TEST(SketchBound, FallsAsTheQuarterPowerWhenThePenaltyIsThatOfTheRidge) {
  const auto bound = [](double n, double alpha) {
    return excess_risk_bound({static_cast<Index>(n), 1 / std::sqrt(n), 1}, 1.0, {.alpha = alpha}).value;
  };
  EXPECT_NEAR(std::log10(bound(1e12, 1e6) / bound(1e16, 1e8)), 1, 0.02);  // lambda_n = n^(-1/2): n^(-1/4)
  EXPECT_NEAR(std::log10(bound(1e12, 1) / bound(1e16, 1)), 2, 0.02);      // lambda_n = 1 / n: n^(-1/2)
}

TEST(SketchBound, OfSparseSketchesAddsTheChancesOfFailure) {
  const CriticalRadius spectrum{1'000'000, std::sqrt(1e-5), 8};
  const Index s = sketch_components_needed(spectrum, 0.8);
  EXPECT_EQ(s, 64000);  // 5120 * 8 / 0.64
  const RiskBound enough = sparse_sketch_bound(spectrum, s, 0.8, Entries::gaussian);
  EXPECT_TRUE(enough.proven);
  EXPECT_DOUBLE_EQ(enough.probability, 0.95 - sketch_failure(s, 0.8, Entries::gaussian));
  EXPECT_DOUBLE_EQ(enough.value, excess_risk_bound(spectrum, satisfiability_constant(0.8, Entries::gaussian)).value);
  const RiskBound fewer = sparse_sketch_bound(spectrum, s - 1, 0.8, Entries::gaussian);
  EXPECT_FALSE(fewer.proven);
  EXPECT_THAT(fewer.note, HasSubstr("63999 components, while 64000"));
  EXPECT_FALSE(sparse_sketch_bound(spectrum, s, 0.8, Entries::rademacher, {.loss = RiskLoss::squared}).proven);
  // d_n = 0: n delta_n^2 components, too few for the first claim's probability to say anything.
  const RiskBound little = sparse_sketch_bound({100, std::sqrt(0.1), 0}, 10, 1.0, Entries::gaussian);
  EXPECT_FALSE(little.proven);
  EXPECT_EQ(little.probability, 0);
}

TEST(SketchBound, RefinedOneSolvesItsEquationAndIsMarkedUnproven) {
  const Vector<double> mu = Vector<double>::NullaryExpr(200, [](Index j) { return 1 / std::pow(double(j + 1), 2); });
  const RiskSetting setting{.lipschitz = 0.5, .probability = 0.9};
  const RefinedConstants constants{.B = 3, .D = 4, .C1 = 0.5, .C2 = 2, .C3 = 5, .b2 = 0.7};
  const double r = local_fixed_point(mu, setting, constants);
  const double psi = 2 * 0.5 * 0.5 * std::sqrt(2.0 / 200 * mu.cwiseMin(0.7 * r).sum()) + 2.0 / 200 * std::log(10.0);
  EXPECT_NEAR(psi, r, 1e-14);
  const RiskBound bound = refined_excess_risk_bound(mu, 1.0, setting, constants);
  EXPECT_FALSE(bound.proven);
  EXPECT_THAT(bound.note, HasSubstr("not in print"));
  EXPECT_NEAR(bound.approximation, 4.0 / 3 * excess_risk_bound(critical_radius(mu), 1.0, setting).approximation, 1e-14);
  EXPECT_NEAR(bound.generalization, 12 * 4.0 / 3 * r + 2 * 5.0 / 200 * std::log(10.0), 1e-13);
  EXPECT_THROW(refined_excess_risk_bound(mu, 1.0, {.outputs = Matrix<double>::Identity(2, 2)}), Error);
  EXPECT_THROW(refined_excess_risk_bound(mu, 1.0, {}, {.D = 1}), Error);
}

TEST(SketchBound, RefusesSettingsWithoutSense) {
  const CriticalRadius spectrum{100, 0.1, 3};
  EXPECT_THROW(excess_risk_bound(spectrum, -1), Error);
  EXPECT_THROW(excess_risk_bound({100, 0.1, 101}, 1), Error);
  EXPECT_THROW(suggest_sketch({0, 0.1, 0}), Error);
  EXPECT_THROW(excess_risk_bound(spectrum, 1, {.alpha = 0}), Error);
  EXPECT_THROW(excess_risk_bound(spectrum, 1, {.probability = 1}), Error);
  EXPECT_THROW(excess_risk_bound(spectrum, 1, {.outputs = Matrix<double>::Ones(2, 2)}), Error);  // singular
  EXPECT_THROW(sketch_components_needed(spectrum, 0), Error);
  EXPECT_THROW(sketch_failure(0, 0.5, Entries::gaussian), Error);
}

TEST(SketchSize, ChanceOfFailureIsThatOfBothClaims) {
  const double p = 0.8, s = 9000;
  const double first = 2 * std::exp(-s * p * p * 0.6241 / 1024);  // (1 - 2 / 10 - 1 / 100)^2 = 0.6241
  EXPECT_NEAR(sketch_failure(9000, p, Entries::gaussian), first, 1e-12);
  // Few components: the first claim says nothing, and a chance is at most 1.
  EXPECT_EQ(sketch_failure(5, p, Entries::rademacher), 1);
  // The second claim: 5^s exp(-c' p (c / 2 - 1 / sqrt(p))^2 s) with c of satisfiability_constant.
  for (const Entries entries : {Entries::gaussian, Entries::rademacher}) {
    const double gap = satisfiability_constant(0.02, entries) / 2 - 1 / std::sqrt(0.02);
    const double rate = concentration(entries) * 0.02 * gap * gap - std::log(5.0);
    const double isometry = 2 * std::exp(-3'000'000 * 0.0004 * 0.6241 / 1024);
    EXPECT_NEAR(sketch_failure(3'000'000, 0.02, entries), std::min(1.0, isometry + std::exp(-rate * 3e6)), 1e-12);
    EXPECT_NEAR(rate, std::sqrt(concentration(entries) * 0.02 * std::log(5.0)) + concentration(entries) * 0.005, 1e-12);
  }
}

TEST(SketchSize, ExpectedAnchorsAreThoseOfSamples) {
  const Index n = 500;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sum += double(sketches::SparseRademacher(40, 0.02).sample(n, seed).anchor_count()) / 200;
  }
  EXPECT_NEAR(expected_anchors(n, 40, 0.02), sum, 4);  // standard error 0.8
  EXPECT_EQ(expected_anchors(n, 3, 1), 500);
}

TEST(SketchSize, DensityOfFewestAnchorsSavesNoWork) {
  // log of the share of columns without entries, s = a / p^2
  const auto empty = [](double p) { return std::log1p(-p) / (p * p); };
  for (double p = 0.01; p < 1; p += 0.01) EXPECT_LE(empty(p), empty(fewest_anchors_density) + 1e-12);
  EXPECT_NEAR(fewest_anchors_density, 0.7153, 5e-5);
  EXPECT_NEAR(1 / (fewest_anchors_density * fewest_anchors_density), 1.95, 0.005);
  EXPECT_NEAR(1 - std::exp(3 * empty(fewest_anchors_density)), 0.9994, 5e-5);
}

TEST(SketchSize, SuggestionsSayWhatIsProved) {
  const SketchSuggestion few = suggest_sketch({400, 0.15, 7});
  EXPECT_EQ(few.proved.n_components, static_cast<Index>(std::ceil(5120 * 7 / std::pow(fewest_anchors_density, 2))));
  EXPECT_TRUE(few.proved.proven);
  EXPECT_FALSE(few.practical.proven);
  EXPECT_EQ(few.practical.n_components, 139);  // 7 / (sqrt(3/2) - 1)^2
  EXPECT_DOUBLE_EQ(few.practical.density, 0.05);
  EXPECT_THAT(few.text, HasSubstr("no fewer than the rows"));
  EXPECT_THAT(few.text, HasSubstr("1.95 times those of a dense sketch"));
  EXPECT_THAT(few.text, HasSubstr("Nothing is proved"));
  const SketchSuggestion many = suggest_sketch({10'000'000, 1e-3, 7});
  EXPECT_THAT(many.text, ::testing::Not(HasSubstr("no fewer than the rows")));
  EXPECT_NEAR(many.practical.expected_anchors, 139 * 20, 1);
  const SketchSuggestion tiny = suggest_sketch({1, 1.0, 1});
  EXPECT_EQ(tiny.practical.n_components, 1);
  EXPECT_EQ(tiny.practical.density, 1);
}

}  // namespace
}  // namespace carmina::theory
