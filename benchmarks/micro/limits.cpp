// micro/limits.cpp -- rates of the machine: matrix product, sine and cosine, exponential, memory.
#include "limits.hpp"

#include <algorithm>
#include <carmina/core/execution.hpp>
#include <chrono>
#include <thread>
#include <vector>
#include "backends/blas.hpp"
#include "backends/tiled.hpp"
#include "backends/vector_math.hpp"

#include "measure.hpp"

namespace carmina::micro {

namespace {

constexpr Index cached = 512;            // numbers: three arrays of them stay in the first cache
constexpr Index passes = 8000;           // over the cached numbers: some milliseconds
constexpr Index triad_bytes = 64 << 20;  // of each array

// Calls body(worker's share) on every thread at once.
double seconds_on_all(int threads, const std::function<void(Index)>& body) {
  return seconds_of([&] { parallel_for(threads, threads, [&](Index task, int) { body(task); }); });
}

// Values per second of step(in, out, other) over `cached` numbers in cache.
template <class T, class Step>
double cached_rate(int threads, Step step) {
  const auto share = [&](Index) {
    // Side by side: at distances of whole pages loads would wait for stores to the like place of another array.
    Vector<T> all = Vector<T>::Zero(3 * cached);
    T *const in = all.data(), *const out = in + cached, *const other = out + cached;
    for (Index i = 0; i < cached; ++i) in[i] = static_cast<T>(i % 97) / 10 - 5;
    for (Index pass = 0; pass < passes; ++pass) step(in, out, other);
  };
  return static_cast<double>(threads * passes * cached) / seconds_on_all(threads, share);
}

}  // namespace

template <Real T>
Limits<T>::Limits(Index gemm_order, int threads)
    : threads_(threads),
      A_(Matrix<T>::Random(gemm_order, gemm_order)),
      B_(Matrix<T>::Random(gemm_order, gemm_order)),
      C_(Matrix<T>::Zero(gemm_order, gemm_order)) {
  gemm();  // the first call is slower: threads start, pages of C are touched
}

template <Real T>
double Limits<T>::gemm() {
  const Index k = A_.rows();
  double seconds = 0;
  seconds = seconds_of([&] {
    parallel_for(threads_, threads_, [&](Index task, int) {
      const Index first = task * k / threads_, rows = (task + 1) * k / threads_ - first;
      backend::gemm<T>(backend::Transpose::no, backend::Transpose::no, rows, k, k, T(1), A_.row(first).data(), k,
                       B_.data(), k, T(0), C_.row(first).data(), k);
    });
  });
  const auto order = static_cast<double>(k);
  return 2 * order * order * order / seconds;
}

template <Real T>
double Limits<T>::sincos() {
  return cached_rate<T>(
      threads_, [](const T* in, T* cosine, T* sine) { backend::sincos_scaled(in, T(0.5), cosine, sine, cached); });
}

template <Real T>
double Limits<T>::exp() {
  return cached_rate<T>(threads_, [](const T* in, T* out, T*) {
    std::copy_n(in, cached, out);
    backend::exp_scaled(out, T(-0.5), cached);
  });
}

template <Real T>
double Limits<T>::bandwidth() {
  const Index count = triad_bytes / static_cast<Index>(sizeof(T));
  static Vector<T> a = Vector<T>::Zero(count), b = Vector<T>::Ones(count), c = Vector<T>::Ones(count);
  const Index share = count / threads_;
  const double seconds = seconds_on_all(threads_, [&](Index task) {
    a.segment(task * share, share) = b.segment(task * share, share) + T(3) * c.segment(task * share, share);
  });
  return 3.0 * static_cast<double>(share * threads_) * sizeof(T) / seconds;
}

template <Real T>
double Limits<T>::writing() {
  const Index count = triad_bytes / static_cast<Index>(sizeof(T));
  static Vector<T> a = Vector<T>::Zero(count);
  const Index share = count / threads_;
  const double seconds =
      seconds_on_all(threads_, [&](Index task) { a.segment(task * share, share).setConstant(T(3)); });
  return static_cast<double>(share * threads_) * sizeof(T) / seconds;
}

template <Real T>
double Limits<T>::seconds(const Work& work) {
  const double product = work.flops > 0 ? work.flops / gemm() : 0;
  const double sines = work.sincos > 0 ? work.sincos / sincos() : 0;
  const double exponentials = work.exponentials > 0 ? work.exponentials / exp() : 0;
  const double memory = work.bytes > 0 ? work.bytes / writing() : 0;
  if (work.overlap) return std::max({product, sines, exponentials, memory});
  return std::max(product + sines + exponentials, memory);
}

template class Limits<float>;
template class Limits<double>;

// The rates themselves, as rows of the same table.
namespace {

template <Real T>
void register_rate(const Setting& setting, const std::string& name, double (Limits<T>::*rate)(), const char* unit) {
  register_benchmark<T>(setting, name, [=](benchmark::State& state, const Setting& chosen) {
    Limits<T> limits(chosen.gemm_order, chosen.threads);
    std::vector<double> rates;
    for (auto _ : state) {
      state.SetIterationTime(seconds_of([&] { rates.push_back((limits.*rate)()); }));
    }
    report(state, median(rates), median(rates), unit);
  });
}

}  // namespace

void register_limits(const Setting& setting) {
  const auto of_precision = [&]<Real T>(T) {
    register_rate<T>(setting, format_text("limit: product, order {}", setting.gemm_order), &Limits<T>::gemm, "flop/s");
    register_rate<T>(setting, "limit: sine and cosine", &Limits<T>::sincos, "values/s");
    register_rate<T>(setting, "limit: exponential", &Limits<T>::exp, "values/s");
    register_rate<T>(setting, "limit: memory, triad", &Limits<T>::bandwidth, "bytes/s");
    register_rate<T>(setting, "limit: memory, writing", &Limits<T>::writing, "bytes/s");
  };
  of_precision(float());
  of_precision(double());
}

}  // namespace carmina::micro
