// tests/models/derived_test.cpp -- derivatives beside differences, their deviations beside dense posteriors.
#include <gtest/gtest.h>
#include <carmina/models/derived.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>
#include "features/map_operations.hpp"
#include "features/sample_map.hpp"
#include "models/machine/machine_map.hpp"

#include <functional>

#include "models/dense_derived.hpp"
#include "support/given_numbers.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::derived_test {
namespace {

using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using testing::random_psd;

InputColumns at(std::vector<Index> columns) { return columns; }

SpectralMixture some_mixture(Index d, const char* family) {
  return SpectralMixture(Vector<double>{{0.4, 1.1}}, 0.15 * random_matrix(2, d, 41),
                         0.08 + 0.05 * random_matrix(2, d, 42).array().abs(), family);
}

std::vector<Case> cases() {
  const Kernel curl = CurlFree(Gaussian(1.2)).on(at({0, 1})), free = DivergenceFree(Matern(1.1, 3.5)).on(at({0, 1}));
  const Kernel time = Kernel(Gaussian(1.5)).on(at({2}));
  return {{Gaussian(1.1), 2, 2},
          {Decomposable(Gaussian(LengthScale({1.0, 1.4})), random_psd(2, 2, 3)), 2, 2},
          {Decomposable(Matern(1.2, 2.5), random_psd(2, 1, 4)), 2, 2},
          {CurlFree(Gaussian(1.0)), 2, 2},
          {DivergenceFree(Matern(1.1, 3.5)), 2, 2},
          {CurlFree(Cauchy(1.0), false, true) + 0.5 * DivergenceFree(RationalQuadratic(2.0, 1.5)), 3, 3},
          {CurlFree(some_mixture(2, "gaussian")) + DivergenceFree(some_mixture(2, "laplace")), 2, 2},
          {curl * time + 0.7 * free, 3, 2},
          {0.5 * curl * time + free * Kernel(Periodic(0.8, 2.0)).on(at({2})) + Kernel(Linear{}).on(at({2})), 3, 2},
          {CurlFree(Gaussian(1.2)).on(at({0, 1})) * Kernel(Gaussian(2.0)), 3, 2},
          {DivergenceFree(Gaussian(1.0)).on(at({2, 0})) * Kernel(Linear{}).on(at({1})), 3, 2},
          {CurlFree(Gaussian(0.8), true) + Kernel(Constant{}), 2, 2}};
}

FitOptions options_for(const Kernel& kernel, const char* approximation, bool intercept, InputScaling scaling) {
  FitOptions options = given_numbers();
  options.kernel = kernel;
  options.approximation = approximation;
  options.alpha = 0.3;
  options.n_components = 40;
  options.fit_intercept = intercept;
  options.scale_inputs = scaling;
  options.keep_moments = std::string(approximation) == "fourier";
  options.solver = "direct";
  return options;
}

KernelMachine<double> fitted(const Case& one, const FitOptions& options) {
  const Matrix<double> X = random_matrix(26, one.d, 1).array() * 1.7 + 0.4, Y = random_matrix(26, one.p, 2).array() + 1;
  return KernelMachine<double>::fit(X, Y, options);
}

// df_a / dx_l by central differences: (n, p d).
Matrix<double> differences(const std::function<Matrix<double>(const Matrix<double>&)>& f, const Matrix<double>& X) {
  constexpr double h = 1e-5;
  Matrix<double> out;
  for (Index l = 0; l < X.cols(); ++l) {
    Matrix<double> up = X, down = X;
    up.col(l).array() += h, down.col(l).array() -= h;
    const Matrix<double> slope = (f(up) - f(down)) / (2 * h);
    if (l == 0) out.resize(X.rows(), slope.cols() * X.cols());
    for (Index a = 0; a < slope.cols(); ++a) out.col(a * X.cols() + l) = slope.col(a);
  }
  return out;
}

std::vector<Index> columns_of(const Case& one) {
  for (const Term& term : one.kernel.terms()) {
    if (is_differential(term.coupling)) return place_columns(term, one.d);
  }
  return InputColumns().of(one.d);
}

TEST(Derived, AreDifferencesOfPredictions) {
  for (const Case& one : cases()) {
    for (const char* approximation : {"fourier", "exact"}) {
      for (const InputScaling scaling : {InputScaling(InputScaling::none), InputScaling(InputScaling::standard)}) {
        const auto machine = fitted(one, options_for(one.kernel, approximation, true, scaling));
        const Matrix<double> X = random_matrix(6, one.d, 9);
        const Matrix<double> expected = differences([&](const Matrix<double>& at) { return machine.predict(at); }, X);
        const double scale = std::max(1.0, expected.cwiseAbs().maxCoeff());
        EXPECT_LT(max_difference(derive<double>(machine, Derived::gradient, X), expected), 1e-6 * scale);
        const std::vector<Index> columns = columns_of(one);
        const auto slope = [&](Index a, Index b) -> Vector<double> {  // of output a by input column b
          return expected.col(a * one.d + columns[static_cast<std::size_t>(b)]);
        };
        Vector<double> divergence = Vector<double>::Zero(6);
        for (Index a = 0; a < one.p; ++a) divergence += slope(a, a);
        EXPECT_LT(max_difference(derive<double>(machine, Derived::divergence, X), Matrix<double>(divergence)),
                  1e-6 * scale);
        Matrix<double> curl(6, one.p == 2 ? 1 : 3);
        if (one.p == 2) {
          curl.col(0) = slope(1, 0) - slope(0, 1);
        } else {
          curl << slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1);
        }
        EXPECT_LT(max_difference(derive<double>(machine, Derived::curl, X), curl), 1e-6 * scale);
      }
    }
  }
}

