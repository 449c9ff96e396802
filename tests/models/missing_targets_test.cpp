// tests/models/missing_targets_test.cpp -- fits with targets that are missing, against dense systems of those that are
// there and against fits with rows left out.
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "losses/row_functions.hpp"
#include "models/machine/machine_map.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/QR>

#include <cmath>
#include <limits>

#include "support/missing_rows.hpp"

namespace carmina::missing_targets_test {
namespace {

using testing::Gaps;
using ::testing::HasSubstr;
using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;
using testing::Rows;
using testing::small_fit;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
template <class T>
constexpr bool is_float = sizeof(T) == sizeof(float);

// f = D gamma at each output of each row, with a penalty gammaᵀ R gamma: the machine's own features, seen from outside.
struct Span {
  Matrix<double> D, test, R;
};

Matrix<double> with_outputs(const Matrix<double>& phi, const Matrix<double>& B) {
  const Index n = phi.rows(), m = phi.cols(), p = B.rows(), rank = B.cols();
  Matrix<double> D(n * p, m * rank);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < p; ++a) {
      for (Index k = 0; k < m; ++k) D.row(i * p + a).segment(k * rank, rank) = phi(i, k) * B.row(a);
    }
  }
  return D;
}

Matrix<double> identity_blocks(const Matrix<double>& K, Index rank) {
  Matrix<double> R = Matrix<double>::Zero(K.rows() * rank, K.cols() * rank);
  for (Index i = 0; i < K.rows(); ++i) {
    for (Index j = 0; j < K.cols(); ++j) {
      for (Index a = 0; a < rank; ++a) R(i * rank + a, j * rank + a) = K(i, j);
    }
  }
  return R;
}

template <Real T>
Span span_of(const KernelMachine<T>& machine, const Matrix<T>& X, const Matrix<T>& Z) {
  const Index p = machine.dim_out();
  // The kernel's own root: solvers of all coefficients together keep none in the machine.
  Matrix<double> B = Matrix<double>::Identity(p, p);
  if (const Term* term = machine.kernel().separable()) {
    const OutputFactor factor = output_factor(*term, p);
    if (!factor.identity()) B = factor.root();
  }
  Span span;
  if (const auto* map = std::get_if<FourierMap<T>>(&machine.map())) {
    const auto features = [&](const Matrix<T>& rows) -> Matrix<double> {
      Matrix<T> phi(rows.rows(), map->n_features());
      evaluate(*map, rows, View<T>(phi), Execution{});
      return phi.template cast<double>();
    };
    if (machine.kernel().separable()) {
      span.D = with_outputs(features(X), B);
      span.test = with_outputs(features(Z), B);
    } else {
      const Expansion expansion(machine.kernel(), map->unit_frequencies(), p);
      const auto design = [&](const Matrix<T>& rows) {
        const Matrix<double> phi = features(rows);
        Matrix<double> D(rows.rows() * p, expansion.dim_coef());
        for (Index e = 0; e < D.rows(); ++e) {
          Matrix<double> R = Matrix<double>::Zero(phi.cols(), p);
          R.col(e % p) = phi.row(e / p).transpose();
          D.row(e) = expansion.contract(R).transpose();
        }
        return D;
      };
      span.D = design(X);
      span.test = design(Z);
    }
    span.R = Matrix<double>::Identity(span.D.cols(), span.D.cols());
  } else if (const auto* kernel = std::get_if<KernelMap<T>>(&machine.map())) {
    const auto values = [&](const Matrix<T>& rows) {
      return kernel_matrix<double>(kernel->kernel(), Matrix<double>(rows.template cast<double>()),
                                   Matrix<double>(kernel->anchors().template cast<double>()));
    };
    span.D = with_outputs(values(X), B);
    span.test = with_outputs(values(Z), B);
    span.R = identity_blocks(values(kernel->anchors()), B.cols());
  } else {
    const auto& blocks_map = std::get<OperatorMap<T>>(machine.map());
    const auto values = [&](const Matrix<T>& rows) {
      const Index n = rows.rows(), s = blocks_map.n_features();
      std::vector<double> blocks(static_cast<std::size_t>(n * s * p * p));
      blocks_map.blocks(rows, blocks.data(), Execution{});
      Matrix<double> D(n * p, s * p);
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < s; ++j) {
          D.block(i * p, j * p, p, p) = Eigen::Map<const Matrix<double>>(blocks.data() + (i * s + j) * p * p, p, p);
        }
      }
      return D;
    };
    span.D = values(X);
    span.test = values(Z);
    span.R = values(blocks_map.anchors());
  }
  return span;
}

