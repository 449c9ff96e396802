// tests/models/kernel_machine_test.cpp -- whole fits: optimality, weights, scaling, filling, edges, files, errors.
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

template <class T>
class Machine : public ::testing::Test {
 protected:
  Matrix<T> X = random_matrix<T>(80, 3, 1), Y = targets(X);
  static Matrix<T> targets(const Matrix<T>& X) {
    Matrix<T> Y(X.rows(), 2);
    Y.col(0) = X.col(0).array().sin() + 5;
    Y.col(1) = X.col(1).array() * X.col(2).array() - 2;
    return Y;
  }
  static constexpr double tight = (std::is_same_v<T, float>) ? 2e-4 : 1e-9;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Machine, Precisions);

std::vector<FitOptions> all_options() {
  std::vector<FitOptions> all;
  for (const char* approximation : {"fourier", "exact"}) {
    for (const char* solver : {"direct", "cg"}) {
      for (const Index components : {20, 200}) {  // more rows than features, and fewer
        FitOptions options = given_numbers();
        options.approximation = approximation;
        options.solver = solver;
        options.n_components = components;
        options.alpha = 0.3;
        options.tol = 1e-11;
        all.push_back(options);
      }
    }
  }
  return all;
}

TYPED_TEST(Machine, DirectAndCgAgree) {
  using T = TypeParam;
  const auto all = all_options();
  for (std::size_t i = 0; i + 2 < all.size(); i += (i % 4 == 1 ? 3 : 1)) {
    const auto direct = KernelMachine<T>::fit(this->X, this->Y, all[i]);
    const auto cg = KernelMachine<T>::fit(this->X, this->Y, all[i + 2]);
    EXPECT_EQ(direct.record().report.solver, "direct");
    EXPECT_EQ(cg.record().report.solver, "cg");
    EXPECT_LT(max_difference(direct.predict(this->X), cg.predict(this->X)), (std::is_same_v<T, float>) ? 5e-3 : 1e-7);
  }
}

// INTERFACE: a weight means repetition, zero a removed row, in the median width too.
TYPED_TEST(Machine, WeightsAreRepetitions) {
  using T = TypeParam;
  Vector<T> w(80);
  std::vector<Index> repeated;
  for (Index i = 0; i < 80; ++i) {
    w[i] = static_cast<T>(i % 4);
    for (Index k = 0; k < i % 4; ++k) repeated.push_back(i);
  }
  const Matrix<T> Xr = this->X(repeated, Eigen::all), Yr = this->Y(repeated, Eigen::all);
  for (FitOptions options : all_options()) {
    for (const bool scale : {false, true}) {
      options.scale_inputs = scale;
      const auto weighted = KernelMachine<T>::fit(this->X, this->Y, options, w.data());
      const auto plain = KernelMachine<T>::fit(Xr, Yr, options);
      const auto& a = length_scale(weighted.kernel().terms()[0].scalar).values();
      EXPECT_NEAR(a[0], length_scale(plain.kernel().terms()[0].scalar).values()[0], 1e-12);
      EXPECT_LT(max_difference(weighted.predict(this->X), plain.predict(this->X)),
                options.solver == "cg" ? 10 * this->tight * 100 : 10 * this->tight)
          << options.approximation << options.solver << options.components();
    }
  }
}

TYPED_TEST(Machine, ScalingEqualsScaledData) {
  using T = TypeParam;
  Matrix<T> wide = this->X;
  wide.col(1) = wide.col(1).array() * 50 + 700;
  const Eigen::Array<double, 1, Eigen::Dynamic> mean = wide.template cast<double>().colwise().mean();
  const Matrix<double> centred = wide.template cast<double>().rowwise() - mean.matrix();
  const Eigen::Array<double, 1, Eigen::Dynamic> deviation = (centred.colwise().squaredNorm() / 80.0).cwiseSqrt();
  const Matrix<T> scaled = (centred.array().rowwise() / deviation).template cast<T>();
  for (FitOptions options : all_options()) {
    if (options.solver == "cg") continue;
    const auto plain = KernelMachine<T>::fit(scaled, this->Y, options);
    options.scale_inputs = true;
    const auto model = KernelMachine<T>::fit(wide, this->Y, options);
    EXPECT_LT(max_difference(model.predict(wide), plain.predict(scaled)), 20 * this->tight);
  }
}

