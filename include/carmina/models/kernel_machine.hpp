// models/kernel_machine.hpp -- a fitted kernel machine f(x) + b = B Thetaᵀ phi(x) + b, one or many outputs, and how it
// learns in parts.
#pragma once
#include <carmina/core/communicator.hpp>
#include <carmina/data/rows.hpp>
#include <carmina/models/fit_options.hpp>
#include <carmina/models/model_file.hpp>
#include <carmina/models/report.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace carmina {

struct Moments;  // sums over the rows of a fit
class CheckpointFile;
template <Real T>
class DataRows;
template <Real T>
struct MachineMap;  // what predictions are made of: random features, or the rows that are kept

// One alpha of a path: how well it does on the training rows, and what that says of others (models/alpha_path.hpp).
struct PathPoint {
  double alpha;
  double training_loss;       // mean over the rows of |f + b - y|^2 / 2
  double degrees_of_freedom;  // trace of the map from targets to fits, all outputs, intercepts included
  // training_loss / (1 - degrees_of_freedom / (p W))^2, W the sum of the weights: a weight of 2 counts as two rows.
  // Infinite when there are as many degrees of freedom as targets.
  double gcv;
  std::optional<double>
      leave_one_out;  // mean of |e|^2 / 2, when asked for (solvers/squared/alpha_path_solve.hpp says what e is)
};

// From the scores f of classes to probabilities: those in proportion to exp(scale f_j) max(f_j, floor)^power, which
// keep the order of the scores. One output f stands for the scores -f/2 and f/2 of the classes -1 and 1.
struct Calibration {
  double scale = 1, power = 0, floor = 1;
  void check() const;  // Error unless scale is positive, power not negative and floor positive, all finite
  // f (p) to probabilities (p), or (2) for one output; out must not be f
  void apply(const double* f, Index p, double* out) const;
  bool operator==(const Calibration&) const = default;
};

// Outputs that are missing in the same rows, where no coupling joins them with the others: a fit of their own.
struct PatternRecord {
  std::vector<Index> columns;
  std::vector<Index> rows;                      // of an exact machine: the anchors that have these targets
  std::shared_ptr<const Moments> moments = {};  // as FitRecord's, of the rows that have these targets
};

// What the fit was asked and what it saw; kept in the file.
struct FitRecord {
  std::string approximation;  // "fourier", "exact" or a sketch's name
  Index n_components = 0;
  sketches::Parameters sketch;  // what a sketch has besides n_components
  Loss loss;
  std::optional<Calibration> calibration;  // none: a softmax if the loss is logistic, else no probabilities
  bool joint_quantiles = false;            // outputs are the levels of a pinball loss, all of one target
  bool non_crossing = false;               // predictions are put in ascending order
  Sampling sampling = Sampling::iid;
  double alpha = 0;
  std::shared_ptr<const std::vector<PathPoint>> path;  // what alpha was chosen from; not in the file
  std::optional<double> evidence;  // log density of the targets, where kernel and alpha were learnt by it
  bool fit_intercept = true, scale_inputs = false, fill_missing = false;
  bool missing_targets = false;  // some rows had targets for some of the outputs alone
  std::uint64_t seed = 0;
  Index rows = 0;              // of positive weight, with a target
  Vector<double> target_mean;  // (p), of the training rows: the yardstick of RRMSE
  std::vector<std::string> input_names, target_names;
  SolveReport report;

  // What the variance of predictions and their intervals need besides the model (models/posterior.hpp).
  Vector<double> noise;     // (p), variance of the noise by rows left out; empty: not known
  Matrix<double> left_out;  // (interval_levels(), p + 1): quantiles of their normalised errors, the last column jointly
  std::shared_ptr<const Moments> moments;  // of a direct Fourier fit that was asked to keep them; in files if asked for
  Vector<double> weights;                  // of the anchors of an exact fit; empty: all one
  std::vector<PatternRecord> patterns;     // in the place of `moments` where targets are missing; likewise in files

  bool fourier() const;
  bool exact() const;
  bool has_deviations()
      const;              // the approximation has: features and anchors with `moments`, exact machines as they are
  bool factored() const;  // by its solver: the noise and the errors of rows left out come with that
  std::optional<sketches::Distribution> chosen_sketch() const;  // of a kernel machine that is neither
};

// Why a machine with this record has no probabilities; empty: it has.
std::string why_no_probabilities(const FitRecord& record);
// Scores (n, p) to probabilities (n, p), or (n, 2) for one output.
Matrix<double> probabilities_of(const FitRecord& record, const Matrix<double>& scores);

