// tests/models/adam_losses_test.cpp -- whole fits by Adam with losses other than the squared one: every map, rows held
// out, rows in blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/data/generators.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <cmath>
#include <support/given_numbers.hpp>

namespace carmina {
namespace {

using ::testing::HasSubstr;

FitOptions robust(const std::string& approximation) {
  FitOptions options = given_numbers();
  options.approximation = approximation;
  options.n_components = 40;
  options.loss = Huber(1.0);
  options.alpha = 1;
  options.validation_fraction = 0;
  return options;
}

template <class T>
class AdamLosses : public ::testing::Test {
 protected:
  const Dataset data = friedman(300, {.noise = 1});
  const Matrix<T> X = data.X.cast<T>(), Y = data.Y.cast<T>();

  double objective(FitOptions options, const char* solver) const {
    options.solver = solver;
    return KernelMachine<T>::fit(X, Y, options).record().report.objective;
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AdamLosses, Precisions);

TYPED_TEST(AdamLosses, ComeToNewtonsObjectiveWithEveryMap) {
  for (const char* approximation : {"fourier", "exact", "sub_sample", "sparse_rademacher"}) {
    const FitOptions options = robust(approximation);
    const double newton = this->objective(options, "newton"), adam = this->objective(options, "adam");
    EXPECT_NEAR(adam, newton, 1e-2 * newton) << approximation;
  }
}

// A budget that has no room for the features: they are made again for each batch.
TYPED_TEST(AdamLosses, DoNotNeedToKeepTheFeatures) {
  FitOptions options = robust("fourier");
  const double kept = this->objective(options, "adam");
  options.execution.memory_budget = 180000;
  EXPECT_NEAR(this->objective(options, "adam"), kept, 1e-3 * kept);
}

// Steps that are better for the rows held out and whose penalty is larger than all the loss are no answer.
TYPED_TEST(AdamLosses, AHugeAlphaLeavesAConstant) {
  FitOptions options = robust("exact");
  options.solver = "adam";
  options.validation_fraction = 0.1;
  options.alpha = 1e100;
  const auto machine = KernelMachine<TypeParam>::fit(this->X, this->Y, options);
  EXPECT_EQ(machine.coefficients().cwiseAbs().maxCoeff(), 0);
}

TYPED_TEST(AdamLosses, OperatorValuedKernelsToo) {
  const Dataset field = vector_field("curl-free", 200, {.noise = 0.1});
  for (const char* approximation : {"fourier", "exact"}) {
    FitOptions options = robust(approximation);
    options.kernel = CurlFree(Gaussian(0.5));
    const auto fit = [&](const char* solver) {
      options.solver = solver;
      return KernelMachine<TypeParam>::fit(field.X.cast<TypeParam>(), field.Y.cast<TypeParam>(), options)
          .record()
          .report.objective;
    };
    const double newton = fit("newton");
    EXPECT_NEAR(fit("adam"), newton, 1e-2 * newton) << approximation;
  }
}

TYPED_TEST(AdamLosses, StopWhenRowsHeldOutHaveNoLessLoss) {
  FitOptions options = robust("fourier");
  options.solver = "adam";
  options.validation_fraction = 0.2;
  options.patience = 5;
  const auto machine = KernelMachine<TypeParam>::fit(this->X, this->Y, options);
  const SolveReport& report = machine.record().report;
  EXPECT_EQ(report.solver, "adam");
  EXPECT_EQ(report.status, SolveStatus::converged);
  EXPECT_EQ(report.message, "");
  EXPECT_LT(report.iterations, 300);
  EXPECT_THAT(report.reason, HasSubstr("adam: asked for; the mean loss of 60 rows held out was least"));
}

TEST(AdamLossesRefuse, PartsOutOfRange) {
  const auto message = [](const auto& change) -> std::string {
    FitOptions options = robust("fourier");
    change(options);
    try {
      options.check();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([](FitOptions& o) { o.solver = "adam"; }), "");
  EXPECT_THAT(message([](FitOptions& o) { o.validation_fraction = 1; }), HasSubstr("validation_fraction must be"));
  EXPECT_THAT(message([](FitOptions& o) { o.validation_fraction = std::nan(""); }), HasSubstr("validation_fraction"));
  EXPECT_THAT(message([](FitOptions& o) { o.patience = 0; }), HasSubstr("patience must be at least 1, found 0"));
  EXPECT_THAT(message([](FitOptions& o) { o.solver = "cg"; }), HasSubstr("'newton', 'lbfgs' or 'adam'"));
}

}  // namespace
}  // namespace carmina