TYPED_TEST(Machine, MissingInputsTakeTheTrainingMean) {
  using T = TypeParam;
  Matrix<T> holes = this->X, filled = this->X;
  holes(3, 0) = holes(7, 2) = std::numeric_limits<T>::quiet_NaN();
  double mean0 = 0, mean2 = 0;
  for (Index i = 0; i < 80; ++i) {
    if (i != 3) mean0 += double(holes(i, 0)) / 79;
    if (i != 7) mean2 += double(holes(i, 2)) / 79;
  }
  filled(3, 0) = static_cast<T>(mean0);
  filled(7, 2) = static_cast<T>(mean2);
  for (FitOptions options : all_options()) {
    if (options.solver == "cg") continue;
    EXPECT_THROW(KernelMachine<T>::fit(holes, this->Y, options), Error);
    options.scale_inputs = options.fill_missing = true;
    const auto a = KernelMachine<T>::fit(holes, this->Y, options), b = KernelMachine<T>::fit(filled, this->Y, options);
    EXPECT_LT(max_difference(a.predict(holes), b.predict(filled)), 20 * this->tight);
  }
}

TYPED_TEST(Machine, FilesGiveBackTheSameBits) {
  using T = TypeParam;
  const testing::TempDir folder;
  Matrix<T> X = this->X;
  X(5, 1) = std::numeric_limits<T>::quiet_NaN();  // among the anchors of exact machines
  for (FitOptions options : all_options()) {
    options.kernel = Decomposable(Gaussian(std::vector<double>{1.0, 2.0, 0.5}), random_psd(2, 1, 3));
    options.scale_inputs = options.fill_missing = true;
    options.input_names = {"a", "b,\"c", "d"};
    options.target_names = {"u", "v"};
    const auto model = KernelMachine<T>::fit(X, this->Y, options);
    const std::string path = folder.path("model.carmina");
    model.save(path);
    const auto back = std::get<KernelMachine<T>>(load_kernel_machine(path));
    EXPECT_EQ(model.predict(X), back.predict(X));
    EXPECT_EQ(model.kernel(), back.kernel());
    EXPECT_EQ(back.record().input_names, options.input_names);
    EXPECT_EQ(back.record().report.solver, model.record().report.solver);
    EXPECT_EQ(encode_model(model.to_file()), encode_model(back.to_file()));
  }
}

TYPED_TEST(Machine, AreBitEqualOnAnyNumberOfThreads) {
  using T = TypeParam;
  for (FitOptions options : all_options()) {
    options.execution.threads = 1;
    const auto one = KernelMachine<T>::fit(this->X, this->Y, options);
    options.execution.threads = 2;
    const auto two = KernelMachine<T>::fit(this->X, this->Y, options);
    EXPECT_EQ(one.predict(this->X), two.predict(this->X));
    EXPECT_EQ(one.predict(this->X, Execution{.threads = 1}), one.predict(this->X, Execution{.threads = 2}));
  }
}

TYPED_TEST(Machine, EdgeShapes) {
  using T = TypeParam;
  for (FitOptions options : all_options()) {
    const Matrix<T> one = this->X.topRows(1), target = this->Y.topRows(1);
    const auto single = KernelMachine<T>::fit(one, target, options);
    EXPECT_LT(max_difference(single.predict(one), target), 1e-4);  // the intercept alone fits one row
    const Matrix<T> flat = Matrix<T>::Constant(80, 3, T(2)), level = Matrix<T>::Constant(80, 1, T(7));
    options.scale_inputs = true;
    const auto constant = KernelMachine<T>::fit(flat, level, options);
    EXPECT_LT(max_difference(constant.predict(flat), level), 1e-4);
    EXPECT_EQ(constant.predict(Matrix<T>(0, 3)).rows(), 0);
  }
}

TYPED_TEST(Machine, WithoutRidgeInterpolatesWhereItCan) {
  using T = TypeParam;
  FitOptions options = given_numbers();
  options.alpha = 0;
  options.n_components = 400;
  const auto model = KernelMachine<T>::fit(this->X, this->Y, options);
  EXPECT_LT(max_difference(model.predict(this->X), this->Y), (std::is_same_v<T, float>) ? 0.05 : 1e-6);
}

// float targets far from zero: the sums are about their mean.
TYPED_TEST(Machine, KeepsPrecisionForTargetsFarFromZero) {
  using T = TypeParam;
  FitOptions options = given_numbers();
  options.n_components = 40;
  const Matrix<T> far = this->Y.array() + T(4096);
  const auto near_model = KernelMachine<T>::fit(this->X, this->Y, options);
  const auto far_model = KernelMachine<T>::fit(this->X, far, options);
  EXPECT_LT(max_difference(near_model.predict(this->X).array() + T(4096), far_model.predict(this->X).array()), 2e-3);
}

