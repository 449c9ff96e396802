// tests/numbers/numbers_test.cpp -- every map, loss and solver on tables at the edges of what numbers can do: the least
// J, found by other means in 400 digits, or an error. A number that is not finite, or another answer, is wrong.
//
// Each of some hundred in every run; all of them with CARMINA_ALL_NUMBERS=1.
#include "cases.hpp"
#include "counts.hpp"
#include "exact_minimum.hpp"

#include <gtest/gtest.h>
#include <carmina/models/posterior.hpp>

#include <Eigen/Eigenvalues>

#include "features/map_operations.hpp"
#include "models/machine/machine_map.hpp"

namespace carmina::numbers_test {
namespace {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

// ---- kernels and features of a machine's map, by formulas of their own for kernels

Exact kernel_value(const ScalarKernel& kernel, const Vector<double>& x, const Vector<double>& z) {
  if (const auto* polynomial = std::get_if<Polynomial>(&kernel)) {
    Exact sum = 0;
    for (Index j = 0; j < x.size(); ++j) sum += Exact(x[j]) * Exact(z[j]);
    return pow(polynomial->gamma * sum + polynomial->coef0, polynomial->degree);
  }
  const Exact width = length_scale(kernel).values()[0];
  Exact squares = 0, absolutes = 0;
  for (Index j = 0; j < x.size(); ++j) {
    const Exact difference = (Exact(x[j]) - Exact(z[j])) / width;
    squares += difference * difference, absolutes += abs(difference);
  }
  return exp(std::holds_alternative<Gaussian>(kernel) ? Exact(-squares / 2) : Exact(-absolutes));
}

template <Real T>
ExactMatrix gram(const KernelMap<T>& map, const Matrix<T>& A, const Matrix<T>& B) {
  const auto placed = [&](const Matrix<T>& X) {
    Matrix<T> out(X.rows(), X.cols());
    map.transform().apply(X.data(), X.cols(), X.rows(), X.cols(), out.data());
    return Matrix<double>(out.template cast<double>());
  };
  const Matrix<double> a = placed(A), b = placed(B);
  return ExactMatrix::NullaryExpr(a.rows(), b.rows(),
                                  [&](Index i, Index j) { return kernel_value(map.kernel(), a.row(i), b.row(j)); });
}

// |f|^2, and what functions may be learnt: the Gram matrix over the rows; empty for sketches that mix their anchors.
template <Real T>
struct Learnable {
  Exact norm2 = 0;
  ExactMatrix K;
};
template <Real T>
Learnable<T> view_of(const KernelMachine<T>& machine, const Matrix<T>& X) {
  Learnable<T> view;
  const Matrix<double> theta = machine.coefficients().template cast<double>();
  const auto form = [&](const ExactMatrix& G) {
    Exact sum = 0;
    for (Index i = 0; i < G.rows(); ++i) {
      for (Index j = 0; j < G.rows(); ++j) sum += Exact(theta(i, 0)) * G(i, j) * Exact(theta(j, 0));
    }
    return sum;
  };
  if (const auto* fourier = std::get_if<FourierMap<T>>(&machine.map())) {
    Matrix<T> phi(X.rows(), fourier->n_features());
    evaluate<FourierMap<T>>(*fourier, X, phi, Execution{});
    const ExactMatrix features = phi.template cast<Exact>();
    view.K = features * features.transpose();
    for (const double one : theta.reshaped()) view.norm2 += Exact(one) * Exact(one);
    return view;
  }
  const auto& map = std::get<KernelMap<T>>(machine.map());
  const ExactMatrix anchors = gram(map, map.anchors(), map.anchors());
  view.norm2 = form(anchors);
  if (machine.record().approximation == "sparse_rademacher") return view;
  view.K = gram(map, X, X);
  if (machine.record().approximation != "exact") {  // f lies in the span of the anchors: K_nz K_zz⁺ K_zn
    const Eigen::SelfAdjointEigenSolver<LongMatrix> eigen(anchors.template cast<long double>().eval());
    const LongMatrix across = gram(map, X, map.anchors()).template cast<long double>();
    LongMatrix root = across * eigen.eigenvectors();
    const long double least = 1e-14L * eigen.eigenvalues().cwiseAbs().maxCoeff();
    for (Index j = 0; j < root.cols(); ++j) {
      const long double mu = eigen.eigenvalues()[j];
      root.col(j) *= mu > least ? 1 / std::sqrt(mu) : 0.0L;
    }
    const ExactMatrix exact_root = root.template cast<Exact>();
    view.K = exact_root * exact_root.transpose();
  }
  return view;
}

// K without the directions whose eigenvalues are below `rounding`: a matrix that differs from K by no more than that.
ExactMatrix without_rounding(const ExactMatrix& K, double rounding) {
  const auto narrow = [](const Exact& value) { return static_cast<long double>(value); };
  const Eigen::SelfAdjointEigenSolver<LongMatrix> eigen(LongMatrix(K.unaryExpr(narrow)));
  const Index n = K.rows();
  Index small = 0;
  while (small < n && eigen.eigenvalues()[small] < static_cast<long double>(rounding)) ++small;
  ExactMatrix Q = ExactMatrix::Identity(n, n), V = eigen.eigenvectors().leftCols(small).cast<Exact>();
  for (Index k = 0; k < small; ++k) {  // Gram and Schmidt, in all digits
    for (Index j = 0; j < k; ++j) V.col(k) -= V.col(j) * V.col(j).dot(V.col(k));
    V.col(k) /= sqrt(V.col(k).squaredNorm());
  }
  Q -= V * V.transpose();
  return Q * K * Q;
}

// ---- one case

template <Real T>
struct Trial {
  const Table<T>& table;
  const Setting& setting;
  FitOptions options = setting.options;

