// tests/solvers/mixture_processes_test.cpp -- exact and inducing-point processes against dense Gaussian densities.
#include "solvers/evidence/mixture_processes.hpp"
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>
#include <functional>
#include <numbers>

#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::message_of;
using testing::random_matrix;

const std::vector<MixtureFamily> all_families = {GaussianFamily{}, LaplaceFamily{}};
constexpr double jitter = 1e-8;  // of the sum of weights, on the diagonal of K_uu

struct Problem {
  Mixture mixture;
  double noise = 0.3;
  Matrix<double> X, Y, Z;

  Problem(const MixtureFamily& family, Index n, Index d, Index p, Index m, std::uint64_t seed, Index Q = 2)
      : mixture{(0.5 * random_matrix(Q, 1, seed)).array().exp().matrix(), 0.4 * random_matrix(Q, d, seed + 1),
                0.2 * (0.3 * random_matrix(Q, d, seed + 2)).array().exp().matrix(), family},
        X(1.5 * random_matrix(n, d, seed + 3)),
        Y(random_matrix(n, p, seed + 4)),
        Z(1.5 * random_matrix(m, d, seed + 5)) {}

  MixtureEvidence exact(bool gradient = false, int threads = 1) const {
    return exact_evidence(mixture, noise, X, Y, gradient, Execution{.threads = threads});
  }
  MixtureEvidence inducing(bool gradient = false, int threads = 1) const {
    return inducing_evidence(mixture, noise, Z, X, Y, gradient, Execution{.threads = threads});
  }
  Matrix<double> kernel(const Matrix<double>& A, const Matrix<double>& B) const {
    Matrix<double> K(A.rows(), B.rows());
    mixture_values(mixture, A, B, K, Execution{});
    return K;
  }
  Matrix<double> K_uu() const {
    Matrix<double> K = kernel(Z, Z);
    K.diagonal().array() += jitter * mixture.weights.sum();
    return K;
  }
  // Q_ff = K_fu K_uu^-1 K_uf
  Matrix<double> Q_ff() const { return kernel(X, Z) * K_uu().ldlt().solve(kernel(Z, X)); }
};

// sum over columns of log N(y | 0, C)
double log_density(const Matrix<double>& C, const Matrix<double>& Y) {
  const Eigen::LLT<Eigen::MatrixXd> factor(C);
  const Eigen::MatrixXd L = factor.matrixL();
  const double n = double(C.rows()), p = double(Y.cols());
  return -Y.cwiseProduct(factor.solve(Y)).sum() / 2 - p * L.diagonal().array().log().sum() -
         p * n / 2 * std::log(2 * std::numbers::pi);
}

Matrix<double> plus_noise(Matrix<double> K, double noise) {
  K.diagonal().array() += noise;
  return K;
}

TEST(ExactProcess, EvidenceIsTheGaussianLogDensity) {
  for (const MixtureFamily& family : all_families) {
    for (const Index n : {1, 40, 600}) {
      for (const Index p : {1, 3}) {
        const Problem problem(family, n, 2, p, 1, 100);
        const double expected = log_density(plus_noise(problem.kernel(problem.X, problem.X), problem.noise), problem.Y);
        EXPECT_NEAR(problem.exact().value, expected, 1e-9 * std::abs(expected)) << n << " " << p;
        EXPECT_EQ(problem.exact(true).value, problem.exact(false).value);
      }
    }
  }
}

// F = log N(Y | 0, Q_ff + noise I) - p tr(K_ff - Q_ff) / (2 noise)
TEST(InducingProcess, EvidenceIsItsDenseBound) {
  for (const MixtureFamily& family : all_families) {
    for (const auto& [n, m] : {std::pair<Index, Index>{1, 1}, {60, 1}, {60, 9}, {700, 150}, {30, 45}}) {
      for (const Index p : {1, 3}) {
        const Problem problem(family, n, 2, p, m, 200);
        const Matrix<double> Q = problem.Q_ff();
        const double lost = double(n) * problem.mixture.weights.sum() - Q.trace();
        const double expected =
            log_density(plus_noise(Q, problem.noise), problem.Y) - double(p) * lost / (2 * problem.noise);
        EXPECT_NEAR(problem.inducing().value, expected, 1e-9 * std::abs(expected)) << n << " " << m << " " << p;
      }
    }
  }
}

