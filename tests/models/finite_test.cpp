// tests/models/finite_test.cpp -- a fit that ends in numbers that are not finite is an error that says where and what
// may help; nothing of it is a model.
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/models/tune.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <support/given_numbers.hpp>
#include "mixture_data.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::finite_test {
namespace {

using carmina::testing::message_of;
using carmina::testing::random_matrix;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const Matrix<double> X = random_matrix(40, 2, 1), Y = random_matrix(40, 1, 2);

FitOptions options_for(const std::string& approximation, ScalarKernel kernel, const std::string& solver = "auto") {
  FitOptions options = given_numbers();
  options.approximation = approximation;
  options.kernel = Kernel(std::move(kernel));
  options.n_components = 10;
  options.solver = solver;
  return options;
}

std::string refusal(const FitOptions& options, const Matrix<double>& inputs, const Matrix<double>& targets,
                    const double* weights = nullptr) {
  return message_of([&] { KernelMachine<double>::fit(inputs, targets, options, weights); });
}

TEST(Finite, KernelsThatOverflow) {
  EXPECT_THAT(refusal(options_for("exact", Polynomial(100, 1, 1e4)), X, Y),
              HasSubstr("kernel's values are not finite"));
  EXPECT_THAT(refusal(options_for("exact", Gaussian(1e-320)), X, Y), HasSubstr("length_scale is too small"));
  EXPECT_THAT(refusal(options_for("fourier", Gaussian(1e-320)), X, Y), HasSubstr("length_scale is too small"));
  EXPECT_THAT(refusal(options_for("exact", Gaussian(1e-200)), X, Y), HasSubstr("kernel's values are not finite"));
  EXPECT_THAT(refusal(options_for("exact", Gaussian(1e-200), "cg"), X, Y), HasSubstr("not a finite number"));
  for (const std::string sketch : {"sub_sample", "sparse_rademacher"}) {
    EXPECT_THAT(refusal(options_for(sketch, Polynomial(100, 1, 1e4)), X, Y), HasSubstr("not finite")) << sketch;
  }
}

TEST(Finite, InputsAndTargetsThatAreTooLarge) {
  FitOptions scaled = options_for("fourier", Gaussian(1));
  scaled.scale_inputs = true;
  EXPECT_THAT(refusal(scaled, 1e300 * X, Y), HasSubstr("fit: input column 1 is too large for its mean and deviation"));
  for (const std::string approximation : {"fourier", "exact", "sub_sample"}) {
    for (const double size : {1e200, 1e300, std::numeric_limits<double>::max()}) {
      const Matrix<double> large = (size * Y.array().sign()).matrix();
      EXPECT_THAT(refusal(options_for(approximation, Gaussian(1)), X, large),
                  AnyOf(HasSubstr("divide the"), HasSubstr("divide all"), HasSubstr("not finite"), HasSubstr("scale")))
          << approximation << size;
    }
  }
  const std::vector<double> weights(40, std::numeric_limits<double>::max());
  EXPECT_THAT(refusal(options_for("fourier", Gaussian(1)), X, Y, weights.data()), HasSubstr("add up to infinity"));
}

TEST(Finite, OtherLosses) {
  for (const Loss& loss : {Loss(Huber(1)), Loss(EpsilonInsensitive(0.1)), Loss(Absolute())}) {
    for (const std::string solver : {"newton", "lbfgs"}) {
      if (solver == "lbfgs" && !std::holds_alternative<Huber>(loss)) continue;  // for smooth losses
      for (const std::string approximation : {"fourier", "exact"}) {
        FitOptions options = options_for(approximation, Gaussian(1), solver);
        options.loss = loss;
        const std::string message = refusal(options, X, 1e308 * Y.cwiseMin(1).cwiseMax(-1));
        EXPECT_THAT(message, AnyOf("", HasSubstr("fit: "))) << loss_name(loss) << solver << approximation;
        options.alpha = 1e-300;
        try {  // what is a model can be saved, and read
          const auto machine = KernelMachine<double>::fit(X, Y, options);
          EXPECT_TRUE(machine.coefficients().allFinite() && std::isfinite(machine.record().report.residual));
          EXPECT_EQ(KernelMachine<double>::from_file(machine.to_file(), "m").predict(X), machine.predict(X));
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("fit: "));
        }
      }
    }
  }
}

TEST(Finite, Mixtures) {
  for (const Inference inference : {Inference::fourier, Inference::exact, Inference::inducing}) {
    SpectralMixtureOptions options = carmina::testing::small_mixture(12, 2, 5);
    options.inference = inference;
    const auto message = [&](const Matrix<double>& inputs, const Matrix<double>& targets) {
      return message_of([&] { SpectralMixtureMachine::fit(inputs, targets, options); });
    };
    EXPECT_THAT(message(X, 1e300 * Y), HasSubstr("fit: the targets are too large"));
    EXPECT_NE(message(1e300 * X, Y), "");
  }
}