// The gradient of the potential is the curl-free part, the turned one of the stream function the divergence-free part.
TEST(Derived, PotentialsAreWhatPartsAreGradientsOf) {
  int potentials = 0, streams = 0;
  for (const Case& one : cases()) {
    if (std::any_of(one.kernel.terms().begin(), one.kernel.terms().end(),
                    [&](const Term& term) { return place_is_shared(term, one.d); })) {
      EXPECT_NE(message_of([&] {
                  derive<double>(fitted(one, options_for(one.kernel, "exact", true, InputScaling::none)),
                                 Derived::potential, random_matrix(2, one.d, 9));
                }).find("of the same inputs"),
                std::string::npos);
      continue;
    }
    for (const char* approximation : {"fourier", "exact"}) {
      for (const InputScaling scaling : {InputScaling(InputScaling::none), InputScaling(InputScaling::standard)}) {
        const auto machine = fitted(one, options_for(one.kernel, approximation, true, scaling));
        const Matrix<double> X = random_matrix(6, one.d, 9);
        const auto parts = machine.predict_parts(X);
        Matrix<double> curl = Matrix<double>::Zero(6, one.p), free = curl;
        bool any_curl = false, any_free = false;
        for (std::size_t t = 0; t < parts.size(); ++t) {
          const OutputCoupling& coupling = one.kernel.terms()[t].coupling;
          if (std::holds_alternative<CurlFreeCoupling>(coupling)) curl += parts[t], any_curl = true;
          if (std::holds_alternative<DivergenceFreeCoupling>(coupling)) free += parts[t], any_free = true;
        }
        const std::vector<Index> columns = columns_of(one);
        const auto gradient = [&](Derived what) {
          const Matrix<double> all =
              differences([&](const Matrix<double>& at) { return derive<double>(machine, what, at); }, X);
          return Matrix<double>(all(Eigen::all, columns));
        };
        if (any_curl) {
          ++potentials;
          EXPECT_LT(max_difference(gradient(Derived::potential), curl),
                    1e-6 * std::max(1.0, curl.cwiseAbs().maxCoeff()));
        } else {
          EXPECT_NE(message_of([&] { derive<double>(machine, Derived::potential, X); }).find("no curl-free term"),
                    std::string::npos);
        }
        if (any_free && one.p == 2) {
          ++streams;
          const Matrix<double> slope = gradient(Derived::stream_function);
          Matrix<double> turned(6, 2);
          turned << slope.col(1), -slope.col(0);
          EXPECT_LT(max_difference(turned, free), 1e-6 * std::max(1.0, free.cwiseAbs().maxCoeff()));
        }
      }
    }
  }
  EXPECT_GE(potentials, 16);
  EXPECT_GE(streams, 12);
}

TEST(Derived, DivergenceFreeFieldsHaveNoDivergenceAndCurlFreeOnesNoCurl) {
  const Kernel time = Kernel(Matern(1.5, 2.5)).on(at({2}));
  for (const char* approximation : {"fourier", "exact"}) {
    const Case free{DivergenceFree(Gaussian(1.1)).on(at({0, 1})) * time, 3, 2},
        curl{CurlFree(Gaussian(1.1)).on(at({0, 1})) * time, 3, 2};
    const Matrix<double> X = random_matrix(20, 3, 9);
    const auto a = fitted(free, options_for(free.kernel, approximation, true, InputScaling::none)),
               b = fitted(curl, options_for(curl.kernel, approximation, true, InputScaling::none));
    const double scale = derive<double>(a, Derived::gradient, X).cwiseAbs().maxCoeff();
    EXPECT_LT(derive<double>(a, Derived::divergence, X).cwiseAbs().maxCoeff(), 1e-13 * std::max(1.0, scale));
    EXPECT_LT(derive<double>(b, Derived::curl, X).cwiseAbs().maxCoeff(), 1e-13 * std::max(1.0, scale));
  }
}