  // What is wrong, or nothing.
  std::string run() const {
    const Matrix<T> y = targets();
    return judge(KernelMachine<T>::fit(table.X, y, options, table.w.data()), y);
  }

  // Signs for the losses of classes.
  Matrix<T> targets() const {
    const bool classes = std::holds_alternative<Hinge>(options.loss) || std::holds_alternative<Logistic>(options.loss);
    if (!classes) return table.y;
    return table.y.unaryExpr([](T value) { return value > 0 ? T(1) : T(-1); });
  }

  std::string judge(const KernelMachine<T>& machine, const Matrix<T>& y) const {
    const Matrix<T> F = machine.predict(table.X);  // an error where one is not finite
    const Learnable<T> view = view_of(machine, table.X);
    if (!F.allFinite()) return "a prediction is not finite";
    if (why_no_deviation(machine.record()).empty()) {
      const Matrix<double> deviation = Posterior<T>(machine).deviation(table.X);
      if (!deviation.allFinite() || deviation.minCoeff() < 0) return "a deviation is not finite";
    }
    const auto again = KernelMachine<T>::from_file(decode_model(encode_model(machine.to_file()), "m"), "m");
    if (again.predict(table.X) != F) return "the saved machine predicts something else";
    if (machine.record().report.status == SolveStatus::not_converged) return unfinished;
    return compare(machine, view, F.template cast<double>(), y.template cast<double>());
  }

  // J is at most the least J of a problem within rounding of this one: K and alpha with an error of 64 eps |K| each.
  std::string compare(const KernelMachine<T>& machine, const Learnable<T>& view, const Matrix<double>& F,
                      const Matrix<double>& y) const {
    Problem problem{options.loss,         view.K, y.col(0), table.w.template cast<double>(), *options.alpha,
                    options.fit_intercept};
    const std::string& solver = machine.record().report.solver;
    const double eps = std::numeric_limits<T>::epsilon();
    const bool iterates = solver != "direct", stochastic = solver == "adam" || solver == "sgd";
    const double stop = stochastic ? std::sqrt(options.tol) : options.tol;
    const double relative = iterates ? std::max(64 * eps, 10 * stop) : 64 * eps;
    const bool sketched = options.approximation == "sub_sample" || options.approximation == "sparse_rademacher";
    const double share = std::max({std::sqrt(eps) / 10, iterates ? 10 * stop : 0.0, sketched ? 1e-4 : 0.0});
    // Numbers below the normal ones have fewer digits.
    Exact J = problem.alpha / 2 * view.norm2, slack = 64 * std::numeric_limits<double>::denorm_min();
    double off = 64 * eps * y.cwiseAbs().maxCoeff() + 64.0 * std::numeric_limits<T>::denorm_min();
    // A prediction is a sum of terms c_a k_a, each of them rounded: f is f (1 + eps) of the sum of their sizes. That
    // much is the numbers', as long as it leaves half of their digits: the features' and the kernels' sizes are at most
    // the root of their squares' sum, and k(0) = 1.
    const double terms = eps * machine.coefficients().template cast<double>().norm();
    off = std::max(off, std::min(terms, std::sqrt(eps) / 3 * y.cwiseAbs().maxCoeff()));
    for (Index i = 0; i < y.rows(); ++i) {
      const Exact w = problem.w[i], f = F(i, 0);
      const Exact here = loss_of(options.loss, f, y(i, 0));
      J += w * here;
      slack += Exact(64 * eps) * w * loss_of(options.loss, 0, y(i, 0));  // terms of sums are rounded
      for (const double side : {-off, off}) {
        slack += w * std::max<Exact>(loss_of(options.loss, f + Exact(side), y(i, 0)) - here, 0);
      }
    }
    const Exact nothing = objective_of_nothing(problem);
    Exact least = nothing;
    if (view.K.size() > 0) {
      problem.alpha += Exact(relative) * Exact(problem.w.maxCoeff()) * view.K.trace();
      problem.K = without_rounding(problem.K, relative * static_cast<double>(problem.K.trace()));
      least = exact_minimum(problem);
    }
    const Exact bound = least + Exact(share) * nothing + slack;
    if (J <= bound) return "";
    return "J " + J.str(6) + ", at most " + bound.str(6) + ", with nothing " + nothing.str(6);
  }
};

template <class T>
class Numbers : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Numbers, Precisions);

TYPED_TEST(Numbers, AreRightOrRefused) {
  using T = TypeParam;
  Counts counts;
  Share share(all_numbers, 149);  // prime: every table, setting and alpha has its turn
  const auto all = tables<T>();
  for (const Setting& setting : settings()) {
    for (const Table<T>& table : all) {
      for (const double alpha : alphas) {
        if (!share.has_next()) continue;
        Trial<T> trial{table, setting};
        trial.options.alpha = alpha;
        counts.take(describe<T>(share, setting.name, table.name, alpha), [&] { return trial.run(); });
      }
    }
  }
  counts.report(sizeof(T) == 4 ? "float" : "double");
}

}  // namespace
}  // namespace carmina::numbers_test
