// micro/gram.cpp -- the streamed Gram matrix: features, products and sums of blocks of rows, against a plain
// product.
#include "features/feature_rows.hpp"

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
  MemoryRows<T> memory(X, Y);
  const DataRows<T> rows(memory);
  const auto features = rows_of(map, rows, FeatureStorage::none, execution);
  const Work work{.flops = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(m)};
  measure<T>(state, setting, work, work.flops, "flop/s", [&] { features->moments(moments); });
}

}  // namespace

void register_gram(const Setting& setting) {
  const auto name = format_text("streamed Gram, m = {}", setting.size(2048));
  register_benchmark<float>(setting, name, gram<float>);
  register_benchmark<double>(setting, name, gram<double>);
}

}  // namespace carmina::micro
