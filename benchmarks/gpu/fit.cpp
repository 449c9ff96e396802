// benchmarks/gpu/fit.cpp -- one fit of generated rows on a device or the CPU, as a line of JSON.
//
//   carmina_gpu_fit ROWS INPUTS COMPONENTS OUTPUTS DEVICE LIBRARY [SOLVER|LOSS] [SAVE]
//
// Inputs are normal; target a is sin(x_1 + a) + x_2 x_3 / 2 + normal noise of deviation 0.1. The Gaussian kernel's
// width is the median of distances, alpha = 1e-6 rows, relative residual 1e-6, float. SAVE: a folder for X.bin and
// Y.bin, rows of floats, and W.bin, the frequencies, which another program then fits.
#include <carmina/models/evaluation.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/random/philox.hpp>
#include "models/machine/machine_map.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using namespace carmina;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void fill(Matrix<float>& X, Matrix<float>& Y, std::uint64_t seed) {
  const Random inputs(seed, Stream::data), noise(seed, Stream::noise);
  constexpr Index together = 4096;
  parallel_for((X.rows() + together - 1) / together, Execution{}.thread_count(), [&](Index task, int) {
    for (Index i = task * together; i < std::min(X.rows(), (task + 1) * together); ++i) {
      const auto row = static_cast<std::uint64_t>(i);
      for (Index k = 0; k < X.cols(); ++k) {
        X(i, k) = static_cast<float>(inputs.normal(row, static_cast<std::uint32_t>(k)));
      }
      const float more = X.cols() > 2 ? X(i, 1) * X(i, 2) / 2 : 0;
      for (Index a = 0; a < Y.cols(); ++a) {
        Y(i, a) = std::sin(X(i, 0) + static_cast<float>(a)) + more +
                  static_cast<float>(0.1 * noise.normal(row, static_cast<std::uint32_t>(a)));
      }
    }
  });
}

void save(const std::string& path, const Matrix<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), values.size() * static_cast<std::streamsize>(sizeof(float)));
  require(file.good(), "cannot write '{}'", path);
}

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return '"' + out + '"';
}

int run(int count, char** words) {
  require(count >= 7, "carmina_gpu_fit ROWS INPUTS COMPONENTS OUTPUTS DEVICE LIBRARY [SOLVER|LOSS] [SAVE]");
  const Index rows = std::atoll(words[1]), inputs = std::atoll(words[2]), components = std::atoll(words[3]);
  const Index outputs = std::atoll(words[4]);
  Matrix<float> X(rows, inputs), Y(rows, outputs), Z(10000, inputs), truth(10000, outputs);
  fill(X, Y, 1);
  fill(Z, truth, 2);
  FitOptions options;
  options.kernel_name = "gaussian";
  options.width = WidthRule::median;
  options.approximation = "fourier";
  options.n_components = components;
  options.alpha = 1e-6 * static_cast<double>(rows);
  options.scale_inputs = false;
  options.tol = 1e-6;
  options.execution.device = words[5];
  options.execution.device_library = words[6];
  const std::string what = count > 7 ? words[7] : "cg";  // a loss, or a solver of the squared one
  const auto losses = loss_names();
  const bool squared = std::find(losses.begin(), losses.end(), what) == losses.end();
  if (!squared) options.loss = make_loss(what);
  options.solver = squared ? what : "auto";
  if (!squared) options.tol = 1e-4;
  // The first use of a device starts it, which takes as long whatever the rows.
  const auto start = Clock::now();
  if (options.execution.device != "cpu") {
    FitOptions small = options;
    small.n_components = 64, small.alpha = 1;
    (void)KernelMachine<float>::fit(X.topRows(std::min<Index>(rows, 4096)), Y.topRows(std::min<Index>(rows, 4096)),
                                    small);
  }
  const double started = seconds_since(start);
  const auto begin = Clock::now();
  const auto machine = KernelMachine<float>::fit(X, Y, options);
  const double spent = seconds_since(begin);
  const SolveReport& report = machine.record().report;
  const double error = std::sqrt((machine.predict(Z) - truth).array().square().mean());
  std::string phases;
  for (const auto& [phase, s] : report.seconds)
    phases += format_text("{}{}: {:.4f}", phases.empty() ? "" : ", ", quoted(phase), s);
  print_text(
      "{{\"rows\": {}, \"inputs\": {}, \"components\": {}, \"outputs\": {}, \"device\": {}, \"seconds\": {:.4f}, "
      "\"start\": {:.3f}, \"phases\": {{{}}}, \"solver\": {}, \"iterations\": {}, \"residual\": {:.3g}, "
      "\"rmse\": {:.5f}, \"where\": {}}}\n",
      rows, inputs, components, outputs, quoted(words[5]), spent, started, phases, quoted(report.solver),
      report.iterations, report.residual, error, quoted(report.device));
  if (count > 8) {
    const std::string folder = words[8];
    save(folder + "/X.bin", X);
    save(folder + "/Y.bin", Y);
    save(folder + "/W.bin", std::get<FourierMap<float>>(machine.map()).frequencies());
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    print_text("{}\n", error.what());
    return 1;
  }
}
