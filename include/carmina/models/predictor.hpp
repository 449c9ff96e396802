// models/predictor.hpp -- a fitted model of any kind and precision, from its file: what a program that only predicts
// needs.
#pragma once
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/derived.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <memory>
#include <string>
#include <vector>

namespace carmina {

// Predictions of whatever a model file holds: a kernel machine in float or double, a spectral mixture. Rows come in
// either precision and predictions go out in the same; the work is done in the model's own, so a double that is too
// large for a float model is refused.
//
// Threads: a Predictor does not change once it is made. Every const member may be called from many threads at once, on
// the same object, and gives the same numbers as alone; what predict_std needs is computed by the first call and
// shared. Calls that run at the same time share one pool of workers: the first gets it, the others work on their own
// thread. Copies are cheap and share the model. Assigning to a Predictor while another thread uses it needs a lock, as
// for any value.
class Predictor {
 public:
  // Error, with the path, for a file that is no model of ours, or needs more than the memory budget (0: the machine's).
  static Predictor load(const std::string& path, std::size_t memory_budget = 0) {
    return from_file(read_model_file(path, memory_budget), path);
  }
  static Predictor from_file(const ModelFile& file, const std::string& source);
  // `encoder`: what makes the machine's inputs of the columns of a table; null: they are numbers as they are.
  explicit Predictor(AnyKernelMachine machine, std::shared_ptr<const InputEncoder> encoder = nullptr);
  explicit Predictor(SpectralMixtureMachine machine, std::shared_ptr<const InputEncoder> encoder = nullptr);

  std::string kind() const;       // "kernel_machine" or "spectral_mixture"
  std::string precision() const;  // "float32" or "float64", of the work
  Index dim_in() const;           // numbers of a row: with an encoder more than a table has columns
  Index row_length() const;  // of the rows that a program gives: columns of the table where all are numbers, some of
                             // which wrap round, else dim_in()
  Index dim_out() const;
  const std::shared_ptr<const InputEncoder>& encoder() const;
  const FitRecord& record() const;  // what the fit was asked and what it saw
  // Names of the columns of X, empty when the fit had none, and of the predictions' columns (models/evaluation.hpp).
  std::vector<std::string> input_names() const { return record().input_names; }
  std::vector<std::string> output_names() const;

  // (n, dim_out) for X (n, row_length), or (n, dim_in), as an encoder makes it. Error for another number of columns and
  // for infinite values; NaN only where the model fills missing inputs.
  Matrix<double> predict(ConstView<double> X, const Execution& execution = {}) const;
  Matrix<float> predict(ConstView<float> X, const Execution& execution = {}) const;

  // Why probabilities are not known; empty: they are, the loss being logistic or the scores calibrated.
  std::string why_no_probabilities() const;
  // Of the classes: (n, dim_out), or (n, 2) for one output, of -1 and 1. Error where they are not known.
  Matrix<double> predict_probabilities(ConstView<double> X, const Execution& execution = {}) const;
  Matrix<float> predict_probabilities(ConstView<float> X, const Execution& execution = {}) const;
  // Names of their columns: those of the outputs, or of one output name=-1 and name=1.
  std::vector<std::string> class_names() const;

  // Why deviations, or intervals, are not known; empty: they are. Deviations are for spectral mixtures and for direct
  // squared-loss fits with a positive alpha, of Fourier machines where the file holds their variances; intervals for
  // both.
  std::string why_no_std() const;
  std::string why_no_interval() const;
  // (n, dim_out): standard deviation of a new observation, noise included. Error where they are not known.
  Matrix<double> predict_std(ConstView<double> X, const Execution& execution = {}) const;
  Matrix<float> predict_std(ConstView<float> X, const Execution& execution = {}) const;
  // (n, 2 dim_out): ends of the interval of each output (models/posterior.hpp; of mixtures by normal quantiles).
  Matrix<double> predict_interval(ConstView<double> X, double coverage, bool joint = false,
                                  const Execution& execution = {}) const;
  Matrix<float> predict_interval(ConstView<float> X, double coverage, bool joint = false,
                                 const Execution& execution = {}) const;
  // Gradients, divergence, curl, potentials of kernel machines, and their standard deviations (models/derived.hpp).
  // Error where they are not known, deviations also where predict_std has one.
  Matrix<double> derive(Derived what, ConstView<double> X, const Execution& execution = {}) const;
  Matrix<float> derive(Derived what, ConstView<float> X, const Execution& execution = {}) const;
  Matrix<double> derived_std(Derived what, ConstView<double> X, const Execution& execution = {}) const;
  Matrix<float> derived_std(Derived what, ConstView<float> X, const Execution& execution = {}) const;
  // Functions drawn from the posterior at all rows of X together, without noise: (n, dim_out) each. Error where
  // predict_std has one. Whether a draw is one function in all calls with its seed: not where it takes the covariance
  // of all rows, as of exact machines.
  std::vector<Matrix<double>> sample(ConstView<double> X, Index draws, std::uint64_t seed,
                                     const Execution& execution = {}) const;
  std::vector<Matrix<float>> sample(ConstView<float> X, Index draws, std::uint64_t seed,
                                    const Execution& execution = {}) const;
  bool samples_in_parts() const;

  // The model itself, of its kind; null for another.
  const AnyKernelMachine* kernel_machine() const;
  const SpectralMixtureMachine* spectral_mixture() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace carmina
