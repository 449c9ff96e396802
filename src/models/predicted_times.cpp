// models/predicted_times.cpp -- rates of products, of the preconditioner's Gram matrix and of a pass over the rows.
#include "predicted_times.hpp"

#include <carmina/backends/blas.hpp>
#include <carmina/backends/reduced_gram.hpp>
#include <carmina/features/map_operations.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>

namespace carmina {
namespace {

// The shorter of two runs: the first one also wakes threads and touches memory.
template <class Work>
double seconds_of(const Work& work) {
  double least = 0;
  for (int run = 0; run < 2; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = run == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

// Operations per second of n m^2 for a Gram matrix of n rows and m columns.
template <Real T>
double gram_rate(const Execution& execution) {
  constexpr Index order = 512;
  const Index tasks = execution.thread_count();
  const Matrix<T> A = Matrix<T>::Constant(order, order, T(0.5));
  std::vector<Matrix<T>> C(static_cast<std::size_t>(tasks), Matrix<T>(order, order));
  const double seconds = seconds_of([&] {
    parallel_for(tasks, execution.thread_count(), [&](Index task, int) {
      backend::gemm<T>(backend::Transpose::yes, backend::Transpose::no, order, order, order, T(1), A.data(), order,
                       A.data(), order, T(0), C[static_cast<std::size_t>(task)].data(), order);
    });
  });
  return 2.0 * static_cast<double>(tasks * order * order * order) / seconds;
}

double reduced_gram_rate(const Execution& execution) {
  constexpr Index order = 1024, rows = 1024;
  backend::ReducedGram gram(order, backend::Reduced::bfloat16, execution);
  const double seconds = seconds_of(
      [&] { gram.add(rows, [](Index, Index count, float* out, int) { std::fill(out, out + count * order, 0.5F); }); });
  return 1.0 * rows * order * order / seconds;
}

// Seconds for each row of a pass that multiplies by the features and by their transpose.
template <Real T>
double pass_rate(const FourierMap<T>& map, Index dim_out, const Execution& execution) {
  const Index rows = 2048 * execution.thread_count();
  const Matrix<T> X = Matrix<T>::Constant(rows, map.dim_in(), T(0.5));
  const Matrix<T> theta = Matrix<T>::Constant(map.n_features(), dim_out, T(0.5));
  Matrix<double> out = Matrix<double>::Zero(map.n_features(), dim_out);
  return seconds_of([&] { normal_operator<FourierMap<T>>(map, X, nullptr, theta, out, execution); }) /
         static_cast<double>(rows);
}

// Passes with a sample of c m rows. cg cuts the error by sqrt(c) each time if no eigenvalue of the Gram matrix is below
// alpha. Many are as a rule, and fewer passes do: `easy` is near what fits took with n / (m alpha) = 50; with 5000 they
// took 0.57 to 0.64 of the way from there to `hard` (n = 100,000, m = 2048, c = 2, 4, 8).
double passes(double c, double tol, double rows_per_alpha) {
  const double easy = -0.66 * std::log(tol) / std::log1p(std::sqrt(c));
  const double hard = -std::log(tol) / std::max(0.1, std::log(c) / 2);
  const double share = std::clamp((std::log10(rows_per_alpha) - 1.7) / 4, 0.0, 1.0);
  return 2.5 + easy + share * std::max(0.0, hard - easy);
}

}  // namespace

template <Real T>
PredictedTimes predict_times(const FourierMap<T>& map, Index rows, Index dim_out, double tol, double alpha,
                             const Execution& execution) {
  const auto n = static_cast<double>(rows), m = static_cast<double>(map.n_features());
  const double products = gram_rate<T>(execution), factors = gram_rate<double>(execution);
  PredictedTimes times;
  times.direct = n * m * m / (0.85 * products) + m * m * m / 3 / (0.7 * factors);
  const double reduced = reduced_gram_rate(execution), pass = pass_rate(map, dim_out, execution);
  times.passes = static_cast<Index>(std::ceil(times.direct / (n * pass)));
  const double factor = m * m * m / 3 / (0.6 * (std::same_as<T, float> ? products : gram_rate<float>(execution)));
  for (const double c : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0}) {
    if (2 * c * m > n) break;  // the sample would be most of the rows
    const double seconds = c * m * m * m / reduced + factor + passes(c, tol, n / (m * alpha)) * n * pass;
    if (times.sample_rows > 0 && seconds >= times.cg) continue;
    times.cg = seconds;
    times.sample_rows = static_cast<Index>(c * m);
  }
  return times;
}

template PredictedTimes predict_times(const FourierMap<float>&, Index, Index, double, double, const Execution&);
template PredictedTimes predict_times(const FourierMap<double>&, Index, Index, double, double, const Execution&);

}  // namespace carmina