void expect_slope(double derivative, double scale, double& at, const std::function<double()>& value) {
  const double before = at, h = 1e-5;
  at = before + h;
  const double above = value();
  at = before - h;
  const double below = value();
  at = before;
  EXPECT_NEAR(derivative, (above - below) / (2 * h), 1e-5 * scale);
}

// Every derivative in `evidence` to 1e-5 of the largest of its kind.
void expect_gradient(Problem& problem, const MixtureEvidence& evidence, const std::function<double()>& value) {
  const Mixture& by = evidence.by_mixture;
  Mixture& at = problem.mixture;
  for (Index q = 0; q < at.size(); ++q) {
    expect_slope(by.weights[q], by.weights.norm(), at.weights[q], value);
    for (Index j = 0; j < at.dim_in(); ++j) {
      expect_slope(by.means(q, j), by.means.norm(), at.means(q, j), value);
      expect_slope(by.scales(q, j), by.scales.norm(), at.scales(q, j), value);
    }
  }
  expect_slope(evidence.by_noise, std::abs(evidence.by_noise), problem.noise, value);
  for (Index i = 0; i < evidence.by_inducing.rows(); ++i) {
    for (Index j = 0; j < at.dim_in(); ++j) {
      expect_slope(evidence.by_inducing(i, j), evidence.by_inducing.norm(), problem.Z(i, j), value);
    }
  }
}

// A row of weight w is w equal rows: the same evidence, derivatives and predictions.
TEST(WeightedProcesses, AreThoseOfRepeatedRows) {
  for (const MixtureFamily& family : all_families) {
    Problem few(family, 25, 2, 2, 7, 500), many = few;
    const Vector<double> weights = Vector<double>::NullaryExpr(25, [](Index i) { return double(1 + (i * 7) % 5); });
    many.X.resize(static_cast<Index>(weights.sum()), 2), many.Y.resize(many.X.rows(), 2);
    for (Index i = 0, at = 0; i < 25; ++i) {
      for (Index copy = 0; copy < static_cast<Index>(weights[i]); ++copy, ++at) {
        many.X.row(at) = few.X.row(i), many.Y.row(at) = few.Y.row(i);
      }
    }
    const auto expect_alike = [](const MixtureEvidence& a, const MixtureEvidence& b) {
      EXPECT_NEAR(a.value, b.value, 1e-9 * std::abs(b.value));
      EXPECT_NEAR(a.by_noise, b.by_noise, 1e-7 * std::abs(b.by_noise));
      EXPECT_LE(max_difference(a.by_mixture.weights, b.by_mixture.weights), 1e-6);
      EXPECT_LE(max_difference(a.by_mixture.means, b.by_mixture.means), 1e-6);
      EXPECT_LE(max_difference(a.by_mixture.scales, b.by_mixture.scales), 1e-6);
      if (b.by_inducing.size() > 0) {
        EXPECT_LE(max_difference(a.by_inducing, b.by_inducing), 1e-6);
      }
    };
    expect_alike(exact_evidence(few.mixture, few.noise, few.X, few.Y, true, {}, weights), many.exact(true));
    expect_alike(inducing_evidence(few.mixture, few.noise, few.Z, few.X, few.Y, true, {}, weights),
                 many.inducing(true));
    const auto expect_predictions = [&](const MixtureProcess& a, const MixtureProcess& b) {
      Matrix<double> mean, other_mean;
      Vector<double> variance, other_variance;
      predict_process(few.mixture, a, few.Z, mean, variance, {});
      predict_process(few.mixture, b, few.Z, other_mean, other_variance, {});
      EXPECT_LE(max_difference(mean, other_mean), 1e-8);
      EXPECT_LE(max_difference(variance, other_variance), 1e-8);
    };
    expect_predictions(exact_process(few.mixture, few.noise, few.X, few.Y, {}, weights),
                       exact_process(few.mixture, few.noise, many.X, many.Y, {}));
    expect_predictions(inducing_process(few.mixture, few.noise, few.Z, few.X, few.Y, {}, weights),
                       inducing_process(few.mixture, few.noise, few.Z, many.X, many.Y, {}));
  }
}

