// tests/models/probabilities_test.cpp -- probabilities of classes: logistic machines of every approximation, calibrated
// scores, files, predictors, evaluations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/predictor.hpp>
#include "losses/row_functions.hpp"

#include <cmath>

#include "support/loss_targets.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <class T>
struct ClassData {
  Matrix<T> X = random_matrix<T>(150, 2, 1), Y;
  explicit ClassData(Index p) {
    const Matrix<T> noise = random_matrix<T>(150, p, 2);
    Matrix<T> scores(150, p);
    for (Index j = 0; j < p; ++j) {
      scores.col(j) = (T(1.5) * X.col(j % 2)).array().sin() * T(j + 1) + T(0.3) * noise.col(j).array();
    }
    Y = targets_for(Logistic{}, scores);
  }
};

FitOptions options_of(const std::string& approximation, const Loss& loss = Logistic{}) {
  FitOptions options;
  options.kernel = Kernel(Gaussian(1.0));
  options.approximation = approximation;
  options.n_components = 40;
  options.loss = loss;
  options.alpha = 0.5;
  options.tol = 1e-7;
  return options;
}

template <class T>
class PredictorProbabilities : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PredictorProbabilities, Precisions);

TYPED_TEST(PredictorProbabilities, AreASoftmaxOfTheScores) {
  using T = TypeParam;
  for (const std::string approximation : {"fourier", "exact", "sub_sample"}) {
    for (const Index p : {1, 3}) {
      const ClassData<T> data(p);
      const auto machine = KernelMachine<T>::fit(data.X, data.Y, options_of(approximation));
      EXPECT_EQ(machine.record().report.status, SolveStatus::converged) << machine.record().report.message;
      const Matrix<double> F = machine.predict(data.X).template cast<double>();
      const Matrix<T> P = machine.probabilities(data.X);
      ASSERT_EQ(P.cols(), p == 1 ? 2 : p);
      double loss = 0;
      Index right = 0;
      for (Index i = 0; i < 150; ++i) {
        EXPECT_NEAR(P.row(i).sum(), 1, 1e-6);
        Matrix<double> s = p == 1 ? Matrix<double>{{1, std::exp(F(i, 0))}} : Matrix<double>(F.row(i).array().exp());
        s /= s.sum();
        EXPECT_LT(max_difference(s, P.row(i).template cast<double>()), tolerance<T>);
        Index own = data.Y(i, 0) > 0 ? 1 : 0, likeliest = 0;
        if (p > 1) data.Y.row(i).maxCoeff(&own);
        s.row(0).maxCoeff(&likeliest);
        loss -= std::log(s(0, own)) / 150;
        right += own == likeliest;
      }
      MemoryRows<T> rows(data.X, data.Y);
      const Evaluation result = evaluate_machine(machine, rows);
      ASSERT_TRUE(result.log_loss && result.accuracy);
      EXPECT_NEAR(*result.log_loss, loss, 10 * tolerance<T>);
      EXPECT_NEAR(result.average.loss, loss, 10 * tolerance<T>);
      EXPECT_DOUBLE_EQ(*result.accuracy, double(right) / 150);
      EXPECT_GT(*result.accuracy, 0.85);
      EXPECT_LT(result.average.rmse, p == 1 ? 1.0 : 0.5);
    }
  }
}

TYPED_TEST(PredictorProbabilities, OfCalibratedScores) {
  using T = TypeParam;
  const ClassData<T> data(3);
  const auto plain = KernelMachine<T>::fit(data.X, data.Y, options_of("exact", Squared{}));
  EXPECT_THAT([&] { plain.probabilities(data.X); },
              ThrowsMessage<Error>("probabilities: probabilities are known for the logistic loss and for calibrated "
                                   "scores, the model has loss 'squared'"));
  const auto machine = plain.calibrated(Calibration{1.5, 0.7, 0.01});
  const Matrix<T> F = machine.predict(data.X), P = machine.probabilities(data.X);
  for (Index i = 0; i < 150; ++i) {
    Vector<double> expected(3);
    for (Index j = 0; j < 3; ++j) {
      expected[j] = std::exp(1.5 * double(F(i, j))) * std::pow(std::max(double(F(i, j)), 0.01), 0.7);
    }
    expected /= expected.sum();
    EXPECT_LT(max_difference(expected.transpose(), P.row(i).template cast<double>()), tolerance<T>);
  }
  const TempDir folder;
  machine.save(folder.path("model"));
  const Predictor predictor = Predictor::load(folder.path("model"));
  EXPECT_EQ(predictor.record().calibration, machine.record().calibration);
  EXPECT_EQ(predictor.why_no_probabilities(), "");
  EXPECT_EQ(predictor.predict_probabilities(ConstView<T>(data.X)), P);
  EXPECT_EQ(predictor.class_names(), (std::vector<std::string>{"y1", "y2", "y3"}));
  for (const Calibration& bad :
       {Calibration{0, 0, 1}, Calibration{1, -1, 1}, Calibration{1, 1, 0}, Calibration{std::nan(""), 0, 1}}) {
    EXPECT_THROW(plain.calibrated(bad), Error);
  }
}

TEST(PredictorProbabilities, OfAPredictorThatHasNone) {
  const ClassData<double> data(3);
  const Predictor predictor(AnyKernelMachine(KernelMachine<double>::fit(data.X, data.Y, options_of("exact", Huber{}))));
  EXPECT_THAT(predictor.why_no_probabilities(), HasSubstr("'huber'"));
  EXPECT_THROW(predictor.predict_probabilities(ConstView<double>(data.X)), Error);
}

TEST(PredictorProbabilities, AnOutputIsNamedByItsTwoClasses) {
  const ClassData<double> data(1);
  FitOptions options = options_of("fourier");
  options.target_names = {"rain"};
  const Predictor predictor(AnyKernelMachine(KernelMachine<double>::fit(data.X, data.Y, options)));
  EXPECT_EQ(predictor.class_names(), (std::vector<std::string>{"rain=-1", "rain=1"}));
}

}  // namespace
}  // namespace carmina::testing