TYPED_TEST(Machine, CovarianceCouplingIsTheCovarianceOfTheTargets) {
  using T = TypeParam;
  FitOptions options = given_numbers();
  options.coupling = TargetCovariance{};
  const auto model = KernelMachine<T>::fit(this->X, this->Y, options);
  const Matrix<double> wide = this->Y.template cast<double>(), centred = wide.rowwise() - wide.colwise().mean();
  EXPECT_LT(max_difference(std::get<OutputMatrix>(model.kernel().terms()[0].coupling).A(),
                           centred.transpose() * centred / 79.0),
            1e-10);
}

TYPED_TEST(Machine, RefusesWhatIsOutOfRange) {
  using T = TypeParam;
  const auto message = [&](auto change, const Matrix<T>& inputs, const Matrix<T>& outs) -> std::string {
    FitOptions options = given_numbers();
    change(options);
    try {
      KernelMachine<T>::fit(inputs, outs, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(contains(message([](auto& o) { o.alpha = -1; }, this->X, this->Y), "alpha"));
  EXPECT_TRUE(contains(message([](auto& o) { o.n_components = 7; }, this->X, this->Y), "n_components"));
  EXPECT_TRUE(contains(message([](auto& o) { o.n_components = 0; }, this->X, this->Y), "n_components"));
  EXPECT_TRUE(contains(message([](auto& o) { o.solver = "magic"; }, this->X, this->Y), "'magic'"));
  EXPECT_TRUE(contains(message([](auto& o) { o.approximation = "magic"; }, this->X, this->Y), "'magic'"));
  EXPECT_TRUE(contains(message([](auto& o) { o.kernel_name = "magic"; }, this->X, this->Y), "gaussian"));
  EXPECT_TRUE(contains(message([](auto&) {}, this->X, Matrix<T>(this->Y.topRows(70))), "70"));
  EXPECT_TRUE(
      contains(message([](auto& o) { o.kernel = Decomposable(Gaussian(1.0), random_psd(3, 3, 1)); }, this->X, this->Y),
               "3 x 3"));
  EXPECT_TRUE(contains(
      message([](auto& o) { o.execution.memory_budget = 1000, o.solver = "direct"; }, this->X, this->Y), "budget"));
  Matrix<T> bad = this->X;
  bad(4, 1) = std::numeric_limits<T>::infinity();
  EXPECT_TRUE(contains(message([](auto&) {}, bad, this->Y), "row 5"));
  Matrix<T> bad_targets = this->Y;
  bad_targets(9, 1) = std::numeric_limits<T>::infinity();
  EXPECT_TRUE(contains(message([](auto&) {}, this->X, bad_targets), "row 10"));
}

TYPED_TEST(Machine, StopsWhenAsked) {
  using T = TypeParam;
  for (FitOptions options : all_options()) {
    int asked = 0;
    options.execution.should_stop = [&] { return ++asked > 2; };
    EXPECT_THROW(KernelMachine<T>::fit(this->X, this->Y, options), Cancelled);
  }
}

TYPED_TEST(Machine, EvaluationEqualsItsDefinition) {
  using T = TypeParam;
  const auto model = KernelMachine<T>::fit(this->X, this->Y, given_numbers());
  const Matrix<T> fresh = random_matrix<T>(33, 3, 9), truth = this->targets(fresh);
  MemoryRows<T> rows(fresh, truth);
  const Evaluation result = evaluate_machine(model, rows);
  const Matrix<double> error = model.predict(fresh).template cast<double>() - truth.template cast<double>();
  const Matrix<double> base =
      truth.template cast<double>().rowwise() - this->Y.template cast<double>().colwise().mean();
  EXPECT_NEAR(result.targets[1].rmse, std::sqrt(error.col(1).squaredNorm() / 33), 1e-6);
  EXPECT_NEAR(result.targets[1].rrmse, std::sqrt(error.col(1).squaredNorm() / base.col(1).squaredNorm()), 1e-6);
  EXPECT_NEAR(result.average.loss, error.squaredNorm() / 66, 1e-6);
  EXPECT_EQ(result.rows, 33);
}

}  // namespace
}  // namespace carmina