TEST(ExactProcess, GradientIsTheSlope) {
  for (const MixtureFamily& family : all_families) {
    for (const Index d : {1, 2}) {
      for (const Index p : {1, 2}) {
        Problem problem(family, 30, d, p, 1, 300);
        const MixtureEvidence evidence = problem.exact(true);
        EXPECT_EQ(evidence.by_inducing.size(), 0);
        expect_gradient(problem, evidence, [&] { return problem.exact().value; });
      }
      Problem alone(family, 1, d, 1, 1, 310);  // one row: only weights and noise matter
      const MixtureEvidence evidence = alone.exact(true);
      EXPECT_LT(evidence.by_mixture.means.norm() + evidence.by_mixture.scales.norm(), 1e-12);
      expect_slope(evidence.by_noise, 1, alone.noise, [&] { return alone.exact().value; });
    }
  }
  Problem long_one(GaussianFamily{}, 300, 1, 1, 1, 320);  // more than one block of rows
  expect_gradient(long_one, long_one.exact(true), [&] { return long_one.exact().value; });
}

TEST(InducingProcess, GradientIsTheSlope) {
  for (const MixtureFamily& family : all_families) {
    for (const Index d : {1, 2}) {
      for (const Index p : {1, 2}) {
        Problem problem(family, 40, d, p, 6, 400);
        expect_gradient(problem, problem.inducing(true), [&] { return problem.inducing().value; });
      }
      Problem alone(family, 20, d, 1, 1, 410);
      expect_gradient(alone, alone.inducing(true), [&] { return alone.inducing().value; });
    }
  }
}

TEST(InducingProcess, BlocksOfRowsAddUp) {
  Problem problem(GaussianFamily{}, 9000, 1, 2, 20, 420);
  problem.Z.col(0).setLinSpaced(-4.5, 4.5);  // evenly: K_uu of points drawn at random was singular but for its jitter
  const MixtureEvidence whole = problem.inducing(true);
  const Matrix<double> Q = problem.kernel(problem.X, problem.Z);
  // By the matrix inversion lemma, from K_uf alone: S = noise K_uu + K_uf K_fu.
  const Eigen::MatrixXd K = problem.K_uu(), S = problem.noise * K + Q.transpose() * Q, b = Q.transpose() * problem.Y;
  const double n = 9000, s = problem.noise;
  const double log_det = Eigen::MatrixXd(S.llt().matrixL()).diagonal().array().log().sum() * 2 -
                         Eigen::MatrixXd(K.llt().matrixL()).diagonal().array().log().sum() * 2 + (n - 20) * std::log(s);
  const double quadratic = (problem.Y.squaredNorm() - b.cwiseProduct(S.ldlt().solve(b)).sum()) / s;
  const double lost = n * problem.mixture.weights.sum() - K.ldlt().solve(Eigen::MatrixXd(Q.transpose() * Q)).trace();
  const double expected = -n * std::log(2 * std::numbers::pi) - log_det - quadratic / 2 - lost / s;
  EXPECT_NEAR(whole.value, expected, 1e-10 * std::abs(expected));
  expect_slope(whole.by_noise, std::abs(whole.by_noise), problem.noise, [&] { return problem.inducing().value; });
  expect_slope(whole.by_inducing(3, 0), whole.by_inducing.norm(), problem.Z(3, 0),
               [&] { return problem.inducing().value; });
}