TEST(Derived, DeviationsAreThoseOfTheDensePosterior) {
  for (const Case& one : cases()) {
    for (const char* approximation : {"fourier", "exact"}) {
      for (const bool intercept : {true, false}) {
        const bool exact = std::string(approximation) == "exact";
        if (exact && one.kernel == cases()[2].kernel) continue;  // its third derivative jumps: differences are coarse
        const FitOptions options = options_for(one.kernel, approximation, intercept, InputScaling::standard);
        const Matrix<double> rows = random_matrix(26, one.d, 1).array() * 1.7 + 0.4,
                             Y = random_matrix(26, one.p, 2).array() + 1, X = random_matrix(3, one.d, 9);
        const auto machine = KernelMachine<double>::fit(rows, Y, options);
        const Posterior<double> posterior(machine);
        const std::vector<Index> columns = columns_of(one);
        std::vector<std::vector<std::pair<Index, double>>> gradient, divergence(1), curl(1);
        for (Index entry = 0; entry < one.p * one.d; ++entry) gradient.push_back({{entry, 1.0}});
        for (Index a = 0; a < one.p; ++a) {
          divergence[0].emplace_back(a * one.d + columns[static_cast<std::size_t>(a)], 1.0);
        }
        curl[0] = {{one.d + columns[0], 1.0}, {columns[1], -1.0}};
        const auto expect = [&](Derived what, const auto& quantities) {
          const Matrix<double> expected = dense_deviation(machine, one, X, quantities, exact, rows);
          const Matrix<double> found = posterior.derived_deviation(what, X);
          // Variances: differences know a deviation near 0 to the root of rounding.
          const Matrix<double> v = found.cwiseAbs2(), w = expected.cwiseAbs2();
          EXPECT_LT(max_difference(v, w), 1e-8 * std::max(1.0, w.maxCoeff()))
              << derived_name(what) << " " << approximation;
        };
        expect(Derived::gradient, gradient);
        const bool none = one.kernel.terms().size() == 1 && is_differential(one.kernel.terms()[0].coupling);
        if (!none) expect(Derived::divergence, divergence);
        if (!none && one.p == 2) expect(Derived::curl, curl);
      }
    }
  }
}

// In closed form: theta's covariance and the derivative of the features, to rounding.
TEST(Derived, FourierDeviationsAreQuadraticForms) {
  for (const Case& one : cases()) {
    const FitOptions options = options_for(one.kernel, "fourier", false, InputScaling::none);
    const Matrix<double> rows = random_matrix(26, one.d, 1), Y = random_matrix(26, one.p, 2),
                         X = random_matrix(3, one.d, 9);
    const auto machine = KernelMachine<double>::fit(rows, Y, options);
    const auto& map = std::get<FourierMap<double>>(machine.map());
    if (!map.amplitudes().empty()) continue;  // whose derivative is not that of the waves alone
    const Expansion expansion(one.kernel, map.unit_frequencies(), one.p);
    const auto design = [&](const Matrix<double>& phi) {
      Matrix<double> Phi(phi.rows() * one.p, expansion.dim_coef());
      for (Index i = 0; i < Phi.rows(); ++i) {
        Matrix<double> R = Matrix<double>::Zero(phi.cols(), one.p);
        R.col(i % one.p) = phi.row(i / one.p).transpose();
        Phi.row(i) = expansion.contract(R).transpose();
      }
      return Phi;
    };
    Matrix<double> phi(26, map.n_features());
    evaluate(map, rows, View<double>(phi), Execution{});
    const Matrix<double> Phi = design(phi), W = map.frequencies(), phases = X * W.transpose();
    Eigen::MatrixXd system = Phi.transpose() * Phi;
    system.diagonal().array() += 0.3;
    const Eigen::MatrixXd inverse = system.inverse();
    const Matrix<double> found = Posterior<double>(machine).derived_deviation(Derived::gradient, X);
    for (Index l = 0; l < one.d; ++l) {
      Matrix<double> slope(3, 2 * W.rows());
      slope << -phases.array().sin().matrix() * W.col(l).asDiagonal(),
          phases.array().cos().matrix() * W.col(l).asDiagonal();
      const Matrix<double> D = design(slope / std::sqrt(static_cast<double>(W.rows())));
      for (Index i = 0; i < 3; ++i) {
        for (Index a = 0; a < one.p; ++a) {
          const Vector<double> row = D.row(i * one.p + a);
          const double expected = std::sqrt(machine.record().noise[a] * row.dot(inverse * row));
          EXPECT_NEAR(found(i, a * one.d + l), expected, 1e-8 * std::max(1.0, expected));
        }
      }
    }
  }
}

