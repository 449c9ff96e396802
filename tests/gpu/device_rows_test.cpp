// tests/gpu/device_rows_test.cpp -- the door on a device beside the door on the CPU and dense products in double.
#include "features/device_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/row_sources.hpp"

namespace carmina::device_rows_test {

using testing::Backend;
using testing::message_of;
using testing::random_matrix;

class DeviceRows : public testing::OnDevices {};
CARMINA_ON_DEVICES(DeviceRows);

// docs/gpu.md: features to 1e-5 (float) or 1e-9 (double) of D^(-1/2).
template <class T>
constexpr double feature_bound = std::is_same_v<T, float> ? 1e-5 : 1e-9;

template <Real T>
struct Problem {
  Index n, d, p, units;
  Matrix<T> X, Y;
  Vector<T> w;
  FourierMap<T> map;

  Problem(Index n, Index d, Index p, Index units, bool scaled = false, double width = 1.3)
      : n(n),
        d(d),
        p(p),
        units(units),
        X(random_matrix<T>(n, d, 1)),
        Y(random_matrix<T>(n, p, 2)),
        w(random_matrix<T>(n, 1, 3).cwiseAbs()),
        map(Gaussian(width * std::sqrt(static_cast<double>(d))), d, 2 * units, 7, transform(scaled, d)) {
    for (Index i = 0; i < n; i += 3) w[i] = 1;
  }
  static InputTransform transform(bool scaled, Index d) {
    if (!scaled) return {};
    return {random_matrix<double>(d, 1, 5).col(0), random_matrix<double>(d, 1, 6).col(0).array() * 0.2 + 1, {}, 3.0};
  }
  // phi in double, of inputs and frequencies as they are.
  Matrix<double> features() const {
    Matrix<T> inputs = X;
    if (!map.transform().identity()) map.transform().apply(X.data(), d, n, d, inputs.data());
    const Matrix<double> phase = inputs.template cast<double>() * map.unit_frequencies().transpose();
    Matrix<double> phi(n, 2 * units);
    phi << phase.array().cos(), phase.array().sin();
    return phi / std::sqrt(static_cast<double>(units));
  }
};

template <Real T>
struct Answers {
  Matrix<double> cross, feature_sums, adjoint, normal, normal_of_one, forward;
  std::string on_device;
};

template <Real T>
Answers<T> ask(const Problem<T>& of, const Execution& execution, Index parts = 1, Index at_once = 1 << 16) {
  const testing::Parts<T> divided(of.X, of.Y, of.w.data(), parts);
  DataRows<T> rows(divided.sources);
  rows.read_at_once(at_once);
  const auto door = rows_of(of.map, rows, FeatureStorage::none, execution);
  Answers<T> out;
  const RowSums sums = door->sums(Vector<double>::Constant(of.p, 0.3));
  out.cross = sums.cross, out.feature_sums = sums.feature_sums;
  door->adjoint(random_matrix(of.n, 3, 11), out.adjoint);
  door->normal(random_matrix(2 * of.units, 7, 12), out.normal);
  door->normal(random_matrix(2 * of.units, 1, 14), out.normal_of_one);
  door->forward(random_matrix(2 * of.units, 5, 13), out.forward);
  out.on_device = door->on_device();
  return out;
}

// Every entry of a sum of features times R is within the bound of features times sum |R|, and rounding of the sum.
template <Real T>
void expect_sums(const Matrix<double>& found, const Matrix<double>& phi, const Matrix<double>& R, double more,
                 const char* what) {
  const double of_feature = feature_bound<T> / std::sqrt(static_cast<double>(phi.cols() / 2));
  const Matrix<double> expected = phi.transpose() * R;
  for (Index c = 0; c < R.cols(); ++c) {
    const double allowed = of_feature * R.col(c).cwiseAbs().sum() + more;
    EXPECT_LT((found.col(c) - expected.col(c)).cwiseAbs().maxCoeff(), allowed) << what << ", column " << c;
  }
}

template <Real T>
void expect_dense(const Problem<T>& of, const Answers<T>& found) {
  const Matrix<double> phi = of.features();
  const Vector<double> w = of.w.template cast<double>();
  const Matrix<double> residual = w.asDiagonal() * (of.Y.template cast<double>().array() - 0.3).matrix();
  expect_sums<T>(found.cross, phi, residual, 1e-12, "cross");
  expect_sums<T>(found.feature_sums, phi, w, 1e-12, "sums of features");
  expect_sums<T>(found.adjoint, phi, random_matrix(of.n, 3, 11), 1e-12, "adjoint");
  const Matrix<double> C = random_matrix(2 * of.units, 5, 13), P = random_matrix(2 * of.units, 7, 12);
  const double of_feature = feature_bound<T> / std::sqrt(static_cast<double>(of.units));
  const Matrix<double> products = phi * C, middle = w.asDiagonal() * (phi * P);
  for (Index c = 0; c < C.cols(); ++c) {
    EXPECT_LT((found.forward.col(c) - products.col(c)).cwiseAbs().maxCoeff(), of_feature * C.col(c).cwiseAbs().sum());
  }
  // The error of the first product goes through the second, in which features are at most D^(-1/2).
  const double through = w.sum() * of_feature * P.cwiseAbs().colwise().sum().maxCoeff() / std::sqrt(of.units);
  expect_sums<T>(found.normal, phi, middle, through, "normal");
  const Matrix<double> one = random_matrix(2 * of.units, 1, 14), middle_of_one = w.asDiagonal() * (phi * one);
  const double through_one = w.sum() * of_feature * one.cwiseAbs().sum() / std::sqrt(of.units);
  expect_sums<T>(found.normal_of_one, phi, middle_of_one, through_one, "normal of one");
}

template <Real T>
void expect_dense_of_shapes(const Execution& execution) {
  for (const auto& [n, d, p, units] : std::vector<std::array<Index, 4>>{{1, 1, 1, 1},
                                                                        {7, 3, 1, 5},
                                                                        {1024, 9, 2, 64},
                                                                        {1025, 10, 1, 130},
                                                                        {2050, 11, 3, 257},
                                                                        {3000, 28, 1, 300},
                                                                        {1500, 33, 5, 40},
                                                                        {700, 90, 1, 70}}) {
    SCOPED_TRACE(format_text("n {}, d {}, p {}, {} units", n, d, p, units));
    const Problem<T> problem(n, d, p, units, n % 2 == 0);
    expect_dense(problem, ask(problem, execution));
  }
}
TEST_P(DeviceRows, AreDenseProductsInFloat) { expect_dense_of_shapes<float>(execution()); }
TEST_P(DeviceRows, AreDenseProductsInDouble) { expect_dense_of_shapes<double>(execution()); }

template <Real T>
void expect_same_bits(const Problem<T>& of, const Answers<T>& a, const Execution& execution, Index parts,
                      Index at_once) {
  const Answers<T> b = ask(of, execution, parts, at_once);
  EXPECT_EQ(a.cross, b.cross);
  EXPECT_EQ(a.feature_sums, b.feature_sums);
  EXPECT_EQ(a.adjoint, b.adjoint);
  EXPECT_EQ(a.normal, b.normal);
  EXPECT_EQ(a.normal_of_one, b.normal_of_one);
  EXPECT_EQ(a.forward, b.forward);
}

// No bit depends on blocks, parts, threads, on where the rows are, or on when it is asked.
template <Real T>
void expect_order(const Execution& execution) {
  const Problem<T> problem(20000, 6, 2, 100, true);
  const Execution streamed =
      testing::OnDevices::in_least_memory(execution, [&](const Execution& little) { ask(problem, little); });
  const Answers<T> once = ask(problem, execution);
  EXPECT_NE(once.on_device.find("kept there"), std::string::npos) << once.on_device;
  for (const Index parts : {1, 3}) {
    for (const Index at_once : {128, 4000}) expect_same_bits(problem, once, execution, parts, at_once);
  }
  Execution serial = execution;
  serial.threads = 1;
  expect_same_bits(problem, once, serial, 1, 1 << 16);
  expect_same_bits(problem, once, streamed, 2, 3000);
  EXPECT_NE(ask(problem, streamed).on_device.find("in blocks"), std::string::npos);
}
TEST_P(DeviceRows, SumInOneOrder) {
  expect_order<float>(execution());
  expect_order<double>(execution());
}

// Inputs of many turns, which halves cannot hold, and frequencies that float phases cannot: phases in double.
TEST_P(DeviceRows, HugePhasesAreMadeInDouble) {
  Problem<float> far(3000, 3, 1, 50);
  far.X.array() += 20000;
  expect_dense(far, ask(far, execution()));
  const Problem<float> narrow(3000, 3, 1, 50, false, 1e-3);
  ASSERT_GT(narrow.map.frequencies().cwiseAbs().maxCoeff(), 256);
  expect_dense(narrow, ask(narrow, execution()));
}

// Targets that are missing have no part in the sums of their output.
TEST_P(DeviceRows, MissingTargetsAreLeftOut) {
  Problem<double> problem(3000, 4, 3, 40);
  for (Index i = 0; i < problem.n; ++i) {
    for (Index j = 0; j < 3; ++j) {
      if ((i * 7 + j * 3) % 5 == 0) problem.Y(i, j) = std::numeric_limits<double>::quiet_NaN();
    }
  }
  MemoryRows<double> memory(problem.X, problem.Y, problem.w.data());
  const DataRows<double> rows(memory);
  (void)rows.rows();
  rows.ignore_rows_without_target(true);
  rows.take_missing_targets(true);
  const auto here = rows_of(problem.map, rows, FeatureStorage::none, on_cpu());
  const auto there = rows_of(problem.map, rows, FeatureStorage::none, execution());
  const Vector<double> origin = Vector<double>::Constant(3, 0.1);
  const RowSums a = here->sums(origin), b = there->sums(origin);
  EXPECT_LT(testing::max_difference(a.cross, b.cross), 1e-9 * a.cross.norm());
  EXPECT_LT(testing::max_difference(a.own_feature_sums, b.own_feature_sums), 1e-9 * a.own_feature_sums.norm());
  EXPECT_LT(testing::max_difference(a.own_weight, b.own_weight), 1e-9 * a.own_weight.norm());
  EXPECT_LT(testing::max_difference(a.target_sums, b.target_sums), 1e-9 * a.own_weight.norm());
  Matrix<double> in, out;
  here->normal(random_matrix(80, 3, 4), in);
  there->normal(random_matrix(80, 3, 4), out);
  EXPECT_LT(testing::max_difference(in, out), 1e-9 * in.norm());
}

// Gram matrices to the bound of features: with weights of their own, zeros among them.
template <Real T>
void expect_dense_gram(const Execution& execution, double shift = 0) {
  for (const auto& [n, units] : {std::pair<Index, Index>{3, 1}, {1500, 40}, {5000, 150}}) {
    Problem<T> problem(n, 5, 2, units, true);
    problem.X.array() += static_cast<T>(shift);
    const Matrix<double> phi = problem.features();
    Matrix<double> z(n, 2 * units + 1);
    z << phi, Vector<double>::Ones(n);
    Vector<double> u = 1e-3 * random_matrix(n, 1, 21).col(0).cwiseAbs();
    for (Index i = 0; i < n; i += 4) u[i] = 0;
    for (const bool streamed : {false, true}) {
      const auto ask_gram = [&](const Execution& where) {
        MemoryRows<T> memory(problem.X, problem.Y, problem.w.data());
        const DataRows<T> rows(memory);
        const auto door = rows_of(problem.map, rows, FeatureStorage::none, where);
        Matrix<double> H;
        door->gram(u, H);
        Moments moments(2 * units, Vector<double>::Constant(2, 0.3));
        door->moments(moments);
        EXPECT_THAT(door->on_device(), ::testing::HasSubstr(streamed ? "in blocks" : "kept there"));
        return std::pair{H, moments};
      };
      const Execution where = streamed ? testing::OnDevices::in_least_memory(
                                             execution, [&](const Execution& little) { ask(problem, little); })
                                       : execution;
      if (streamed && n < 2000) continue;  // one block holds them
      const std::pair<Matrix<double>, Moments> found = ask_gram(where);
      const Matrix<double>& H = found.first;
      const Moments& moments = found.second;
      const double bound = 2 * feature_bound<T> / static_cast<double>(units);
      const Matrix<double> dense = z.transpose() * u.asDiagonal() * z;
      EXPECT_LT(testing::max_difference(Matrix<double>(H.triangularView<Eigen::Lower>()),
                                        Matrix<double>(dense.triangularView<Eigen::Lower>())),
                2 * std::sqrt(units) * bound * u.sum());
      Matrix<double> all(n, 2 * units + 3);
      all << phi, (problem.Y.template cast<double>().array() - 0.3).matrix(), Vector<double>::Ones(n);
      const Matrix<double> sums = all.transpose() * problem.w.template cast<double>().asDiagonal() * all;
      const double largest = static_cast<double>(problem.Y.cwiseAbs().maxCoeff()) + 1;
      EXPECT_LT(testing::max_difference(Matrix<double>(moments.sums.triangularView<Eigen::Lower>()),
                                        Matrix<double>(sums.triangularView<Eigen::Lower>())),
                2 * std::sqrt(units) * bound * largest * problem.w.template cast<double>().sum());
      EXPECT_EQ(moments.rows, n);
      // Run to run, every bit.
      const std::pair<Matrix<double>, Moments> again = ask_gram(where);
      EXPECT_EQ(H, again.first);
      EXPECT_EQ(moments.sums, again.second.sums);
    }
  }
}
TEST_P(DeviceRows, GramMatricesAreDense) {
  expect_dense_gram<float>(execution());
  expect_dense_gram<double>(execution());
}
TEST_P(DeviceRows, GramMatricesOfHugePhasesAreDense) { expect_dense_gram<float>(execution(), 20000); }

// The factor of a matrix; none of one that is not positive definite. What is above the diagonal stays.
TEST_P(DeviceRows, FactorsAreTheCpus) {
  const Index n = 2111;
  const Matrix<double> B = random_matrix(n, 20, 1), v = random_matrix(n, 3, 2);
  Matrix<double> A = B * B.transpose();
  A.diagonal().array() += 10;
  Matrix<double> L = A;
  L.triangularView<Eigen::StrictlyUpper>().setConstant(7);
  const std::optional<bool> positive = backend::factor_on_device(n, L.data(), n, execution());
  ASSERT_TRUE(positive && *positive);
  EXPECT_EQ(L(3, 5), 7);
  const Matrix<double> expected = A * v, found = L.triangularView<Eigen::Lower>() *
                                                 (L.triangularView<Eigen::Lower>().transpose() * v).eval();
  EXPECT_LT((found - expected).cwiseAbs().maxCoeff(), 1e-12 * expected.cwiseAbs().maxCoeff());
  A(n - 5, n - 5) = -1;
  EXPECT_EQ(backend::factor_on_device(n, A.data(), n, execution()), std::optional<bool>(false));
  EXPECT_EQ(backend::factor_on_device(n, A.data(), n, on_cpu()), std::nullopt);
  EXPECT_EQ(backend::factor_on_device(100, A.data(), n, execution()), std::nullopt);
}

// What a device does not compute, the CPU does behind the same door.
TEST_P(DeviceRows, OtherSumsAreTheCpus) {
  const Problem<double> problem(500, 4, 1, 20);
  MemoryRows<double> memory(problem.X, problem.Y, problem.w.data());
  const DataRows<double> rows(memory);
  const auto here = rows_of(problem.map, rows, FeatureStorage::none, on_cpu());
  const auto there = rows_of(problem.map, rows, FeatureStorage::none, execution());
  const Matrix<double> C = random_matrix(40, 3, 4);
  EXPECT_EQ(here->squares(C, Vector<double>::Zero(3)), there->squares(C, Vector<double>::Zero(3)));
  EXPECT_EQ(there->on_device(), "");
}

TEST_P(DeviceRows, TooLittleMemoryIsASentence) {
  const Problem<float> problem(20000, 6, 2, 100);
  Execution little = execution();
  little.device_memory = 1000;
  EXPECT_THAT(
      message_of([&] { ask(problem, little); }),
      ::testing::MatchesRegex("device 'cuda:0': the fit needs [0-9.]+ .?B there with rows in blocks, and may use "
                              "1 kB; take fewer components or device 'cpu'"));
}

// A source that fails in the midst of a pass gives its own error, and rows can be opened again.
TEST_P(DeviceRows, AFaultInTheSourcePasses) {
  const Problem<float> problem(20000, 6, 2, 100);
  MemoryRows<float> memory(problem.X, problem.Y, problem.w.data());
  for (const Index at : {1, 4, 9}) {
    testing::FaultyRows<float> faulty(memory, at);
    DataRows<float> rows(faulty);
    rows.read_at_once(3000);
    const auto door = rows_of(problem.map, rows, FeatureStorage::none, execution());
    EXPECT_EQ(message_of([&] { (void)door->sums(Vector<double>::Zero(2)); }), "rows.csv: line 17: the disk is gone")
        << at;
  }
  expect_dense(problem, ask(problem, execution()));
}

}  // namespace carmina::device_rows_test
