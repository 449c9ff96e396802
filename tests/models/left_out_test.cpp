// tests/models/left_out_test.cpp -- noise and quantiles of rows left out, against dense fits without each row.
#include <carmina/core/error.hpp>
#include <carmina/models/alpha_path.hpp>
#include <carmina/models/posterior.hpp>
#include <carmina/models/predictor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernel_blocks.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using testing::TempDir;

constexpr Index n = 22;
constexpr double infinite = std::numeric_limits<double>::infinity();

struct Data {
  Matrix<double> X = random_matrix(n, 2, 1), Y = Matrix<double>(X.array().sin()) + 0.4 * random_matrix(n, p, 2);
  Vector<double> whole = Vector<double>::NullaryExpr(n, [](Index i) { return 1.0 + static_cast<double>(i % 3); });
  Vector<double> parts = random_matrix(n, 1, 4).cwiseAbs().array() + 0.2;
};

FitOptions options_of(const Kernel& kernel, Index components, bool intercept, double alpha = 0.3) {
  FitOptions options;
  options.kernel = kernel;
  options.approximation = components == 0 ? "exact" : "fourier";
  options.n_components = components == 0 ? 100 : components;
  options.alpha = alpha;
  options.fit_intercept = intercept;
  options.keep_moments = true;
  return options;
}

// Mean and variance (in units of the noise) of an observation at row i from a dense fit with the weights given:
// [K + alpha W^-1, E; Eᵀ, 0] [c; b] = [y; 0], rows of weight zero left away.
struct Dense {
  Vector<double> mean = Vector<double>(p), variance = Vector<double>(p);

  Dense(const Blocks& K, const Data& data, const Vector<double>& w, Index i, double alpha, bool intercept) {
    std::vector<Index> kept;
    for (Index k = 0; k < n; ++k) {
      if (w[k] > 1e-14) kept.push_back(k);
    }
    const auto rows = static_cast<Index>(kept.size());
    const Matrix<double> X = data.X(kept, Eigen::all), Y = data.Y(kept, Eigen::all), x = data.X.row(i);
    const Index order = rows * p, border = intercept ? p : 0;
    Eigen::MatrixXd system = Eigen::MatrixXd::Zero(order + border, order + border);
    system.topLeftCorner(order, order) = K(X, X);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(order + border);
    Eigen::MatrixXd at = Eigen::MatrixXd::Zero(order + border, p);
    at.topRows(order) = K(X, x);
    for (Index k = 0; k < order; ++k) {
      system(k, k) += alpha / w[kept[static_cast<std::size_t>(k / p)]];
      right[k] = Y(k / p, k % p);
      if (intercept) system(k, order + k % p) = system(order + k % p, k) = 1;
    }
    for (Index a = 0; a < border; ++a) at(order + a, a) = 1;
    const auto factor = system.partialPivLu();
    mean = at.transpose() * factor.solve(right);
    const Eigen::MatrixXd covariance = K(x, x) - at.transpose() * factor.solve(at);
    variance = covariance.diagonal() / alpha + Eigen::VectorXd::Ones(p);
  }
};

struct Expected {
  Matrix<double> errors = Matrix<double>(n, p), variances = Matrix<double>(n, p);
  Vector<double> noise = Vector<double>::Zero(p);

  Expected(const Blocks& K, const Data& data, const Vector<double>& w, double alpha, bool intercept) {
    for (Index i = 0; i < n; ++i) {
      Vector<double> without = w;
      without[i] -= std::min(1.0, w[i]);
      const Dense dense(K, data, without, i, alpha, intercept);
      errors.row(i) = data.Y.row(i) - dense.mean.transpose();
      variances.row(i) = dense.variance.transpose();
      noise += w[i] * errors.row(i).cwiseAbs2().cwiseQuotient(variances.row(i)).transpose() / w.sum();
    }
  }

  // Of rows repeated as integer weights say.
  double quantile(const Vector<double>& w, double level, Index output) const {
    std::vector<double> scores;
    for (Index i = 0; i < n; ++i) {
      double score = 0;
      for (Index a = 0; a < p; ++a) {
        const double one = std::abs(errors(i, a)) / std::sqrt(noise[a] * variances(i, a));
        if (output == p || output == a) score = std::max(score, one);
      }
      for (double k = 0; k < w[i]; ++k) scores.push_back(score);
    }
    std::sort(scores.begin(), scores.end());
    const double rank = std::ceil((static_cast<double>(scores.size()) + 1) * level - 1e-9);
    return rank > static_cast<double>(scores.size()) ? infinite : scores[static_cast<std::size_t>(rank) - 1];
  }
};