// Equal rows with different targets and hardly any penalty ask for coefficients that are huge and cancel.
TEST(Finite, CoefficientsThatLeaveNothingButRounding) {
  Matrix<double> twice = X;
  twice.row(1) = twice.row(0);
  for (const std::string solver : {"direct", "cg"}) {
    FitOptions options = options_for("exact", Gaussian(1), solver);
    options.alpha = 1e-30;
    const Matrix<float> narrow = twice.cast<float>(), targets = Y.cast<float>();
    const auto judge = [&](const auto& inputs, const auto& outputs) {
      using T = typename std::decay_t<decltype(outputs)>::Scalar;
      try {
        const auto machine = KernelMachine<T>::fit(inputs, outputs, options);
        const SolveReport& report = machine.record().report;
        EXPECT_NE(report.message, "") << solver;
        if (report.status == SolveStatus::not_converged) return;
        EXPECT_LT(machine.predict(inputs).cwiseAbs().maxCoeff(), 10 * outputs.cwiseAbs().maxCoeff()) << solver;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("alpha = 1e-30 is too small for these rows")) << solver;
      }
    };
    judge(twice, Y);
    judge(narrow, targets);
  }
  FitOptions options = options_for("exact", Gaussian(1), "cg");
  options.alpha = 1e-30;
  EXPECT_THAT(refusal(options, twice, Y), HasSubstr("take a larger alpha"));
}

// With an alpha of 1e-12 the same rows have coefficients of 1e12 that cancel in predictions, but for their rounding:
// what the kernel takes to zero is not kept.
TEST(Finite, CoefficientsThatCancelAreNotKept) {
  Matrix<double> twice = X;
  twice.row(1) = twice.row(0);
  const double middle = (Y(0, 0) + Y(1, 0)) / 2;
  for (const std::string approximation : {"exact", "fourier"}) {
    for (const Loss& loss : {Loss(Squared{}), Loss(Absolute{}), Loss(SquaredEpsilonInsensitive(0.1))}) {
      FitOptions options = options_for(approximation, Gaussian(0.2));
      options.n_components = 400;
      options.alpha = 1e-12;
      options.loss = loss;
      const auto machine = KernelMachine<double>::fit(twice, Y, options);
      EXPECT_LT(machine.coefficients().norm(), 1e4) << approximation << ' ' << loss_name(loss);
      const Matrix<double> f = machine.predict(twice);
      if (std::holds_alternative<Squared>(loss)) {
        EXPECT_NEAR(f(0, 0), middle, 1e-9) << approximation;
      }
      EXPECT_NEAR(f(5, 0), Y(5, 0), 0.11) << approximation << ' ' << loss_name(loss);
    }
  }
  FitOptions options = options_for("exact", Gaussian(0.2), "cg");
  options.alpha = 1e-12;
  const auto iterated = KernelMachine<double>::fit(twice, Y, options).record().report;
  EXPECT_EQ(iterated.status, SolveStatus::not_converged);
  EXPECT_THAT(iterated.message, HasSubstr("take a larger alpha"));
}

// Where all rows are equal, what features say about their mean is rounding.
TEST(Finite, FeaturesThatDoNotDiffer) {
  const Matrix<double> equal = X.row(0).replicate(X.rows(), 1);
  const Matrix<float> narrow = equal.cast<float>(), targets = Y.cast<float>();
  for (const std::string solver : {"direct", "cg", "lsmr"}) {
    FitOptions options = options_for("fourier", Gaussian(1), solver);
    options.alpha = 1e-12;
    const float found = KernelMachine<float>::fit(narrow, targets, options).predict(narrow)(0, 0);
    EXPECT_NEAR(found, Y.mean(), 1e-5) << solver;
    options.alpha = 1e-30;
    EXPECT_NEAR(KernelMachine<double>::fit(equal, Y, options).predict(equal)(0, 0), Y.mean(), 1e-9) << solver;
  }
}

TEST(Finite, WeightsWithoutDigits) {
  const Vector<double> weights = Vector<double>::Constant(X.rows(), 1e-320);
  EXPECT_THAT(refusal(options_for("fourier", Gaussian(1)), X, Y, weights.data()),
              HasSubstr("multiply them and alpha by one number"));
}

TEST(Finite, Tuning) {
  TuneOptions options;
  options.fit = options_for("exact", Polynomial(100, 1, 1e4));
  options.alphas = {1};
  EXPECT_THAT(message_of([&] { tune<double>(X, Y, options); }), HasSubstr("not finite"));
  options.fit = options_for("fourier", Gaussian(1));
  EXPECT_NE(message_of([&] { tune<double>(X, 1e300 * Y, options); }), "");
}

}  // namespace
}  // namespace carmina::finite_test
