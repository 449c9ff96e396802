// tests/theory/approximation_test.cpp -- measured errors against features built by hand; reports that keep their word.
#include <gtest/gtest.h>
#include <carmina/theory/approximation.hpp>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"

#include <Eigen/Eigenvalues>

#include "support/random_matrix.hpp"

namespace carmina::theory {
namespace {

using testing::random_matrix;
using testing::random_psd;

std::vector<Kernel> kernels(Index d) {
  return {Gaussian(1.1), Decomposable(Laplacian(2.0), random_psd(4, 2, 3)), CurlFree(Matern(1.0, 2.5)),
          DivergenceFree(Gaussian(0.9)),
          0.4 * CurlFree(Gaussian(1.0)) + Decomposable(Cauchy(1.3), random_psd(d, d, 4)) + Kernel(Gaussian(1.0))};
}

// |Phi(x)* Phi(z) - K(x, z)| from the features themselves.
TEST(KernelError, EqualsTheProductsOfFeaturesAgainstExactBlocks) {
  for (const Index d : {2, 3}) {
    for (const Kernel& kernel : kernels(d)) {
      const Index p = kernel.n_outputs(d).value_or(1), n = 5, m = 4;
      const Matrix<double> X = random_matrix(n, d, 1), Z = random_matrix(m, d, 2);
      const Matrix<double> W = sample_term_frequencies(kernel, d, 20, 6);
      const Expansion expansion(kernel, W, p);
      const auto features = [&](const Matrix<double>& rows) {
        Matrix<double> phi(rows.rows(), 2 * W.rows()), Phi(rows.rows() * p, expansion.dim_coef());
        evaluate(FourierMap<double>(W), rows, View<double>(phi), Execution{});
        for (Index i = 0; i < rows.rows(); ++i) {
          for (Index a = 0; a < p; ++a) {
            Matrix<double> R = Matrix<double>::Zero(2 * W.rows(), p);
            R.col(a) = phi.row(i).transpose();
            Phi.row(i * p + a) = expansion.contract(R).transpose();
          }
        }
        return Phi;
      };
      const Matrix<double> estimate = features(X) * features(Z).transpose();
      std::vector<double> exact(std::size_t(n * m * p * p));
      OperatorMap<double>(kernel, Z, p).blocks(X, exact.data(), Execution{});
      double largest = 0, sum = 0;
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < m; ++j) {
          Matrix<double> F = estimate.block(i * p, j * p, p, p);
          F -= Eigen::Map<const Matrix<double>>(exact.data() + (i * m + j) * p * p, p, p);
          const double error = Eigen::JacobiSVD<Eigen::MatrixXd>(F).singularValues()[0];
          largest = std::max(largest, error), sum += error * error;
        }
      }
      const KernelError found = kernel_error(kernel, W, X, Z, Execution{.threads = 2});
      EXPECT_NEAR(found.max, largest, 1e-11);
      EXPECT_NEAR(found.rms, std::sqrt(sum / double(n * m)), 1e-11);
      EXPECT_EQ(found.pairs, n * m);
    }
  }
}

TEST(KernelError, FallsWithTheRootOfTheNumberOfComponents) {
  const Matrix<double> X = random_matrix(30, 3, 5);
  for (const Kernel& kernel : kernels(3)) {
    const auto rms = [&](Index n) {
      double sum = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const double error = kernel_error(kernel, sample_term_frequencies(kernel, 3, n, seed), X, X).rms;
        sum += error * error / 20;
      }
      return std::sqrt(sum);
    };
    EXPECT_NEAR(rms(100) / rms(1600), 4, 0.8);
  }
}

// Reference values: scipy.stats.binomtest(hits, trials).proportion_ci(0.95, "exact").
TEST(ClopperPearson, AgreesWithReferenceValues) {
  const auto check = [](Index hits, Index trials, double low, double high) {
    const Interval interval = clopper_pearson(hits, trials, 0.95);
    EXPECT_NEAR(interval.low, low, 1e-6);
    EXPECT_NEAR(interval.high, high, 1e-6);
  };
  check(0, 10, 0.00000000, 0.30849711);
  check(10, 10, 0.69150289, 1.00000000);
  check(3, 10, 0.06673951, 0.65245285);
  check(1843, 2000, 0.90883430, 0.93291274);
  EXPECT_THROW(clopper_pearson(3, 2, 0.95), Error);
  EXPECT_THROW(clopper_pearson(1, 2, 1.0), Error);
}

