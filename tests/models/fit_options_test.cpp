// tests/models/fit_options_test.cpp -- what options say of a fit before it runs, against fits and the check of options.
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/given_numbers.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_matrix;

FitOptions few_components(const std::string& approximation) {
  FitOptions options = given_numbers();
  options.approximation = approximation;
  options.n_components = 8;
  return options;
}

TEST(FitOptions, KeepTheirSumsWhereAFitKnowsItsDeviations) {
  const Matrix<double> X = random_matrix(40, 2, 1), Y = random_matrix(40, 1, 2);
  Index known = 0, refused = 0;
  for (const char* approximation : {"fourier", "exact", "sub_sample", "sparse_rademacher"}) {
    for (const std::string& solver : solver_names(Squared{})) {
      FitOptions options = few_components(approximation);
      options.solver = solver;
      options.keep_moments = true;
      if (!message_of([&] { options.check(); }).empty()) continue;
      SCOPED_TRACE(std::string(approximation) + ", " + solver);
      const std::string reason = why_no_deviation(KernelMachine<double>::fit(X, Y, options).record());
      const std::string message = message_of([&] { static_cast<void>(options.with_moments("here")); });
      // Exact machines of cg hold what deviations need but the noise.
      EXPECT_EQ(message.empty(), reason.empty()) << message << reason;
      (reason.empty() ? known : refused) += 1;
      if (!message.empty()) {
        EXPECT_THAT(message, HasSubstr("here: "));
        continue;
      }
      options.keep_moments = false;
      const FitOptions kept = options.with_moments("here");
      const FitRecord record = KernelMachine<double>::fit(X, Y, kept).record();
      EXPECT_EQ(why_no_deviation(record), "");
      EXPECT_TRUE(record.factored());
      EXPECT_EQ(record.moments != nullptr, !record.exact());
    }
  }
  EXPECT_EQ(known, 6);  // auto and direct, three approximations
  EXPECT_GE(refused, 7);
}

TEST(FitOptions, SumsAreForTheSquaredLossAlone) {
  FitOptions options = few_components("fourier");
  options.loss = Logistic{};
  EXPECT_THAT(message_of([&] { static_cast<void>(options.with_moments("here")); }),
              HasSubstr("here: it is for the squared loss, found loss 'logistic'"));
  EXPECT_FALSE(options.learns_in_parts());
}

TEST(FitOptions, SolversOfALossAreThoseThatItsCheckTakes) {
  for (const std::string& name : loss_names()) {
    const Loss loss = make_loss(name);
    const std::vector<std::string> offered = solver_names(loss);
    for (const std::string& solver : solver_names()) {
      SCOPED_TRACE(name + ", " + solver);
      FitOptions options = few_components("fourier");
      options.loss = loss;
      options.solver = solver;
      const bool listed = std::find(offered.begin(), offered.end(), solver) != offered.end();
      EXPECT_EQ(message_of([&] { options.check(); }).empty(), listed);
    }
  }
}

TEST(FitOptions, FourierFeaturesTakeThePlaceOfAnotherApproximation) {
  FitOptions sketch = few_components("fourier");
  sketch.sketch = sketches::SubSample(5);
  EXPECT_FALSE(sketch.fourier());
  EXPECT_FALSE(sketch.exact());
  EXPECT_FALSE(sketch.learns_in_parts());
  for (const FitOptions& other : {sketch, few_components("sub_sample"), few_components("exact")}) {
    const FitOptions features = other.with_fourier_features();
    EXPECT_TRUE(features.fourier());
    EXPECT_TRUE(features.learns_in_parts());
    EXPECT_EQ(features.components(), usual_components);
  }
  EXPECT_EQ(few_components("fourier").with_fourier_features().components(), 8);
  EXPECT_TRUE(few_components("exact").exact());
}

TEST(FitOptions, WithoutChoicesHaveNoOpenWord) {
  FitOptions open;
  EXPECT_TRUE(open.fourier());           // where nothing chooses
  EXPECT_FALSE(open.learns_in_parts());  // the data may choose otherwise
  const FitOptions fixed = open.without_choices();
  EXPECT_EQ(fixed.kernel_name, "gaussian");
  EXPECT_EQ(fixed.approximation, "fourier");
  EXPECT_EQ(fixed.n_components, usual_components);
  EXPECT_EQ(few_components("exact").without_choices().approximation, "exact");
  open.sketch = sketches::SubSample(5);
  EXPECT_EQ(open.without_choices().approximation, "sub_sample");
}

}  // namespace
}  // namespace carmina
