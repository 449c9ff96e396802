// micro/solve.cpp -- (H + alpha I) x = r for four outputs by Cholesky, in double as every fit does it.
#include "solvers/linear/shifted_systems.hpp"

#include "measure.hpp"

namespace carmina::micro {

namespace {

void solve(benchmark::State& state, const Setting& setting, Index m) {
  constexpr Index p = 4;
  const Matrix<double> random = Matrix<double>::Random(m, 64);
  const Matrix<double> H = random * random.transpose();
  const Matrix<double> right = Matrix<double>::Random(m, p);
  const Vector<double> delta = Vector<double>::Ones(p);
  Matrix<double> factor, R;
  const auto order = static_cast<double>(m);
  const Work work{.flops = order * order * order / 3 + 2 * order * order * p};
  measure<double>(
      state, setting, work, work.flops, "flop/s",
      [&] {
        SolveReport outcome;
        solve_shifted(factor.data(), m, m, delta, 1.0, R, setting.execution(), outcome);
      },
      [&] {
        factor = H;
        R = right;
      });
}

}  // namespace

void register_solve(const Setting& setting) {
  for (const Index full : {1024, 2048, 4096}) {
    const Index m = setting.size(full);
    register_benchmark<double>(setting, format_text("solve, m = {}", m),
                               [m](auto& state, const Setting& chosen) { solve(state, chosen, m); });
  }
}

}  // namespace carmina::micro
