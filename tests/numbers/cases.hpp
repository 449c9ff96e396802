// tests/numbers/cases.hpp -- tables at the edges of what numbers can do, and the fits that are tried on each.
#pragma once
#include <carmina/models/fit_options.hpp>

#include <limits>
#include <string>
#include <vector>

#include "models/fit/ways.hpp"
#include "support/given_numbers.hpp"
#include "support/random_matrix.hpp"

namespace carmina::numbers_test {

using testing::random_matrix;

template <Real T>
struct Table {
  std::string name;
  Matrix<T> X, y;
  Vector<T> w;
};

inline constexpr Index rows = 5, inputs = 2;

template <Real T>
Table<T> usual_table(const std::string& name, Index n = rows) {
  const Matrix<T> X = random_matrix<T>(n, inputs, 11);
  const Matrix<T> y = (X.col(0).array().sin() + T(0.3) * random_matrix<T>(n, 1, 12).array()).matrix();
  return {name, X, y, Vector<T>::Ones(n)};
}

// Numbers of which no larger or smaller ones are meant: sums of some of them are still numbers.
template <Real T>
constexpr T huge = std::numeric_limits<T>::max() / 64;
template <Real T>
constexpr T tiny = std::numeric_limits<T>::denorm_min() * 64;

template <Real T>
std::vector<Table<T>> tables() {
  using Row = Eigen::Index;
  std::vector<Table<T>> all = {usual_table<T>("usual"), usual_table<T>("one row", 1), usual_table<T>("two rows", 2)};
  const auto with = [&](const std::string& name, const auto& change) {
    Table<T> table = usual_table<T>(name);
    change(table);
    all.push_back(table);
  };
  with("equal rows", [](auto& t) { t.X.rowwise() = t.X.row(0).eval(), t.y.setConstant(t.y(0, 0)); });
  with("equal inputs", [](auto& t) { t.X.rowwise() = t.X.row(0).eval(); });
  with("two equal inputs", [](auto& t) { t.X.row(1) = t.X.row(0); });
  with("two nearly equal inputs",
       [](auto& t) { t.X.row(1) = t.X.row(0) * (1 + 8 * std::numeric_limits<T>::epsilon()); });
  with("a constant column", [](auto& t) { t.X.col(1).setConstant(7); });
  with("constant targets", [](auto& t) { t.y.setConstant(T(3)); });
  with("targets of zero", [](auto& t) { t.y.setZero(); });
  with("columns in proportion", [](auto& t) { t.X.col(1) = 2 * t.X.col(0); });
  for (const T scale : {T(1e-30), T(1e30), huge<T>, tiny<T>}) {
    with("inputs by " + std::to_string(std::log10(scale)), [&](auto& t) { t.X *= scale / (scale == huge<T> ? 4 : 1); });
    with("a column by " + std::to_string(std::log10(scale)),
         [&](auto& t) { t.X.col(1) *= scale / (scale == huge<T> ? 4 : 1); });
    with("targets by " + std::to_string(std::log10(scale)),
         [&](auto& t) { t.y *= scale / (scale == huge<T> ? 4 : 1); });
    with("weights of " + std::to_string(std::log10(scale)),
         [&](auto& t) { t.w *= scale / (scale == huge<T> ? 8 : 1); });
    with("a weight of " + std::to_string(std::log10(scale)), [&](auto& t) { t.w[2] = scale; });
  }
  with("inputs far from zero", [](auto& t) { t.X.array() += T(0.01) / std::numeric_limits<T>::epsilon(); });
  with("targets far from zero", [](auto& t) { t.y.array() += T(0.01) / std::numeric_limits<T>::epsilon(); });
  with("a target far from the others", [](auto& t) { t.y(1, 0) = T(1e20); });
  with("an input far from the others", [](auto& t) { t.X(1, 0) = T(1e20); });
  with("weights of zero", [](auto& t) { t.w[0] = t.w[3] = 0; });
  with("one weight that is not zero", [](auto& t) { t.w.setZero(), t.w[1] = 2; });
  with("weights of all sizes", [](auto& t) {
    for (Row i = 0; i < t.w.size(); ++i) t.w[i] = std::pow(T(10), T(15 * (i - 2)));
  });
  return all;
}

inline constexpr double alphas[] = {1e-300, 1e-100, 1e-30, 1e-12, 1e-3, 1, 1e6, 1e30, 1e100, 1e300};

struct Setting {
  std::string name;
  FitOptions options;
};

// How inputs are scaled and where the width comes from, with the usual solver; every map, loss and solver, without.
inline std::vector<Setting> settings() {
  std::vector<Setting> all;
  const std::vector<Loss> losses = {
      Squared{}, Huber(0.5), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2), Pinball({0.3}), Absolute{},
      Hinge{},   Logistic{}};
  const auto base = [](const std::string& approximation, Index components) {
    FitOptions options = given_numbers();
    options.kernel = Kernel(Gaussian(1.0));
    options.approximation = approximation;
    options.n_components = components;
    options.tol = 1e-8;
    options.validation_fraction = 0;  // adam looks for the minimum
    options.execution.threads = 1;
    return options;
  };
  const std::vector<std::pair<std::string, FitOptions>> maps = {{"exact", base("exact", 0)},
                                                                {"fourier 4", base("fourier", 4)},
                                                                {"fourier 40", base("fourier", 40)},
                                                                {"sub_sample", base("sub_sample", 3)},
                                                                {"sparse_rademacher", base("sparse_rademacher", 3)}};
  for (const auto& [map, given] : maps) {
    for (const Loss& loss : losses) {
      for (const std::string& solver : solver_names()) {
        FitOptions options = given;
        options.loss = loss;
        options.solver = solver;
        if (given.approximation == "exact") options.n_components = usual_components;
        const FitTask task(options, inputs, 1, rows, sizeof(double));
        const auto known = solvers_for(task);
        if (std::find(known.begin(), known.end(), task.solver) == known.end()) continue;
        for (const bool intercept : {true, false}) {
          if (!intercept && solver != "auto") continue;
          options.fit_intercept = intercept;
          all.push_back(
              {map + " " + loss_name(loss) + " " + solver + (intercept ? "" : " without intercept"), options});
        }
      }
    }
    for (const InputScaling scaling : {InputScaling::standard, InputScaling::robust, InputScaling::none}) {
      FitOptions options = given;
      if (given.approximation == "exact") options.n_components = usual_components;
      options.scale_inputs = scaling;
      if (scaling.rule() == InputScaling::none) options.kernel.reset();  // the median width
      all.push_back({map + " scaled " + input_scaling_name(scaling), options});
    }
  }
  for (const ScalarKernel& kernel : {ScalarKernel(Laplacian(1.0)), ScalarKernel(Polynomial(2, 1, 1))}) {
    FitOptions options = base("exact", usual_components);
    options.kernel = Kernel(kernel);
    all.push_back({"exact " + kernel_name(kernel), options});
  }
  return all;
}

}  // namespace carmina::numbers_test