// A kernel made of functions cannot be in a file: who can keep it elsewhere (Python's pickle) keeps it apart.
enum class KernelStorage { in_file, apart };

template <Real T>
class KernelMachine {
 public:
  using Map = MachineMap<T>;

  // For those who fit: the others have fit() and files.
  KernelMachine(Kernel kernel, std::shared_ptr<const Map> map, Matrix<T> coefficients, Matrix<T> output_root,
                Vector<T> intercept, FitRecord record);

  // Minimises J of FitOptions over f in the kernel's space (or its approximation) and b. Rows are read two times or
  // more: once for means, widths and checks, then for the solve.
  static KernelMachine fit(RowSource<T>& rows, const FitOptions& options);
  // The same from consecutive parts of one table: where parts are whole segments (data/data_rows.hpp), the machine is
  // bit-equal to that of the table in one part.
  static KernelMachine fit(const std::vector<RowSource<T>*>& parts, const FitOptions& options);
  static KernelMachine fit(ConstView<T> X, ConstView<T> Y, const FitOptions& options, const T* weights = nullptr);

  // The same of a table whose rows several processes have: each calls it with its own, which follow those of the
  // processes before it (none is allowed), and with the same options. All get the same machine, bit-equal for any
  // number of processes from one up. An error of one process ends all of them with its sentence.
  static KernelMachine fit(const std::vector<RowSource<T>*>& parts, const FitOptions& options,
                           const Communicator& processes);
  static KernelMachine fit(RowSource<T>& rows, const FitOptions& options, const Communicator& processes);

  Index dim_in() const;
  Index dim_out() const { return intercept_.size(); }
  Matrix<T> predict(ConstView<T> X, const Execution& execution = {}) const;
  void predict(ConstView<T> X, View<T> out, const Execution& execution = {}) const;  // out (n, p)

  // Probabilities of the classes (n, p), of one output those of -1 and 1 (n, 2). Error where they are not known: the
  // loss is not logistic and nobody has calibrated the scores.
  Matrix<T> probabilities(ConstView<T> X, const Execution& execution = {}) const;
  // The same machine with another calibration.
  KernelMachine calibrated(std::optional<Calibration> calibration) const;

  // One prediction per term of a sum kernel, without the intercept: they add up to predict() less the intercept.
  std::vector<Matrix<T>> predict_parts(ConstView<T> X, const Execution& execution = {}) const;

  const Kernel& kernel() const { return kernel_; }
  const Map& map() const { return *map_; }
  std::shared_ptr<const Map> shared_map() const { return map_; }   // immutable, shared by copies
  const Matrix<T>& coefficients() const { return coefficients_; }  // Theta (n_features, rank)
  const Matrix<T>& output_root() const { return output_root_; }    // B (p, rank); empty: the identity
  const Vector<T>& intercept() const { return intercept_; }
  const FitRecord& record() const { return record_; }

  // `variances`: with the sums that a Fourier machine needs for deviations and intervals; Error when it holds none.
  ModelFile to_file(KernelStorage storage = KernelStorage::in_file, bool variances = false) const;
  static KernelMachine from_file(const ModelFile& file, const std::string& source,
                                 const std::optional<Kernel>& apart = {});
  void save(const std::string& path, bool variances = false) const {
    write_model_file(path, to_file(KernelStorage::in_file, variances));
  }

 private:
  static KernelMachine fit(DataRows<T>& rows, const FitOptions& options);
  static KernelMachine fit(DataRows<T>& rows, const FitOptions& options, CheckpointFile* checkpoint);

  Kernel kernel_;
  std::shared_ptr<const Map> map_;
  Matrix<T> coefficients_, output_root_;
  Vector<T> intercept_;
  FitRecord record_;
};

// A machine from a file is in the precision it was fitted in.
using AnyKernelMachine = std::variant<KernelMachine<float>, KernelMachine<double>>;
AnyKernelMachine load_kernel_machine(const std::string& path);
AnyKernelMachine kernel_machine_from_file(const ModelFile& file, const std::string& source,
                                          const std::optional<Kernel>& apart = {});

// Squared-loss Fourier machines that learn in parts: sums over rows add up.

// The machine that a fit to the rows it has seen and to these gives, with its kernel, width and scaling as they are.
// Error when it holds no sums: it must be a direct Fourier fit with keep_moments, not from a file.
template <Real T>
KernelMachine<T> fit_further(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution = {});

// The machine that a fit to the rows of both gives. Error when they differ in kernel, frequencies, scaling, alpha or
// intercept.
template <Real T>
KernelMachine<T> merge(const KernelMachine<T>& a, const KernelMachine<T>& b, const Execution& execution = {});

}  // namespace carmina
