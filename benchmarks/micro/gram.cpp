// micro/gram.cpp -- the streamed Gram matrix: features, products and sums of blocks of rows, against a plain
// product.
#include <carmina/solvers/moments.hpp>

#include "measure.hpp"

namespace carmina::micro {

namespace {

// A symmetric product of n rows takes n m^2 flops, half of what a general one takes; features are made on the
// way and are not counted.
template <Real T>
void gram(benchmark::State& state, const Setting& setting) {
  const Index n = setting.size(32768), d = 16, m = setting.size(2048), p = 4;
  const FourierMap<T> map(Gaussian(2.0), d, m, 0);
  const Matrix<T> X = Matrix<T>::Random(n, d), Y = Matrix<T>::Random(n, p);
  const Execution execution = setting.execution();
  Moments moments(m, Vector<double>::Zero(p));
  MomentsBuilder builder(map, moments, execution);
  MemoryRows<T> rows(X, Y);
  const Work work{.flops = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(m)};
  measure<T>(state, setting, work, work.flops, "flop/s", [&] {
    rows.rewind();
    builder.add(rows.next(n));
  });
}

}  // namespace

void register_gram(const Setting& setting) {
  const auto name = format_text("streamed Gram, m = {}", setting.size(2048));
  register_benchmark<float>(setting, name, gram<float>);
  register_benchmark<double>(setting, name, gram<double>);
}

}  // namespace carmina::micro
