// micro/features.cpp -- Fourier features of rows: projections, then a cosine and a sine each, written to
// memory.
#include <carmina/features/map_operations.hpp>

#include "measure.hpp"

namespace carmina::micro {

namespace {

template <Real T>
void features(benchmark::State& state, const Setting& setting, Index d) {
  const Index n = setting.size(16384), m = setting.size(2048);
  const FourierMap<T> map(Gaussian(4.0), d, m, 0);
  const Matrix<T> X = Matrix<T>::Random(n, d);
  Matrix<T> phi(n, m);
  const double values = static_cast<double>(n) * static_cast<double>(m);
  const Work work{.flops = values * static_cast<double>(d), .sincos = values / 2, .bytes = values * sizeof(T)};
  measure<T>(state, setting, work, values, "values/s", [&] { evaluate(map, X, View<T>(phi), setting.execution()); });
}

}  // namespace

void register_features(const Setting& setting) {
  for (const Index d : {16, 128}) {
    const auto of_precision = [&]<Real T>(T) {
      register_benchmark<T>(setting, fmt::format("features, d = {}", d),
                            [d](auto& state, const Setting& chosen) { features<T>(state, chosen, d); });
    };
    of_precision(float());
    of_precision(double());
  }
}

}  // namespace carmina::micro