// Over seeds of the pairs, the intervals cover the values over all pairs about as often as they say.
TEST(ApproximationReport, IntervalsCoverTheTruth) {
  const Matrix<double> X = random_matrix(60, 2, 7);
  for (const Kernel& kernel : {Kernel(Gaussian(1.0)), Kernel(DivergenceFree(Gaussian(1.0)))}) {
    const Matrix<double> W = sample_term_frequencies(kernel, 2, 200, 1);
    double sum = 0, within = 0;
    const ReportOptions options{.pairs = 200, .tolerance = 0.1};
    for (Index i = 0; i < 60; ++i) {
      for (Index j = 0; j < 60; ++j) {
        if (i == j) continue;
        const double error = block_errors(kernel, W, Matrix<double>(X.row(i) - X.row(j)))[0];
        sum += error * error / (60 * 59), within += (error <= 0.1) / (60.0 * 59);
      }
    }
    int rms_covered = 0, share_covered = 0;
    constexpr int runs = 200;
    for (int seed = 0; seed < runs; ++seed) {
      ReportOptions chosen = options;
      chosen.seed = std::uint64_t(seed);
      const ApproximationReport report = approximation_report(kernel, W, X, chosen);
      rms_covered += report.rms_interval.low <= std::sqrt(sum) && std::sqrt(sum) <= report.rms_interval.high;
      share_covered += report.within_interval.low <= within && within <= report.within_interval.high;
    }
    EXPECT_GE(rms_covered, 180);  // 190 expected
    EXPECT_LE(rms_covered, 199);
    EXPECT_GE(share_covered, 186);  // at least 190 expected
  }
}

TEST(ApproximationReport, SaysWhatHalvesTheErrorAndIsRight) {
  const Matrix<double> X = random_matrix(200, 3, 8);
  const Kernel kernel = CurlFree(Gaussian(1.0));
  const auto report = [&](Index n, std::uint64_t seed) {
    return approximation_report(kernel, sample_term_frequencies(kernel, 3, n, seed), X, {.pairs = 1000});
  };
  const ApproximationReport first = report(300, 1);
  EXPECT_EQ(first.n_components, 300);
  EXPECT_EQ(first.n_components_to_halve, 1200);
  EXPECT_EQ(first.rows, 200);
  EXPECT_DOUBLE_EQ(first.kernel_norm, 1);
  EXPECT_DOUBLE_EQ(first.tolerance, 0.05);
  double before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    before += report(300, seed).rms_error, after += report(1200, seed).rms_error;
  }
  EXPECT_NEAR(before / after, 2, 0.25);
  EXPECT_NE(first.text.find("n_components = 300"), std::string::npos);
  EXPECT_NE(first.text.find("about 1200 would halve it"), std::string::npos);
  EXPECT_NE(first.text.find("rough"), std::string::npos) << first.text;
  EXPECT_NE(report(2, 1).text.find("poor"), std::string::npos);
  EXPECT_NE(report(200000, 1).text.find("very close"), std::string::npos);
}

TEST(ApproximationReport, RefusesWhatItCannotMeasure) {
  const Kernel kernel = Gaussian(1.0);
  const Matrix<double> W = sample_term_frequencies(kernel, 2, 20, 1), X = random_matrix(5, 2, 9);
  EXPECT_THROW(approximation_report(kernel, W, X.topRows(1)), Error);
  EXPECT_THROW(approximation_report(kernel, W, X.leftCols(1)), Error);
  EXPECT_THROW(approximation_report(kernel, W, X, {.pairs = 1}), Error);
  EXPECT_THROW(approximation_report(kernel, W, X, {.confidence = 1.0}), Error);
  EXPECT_THROW(approximation_report(kernel, W, X, {.tolerance = -1.0}), Error);
  Matrix<double> bad = X;
  bad(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(kernel_error(kernel, W, bad, X), Error);
  EXPECT_THROW(kernel_error(kernel, W, X, X.topRows(0)), Error);
}

}  // namespace
}  // namespace carmina::theory