void expect_near(const Matrix<double>& found, const Matrix<double>& expected, double tolerance) {
  ASSERT_EQ(found.rows(), expected.rows());
  ASSERT_EQ(found.cols(), expected.cols());
  for (Index i = 0; i < found.size(); ++i) {
    const double a = found.data()[i], b = expected.data()[i];
    EXPECT_TRUE(a == b || std::abs(a - b) <= tolerance * std::abs(b)) << a << " and " << b << " at " << i;
  }
}

TEST(LeftOut, EqualsDenseFitsWithoutEachRow) {
  const Data data;
  const std::vector<double>& levels = interval_levels();
  for (const Kernel& kernel : all_kernels()) {
    for (const bool intercept : {false, true}) {
      for (const Index components : {0, 10, 60}) {  // exact; more rows than features, and fewer
        for (const double alpha : {1e-3, 0.3}) {
          const Blocks K = components == 0 ? exact_blocks(kernel) : fourier_blocks(kernel, components);
          const FitOptions options = options_of(kernel, components, intercept, alpha);
          SCOPED_TRACE(format_text("{} components, intercept {}, alpha {}", components, intercept, alpha));
          for (const Vector<double>& w : {Vector<double>(Vector<double>::Ones(n)), data.whole, data.parts}) {
            const Expected expected(K, data, w, alpha, intercept);
            const FitRecord record = KernelMachine<double>::fit(data.X, data.Y, options, w.data()).record();
            expect_near(record.noise, expected.noise, 1e-8);
            if (w == data.parts) continue;
            for (std::size_t k = 0; k < levels.size(); k += 7) {
              for (Index a = 0; a <= p; ++a) {
                const double found = record.left_out(static_cast<Index>(k), a);
                const double right = expected.quantile(w, levels[k], a);
                // A score is an error over a deviation: rounding is relative to errors of the size of a deviation.
                EXPECT_TRUE(found == right || std::abs(found - right) <= 1e-8 * std::max(right, 1e-3))
                    << found << " and " << right;
              }
            }
          }
        }
      }
    }
  }
}

TEST(LeftOut, WeightsAreRepetitions) {
  const Data data;
  Vector<double> w = data.whole;
  w[3] = 0;
  std::vector<Index> repeated;
  for (Index i = 0; i < n; ++i) repeated.insert(repeated.end(), static_cast<std::size_t>(w[i]), i);
  const Matrix<double> X = data.X(repeated, Eigen::all), Y = data.Y(repeated, Eigen::all);
  for (const Kernel& kernel : all_kernels()) {
    for (const Index components : {0, 10, 60}) {
      const FitOptions options = options_of(kernel, components, true);
      const FitRecord a = KernelMachine<double>::fit(data.X, data.Y, options, w.data()).record();
      const FitRecord b = KernelMachine<double>::fit(X, Y, options).record();
      expect_near(a.noise, b.noise, 1e-9);
      expect_near(a.left_out, b.left_out, 1e-8);
    }
  }
}

TEST(LeftOut, ScalesWithTheTargets) {
  const Data data;
  for (const Index components : {0, 10, 60}) {
    const FitOptions options = options_of(Gaussian(1.1), components, true);
    const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
    const Matrix<double> ends = Posterior<double>(machine).interval(data.X, 0.8);
    for (const double scale : {1e-6, 1e6}) {
      const auto scaled = KernelMachine<double>::fit(data.X, Matrix<double>(scale * data.Y), options);
      expect_near(scaled.record().noise, scale * scale * machine.record().noise, 1e-10);
      expect_near(scaled.record().left_out, machine.record().left_out, 1e-10);
      EXPECT_LT(max_difference(Posterior<double>(scaled).interval(data.X, 0.8) / scale, ends), 1e-10);
    }
  }
}

TEST(LeftOut, FloatIsNearDouble) {
  const Data data;
  const Matrix<float> X = data.X.cast<float>(), Y = data.Y.cast<float>();
  for (const Kernel& kernel : all_kernels()) {
    for (const Index components : {0, 10, 60}) {
      const FitOptions options = options_of(kernel, components, true);
      const FitRecord a = KernelMachine<double>::fit(data.X, data.Y, options).record();
      const FitRecord b = KernelMachine<float>::fit(X, Y, options).record();
      expect_near(b.noise, a.noise, 1e-4);
    }
  }
}

