// Learning in parts equals one fit to all rows, for every coupling, weights, scaling and origin.
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "models/machine/machine_map.hpp"

#include <gtest/gtest.h>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using carmina::testing::max_difference;
using carmina::testing::random_matrix;

template <class T>
class Incremental : public ::testing::Test {
 protected:
  static constexpr double tolerance = std::is_same_v<T, float> ? 2e-3 : 1e-8;
  Matrix<T> X = random_matrix<T>(300, 2, 1);
  Matrix<T> Y = random_matrix<T>(300, 2, 2).array() + T(3);
  Vector<T> w = random_matrix<T>(300, 1, 3).col(0).cwiseAbs();

  FitOptions options(const Kernel& kernel, bool intercept) const {
    FitOptions o = given_numbers();
    o.kernel = kernel;
    o.n_components = 40;
    o.alpha = 0.3;
    o.fit_intercept = intercept;
    o.solver = "direct";
    o.keep_moments = true;
    return o;
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Incremental, Precisions);

TYPED_TEST(Incremental, PartsEqualTheWhole) {
  using T = TypeParam;
  const Matrix<double> A{{2.0, 0.5}, {0.5, 1.0}};
  for (const Kernel& kernel :
       {Kernel(Gaussian(1.0)), Kernel(Decomposable(Gaussian(0.7), A)), Kernel(CurlFree(Gaussian(1.0))),
        Kernel(Gaussian(1.0)) + Kernel(CurlFree(Gaussian(2.0)))}) {
    for (const bool intercept : {true, false}) {
      const FitOptions options = this->options(kernel, intercept);
      const auto whole = KernelMachine<T>::fit(this->X, this->Y, options, this->w.data());
      const auto part = [&](Index first, Index count) {
        return KernelMachine<T>::fit(this->X.middleRows(first, count), this->Y.middleRows(first, count), options,
                                     this->w.data() + first);
      };
      // 10 rows: fewer than features.
      const auto first = part(0, 10), second = part(10, 290);
      const auto both = merge(first, second), turned = merge(second, first);
      MemoryRows<T> rest(this->X.middleRows(10, 290), this->Y.middleRows(10, 290), this->w.data() + 10);
      const auto further = fit_further(first, rest);
      for (const auto* machine : {&both, &turned, &further}) {
        EXPECT_LE(max_difference(machine->predict(this->X), whole.predict(this->X)), this->tolerance);
        EXPECT_EQ(machine->record().rows, whole.record().rows);
        EXPECT_LE(max_difference(machine->record().target_mean, whole.record().target_mean), 1e-5);
      }
      // And on: what was merged holds sums too.
      EXPECT_EQ(merge(both, second).record().rows, 590);
    }
  }
}

TYPED_TEST(Incremental, ScalingStaysAsItWas) {
  using T = TypeParam;
  FitOptions options = this->options(Gaussian(1.0), true);
  options.scale_inputs = true;
  const auto first = KernelMachine<T>::fit(this->X.topRows(100), this->Y.topRows(100), options);
  MemoryRows<T> rest(this->X.bottomRows(200), this->Y.bottomRows(200));
  const auto further = fit_further(first, rest);
  EXPECT_EQ(std::get<FourierMap<T>>(further.map()).transform().shift,
            std::get<FourierMap<T>>(first.map()).transform().shift);
  EXPECT_THROW(merge(first, KernelMachine<T>::fit(this->X, this->Y, options)), Error);
}

TYPED_TEST(Incremental, RefusesWhatDoesNotFit) {
  using T = TypeParam;
  const FitOptions options = this->options(Gaussian(1.0), true);
  const auto machine = KernelMachine<T>::fit(this->X, this->Y, options);
  const auto refused = [&](auto change) {
    FitOptions other = options;
    change(other);
    EXPECT_THROW(merge(machine, KernelMachine<T>::fit(this->X, this->Y, other)), Error);
  };
  refused([](FitOptions& o) { o.kernel = Kernel(Gaussian(2.0)); });
  refused([](FitOptions& o) { o.seed = 1; });
  refused([](FitOptions& o) { o.n_components = 42; });
  refused([](FitOptions& o) { o.alpha = 1; });
  refused([](FitOptions& o) { o.fit_intercept = false; });
  refused([](FitOptions& o) { o.keep_moments = false; });
  refused([](FitOptions& o) { o.approximation = "exact"; });
  refused([](FitOptions& o) { o.solver = "auto", o.loss = Huber(1.0); });
  MemoryRows<T> narrow(this->X.leftCols(1), this->Y);
  EXPECT_THROW(fit_further(machine, narrow), Error);
  Matrix<T> holes = this->X;
  holes(3, 0) = std::numeric_limits<T>::quiet_NaN();
  MemoryRows<T> with_holes(holes, this->Y);
  EXPECT_THROW(fit_further(machine, with_holes), Error);
}

}  // namespace
}  // namespace carmina
