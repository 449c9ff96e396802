// tests/outside/predict/main.cpp -- predict MODEL NUMBERS: the rows and predictions in NUMBERS, made by the whole
// library (tests/outside/main.cpp), against those of the prediction library, bit by bit.
#include <carmina/core/error.hpp>
#include <carmina/models/predictor.hpp>
#include <cstdio>
#include <fstream>

int main(int, char** words) {
  const auto model = carmina::Predictor::load(words[1]);
  carmina::Matrix<double> X(500, model.dim_in()), mean(500, model.dim_out()), deviation = mean;
  std::ifstream file(words[2], std::ios::binary);
  for (carmina::Matrix<double>* all : {&X, &mean, &deviation}) {
    file.read(reinterpret_cast<char*>(all->data()), static_cast<std::streamsize>(all->size() * sizeof(double)));
  }
  carmina::require(file.good(), "'{}' is short", words[2]);
  carmina::require(model.predict(X) == mean, "the prediction library predicts other bits");
  carmina::require(model.predict_std(X) == deviation, "the prediction library's deviations have other bits");
  std::printf("%s: the same bits\n", words[1]);
}
