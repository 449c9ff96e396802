// micro/predict.cpp -- phi(X) theta for one or many outputs, features never stored.
#include "features/map_operations.hpp"

#include "measure.hpp"

namespace carmina::micro {

namespace {

template <Real T>
void predict(benchmark::State& state, const Setting& setting, Index p) {
  const Index n = setting.size(32768), d = 16, m = setting.size(2048);
  const FourierMap<T> map(Gaussian(2.0), d, m, 0);
  const Matrix<T> X = Matrix<T>::Random(n, d), theta = Matrix<T>::Random(m, p);
  Matrix<T> out(n, p);
  const double values = static_cast<double>(n) * static_cast<double>(m);
  const Work work{.flops = values * static_cast<double>(d + 2 * p), .sincos = values / 2};
  measure<T>(state, setting, work, static_cast<double>(n), "rows/s",
             [&] { apply(map, X, theta, View<T>(out), setting.execution()); });
}

}  // namespace

void register_predict(const Setting& setting) {
  for (const Index p : {1, 4, 16}) {
    const auto of_precision = [&]<Real T>(T) {
      register_benchmark<T>(setting, format_text("predict, p = {}", p),
                            [p](auto& state, const Setting& chosen) { predict<T>(state, chosen, p); });
    };
    of_precision(float());
    of_precision(double());
  }
}

}  // namespace carmina::micro
