// micro/features.cpp -- Fourier features of rows: projections, then a cosine and a sine each, written to
// memory.
#include "features/map_operations.hpp"

#include <cmath>
#include <memory>
#include <new>

#include "measure.hpp"

namespace carmina::micro {

namespace {

template <Real T>
void features(benchmark::State& state, const Setting& setting, Index d, Sampling sampling) {
  const Index n = setting.size(16384), m = setting.size(2048);
  const FourierMap<T> map(Gaussian(4.0), d, m, 0, {}, sampling);
  const Matrix<T> X = Matrix<T>::Random(n, d);
  const auto line = std::align_val_t(64);  // where Python's arrays begin, too
  const std::unique_ptr<T, void (*)(T*)> memory(static_cast<T*>(::operator new(sizeof(T) * std::size_t(n * m), line)),
                                                [](T* p) { ::operator delete(p, std::align_val_t(64)); });
  const View<T> phi = map_rows(memory.get(), n, m);
  const double values = static_cast<double>(n) * static_cast<double>(m);
  // A frequency is half of a value's work: 2 d flops, or three transforms of log2(n) additions.
  const HadamardFrequencies* structured = map.structured();
  const double flops =
      structured ? 1.5 * std::log2(static_cast<double>(structured->block_size())) : static_cast<double>(d);
  const Work work{.flops = values * flops, .sincos = values / 2, .bytes = values * sizeof(T), .overlap = true};
  measure<T>(state, setting, work, values, "values/s", [&] { evaluate(map, X, phi, setting.execution()); });
}

}  // namespace

void register_features(const Setting& setting) {
  const auto add = [&](Index d, Sampling sampling, const char* note) {
    const auto of_precision = [&]<Real T>(T) {
      register_benchmark<T>(setting, format_text("features{}, d = {}", note, d),
                            [=](auto& state, const Setting& chosen) { features<T>(state, chosen, d, sampling); });
    };
    of_precision(float());
    of_precision(double());
  };
  for (const Index d : {16, 128, 784}) add(d, Sampling::iid, "");
  for (const Index d : {128, 784}) add(d, Sampling::hadamard, ", hadamard");
}

}  // namespace carmina::micro
