// tests/models/wrapped_inputs_test.cpp -- models of inputs that wrap round: beside columns by hand, from files,
// derived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/models/model_inputs.hpp>
#include <carmina/models/predictor.hpp>

#include <support/given_numbers.hpp>
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::wrapped_inputs_test {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;

struct Fitted {
  std::shared_ptr<const InputEncoder> encoder = wrapping_encoder(3, {{0, 3.0}, {2, 7.0}});
  Matrix<double> X = 4 * random_matrix(40, 3, 1), Y = random_matrix(40, 2, 2);

  template <Real T>
  KernelMachine<T> machine(const FitOptions& options) const {
    const Matrix<T> Xt = X.cast<T>(), Yt = Y.cast<T>();
    MemoryRows<T> rows(Xt, Yt);
    EncodedRows<T> encoded(rows, encoder);
    return KernelMachine<T>::fit(encoded, options);
  }
};

FitOptions options_for(const char* approximation) {
  FitOptions options = given_numbers();
  options.kernel = Gaussian(1.5);
  options.approximation = approximation;
  options.alpha = 0.2;
  options.n_components = 30;
  options.solver = "direct";
  options.scale_inputs = InputScaling::standard;
  options.wrapped_inputs = {0, 3};
  return options;
}

template <Real T>
void expect_equal_rows(const char* approximation) {
  const Fitted fitted;
  FitOptions options = options_for(approximation);
  options.keep_moments = std::string(approximation) != "exact";
  ModelFile file = fitted.machine<T>(options).to_file(KernelStorage::in_file, true);
  put_encoder(file, *fitted.encoder);
  const Predictor model = Predictor::from_file(file, "m");
  EXPECT_EQ(model.dim_in(), 5);
  EXPECT_EQ(model.row_length(), 3);
  const Matrix<T> X = (10 * random_matrix(7, 3, 3)).array().round().cast<T>(), E = fitted.encoder->encode<T>(X);
  Matrix<T> moved = X;
  moved.col(0).array() += 9, moved.col(2).array() -= 14;
  EXPECT_EQ(model.predict(moved), model.predict(X));
  EXPECT_EQ(model.predict(X), model.predict(E));
  EXPECT_EQ(model.predict_std(moved), model.predict_std(E));
  EXPECT_EQ(model.predict_interval(moved, 0.9), model.predict_interval(E, 0.9));
  EXPECT_EQ(model.sample(moved, 2, 1)[1], model.sample(E, 2, 1)[1]);
  EXPECT_THAT(message_of([&] { model.predict(Matrix<T>(random_matrix<T>(2, 4, 1))); }), HasSubstr("X has 4 columns"));
}

TEST(WrappedInputs, ArePredictedFromRowsAsTheyAreGiven) {
  for (const char* approximation : {"exact", "fourier", "sub_sample"}) {
    expect_equal_rows<double>(approximation);
    expect_equal_rows<float>(approximation);
  }
}

TEST(WrappedInputs, HaveDerivativesByTheColumnsOfTheTable) {
  const Fitted fitted;
  const Predictor model(fitted.machine<double>(options_for("exact")), fitted.encoder);
  const Matrix<double> X = 4 * random_matrix(6, 3, 5);
  const Matrix<double> found = model.derive(Derived::gradient, X);
  ASSERT_EQ(found.cols(), 6);
  for (Index l = 0; l < 3; ++l) {
    Matrix<double> up = X, down = X;
    up.col(l).array() += 1e-5, down.col(l).array() -= 1e-5;
    const Matrix<double> slope = (model.predict(up) - model.predict(down)) / 2e-5;
    for (Index a = 0; a < 2; ++a) {
      EXPECT_LT((found.col(3 * a + l) - slope.col(a)).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
  EXPECT_THAT(message_of([&] { model.derived_std(Derived::gradient, X); }), HasSubstr("deviations are not known"));
  EXPECT_THAT(message_of([&] { model.derive(Derived::divergence, X); }), HasSubstr("no coordinates of a field"));
}

// Deviations of cosine and sine differ on an arc, their factors must not.
TEST(WrappedInputs, AreScaledByOneFactor) {
  Matrix<double> X = random_matrix(50, 1, 1).array() * 2 + 30, Y = random_matrix(50, 1, 2);
  MemoryRows<double> rows(X, Y);
  EncodedRows<double> encoded(rows, wrapping_encoder(1, {{0, 360}}));
  FitOptions options = options_for("exact");
  options.kernel = Gaussian(1.0);
  for (const InputScaling scaling : {InputScaling(InputScaling::standard), InputScaling(InputScaling::robust)}) {
    options.scale_inputs = scaling;
    options.wrapped_inputs = {0};
    const auto joined = KernelMachine<double>::fit(encoded, options);
    const Vector<double> factor = std::visit([](const auto& map) { return map.transform().factor; }, joined.map());
    EXPECT_EQ(factor[0], factor[1]);
    EXPECT_NEAR(1 / factor[0], std::sqrt((X.array() - X.mean()).square().mean()), 0.6);
    options.wrapped_inputs = {};
    const auto apart = KernelMachine<double>::fit(encoded, options);
    const Vector<double> two = std::visit([](const auto& map) { return map.transform().factor; }, apart.map());
    EXPECT_GT(std::abs(two[0] / two[1] - 1), 0.1);
  }
}

TEST(WrappedInputs, AreNoCoordinatesOfAField) {
  const Fitted fitted;
  FitOptions options = options_for("exact");
  options.kernel = CurlFree(Gaussian(1.0)).on(std::vector<Index>{2, 4});
  EXPECT_THAT(message_of([&] { fitted.machine<double>(options); }), HasSubstr("input 3 wraps round"));
}

}  // namespace
}  // namespace carmina::wrapped_inputs_test