// Few hundred rows beside the sample of many: the noise is 0.25 and the errors are normal.
TEST(LeftOut, ASampleOfManyRowsSaysTheSame) {
  const Index many = 30'000;
  const Matrix<double> X = random_matrix(many, 1, 5);
  const Matrix<double> Y = X.array().sin().matrix() + 0.5 * random_matrix(many, 1, 6);
  FitOptions options = options_of(Gaussian(1.0), 20, true, 1.0);
  const FitRecord record = KernelMachine<double>::fit(X, Y, options).record();
  EXPECT_NEAR(record.noise[0], 0.25, 0.02);
  EXPECT_NEAR(record.left_out(static_cast<Index>(interval_level(0.9)), 0), 1.645, 0.08);
  EXPECT_NEAR(record.left_out(static_cast<Index>(interval_level(0.99)), 0), 2.576, 0.2);
}

// Of more than 2,000 rows leverages are estimated where 1 - h is near 1: against all of them, by the features.
TEST(LeftOut, EstimatedLeveragesSayTheSame) {
  const Index many = 2200, m = 800;
  const Matrix<double> X = random_matrix(many, 2, 15);
  const Matrix<double> Y = Matrix<double>(X.array().sin()) + 0.5 * random_matrix(many, 2, 16);
  Matrix<double> phi(many, m);
  evaluate(FourierMap<double>(sample_term_frequencies(Gaussian(0.25), 2, m, 0)), X, View<double>(phi), Execution{});
  for (const double alpha : {0.01, 1.0, 3.0}) {  // computed, two rounds, one
    const FitOptions options = options_of(Gaussian(0.25), m, false, alpha);
    const FitRecord record = KernelMachine<double>::fit(X, Y, options).record();
    Eigen::MatrixXd system = phi.transpose() * phi;
    system.diagonal().array() += alpha;
    const Eigen::LLT<Eigen::MatrixXd> factor(system);
    const Eigen::MatrixXd hat = factor.solve(phi.transpose());  // (m, many)
    const Vector<double> left = 1 - phi.cwiseProduct(hat.transpose()).rowwise().sum().array();
    const Matrix<double> errors = Y - phi * (hat * Y);
    for (Index a = 0; a < p; ++a) {
      const Vector<double> scores = errors.col(a).array().abs() / left.array().sqrt();
      const double noise = scores.squaredNorm() / static_cast<double>(many);
      EXPECT_NEAR(record.noise[a], noise, 0.004 * noise) << "alpha " << alpha << ", leverage " << 1 - left.mean();
      std::vector<double> sorted(scores.data(), scores.data() + many);
      std::sort(sorted.begin(), sorted.end());
      const double quantile = sorted[static_cast<std::size_t>(std::ceil(0.9 * (many + 1))) - 1] / std::sqrt(noise);
      EXPECT_NEAR(record.left_out(static_cast<Index>(interval_level(0.9)), a), quantile, 0.01 * quantile);
    }
  }
}

TEST(LeftOut, AnAlphaChosenHasTheNoiseOfThatAlpha) {
  const Data data;
  for (const Kernel& kernel : all_kernels()) {
    for (const Index components : {0, 10, 60}) {
      FitOptions options = options_of(kernel, components, true);
      options.alpha_by = AlphaScore::gcv;
      options.alphas = {0.05, 0.5, 5.0};
      const auto chosen = KernelMachine<double>::fit(data.X, data.Y, options, data.parts.data());
      options.alpha_by.reset();
      options.alpha = chosen.record().alpha;
      const auto given = KernelMachine<double>::fit(data.X, data.Y, options, data.parts.data());
      expect_near(chosen.record().noise, given.record().noise, 1e-9);
      expect_near(chosen.record().left_out, given.record().left_out, 1e-8);
    }
  }
}

// What sums alone say is near, and exact where all leverages are equal.
TEST(LeftOut, PathsAndPartsHaveTheNoiseOfTheirSums) {
  const Data data;
  const FitOptions options = options_of(Gaussian(1.5), 10, true, 0.5);
  const auto whole = KernelMachine<double>::fit(data.X, data.Y, options);
  const auto first = KernelMachine<double>::fit(data.X.topRows(12), data.Y.topRows(12), options);
  MemoryRows<double> rest(data.X.bottomRows(n - 12), data.Y.bottomRows(n - 12));
  const auto parts = fit_further(first, rest);
  EXPECT_EQ(parts.record().left_out.size(), 0);
  EXPECT_THAT(message_of([&] { Posterior<double>(parts).interval(data.X, 0.9); }), HasSubstr("not by fits in parts"));
  const auto path = fit_path(ConstView<double>(data.X), ConstView<double>(data.Y), options, {0.5});
  expect_near(parts.record().noise, path.machine(0).record().noise, 1e-8);
  expect_near(parts.record().noise, whole.record().noise, 0.3);
}