TEST(InducingProcess, NeverExceedsTheExactEvidence) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem(all_families[seed % 2], 50, 1 + Index(seed % 3), 1 + Index(seed % 2), 1 + 4 * Index(seed),
                          500 + 10 * seed);
    const double exact = problem.exact().value;
    EXPECT_LE(problem.inducing().value, exact + 1e-9 * std::abs(exact)) << seed;
  }
}

TEST(InducingProcess, AtTheTrainingRowsIsExact) {
  for (const MixtureFamily& family : all_families) {
    Problem problem(family, 50, 2, 2, 1, 600);
    problem.Z = problem.X;
    // The jitter costs at most p n jitter sum(w) / (2 noise) in the trace, and as little elsewhere.
    const double exact = problem.exact().value;
    EXPECT_NEAR(problem.inducing().value, exact, 100 * 50 * jitter * problem.mixture.weights.sum() / problem.noise);
    const Matrix<double> rows = random_matrix(7, 2, 61);
    Matrix<double> mean, mean_inducing;
    Vector<double> variance, variance_inducing;
    predict_process(problem.mixture, exact_process(problem.mixture, problem.noise, problem.X, problem.Y, Execution{}),
                    rows, mean, variance, Execution{});
    predict_process(problem.mixture,
                    inducing_process(problem.mixture, problem.noise, problem.Z, problem.X, problem.Y, Execution{}),
                    rows, mean_inducing, variance_inducing, Execution{});
    EXPECT_LT(max_difference(mean, mean_inducing), 1e-5);
    EXPECT_LT(max_difference(variance, variance_inducing), 1e-5);
  }
}

TEST(MixtureProcess, PredictsByTheDenseFormulas) {
  for (const MixtureFamily& family : all_families) {
    for (const Index rows : {1, 1100}) {
      const Problem problem(family, 60, 2, 3, 12, 700);
      const Matrix<double> X = random_matrix(rows, 2, 71);
      const auto expect = [&](const MixtureProcess& process, const Matrix<double>& mean,
                              const Matrix<double>& covariance) {
        Matrix<double> found;
        Vector<double> variance;
        predict_process(problem.mixture, process, X, found, variance, Execution{});
        EXPECT_LT(max_difference(found, mean), 1e-8);
        EXPECT_LT(max_difference(variance, covariance.diagonal()), 1e-8);
        const Matrix<double> all =
            process_covariance(problem.mixture, process, X.topRows(std::min<Index>(rows, 90)), Execution{});
        EXPECT_EQ(all, Matrix<double>(all.transpose()));
        EXPECT_LT(max_difference(all, covariance.topLeftCorner(all.rows(), all.cols())), 1e-8);
      };
      const Matrix<double> k_f = problem.kernel(X, problem.X), prior = problem.kernel(X, X);
      const Eigen::MatrixXd C = plus_noise(problem.kernel(problem.X, problem.X), problem.noise);
      const MixtureProcess exact = exact_process(problem.mixture, problem.noise, problem.X, problem.Y, Execution{});
      EXPECT_EQ(exact.anchors, problem.X);
      EXPECT_EQ(exact.LB.size(), 0);
      expect(exact, k_f * C.ldlt().solve(problem.Y), prior - k_f * C.ldlt().solve(k_f.transpose()));

      // mean k_u S^-1 K_uf Y, covariance k - k_u K_uu^-1 k_uᵀ + noise k_u S^-1 k_uᵀ, S = noise K_uu + K_uf K_fu
      const Matrix<double> k_u = problem.kernel(X, problem.Z), K_fu = problem.kernel(problem.X, problem.Z);
      const Eigen::MatrixXd K = problem.K_uu(), S = problem.noise * K + K_fu.transpose() * K_fu;
      expect(inducing_process(problem.mixture, problem.noise, problem.Z, problem.X, problem.Y, Execution{}),
             k_u * S.ldlt().solve(K_fu.transpose() * problem.Y),
             prior - k_u * K.ldlt().solve(k_u.transpose()) + problem.noise * k_u * S.ldlt().solve(k_u.transpose()));
    }
  }
}

