// tests/outside/main.cpp -- uses the installed library as a stranger would: a fit, a file, a prediction. MODEL and
// MODEL.numbers are for the stranger who only predicts (predict/main.cpp).
#include <carmina/carmina.hpp>
#include <carmina/models/predictor.hpp>
#include <cstdio>
#include <fstream>

int main(int, char** words) {
  const auto data = carmina::friedman(500, {.seed = 1});
  carmina::FitOptions options;
  options.n_components = 200;
  options.keep_moments = true;
  const auto model = carmina::KernelMachine<double>::fit(data.X, data.Y, options);
  const std::string path = words[1];
  model.save(path, true);
  const auto loaded = carmina::Predictor::load(path);
  carmina::require(loaded.predict(data.X) == model.predict(data.X), "the model changed on its way through a file");
  std::ofstream file(path + ".numbers", std::ios::binary);
  for (const carmina::Matrix<double>& all : {data.X, loaded.predict(data.X), loaded.predict_std(data.X)}) {
    file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(double)));
  }
  carmina::require(file.good(), "cannot write '{}.numbers'", path);
  carmina::MemoryRows<double> rows(data.X, data.Y);
  std::printf("R2 of a fit from outside: %.3f\n", carmina::evaluate_machine(model, rows).average.r2);
}