TEST(LeftOut, EvidenceKnowsTheNoise) {
  const Data data;
  FitOptions options = options_of(Gaussian(1.0), 40, true);
  options.by_evidence = true;
  const FitRecord record = KernelMachine<double>::fit(data.X, data.Y, options).record();
  EXPECT_EQ(record.noise, Vector<double>::Constant(p, record.alpha));
  EXPECT_GT(record.left_out.size(), 0);
}

TEST(LeftOut, FilesHoldWhatIntervalsNeed) {
  const Data data;
  const TempDir folder;
  for (const Kernel& kernel : all_kernels()) {
    for (const Index components : {0, 10, 60}) {
      const auto machine = KernelMachine<double>::fit(data.X, data.Y, options_of(kernel, components, true));
      const Posterior<double> before(machine);
      machine.save(folder.path("model"), true);
      const Predictor after = Predictor::load(folder.path("model"));
      EXPECT_EQ(after.record().noise, machine.record().noise);
      EXPECT_EQ(after.record().left_out, machine.record().left_out);
      EXPECT_EQ(after.predict_std(data.X), before.deviation(data.X));
      for (const bool joint : {false, true}) {
        EXPECT_EQ(after.predict_interval(data.X, 0.8, joint), before.interval(data.X, 0.8, joint));
      }
      machine.save(folder.path("model"));
      EXPECT_EQ(Predictor::load(folder.path("model")).why_no_interval().empty(), components == 0);
    }
  }
}

TEST(LeftOut, IntervalsAreTheDeviationsTimesTheQuantile) {
  const Data data;
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, options_of(Gaussian(1.1), 0, true));
  const Posterior<double> posterior(machine);
  const Matrix<double> mean = machine.predict(data.X), unit = posterior.deviation(data.X);
  for (const bool joint : {false, true}) {
    const Matrix<double> ends = posterior.interval(data.X, 0.795, joint);  // the next level is 0.8
    for (Index a = 0; a < p; ++a) {
      const double q = machine.record().left_out(79, joint ? p : a);
      EXPECT_LT(max_difference(ends.col(2 * a), mean.col(a) - q * unit.col(a)), 1e-12);
      EXPECT_LT(max_difference(ends.col(2 * a + 1), mean.col(a) + q * unit.col(a)), 1e-12);
    }
  }
  EXPECT_TRUE((posterior.interval(data.X, 0.99).array().abs() == infinite).all()) << "22 rows do not reach that far";
}

TEST(LeftOut, SaysWhatItLacks) {
  const Data data;
  FitOptions options = options_of(Gaussian(1.1), 10, true);
  const auto machine = KernelMachine<double>::fit(data.X, data.Y, options);
  for (const double coverage : {0.0, -0.5, 0.99995, 1.0, std::nan("")}) {
    EXPECT_THAT(message_of([&] { Posterior<double>(machine).interval(data.X, coverage); }),
                HasSubstr("coverage must be above 0 and at most 0.9999"));
  }
  options.estimate_noise = false;
  const auto without = KernelMachine<double>::fit(data.X, data.Y, options);
  EXPECT_EQ(without.record().noise.size(), 0);
  EXPECT_THAT(message_of([&] { Posterior<double>{without}; }), HasSubstr("the variance of the noise is not known"));
  options.estimate_noise = true;
  const auto one = KernelMachine<double>::fit(data.X.topRows(1), data.Y.topRows(1), options);
  EXPECT_EQ(one.record().noise.size(), 0);
  options.keep_moments = false;
  const auto no_sums = KernelMachine<double>::fit(data.X, data.Y, options);
  EXPECT_EQ(no_sums.record().noise.size(), p);
  EXPECT_THAT(message_of([&] { no_sums.to_file(KernelStorage::in_file, true); }), HasSubstr("does not hold the sums"));
  options.alpha = 0;
  EXPECT_EQ(KernelMachine<double>::fit(data.X, data.Y, options).record().noise.size(), 0);
  ModelFile file = machine.to_file(KernelStorage::in_file, true);
  file.put<double>("row_sums", Matrix<double>::Ones(5, 1));
  EXPECT_THAT(message_of([&] { KernelMachine<double>::from_file(file, "file"); }),
              HasSubstr("'row_sums' has the shape [5, 1], expected [packed(s), 1]"));
}

}  // namespace
}  // namespace carmina
