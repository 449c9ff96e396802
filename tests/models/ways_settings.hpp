// tests/models/ways_settings.hpp -- a fit for each way of the table, with data for it.
#pragma once
#include "models/fit/ways.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/given_numbers.hpp"
#include "support/loss_targets.hpp"
#include "support/random_matrix.hpp"

namespace carmina::ways_test {

using testing::random_matrix;
using testing::targets_for;

constexpr Index d = 3, p = 3;

struct Setting {
  std::string name;
  FitOptions options = given_numbers();
  bool missing = false, apart = true;  // targets, in patterns of independent outputs or of coupled ones

  // More than two tiles of 256 rows; fewer where a matrix of all rows is factorised.
  Index rows() const { return options.approximation == "exact" || options.n_components > 500 ? 520 : 900; }
  // With the sizes of the data below.
  FitTask task() const {
    FitTask task(options, d, p, rows(), sizeof(double));
    task.missing = missing;
    if (missing) task.seen_share = 0.7, task.patterns = task.rank = p, task.patterns_apart = apart;
    return task;
  }
};

// Targets that are missing, with kernels of independent outputs, of an output matrix, and that are not separable.
inline void add_missing(std::vector<Setting>& all) {
  Matrix<double> A(p, p);
  A << 2, 1, 0, 1, 2, 1, 0, 1, 2;
  const std::vector<Kernel> kernels = {Kernel(own_term(Gaussian(1.5), Independent{})), Decomposable(Gaussian(1.5), A),
                                       CurlFree(Gaussian(1.5))};
  for (const std::string approximation : {"fourier", "exact", "sub_sample"}) {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      for (const Loss& loss : {Loss(Squared{}), Loss(Huber(0.5)), Loss(Pinball({0.2, 0.5, 0.8}))}) {
        for (const std::string& solver : solver_names()) {
          FitOptions options = given_numbers();
          options.approximation = approximation;
          options.kernel = kernels[k];
          options.loss = loss;
          options.solver = solver;
          options.n_components = 20;
          options.alpha = 0.5;
          options.max_iter = 4;
          options.tol = 1e-3;
          const Setting setting{
              "missing " + approximation + " " + std::to_string(k) + " " + loss_name(loss) + " " + solver, options,
              true, k == 0};
          const auto known = solvers_for(FitTask(options, d, p, setting.rows(), sizeof(double)));
          if (std::find(known.begin(), known.end(), setting.task().solver) == known.end()) continue;
          const bool squared = std::holds_alternative<Squared>(loss);
          if (approximation == "exact" && !squared && (k == 2 || solver != "newton")) continue;  // slow, as above
          // Ways of losses are the same whether targets are missing or not: one kernel each is enough.
          if (!squared && k != (std::holds_alternative<Pinball>(loss) ? 1 : 0)) continue;
          all.push_back(setting);
        }
      }
    }
  }
  FitOptions wide = given_numbers();  // fewer targets than coefficients
  wide.n_components = 1000;
  wide.length_scale = 1.5;
  wide.alpha = 0.5;
  wide.solver = "direct";
  all.push_back({"missing, fourier dual", wide, true, true});
  wide.coupling = OutputMatrix(A);
  all.push_back({"missing, fourier dual, coupled", wide, true, false});
}

// One fit for each approximation, solver, loss and kind of kernel that some way takes.
inline std::vector<Setting> settings() {
  std::vector<Setting> all;
  const std::vector<Loss> losses = {Squared{},
                                    Huber(0.5),
                                    EpsilonInsensitive(0.2),
                                    SquaredEpsilonInsensitive(0.2),
                                    Pinball({0.2, 0.5, 0.8}),
                                    Absolute{},
                                    Hinge{},
                                    Logistic{}};
  for (const std::string approximation : {"fourier", "exact", "sub_sample"}) {
    for (const bool separable : {true, false}) {
      for (const Loss& loss : losses) {
        for (const std::string& solver : solver_names()) {
          FitOptions options = given_numbers();
          options.approximation = approximation;
          options.loss = loss;
          options.solver = solver;
          options.n_components = 20;
          options.alpha = 0.5;
          options.max_iter = 4;
          options.tol = 1e-3;
          if (separable) {
            options.length_scale = 1.5;
          } else {
            options.kernel = CurlFree(Gaussian(1.5)) + 0.5 * DivergenceFree(Gaussian(1.0));
          }
          const std::string kind = separable ? " " : " curl-free ";
          const Setting setting{approximation + kind + loss_name(loss) + " " + solver, options};
          const FitTask task = setting.task();
          const auto known = solvers_for(task);
          if (std::find(known.begin(), known.end(), task.solver) == known.end()) continue;
          if (task.exact() && !separable && !task.squared) continue;  // slow: order n p; see the blocks of a sketch
          all.push_back(setting);
        }
      }
    }
  }
  FitOptions wide = given_numbers();  // fewer rows than features
  wide.n_components = 1000;
  wide.length_scale = 1.5;
  wide.max_iter = 4;
  all.push_back({"fourier dual", wide});
  wide.loss = Huber(0.5);
  all.push_back({"fourier dual huber", wide});
  FitOptions sparse = given_numbers();
  sparse.approximation = "sparse_rademacher";
  sparse.n_components = 15;
  sparse.length_scale = 1.5;
  all.push_back({"sparse sketch", sparse});
  add_missing(all);
  return all;
}

template <Real T>
struct Data {
  Matrix<T> X, Y;
  Vector<T> w;
  Data(Index n, const Loss& loss, bool missing = false)
      : X(random_matrix<T>(n, d, 1)), w(random_matrix<T>(n, 1, 2).cwiseAbs()) {
    Y = X.array().sin() + T(0.3) * random_matrix<T>(n, p, 3).array();
    Y = targets_for(loss, Y);
    for (Index i = 0; i < n; i += 97) w[i] = 0;
    const Matrix<double> u = random_matrix(n, p, 4);
    for (Index i = 0; missing && i < n; ++i) {
      for (Index j = 0; j < p; ++j) {
        if (u(i, j) > 0.5 || i % 50 == 7) Y(i, j) = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
};

template <Real T>
void expect_equal(const KernelMachine<T>& a, const KernelMachine<T>& b, const std::string& what) {
  EXPECT_EQ(a.coefficients(), b.coefficients()) << what;
  EXPECT_EQ(a.intercept(), b.intercept()) << what;
  EXPECT_EQ(a.record().report.iterations, b.record().report.iterations) << what;
  EXPECT_EQ(a.record().report.residual, b.record().report.residual) << what;
  EXPECT_EQ(a.record().noise, b.record().noise) << what;
  EXPECT_EQ(a.record().left_out, b.record().left_out) << what;
}

}  // namespace carmina::ways_test