TEST(Derived, SubSamplesHaveThoseOfTheirAnchors) {
  Index tried = 0;
  for (const Case& one : cases()) {
    FitOptions options = options_for(one.kernel, "sub_sample", false, InputScaling::none);
    options.n_components = 12;
    options.keep_moments = true;
    const Matrix<double> rows = random_matrix(26, one.d, 1).array() * 1.7 + 0.4,
                         Y = random_matrix(26, one.p, 2).array() + 1, X = random_matrix(3, one.d, 9);
    const auto machine = KernelMachine<double>::fit(rows, Y, options);
    const Matrix<double> expected_slopes =
        differences([&](const Matrix<double>& at) { return machine.predict(at); }, X);
    EXPECT_LT(max_difference(derive<double>(machine, Derived::gradient, X), expected_slopes),
              1e-6 * std::max(1.0, expected_slopes.cwiseAbs().maxCoeff()));
    const auto* map = std::get_if<KernelMap<double>>(&machine.map());
    if (!map || !why_no_deviation(machine.record()).empty()) continue;  // deviations are of one scalar kernel's anchors
    ++tried;
    const Matrix<double> anchors = map->anchors();
    std::vector<std::vector<std::pair<Index, double>>> gradient;
    for (Index entry = 0; entry < one.p * one.d; ++entry) gradient.push_back({{entry, 1.0}});
    const Matrix<double> v = Posterior<double>(machine).derived_deviation(Derived::gradient, X).cwiseAbs2(),
                         w = dense_deviation(machine, one, X, gradient, true, rows, &anchors).cwiseAbs2();
    EXPECT_LT(max_difference(v, w), 1e-8 * std::max(1.0, w.maxCoeff()));
  }
  EXPECT_GE(tried, 2);
}

TEST(Derived, SubSamplesAndSketchesHaveThem) {
  const Case one{Decomposable(Gaussian(1.1), random_psd(2, 2, 3)), 2, 2};
  for (const char* approximation : {"sub_sample", "sparse_gaussian"}) {
    FitOptions options = options_for(one.kernel, approximation, true, InputScaling::standard);
    options.n_components = 15;
    options.keep_moments = std::string(approximation) == "sub_sample";
    const auto machine = fitted(one, options);
    const Matrix<double> X = random_matrix(6, 2, 9);
    const Matrix<double> expected = differences([&](const Matrix<double>& at) { return machine.predict(at); }, X);
    EXPECT_LT(max_difference(derive<double>(machine, Derived::gradient, X), expected),
              1e-6 * std::max(1.0, expected.cwiseAbs().maxCoeff()));
    if (!options.keep_moments) continue;
    // With every row an anchor it is the exact machine.
    options.n_components = 26;
    const auto whole = fitted(one, options);
    auto exact_options = options_for(one.kernel, "exact", true, InputScaling::standard);
    const auto exact = fitted(one, exact_options);
    const Matrix<double> a = Posterior<double>(whole).derived_deviation(Derived::gradient, X),
                         b = Posterior<double>(exact).derived_deviation(Derived::gradient, X);
    // The sub-sample's posterior is of a process of its anchors' span alone: smaller or equal.
    EXPECT_TRUE((a.array() <= b.array() * (1 + 1e-6)).all());
  }
}

TEST(Derived, AreRefusedWhereTheyAreNot) {
  const auto machine = [](const Kernel& kernel, Index d, Index p) {
    return fitted({kernel, d, p}, options_for(kernel, "exact", true, InputScaling::none));
  };
  const Matrix<double> X = random_matrix(2, 3, 1);
  EXPECT_EQ(message_of([&] { derive<double>(machine(Laplacian(1.0), 3, 2), Derived::gradient, X); }),
            "gradient: the Laplacian kernel has no second derivative at 0");
  EXPECT_NE(
      message_of([&] { derive<double>(machine(Gaussian(1.0), 3, 2), Derived::divergence, X); }).find("as many inputs"),
      std::string::npos);
  EXPECT_NE(message_of([&] {
              derive<double>(machine(Gaussian(1.0), 3, 3), Derived::potential, X);
            }).find("no curl-free term"),
            std::string::npos);
  EXPECT_EQ(derived_columns(Derived::gradient, {"x", "y"}, {"u"}), (std::vector<std::string>{"du/dx", "du/dy"}));
}

}  // namespace
}  // namespace carmina::derived_test
