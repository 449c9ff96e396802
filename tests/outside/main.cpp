// tests/outside/main.cpp -- uses the installed library as a stranger would: a fit, a file, a prediction.
#include <carmina/carmina.hpp>
#include <cstdio>

int main(int, char** argv) {
  const auto data = carmina::friedman(500, {.seed = 1});
  carmina::FitOptions options;
  options.n_components = 200;
  const auto model = carmina::KernelMachine<double>::fit(data.X, data.Y, options);
  const std::string path = std::string(argv[0]) + ".carmina";
  model.save(path);
  const auto loaded = std::get<carmina::KernelMachine<double>>(carmina::load_kernel_machine(path));
  carmina::require(loaded.predict(data.X) == model.predict(data.X), "the model changed on its way through a file");
  carmina::MemoryRows<double> rows(data.X, data.Y);
  std::printf("R2 of a fit from outside: %.3f\n", carmina::evaluate_machine(model, rows).average.r2);
}
