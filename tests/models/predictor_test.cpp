// Predictor: every kind and precision of model from its file, alone and from several threads at once.
#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>
#include <carmina/models/predictor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include <support/given_numbers.hpp>
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using carmina::testing::max_difference;
using carmina::testing::message_of;
using carmina::testing::random_matrix;
using carmina::testing::TempDir;
using ::testing::HasSubstr;

const Matrix<double>& inputs() {
  static const Matrix<double> X = random_matrix(400, 2, 1);
  return X;
}
const Matrix<double>& targets() {
  static const Matrix<double> Y =
      (inputs() * random_matrix(2, 2, 2)).array().sin() + 0.1 * random_matrix(400, 2, 3).array();
  return Y;
}

template <Real T>
KernelMachine<T> kernel_machine(const std::string& approximation) {
  FitOptions options = given_numbers();
  options.approximation = approximation;
  options.n_components = 50;
  options.alpha = 0.1;
  options.target_names = {"u", "v"};
  const Matrix<T> X = inputs().cast<T>(), Y = targets().cast<T>();
  return KernelMachine<T>::fit(X, Y, options);
}

SpectralMixtureMachine mixture(Inference inference) {
  SpectralMixtureOptions options;
  options.n_mixtures = 2;
  options.n_components = 30;
  options.n_inducing = 20;
  options.max_iter = 3;
  options.inference = inference;
  options.input_names = {"a", "b"};
  return SpectralMixtureMachine::fit(inputs(), targets(), options);
}

TEST(Predictor, PredictsWhatTheModelPredicts) {
  const TempDir folder;
  const auto narrow = kernel_machine<float>("fourier");
  narrow.save(folder.path("narrow"));
  const auto wide = kernel_machine<double>("exact");
  wide.save(folder.path("wide"));
  const auto learnt = mixture(Inference::fourier);
  learnt.save(folder.path("learnt"));
  const Matrix<float> X = inputs().cast<float>();
  const Matrix<double> back = X.cast<double>();

  const Predictor a = Predictor::load(folder.path("narrow"));
  EXPECT_EQ(a.kind(), "kernel_machine");
  EXPECT_EQ(a.precision(), "float32");
  EXPECT_EQ(a.dim_in(), 2);
  EXPECT_EQ(a.dim_out(), 2);
  EXPECT_EQ(a.output_names(), (std::vector<std::string>{"u", "v"}));
  EXPECT_TRUE(a.input_names().empty());
  EXPECT_EQ(a.predict(X), narrow.predict(X));
  EXPECT_EQ(a.predict(back), narrow.predict(X).cast<double>());
  EXPECT_NE(a.kernel_machine(), nullptr);
  EXPECT_EQ(a.spectral_mixture(), nullptr);

  const Predictor b = Predictor::load(folder.path("wide"));
  EXPECT_EQ(b.precision(), "float64");
  EXPECT_EQ(b.predict(inputs()), wide.predict(inputs()));
  EXPECT_EQ(b.predict(X), wide.predict(back).cast<float>());
  EXPECT_EQ(b.why_no_std(), "");
  EXPECT_EQ(b.predict_std(inputs()), Posterior<double>(wide).deviation(inputs()));
  EXPECT_EQ(b.predict_std(X), Posterior<double>(wide).deviation(back).cast<float>());

  const Predictor c = Predictor::load(folder.path("learnt"));
  EXPECT_EQ(c.kind(), "spectral_mixture");
  EXPECT_EQ(c.input_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(c.output_names(), (std::vector<std::string>{"y1", "y2"}));
  EXPECT_EQ(c.predict(inputs()), learnt.predict(inputs()));
  EXPECT_EQ(c.predict(X), learnt.predict(back).cast<float>());
  const auto observation = learnt.predict_observation(inputs());
  const Matrix<double> deviation = c.predict_std(inputs());
  EXPECT_LE(max_difference(deviation.col(0).cwiseAbs2(), observation.covariance.col(0)), 1e-12);
  EXPECT_LE(max_difference(deviation.col(1).cwiseAbs2(), observation.covariance.col(3)), 1e-12);
  EXPECT_EQ(c.record().rows, 400);
}

TEST(Predictor, RefusesInOneSentence) {
  const Predictor narrow{AnyKernelMachine(kernel_machine<float>("fourier"))};
  Matrix<double> X = inputs().topRows(5);
  X(3, 1) = 1e60;
  EXPECT_THAT(message_of([&] { narrow.predict(X); }), HasSubstr("row 4, column 2: 1e+60 is too large for a float32"));
  X(3, 1) = std::numeric_limits<double>::quiet_NaN();
  for (const Predictor& model : {narrow, Predictor(mixture(Inference::fourier))}) {
    EXPECT_THAT(message_of([&] { model.predict(X); }),
                HasSubstr("row 4, column 2: expected a finite number, found nan"));
    EXPECT_THAT(message_of([&] { model.predict(Matrix<double>(inputs().leftCols(1))); }),
                HasSubstr("X has 1 columns, the model takes 2"));
  }
  EXPECT_THAT(narrow.why_no_std(), HasSubstr("approximation 'fourier' does not hold the sums"));
  EXPECT_THAT(message_of([&] { narrow.predict_std(inputs()); }), HasSubstr("does not hold the sums"));
  const TempDir folder;
  ModelFile other;
  other.texts["type"] = "picture";
  write_model_file(folder.path("other"), other);
  EXPECT_THAT(message_of([&] { Predictor::load(folder.path("other")); }), HasSubstr("found 'picture'"));
}

// Filled inputs may be missing.
TEST(Predictor, FillsWhatTheModelFills) {
  FitOptions options = given_numbers();
  options.n_components = 20;
  options.fill_missing = true;
  options.scale_inputs = true;
  const auto machine = KernelMachine<double>::fit(inputs(), targets(), options);
  Matrix<double> X = inputs().topRows(3), filled = X;
  X(1, 0) = std::numeric_limits<double>::quiet_NaN();
  filled(1, 0) = inputs().col(0).mean();
  const Predictor model{AnyKernelMachine(machine)};
  EXPECT_LE(max_difference(model.predict(X), model.predict(filled)), 1e-12);
}

// Many threads, one object: all get what one thread alone gets.
TEST(Predictor, IsSafeFromManyThreads) {
  const std::vector<Predictor> models = {Predictor(AnyKernelMachine(kernel_machine<float>("fourier"))),
                                         Predictor(AnyKernelMachine(kernel_machine<double>("exact"))),
                                         Predictor(mixture(Inference::fourier)), Predictor(mixture(Inference::exact)),
                                         Predictor(mixture(Inference::inducing))};
  for (const Predictor& model : models) {
    const bool deviations = model.why_no_std().empty();
    constexpr int threads = 6;
    std::vector<Matrix<double>> means(threads), deviation(threads);
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        const auto at = static_cast<std::size_t>(t);
        for (int repeat = 0; repeat < 5; ++repeat) {
          if (deviations) deviation[at] = model.predict_std(inputs(), {.threads = 1 + t % 2});
          means[at] = model.predict(inputs(), {.threads = 1 + t % 2});
        }
      });
    }
    for (auto& one : running) one.join();
    const Matrix<double> mean = model.predict(inputs());
    for (const auto& one : means) EXPECT_EQ(one, mean);
    if (!deviations) continue;
    const Matrix<double> alone = model.predict_std(inputs());
    for (const auto& one : deviation) EXPECT_LE(max_difference(one, alone), 1e-12);
  }
}

}  // namespace
}  // namespace carmina
