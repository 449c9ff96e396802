// benchmarks/gpu/fit.cpp -- fits of generated rows on a device or the CPU, each a line of JSON.
//
//   carmina_gpu_fit ROWS INPUTS COMPONENTS OUTPUTS DEVICE LIBRARY [SOLVER|LOSS|field] [SAVE]
//   carmina_gpu_fit all DEVICE LIBRARY [NAME...]     the shapes of docs/gpu.md, or some of them
//
// Inputs are normal; target a is sin(x_1 + a) + x_2 x_3 / 2 + normal noise of deviation 0.1. The Gaussian kernel's
// width is the median of distances, alpha = 1e-6 rows, relative residual 1e-6, float. "field": a curl-free and a
// divergence-free kernel of width 2.2. SAVE: a folder for X.bin and Y.bin, rows of floats, and W.bin, the frequencies,
// which another program then fits.
#include <carmina/models/evaluation.hpp>
#include <carmina/models/kernel_machine.hpp>
#include "backends/cuda/backend.hpp"
#include "models/machine/machine_map.hpp"

#include <carmina/data/device_array.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace carmina;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Two normal numbers of a place, by Box and Muller's formula from the bits of splitmix64.
std::pair<float, float> normals(std::uint64_t place) {
  std::uint64_t z = (place + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  const float u = static_cast<float>((z >> 40) + 1) * 0x1p-24F;
  const float turn = static_cast<float>(z & 0xffffffU) * 0x1p-24F * 6.2831853F;
  const float r = std::sqrt(-2 * std::log(u));
  return {r * std::cos(turn), r * std::sin(turn)};
}

// Rows from number `first` on.
void fill(Eigen::Ref<Matrix<float>> X, Eigen::Ref<Matrix<float>> Y, std::uint64_t seed, Index first = 0) {
  constexpr Index together = 4096;
  const Index d = X.cols(), p = Y.cols(), places = (d + p + 1) / 2;
  parallel_for((X.rows() + together - 1) / together, Execution{}.thread_count(), [&](Index task, int) {
    std::vector<float> row(static_cast<std::size_t>(2 * places));
    for (Index i = task * together; i < std::min(X.rows(), (task + 1) * together); ++i) {
      const auto at = (seed << 56) + static_cast<std::uint64_t>((first + i) * places);
      for (Index k = 0; k < places; ++k) {
        std::tie(row[static_cast<std::size_t>(2 * k)], row[static_cast<std::size_t>(2 * k + 1)]) =
            normals(at + static_cast<std::uint64_t>(k));
      }
      std::copy_n(row.data(), d, X.row(i).data());
      const float more = d > 2 ? X(i, 1) * X(i, 2) / 2 : 0;
      for (Index a = 0; a < p; ++a) {
        Y(i, a) = std::sin(X(i, 0) + static_cast<float>(a)) + more + 0.1F * row[static_cast<std::size_t>(d + a)];
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

struct Case {
  std::string name;
  Index rows, inputs, components, outputs;
  std::string what;   // a solver of the squared loss, another loss, or "field"
  bool held = false;  // inputs are in the device's memory
};

const std::vector<Case> shapes = {
    {"susy", 11000000, 28, 8192, 1, "cg"},
    {"taxi", 100000000, 9, 2048, 1, "cg"},
    {"taxi-held", 1000000000, 9, 8192, 1, "cg", true},
    {"higgs-100000", 10500000, 28, 100000, 1, "cg"},
    {"timit", 1200000, 440, 16384, 144, "cg"},
    {"huber", 10000000, 28, 4096, 1, "huber"},
    {"pinball", 10000000, 28, 4096, 1, "pinball"},
    {"field", 10000000, 3, 4096, 3, "field"},
    {"direct-held", 11000000, 28, 4096, 1, "direct", true},
};

// Memory of the device for the inputs, given back at the end.
struct HeldInputs {
  backend::Device device;
  void* memory = nullptr;

  HeldInputs(const Execution& execution, Index numbers) : device(*backend::find_device(execution)) {
    backend::require_done(device, device.api->allocate(device.number, static_cast<std::size_t>(numbers) * 4, &memory));
  }
  HeldInputs(const HeldInputs&) = delete;
  ~HeldInputs() { device.api->release(device.number, memory); }
  void put(const Matrix<float>& rows, Index first, Index count) const {
    const auto width = static_cast<std::size_t>(rows.cols()) * 4;
    backend::require_done(device, device.api->copy(device.number, static_cast<float*>(memory) + first * rows.cols(),
                                                   width, rows.data(), width, width, static_cast<std::size_t>(count)));
  }
};

FitOptions options_of(const Case& one, const std::string& device, const std::string& library) {
  FitOptions options;
  options.kernel_name = "gaussian";
  options.width = WidthRule::median;
  options.approximation = "fourier";
  options.n_components = one.components;
  options.alpha = 1e-6 * static_cast<double>(one.rows);
  options.scale_inputs = false;
  options.tol = 1e-6;
  options.execution.device = device;
  options.execution.device_library = library;
  const auto losses = loss_names();
  const bool squared = std::find(losses.begin(), losses.end(), one.what) == losses.end();
  if (one.what == "field") {
    options.kernel = CurlFree(Gaussian(2.2)) + DivergenceFree(Gaussian(2.2));
    options.solver = "cg";
  } else if (squared) {
    options.solver = one.what;
  } else {
    options.loss = make_loss(one.what);
    options.solver = "auto", options.tol = 1e-4;
  }
  return options;
}

void run(const Case& one, const std::string& device, const std::string& library, const std::string& folder) {
  const FitOptions options = options_of(one, device, library);
  const auto making = Clock::now();
  Matrix<float> Y(one.rows, one.outputs), Z(10000, one.inputs), truth(10000, one.outputs);
  Matrix<float> X(one.held ? Index{1} << 21 : one.rows, one.inputs);
  std::optional<HeldInputs> held;
  if (one.held) {
    held.emplace(options.execution, one.rows * one.inputs);
    for (Index first = 0; first < one.rows; first += X.rows()) {
      const Index count = std::min(X.rows(), one.rows - first);
      fill(X.topRows(count), Y.middleRows(first, count), 1, first);
      held->put(X, first, count);
    }
  } else {
    fill(X, Y, 1);
  }
  fill(Z, truth, 2);
  std::fprintf(stderr, "%s: rows made in %.1f s\n", one.name.c_str(), seconds_since(making));
  // The first use of a device starts it, which takes as long whatever the rows.
  const auto start = Clock::now();
  if (device != "cpu") {
    FitOptions small = options;
    small.n_components = 64, small.alpha = 1;
    (void)KernelMachine<float>::fit(X.topRows(4096), Y.topRows(4096), small);
  }
  const double started = seconds_since(start);
  const auto begin = Clock::now();
  const auto machine = [&] {
    if (!held) return KernelMachine<float>::fit(X, Y, options);
    const DeviceArray<float> inputs{static_cast<const float*>(held->memory), one.rows, one.inputs, one.inputs};
    return KernelMachine<float>::fit(*rows_on_device<float>(inputs, Y, nullptr, options.execution), options);
  }();
  const double spent = seconds_since(begin);
  const SolveReport& report = machine.record().report;
  const Matrix<float> found = machine.predict(Z);
  const double error = std::sqrt((found - truth).array().square().mean());
  // Of a million rows again, each from host memory; the second time nothing is to be opened.
  const Index predicted = std::min<Index>(X.rows(), 1000000);
  double seconds[2], off = 0;
  for (double& one_time : seconds) {
    const auto before = Clock::now();
    (void)machine.predict(X.topRows(predicted), options.execution);
    one_time = seconds_since(before);
  }
  off = (machine.predict(Z, options.execution) - found).cwiseAbs().maxCoeff();
  std::string phases;
  for (const auto& [phase, s] : report.seconds)
    phases += format_text("{}{}: {:.4f}", phases.empty() ? "" : ", ", quoted(phase), s);
  print_text(
      "{{\"name\": {}, \"rows\": {}, \"inputs\": {}, \"components\": {}, \"outputs\": {}, \"what\": {}, "
      "\"device\": {}, \"seconds\": {:.4f}, \"start\": {:.3f}, \"phases\": {{{}}}, \"solver\": {}, "
      "\"iterations\": {}, \"residual\": {:.3g}, \"rmse\": {:.5f}, \"predicted\": {}, \"predict\": [{:.4f}, "
      "{:.4f}], \"predictions differ\": {:.3g}, \"where\": {}, \"message\": {}}}\n",
      quoted(one.name), one.rows, one.inputs, one.components, one.outputs, quoted(one.what), quoted(device), spent,
      started, phases, quoted(report.solver), report.iterations, report.residual, error, predicted, seconds[0],
      seconds[1], off, quoted(report.device), quoted(report.message));
  std::fflush(stdout);
  if (folder.empty()) return;
  save(folder + "/X.bin", X);
  save(folder + "/Y.bin", Y);
  save(folder + "/W.bin", std::get<FourierMap<float>>(machine.map()).frequencies());
}

int run(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words[0] == "all") {
    for (const Case& one : shapes) {
      if (words.size() > 3 && std::find(words.begin() + 3, words.end(), one.name) == words.end()) continue;
      try {
        run(one, words[1], words[2], "");
      } catch (const std::exception& error) {
        print_text("{{\"name\": {}, \"error\": {}}}\n", quoted(one.name), quoted(error.what()));
      }
    }
    return 0;
  }
  require(words.size() >= 6,
          "carmina_gpu_fit ROWS INPUTS COMPONENTS OUTPUTS DEVICE LIBRARY [SOLVER|LOSS|field] [SAVE]");
  const auto number = [&](std::size_t k) { return static_cast<Index>(std::atoll(words[k].c_str())); };
  run({"", number(0), number(1), number(2), number(3), words.size() > 6 ? words[6] : "cg"}, words[4], words[5],
      words.size() > 7 ? words[7] : "");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(std::vector<std::string>(words + 1, words + count));
  } catch (const std::exception& error) {
    print_text("{}\n", error.what());
    return 1;
  }
}