// min over gamma, b of the sum over the targets that are there of w (D gamma + b - y)^2 / 2 + alpha gammaᵀR gamma / 2:
// predictions at the other rows.
template <Real T>
Matrix<double> dense_predictions(const Span& span, const Rows<T>& rows, double alpha, bool intercept) {
  const Index p = rows.Y.cols(), q = span.D.cols(), extra = intercept ? p : 0;
  Eigen::MatrixXd H = Eigen::MatrixXd::Zero(q + extra, q + extra);
  Eigen::VectorXd r = Eigen::VectorXd::Zero(q + extra);
  H.topLeftCorner(q, q) = alpha * span.R;
  for (Index i = 0; i < rows.Y.rows(); ++i) {
    for (Index a = 0; a < p; ++a) {
      if (std::isnan(rows.Y(i, a))) continue;
      Eigen::VectorXd z = Eigen::VectorXd::Zero(q + extra);
      z.head(q) = span.D.row(i * p + a).transpose();
      if (intercept) z[q + a] = 1;
      const auto w = static_cast<double>(rows.w[i]);
      H += w * z * z.transpose();
      r += w * static_cast<double>(rows.Y(i, a)) * z;
    }
  }
  const Eigen::VectorXd x = H.completeOrthogonalDecomposition().solve(r);
  const Eigen::VectorXd f = span.test * x.head(q);
  Matrix<double> F = Eigen::Map<const Matrix<double>>(f.data(), f.size() / p, p);
  if (intercept) F.rowwise() += x.tail(p).transpose();
  return F;
}

struct Setting {
  std::string name;
  FitOptions options = given_numbers();
  Index n = 60, p = 3;
};

// Given numbers throughout: width, alpha, components.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  const auto add = [&](const std::string& name, const FitOptions& options, Index n = 60) {
    for (const bool intercept : {true, false}) {
      all.push_back({name + (intercept ? "" : " without intercept"), options, n});
      all.back().options.fit_intercept = intercept;
    }
  };
  const std::vector<std::pair<std::string, std::optional<Kernel>>> kernels = {
      {"independent", {}},
      {"twice", 2.0 * Kernel(own_term(Gaussian(1.5), Independent{}))},
      {"coupled", Decomposable(Gaussian(1.5), random_psd(3, 3, 5))},
      {"of rank one", Decomposable(Gaussian(1.5), random_psd(3, 1, 6))},
      {"curl-free", CurlFree(Gaussian(1.5)) + 0.5 * DivergenceFree(Gaussian(1.2))}};
  for (const auto& [kernel_name, kernel] : kernels) {
    for (const std::string approximation : {"fourier", "exact", "sub_sample"}) {
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.kernel_name = "gaussian";
      options.length_scale = 1.5;
      options.approximation = approximation;
      options.n_components = approximation == "fourier" ? 16 : 8;
      options.alpha = 0.3;
      options.max_iter = 5000;
      options.tol = 1e-12;
      std::vector<std::string> solvers = {"auto"};
      if (approximation == "fourier") solvers = {"auto", "direct", "cg", "lsmr", "idr", "sgd", "adam"};
      if (approximation == "exact") solvers = {"direct", "cg"};
      if (approximation == "sub_sample" && kernel_name == "curl-free") options.tol = 1e-15;
      for (const std::string& solver : solvers) {
        options.solver = solver;
        options.tol = solver == "sgd" || solver == "adam" ? 1e-18 : options.tol;
        add(kernel_name + " " + approximation + " " + solver, options);
        options.tol = 1e-12;
      }
      if (approximation == "fourier") {  // fewer rows than features
        options.solver = "direct";
        options.n_components = 90;
        add(kernel_name + " wide", options, 25);
      }
    }
  }
  return all;
}

