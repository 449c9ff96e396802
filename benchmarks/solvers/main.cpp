// benchmarks/solvers -- every solver on the same Fourier problems, as the Markdown table of docs/solvers.md.
#include <carmina/data/generators.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <chrono>
#include <cmath>

namespace {

using namespace carmina;

// Seconds of the whole fit; `away`: root mean square of predictions less the direct ones, over that of the latter.
template <Real T>
void compare(const char* title, const Dataset& data, FitOptions options) {
  const Matrix<T> X = data.X.cast<T>(), Y = data.Y.cast<T>();
  print_text("\n{}\n\n| solver | iterations | residual | away from direct | seconds |\n|---|---|---|---|---|\n", title);
  Matrix<double> direct;
  for (const char* solver : {"direct", "cg", "lsmr", "idr", "sgd", "adam"}) {
    options.solver = solver;
    const auto begin = std::chrono::steady_clock::now();
    const auto model = KernelMachine<T>::fit(X, Y, options);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const Matrix<double> predicted = model.predict(X).template cast<double>();
    if (direct.size() == 0) direct = predicted;
    const SolveReport& report = model.record().report;
    print_text("| {} | {} | {:.1e}{} | {:.1e} | {:.2f} |\n", solver, report.iterations, report.residual,
               report.status == SolveStatus::converged ? "" : " (not converged)",
               (predicted - direct).norm() / direct.norm(), spent.count());
  }
}

}  // namespace

int main() {
  FitOptions options;
  options.kernel_name = "gaussian";
  options.width = WidthRule::median;
  options.approximation = "fourier";
  options.n_components = 1000;
  options.alpha = 1;
  options.scale_inputs = false;
  compare<float>("Friedman, 50,000 rows, 10 inputs, Gaussian kernel, 1000 components, alpha 1, float",
                 friedman(50000, {.noise = 1}), options);
  compare<double>("The same in double", friedman(50000, {.noise = 1}), options);
  options.kernel = CurlFree(Gaussian(0.4)) + DivergenceFree(Gaussian(0.4));
  options.n_components = 500;
  options.alpha = 0.1;
  compare<double>("Vector field, 20,000 rows, curl-free + divergence-free, 500 components each, alpha 0.1, double",
                  vector_field("curl-free", 20000, {.noise = 0.1}), options);
}
