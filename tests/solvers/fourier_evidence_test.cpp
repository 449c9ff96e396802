// Evidence of Fourier processes against the dense Gaussian density; every gradient against central differences.
#include "solvers/evidence/fourier_evidence.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina::fourier_evidence_test {
namespace {

using carmina::testing::random_matrix;

struct Case {
  const char* name;
  Index n, d, p, rank, M;
  bool phases, gaps;
};

WeightedFrequencies parameters(const Case& c, std::uint64_t seed) {
  WeightedFrequencies at;
  at.W = 2 * random_matrix<double>(c.M, c.d, seed);
  at.real = random_matrix<double>(c.M, c.p * c.rank, seed + 1) / std::sqrt(static_cast<double>(c.M));
  if (c.phases) at.imaginary = random_matrix<double>(c.M, c.p * c.rank, seed + 2) / std::sqrt(static_cast<double>(c.M));
  at.noise = (0.5 * random_matrix<double>(c.p, 1, seed + 3).array()).exp().col(0) * 0.3;
  return at;
}

struct Data {
  Matrix<double> X, Y;
  explicit Data(const Case& c) : X(random_matrix<double>(c.n, c.d, 7)), Y(random_matrix<double>(c.n, c.p, 8)) {
    if (!c.gaps) return;
    for (Index i = 0; i < c.n; ++i) {
      if (i % 3 == 0) Y(i, i % c.p) = std::numeric_limits<double>::quiet_NaN();
    }
  }
};

// Covariance of two outputs at two places, from the definition: sum_j cos Re A_j + sin Im A_j.
double covariance(const WeightedFrequencies& at, const Vector<double>& delta, Index a, Index b) {
  double sum = 0;
  for (Index j = 0; j < at.size(); ++j) {
    const double phase = at.W.row(j).dot(delta);
    for (Index k = 0; k < at.rank(); ++k) {
      const std::complex<double> left(at.real(j, a * at.rank() + k),
                                      at.imaginary.size() ? at.imaginary(j, a * at.rank() + k) : 0),
          right(at.real(j, b * at.rank() + k), at.imaginary.size() ? at.imaginary(j, b * at.rank() + k) : 0);
      const auto A = left * std::conj(right);
      sum += std::cos(phase) * A.real() + std::sin(phase) * A.imag();
    }
  }
  return sum;
}

struct Dense {
  std::vector<std::pair<Index, Index>> places;  // (row, output) of targets that are there
  Eigen::MatrixXd C;
  Eigen::VectorXd y;
  Dense(const WeightedFrequencies& at, const Data& data) {
    for (Index i = 0; i < data.X.rows(); ++i) {
      for (Index a = 0; a < data.Y.cols(); ++a) {
        if (!std::isnan(data.Y(i, a))) places.emplace_back(i, a);
      }
    }
    const auto N = static_cast<Index>(places.size());
    C.resize(N, N), y.resize(N);
    for (Index s = 0; s < N; ++s) {
      const auto [i, a] = places[static_cast<std::size_t>(s)];
      y[s] = data.Y(i, a);
      for (Index t = 0; t < N; ++t) {
        const auto [j, b] = places[static_cast<std::size_t>(t)];
        C(s, t) = covariance(at, (data.X.row(i) - data.X.row(j)).transpose(), a, b) + (s == t ? at.noise[a] : 0);
      }
    }
  }
  double log_density() const {
    const Eigen::LLT<Eigen::MatrixXd> llt(C);
    const Eigen::MatrixXd L = llt.matrixL();
    return -0.5 * y.dot(llt.solve(y)) - L.diagonal().array().log().sum() -
           0.5 * static_cast<double>(y.size()) * std::log(2 * std::numbers::pi);
  }
};

class Evidence : public ::testing::TestWithParam<Case> {};

TEST_P(Evidence, EqualsTheDenseDensityBothWays) {
  const Data data(GetParam());
  const FourierEvidence<double> evidence(data.X, data.Y);
  for (std::uint64_t seed : {1, 2, 3}) {
    const auto at = parameters(GetParam(), seed);
    const double dense = Dense(at, data).log_density();
    EXPECT_NEAR(evidence.by_features(at, nullptr, {}), dense, 1e-9 * std::abs(dense));
    EXPECT_NEAR(evidence.by_targets(at, nullptr, {}), dense, 1e-9 * std::abs(dense));
    EXPECT_NEAR(evidence(at, nullptr, {}), dense, 1e-9 * std::abs(dense));
    const FourierEvidence<float> narrow(data.X.cast<float>(), data.Y.cast<float>());
    EXPECT_NEAR(narrow.by_features(at, nullptr, {}), dense, 1e-4 * std::abs(dense) + 1e-3);
  }
}

TEST_P(Evidence, GradientsAreThoseOfFiniteDifferences) {
  const Data data(GetParam());
  const FourierEvidence<double> evidence(data.X, data.Y);
  const auto at = parameters(GetParam(), 5);
  WeightedFrequencies by_features, by_targets;
  evidence.by_features(at, &by_features, {});
  evidence.by_targets(at, &by_targets, {});
  const auto compare = [&](auto member, const char* what) {
    const auto& analytic = by_features.*member;
    const double size = analytic.norm() + 1e-3;
    EXPECT_LE((analytic - by_targets.*member).norm(), 1e-8 * size) << what;
    for (Index k = 0; k < std::min<Index>(analytic.size(), 12); ++k) {
      const Index place = k * 7919 % analytic.size();
      auto up = at, down = at;
      const double h = 1e-5;
      (up.*member).data()[place] += h, (down.*member).data()[place] -= h;
      const double difference =
          (evidence.by_features(up, nullptr, {}) - evidence.by_features(down, nullptr, {})) / (2 * h);
      EXPECT_NEAR(analytic.data()[place], difference, 1e-5 * size) << what << " " << place;
    }
  };
  compare(&WeightedFrequencies::W, "frequencies");
  compare(&WeightedFrequencies::real, "factors");
  if (GetParam().phases) compare(&WeightedFrequencies::imaginary, "imaginary factors");
  compare(&WeightedFrequencies::noise, "noise");
}

TEST_P(Evidence, PosteriorIsThatOfTheDenseProcess) {
  const Data data(GetParam());
  const auto at = parameters(GetParam(), 9);
  const FourierEvidence<double> evidence(data.X, data.Y);
  const auto posterior = evidence.posterior(at, {});
  const Matrix<double> Z = random_matrix<double>(5, GetParam().d, 11);
  Matrix<double> mean, cov;
  predict_fourier<double>(at, posterior, Z, mean, &cov, {});
  const Dense dense(at, data);
  const Eigen::LLT<Eigen::MatrixXd> llt(dense.C);
  const Index p = GetParam().p, N = dense.y.size();
  for (Index i = 0; i < Z.rows(); ++i) {
    Eigen::MatrixXd k(N, p);
    Eigen::MatrixXd prior(p, p);
    for (Index a = 0; a < p; ++a) {
      for (Index s = 0; s < N; ++s) {
        const auto [row, b] = dense.places[static_cast<std::size_t>(s)];
        k(s, a) = covariance(at, (data.X.row(row) - Z.row(i)).transpose(), b, a);
      }
      for (Index b = 0; b < p; ++b) prior(a, b) = covariance(at, Vector<double>::Zero(GetParam().d), a, b);
    }
    const Eigen::VectorXd expected = k.transpose() * llt.solve(dense.y);
    const Eigen::MatrixXd spread = prior - k.transpose() * llt.solve(k);
    for (Index a = 0; a < p; ++a) {
      EXPECT_NEAR(mean(i, a), expected[a], 1e-8);
      for (Index b = 0; b < p; ++b) EXPECT_NEAR(cov(i, a * p + b), spread(a, b), 1e-8);
    }
  }
  // Draws have this mean and variance: 4000 of them, within 5 standard errors.
  const auto draws = sample_fourier<double>(at, posterior, Z, 4000, 3, {});
  double sum = 0, squares = 0;
  for (const auto& draw : draws) sum += draw(0, 0), squares += draw(0, 0) * draw(0, 0);
  const double average = sum / 4000, variance = squares / 4000 - average * average;
  EXPECT_NEAR(average, mean(0, 0), 5 * std::sqrt(cov(0, 0) / 4000));
  EXPECT_NEAR(variance, cov(0, 0), 5 * cov(0, 0) * std::sqrt(2.0 / 4000));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Evidence,
    ::testing::Values(Case{"one_output", 40, 1, 1, 1, 6, false, false},
                      Case{"many_features", 9, 2, 1, 1, 20, false, false}, Case{"one_row", 1, 3, 1, 1, 4, false, false},
                      Case{"outputs", 30, 2, 3, 2, 5, false, false}, Case{"gaps", 30, 1, 2, 2, 5, false, true},
                      Case{"phases", 30, 1, 2, 1, 6, true, false}, Case{"phases_and_gaps", 25, 3, 3, 2, 4, true, true},
                      Case{"long_data", 1500, 1, 1, 1, 8, false, false}),
    [](const auto& tested) { return tested.param.name; });

TEST(FourierEvidence, DoesNotDependOnTheNumberOfThreads) {
  const Case c{"", 1200, 3, 2, 2, 40, true, true};
  const Data data(c);
  const FourierEvidence<double> evidence(data.X, data.Y);
  const auto at = parameters(c, 3);
  WeightedFrequencies one, three;
  const double a = evidence(at, &one, Execution{.threads = 1}), b = evidence(at, &three, Execution{.threads = 3});
  EXPECT_EQ(a, b);
  EXPECT_EQ(one.W, three.W);
  EXPECT_EQ(one.real, three.real);
}

TEST(FourierEvidence, AWeightIsARepetition) {
  const Case c{"", 30, 2, 2, 1, 6, false, false};
  const Data data(c);
  Vector<double> weights(30);
  for (Index i = 0; i < 30; ++i) weights[i] = static_cast<double>(i % 3);
  Matrix<double> X(30, 2), Y(30, 2);
  Index at_row = 0;
  for (Index i = 0; i < 30; ++i) {
    for (int k = 0; k < static_cast<int>(weights[i]); ++k, ++at_row)
      X.row(at_row) = data.X.row(i), Y.row(at_row) = data.Y.row(i);
  }
  ASSERT_EQ(at_row, 30);
  const auto at = parameters(c, 3);
  const FourierEvidence<double> weighted(data.X, data.Y, weights.data()), repeated(X, Y);
  WeightedFrequencies first, second;
  EXPECT_NEAR(weighted(at, &first, {}), repeated(at, &second, {}), 1e-9);
  EXPECT_LE((first.W - second.W).norm(), 1e-9 * second.W.norm());
  EXPECT_LE((first.real - second.real).norm(), 1e-9 * second.real.norm());
  EXPECT_LE((first.noise - second.noise).norm(), 1e-9 * second.noise.norm());
}

TEST(FourierEvidence, SeparateOutputsAddUp) {
  const Case c{"", 40, 2, 3, 1, 7, false, true};
  const Data data(c);
  auto at = parameters(c, 4);
  at.separate = true;
  WeightedFrequencies together;
  const double value = FourierEvidence<double>(data.X, data.Y)(at, &together, {});
  double sum = 0;
  Matrix<double> by_frequency = Matrix<double>::Zero(7, 2);
  for (Index a = 0; a < 3; ++a) {
    const WeightedFrequencies one{at.W, at.real.col(a), {}, at.noise.segment(a, 1)};
    WeightedFrequencies by;
    sum += FourierEvidence<double>(data.X, data.Y.col(a))(one, &by, {});
    by_frequency += by.W;
    EXPECT_LE((by.real - together.real.col(a)).norm(), 1e-9 * by.real.norm());
    EXPECT_NEAR(by.noise[0], together.noise[a], 1e-9 * std::abs(by.noise[0]));
  }
  EXPECT_NEAR(value, sum, 1e-9 * std::abs(sum));
  EXPECT_LE((by_frequency - together.W).norm(), 1e-9 * by_frequency.norm());
}

TEST(FourierEvidence, OneSeparateOutputIsAnOutput) {
  for (const Index rows : {4, 60}) {  // by targets, by features
    const Case c{"", rows, 2, 1, 1, 9, false, false};
    const Data data(c);
    const FourierEvidence<double> evidence(data.X, data.Y);
    auto at = parameters(c, 4);
    WeightedFrequencies one, separate;
    const double value = evidence(at, &one, {});
    at.separate = true;
    EXPECT_NEAR(evidence(at, &separate, {}), value, 1e-9 * std::abs(value));
    EXPECT_LE((one.W - separate.W).norm(), 1e-9 * one.W.norm());
    EXPECT_LE((one.real - separate.real).norm(), 1e-9 * one.real.norm());
  }
}

TEST(FourierEvidence, OutOfRangeIsNowhereAndBadDataAnError) {
  const Case c{"", 10, 1, 1, 1, 3, false, false};
  const Data data(c);
  const FourierEvidence<double> evidence(data.X, data.Y);
  auto at = parameters(c, 1);
  at.noise[0] = -1;
  EXPECT_EQ(evidence(at, nullptr, {}), -std::numeric_limits<double>::infinity());
  Matrix<double> missing = data.Y;
  missing.setConstant(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(FourierEvidence<double>(data.X, missing), Error);
}

}  // namespace
}  // namespace carmina::fourier_evidence_test