template <class T>
class MissingTargetsOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MissingTargetsOf, Precisions);

TYPED_TEST(MissingTargetsOf, EqualTheDenseSystem) {
  using T = TypeParam;
  std::uint64_t seed = 1;
  for (const Setting& setting : settings()) {
    for (const Gaps gaps : {Gaps::at_random, Gaps::blocks}) {
      SCOPED_TRACE(setting.name + (gaps == Gaps::blocks ? ", blocks" : ", at random"));
      FitOptions options = setting.options;
      // A residual of the normal equations of 1e-7 of their right-hand side, which float products resolve; sgd and adam
      // stop at the root of tol.
      const bool stochastic = options.solver == "sgd" || options.solver == "adam";
      if (is_float<T>) options.tol = std::max(options.tol, stochastic ? 1e-14 : 1e-7);
      const Rows<T> rows(setting.n, 3, setting.p, gaps, seed += 10);
      const Matrix<T> Z = random_matrix<T>(20, 3, seed + 5);
      const auto machine = KernelMachine<T>::fit(rows.X, rows.Y, options, rows.w.data());
      const Matrix<double> expected =
          dense_predictions(span_of(machine, rows.X, Z), rows, *options.alpha, options.fit_intercept);
      // theta is off by at most |r| / alpha. In double sgd and adam reach 1e-9 |g| with |g| in the hundreds, alpha 0.3.
      const double enough = is_float<T> ? 5e-3 : stochastic ? 1e-6 : 1e-8;
      EXPECT_LT(max_difference(machine.predict(Z), expected), enough);
      Index ignored = 0;
      for (Index i = 0; i < setting.n; ++i) ignored += rows.w[i] > 0 && rows.Y.row(i).array().isNaN().all();
      EXPECT_THAT(machine.record().report.message,
                  HasSubstr(ignored == 1 ? "1 row has no target and was ignored"
                                         : format_text("{} rows have no target and were ignored", ignored)));
      EXPECT_EQ(machine.record().rows, setting.n - 1 - ignored);
      EXPECT_TRUE(machine.record().missing_targets);
    }
  }
}

// Outputs that are independent do not notice each other: each is the fit to the rows that have it.
TYPED_TEST(MissingTargetsOf, IndependentOutputsEqualRowsLeftOut) {
  using T = TypeParam;
  std::vector<std::pair<std::string, Loss>> losses = {
      {"auto", Squared{}}, {"auto", Pinball({0.3})}, {"lbfgs", Huber(0.5)}, {"adam", Pinball({0.3})}};
  for (const std::string approximation : {"fourier", "exact"}) {
    for (const auto& [solver, loss] : losses) {
      SCOPED_TRACE(approximation + " " + loss_name(loss) + " " + solver);
      FitOptions options = small_fit(approximation, loss);
      options.solver = solver;
      options.tol = 1e-12;
      options.validation_fraction = 0;
      const bool radial = std::holds_alternative<Huber>(loss), adam = solver == "adam";
      if (radial || adam) options.max_iter = adam ? 300 : 2000;
      if (adam) options.tol = 1e-4;
      const Index p = radial ? 1 : 3;
      Rows<T> rows(150, 3, p, Gaps::at_random, 40);
      rows.w[75] = 1;
      const Matrix<T> Z = random_matrix<T>(20, 3, 41);
      const auto together = KernelMachine<T>::fit(rows.X, rows.Y, options, rows.w.data());
      for (Index j = 0; j < p; ++j) {
        Matrix<T> y = rows.Y.col(j);
        Vector<T> w = rows.w;
        for (Index i = 0; i < y.rows(); ++i) {
          if (std::isnan(y(i, 0))) y(i, 0) = w[i] = 0;
        }
        const auto alone = KernelMachine<T>::fit(rows.X, y, options, w.data());
        const double enough = is_float<T> ? 2e-2 : std::holds_alternative<Squared>(loss) ? 1e-10 : 1e-3;
        EXPECT_LT(max_difference(together.predict(Z).col(j), alone.predict(Z).col(0)), adam ? 0.15 : enough) << j;
      }
    }
  }
}