TEST(MixtureProcess, IsTheSameOnAnyNumberOfThreads) {
  const Problem problem(GaussianFamily{}, 5000, 2, 2, 140, 800);
  const MixtureEvidence one = problem.inducing(true, 1), four = problem.inducing(true, 4);
  EXPECT_EQ(one.value, four.value);
  EXPECT_EQ(one.by_mixture, four.by_mixture);
  EXPECT_EQ(one.by_noise, four.by_noise);
  EXPECT_EQ(one.by_inducing, four.by_inducing);
  const Problem small(LaplaceFamily{}, 700, 2, 2, 1, 810);
  const MixtureEvidence alone = small.exact(true, 1), together = small.exact(true, 4);
  EXPECT_EQ(alone.value, together.value);
  EXPECT_EQ(alone.by_mixture, together.by_mixture);
}

TEST(ExactProcess, AddsToASingularDiagonal) {
  // Equal rows and noise that rounding swallows.
  Problem problem(GaussianFamily{}, 200, 1, 1, 1, 900);
  problem.X.setConstant(0.25);
  problem.Y.setConstant(1);
  problem.noise = 1e-18;
  const MixtureEvidence evidence = problem.exact(true);
  EXPECT_TRUE(std::isfinite(evidence.value));
  EXPECT_TRUE(evidence.by_mixture.weights.allFinite());
  const Matrix<double> C = plus_noise(problem.kernel(problem.X, problem.X), 1e-10 * problem.mixture.weights.sum());
  EXPECT_NEAR(evidence.value, log_density(C, problem.Y), 1e-2 * std::abs(evidence.value));
}

TEST(MixtureProcess, RefusesWhatDoesNotFit) {
  const Problem good(GaussianFamily{}, 10, 2, 1, 3, 950);
  const auto broken = [&](const std::function<void(Problem&)>& change, bool inducing = false) {
    Problem bad = good;
    change(bad);
    return message_of([&] { inducing ? bad.inducing() : bad.exact(); });
  };
  EXPECT_EQ(broken([](Problem& b) { b.noise = 0; }),
            "exact process: the noise variance must be positive and finite, found 0");
  EXPECT_EQ(broken([](Problem& b) { b.Y.resize(9, 1); }), "exact process: Y has 9 rows, X has 10");
  EXPECT_EQ(broken([](Problem& b) { b.X = Matrix<double>::Zero(10, 3); }),
            "exact process: the mixture has 2 input dimensions, X has 3 columns");
  EXPECT_NE(broken([](Problem& b) { b.mixture.weights[0] = -1; }), "");
  EXPECT_EQ(broken([](Problem& b) { b.X(3, 1) = std::nan(""); }),
            "exact process: X and Y must be finite, found NaN or infinity");
  EXPECT_EQ(broken([](Problem& b) { b.Z.resize(0, 2); }, true),
            "inducing process: inducing points must be (at least 1, 2), found (0, 2)");
  EXPECT_EQ(broken([](Problem& b) { b.Z(1, 1) = HUGE_VAL; }, true),
            "inducing process: inducing points must be finite, found NaN or infinity");

  MixtureProcess process = exact_process(good.mixture, good.noise, good.X, good.Y, Execution{});
  Matrix<double> mean;
  Vector<double> variance;
  EXPECT_EQ(message_of([&] {
              predict_process(good.mixture, process, Matrix<double>::Zero(2, 1), mean, variance, Execution{});
            }),
            "predict: the mixture has 2 input dimensions, X has 1 columns");
  process.coefficients = Matrix<double>::Zero(4, 1);
  EXPECT_THROW(predict_process(good.mixture, process, good.X, mean, variance, Execution{}), Error);
}

}  // namespace
}  // namespace carmina
