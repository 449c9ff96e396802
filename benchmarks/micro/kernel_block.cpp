// micro/kernel_block.cpp -- exact values k(x_i, z_j) of a Gaussian kernel: distances by a product, then an
// exponential.
#include "features/map_operations.hpp"

#include "measure.hpp"

namespace carmina::micro {

namespace {

template <Real T>
void kernel_block(benchmark::State& state, const Setting& setting) {
  const Index n = setting.size(8192), s = setting.size(4096), d = 16;
  const KernelMap<T> map(Gaussian(2.0), Matrix<T>::Random(s, d));
  const Matrix<T> X = Matrix<T>::Random(n, d);
  Matrix<T> K(n, s);
  const double values = static_cast<double>(n) * static_cast<double>(s);
  const Work work{.flops = 2 * values * static_cast<double>(d), .exponentials = values, .bytes = values * sizeof(T)};
  measure<T>(state, setting, work, values, "values/s", [&] { evaluate(map, X, View<T>(K), setting.execution()); });
}

}  // namespace

void register_kernel_block(const Setting& setting) {
  register_benchmark<float>(setting, "kernel block, d = 16", kernel_block<float>);
  register_benchmark<double>(setting, "kernel block, d = 16", kernel_block<double>);
}

}  // namespace carmina::micro