TYPED_TEST(MissingTargetsOf, AWeightIsARepetition) {
  using T = TypeParam;
  for (const bool coupled : {false, true}) {
    for (const std::string approximation : {"fourier", "exact"}) {
      for (const Loss& loss : {Loss(Squared{}), Loss(Huber(0.5)), Loss(Pinball({0.2, 0.5, 0.8}))}) {
        SCOPED_TRACE(approximation + (coupled ? " coupled " : " ") + loss_name(loss));
        FitOptions options = small_fit(approximation, loss, coupled);
        options.tol = 1e-10;
        const Rows<T> rows(40, 3, 3, Gaps::at_random, 50);
        Vector<T> w(40);
        std::vector<Index> repeated;
        for (Index i = 0; i < 40; ++i) {
          w[i] = static_cast<T>(i % 4);
          for (Index k = 0; k < i % 4; ++k) repeated.push_back(i);
        }
        const auto weighted = KernelMachine<T>::fit(rows.X, rows.Y, options, w.data());
        const Matrix<T> X = rows.X(repeated, Eigen::all), Y = rows.Y(repeated, Eigen::all);
        const auto many = KernelMachine<T>::fit(X, Y, options);
        EXPECT_LT(max_difference(weighted.predict(rows.X), many.predict(rows.X)), is_float<T> ? 2e-2 : 1e-4);
      }
    }
  }
}

// J of the minimum by its definition, which no other coefficients make smaller: for every loss and coupling.
TEST(MissingTargets, EveryLossIsAtItsMinimum) {
  const std::vector<Loss> losses = {
      Squared{}, Huber(0.5), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2), Pinball({0.2, 0.5, 0.8}),
      Absolute{}};
  for (const bool coupled : {false, true}) {
    for (const std::string approximation : {"fourier", "exact"}) {
      for (const Loss& loss : losses) {
        SCOPED_TRACE(approximation + (coupled ? " coupled " : " ") + loss_name(loss));
        FitOptions options = small_fit(approximation, loss, coupled);
        options.tol = 1e-9;
        const Rows<double> rows(50, 3, 3, Gaps::at_random, 60);
        const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
        const Span span = span_of(machine, rows.X, rows.X);
        // Coefficients row after row are gamma.
        const Matrix<double>& C = machine.coefficients();
        const Eigen::VectorXd gamma = Eigen::Map<const Vector<double>>(C.data(), C.size());
        const auto objective = [&](const Eigen::VectorXd& x, const Vector<double>& b) {
          const Eigen::VectorXd f = span.D * x;
          double sum = *options.alpha / 2 * x.dot(span.R * x);
          for (Index i = 0; i < 50; ++i) {
            std::vector<double> own, y;
            Index last = 0;
            for (Index a = 0; a < 3; ++a) {
              if (std::isnan(rows.Y(i, a))) continue;
              own.push_back(f[i * 3 + a] + b[a]);
              y.push_back(rows.Y(i, a));
              last = a;
              if (const auto* pinball = std::get_if<Pinball>(&loss)) {
                sum += rows.w[i] * pinball->value(own.back(), y.back(), last);
              }
            }
            if (std::holds_alternative<Pinball>(loss)) continue;
            std::visit(
                [&](const auto& l) {
                  sum += rows.w[i] * row_value(l, own.data(), y.data(), static_cast<Index>(own.size()));
                },
                loss);
          }
          return sum;
        };
        const double least = objective(gamma, machine.intercept());
        if (!std::holds_alternative<Squared>(loss)) {
          EXPECT_NEAR(least, machine.record().report.objective, 1e-7 * least);
          EXPECT_LE(machine.record().report.residual, 1e-9);
        }
        for (int k = 0; k < 30; ++k) {
          const double step = k % 2 ? 1e-2 : 1e-4;
          const Eigen::VectorXd move = step * random_matrix(gamma.size(), 1, std::uint64_t(100 + k)).col(0);
          const Vector<double> shift = step * random_matrix(3, 1, std::uint64_t(200 + k)).col(0);
          EXPECT_GE(objective(gamma + move, machine.intercept() + shift), least * (1 - 1e-8));
        }
      }
    }
  }
}

}  // namespace
}  // namespace carmina::missing_targets_test
