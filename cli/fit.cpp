// cli/fit.cpp -- `carmina fit`: a table in, a model file out.
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "columns.hpp"
#include "commands.hpp"
#include "kernel_text.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

struct FitCommand {
  std::string data, model;
  Targets targets;
  std::string kernel = "gaussian", coupling, length_scale = "median", loss = "squared", matrix, seed = "0",
              sampling = "iid";
  std::optional<double> nu, shape, degree, gamma, coef0, kappa, epsilon, density, draws;
  std::vector<double> levels;
  bool float32 = false, no_scale = false, no_intercept = false;
  FitOptions fit;
  Resources resources;

  void run();

 private:
  void check_words();
  void check_kernel();
  void check_loss();
  void check_sketch();
  void read_output_matrix(Index n_targets);
  template <Real T>
  void fit_rows(std::unique_ptr<TableReader> reader, std::unique_ptr<TableReader> target_reader, ColumnRoles roles,
                ProgressLine& line);
};

// Words and numbers that parsed but may be out of range, all before a file is opened.
void FitCommand::check_words() {
  const auto known = [](const char* option, const std::string& word, std::initializer_list<const char*> words) {
    std::string list;
    for (const char* one : words) {
      if (word == one) return;
      list += fmt::format("{}{}", list.empty() ? "" : ", ", one);
    }
    fail("{}: '{}' is not known here; there is {}", option, word, list);
  };
  known("--operator", coupling, {"", "none", "decomposable", "curl-free", "divergence-free"});
  known("--solver", fit.solver, {"auto", "direct", "cg", "lsmr", "idr", "sgd", "adam", "newton", "lbfgs"});
  known("--sampling", sampling, {"iid", "orthogonal", "sobol"});
  require(matrix.empty() || coupling.empty() || coupling == "decomposable",
          "--output-matrix needs --operator decomposable, found {}", coupling);
  check_kernel();
  check_loss();
  check_sketch();
  const auto [end, code] = std::from_chars(seed.data(), seed.data() + seed.size(), fit.seed);
  require(code == std::errc() && end == seed.data() + seed.size(), "--seed must be from 0 to 2^64 - 1, found {}", seed);
  fit.sampling = parse_sampling(sampling);
  fit.scale_inputs = !no_scale;
  fit.fit_intercept = !no_intercept;
  fit.check();
}

void FitCommand::check_kernel() {
  fit.kernel_name = kernel;
  const auto parameter = [&](const char* name, std::optional<double> value) {
    if (value) fit.kernel_parameters[name] = *value;
  };
  parameter("nu", nu);
  parameter("shape", shape);
  parameter("degree", degree);
  parameter("gamma", gamma);
  parameter("coef0", coef0);
  if (length_scale != "median") {
    double width = 1;
    std::from_chars(length_scale.data(), length_scale.data() + length_scale.size(), width);
    fit.length_scale = width;
  }
  const ScalarKernel scalar = make_scalar_kernel(kernel, fit.length_scale, fit.kernel_parameters);
  require(!fit.bounded || coupling == "curl-free" || coupling == "divergence-free",
          "--bounded needs --operator curl-free or divergence-free, found {}", coupling.empty() ? "none" : coupling);
  if (coupling == "curl-free") {
    fit.coupling = OutputCoupling::curl_free;
    CurlFree checked(scalar, fit.bounded);
  } else if (coupling == "divergence-free") {
    fit.coupling = OutputCoupling::divergence_free;
    DivergenceFree checked(scalar, fit.bounded);
  }
}

void FitCommand::check_loss() {
  LossParameters parameters;
  if (kappa) parameters["kappa"] = {*kappa};
  if (epsilon) parameters["epsilon"] = {*epsilon};
  if (!levels.empty()) parameters["levels"] = levels;
  fit.loss = make_loss(loss, parameters);
}

void FitCommand::check_sketch() {
  if (fit.approximation == "fourier" || fit.approximation == "exact") {
    require(!density && !draws, "--{} is for sketches, --approximation is {}", density ? "density" : "draws",
            fit.approximation);
    return;
  }
  fit.chosen_sketch();  // an unknown name is refused with a list
  sketches::Parameters parameters;
  if (density) parameters["density"] = {*density};
  if (draws) parameters["m"] = {*draws};
  fit.sketch = sketches::make_sketch(fit.approximation, fit.n_components, parameters);
}

void FitCommand::read_output_matrix(Index n_targets) {
  if (matrix.empty() && coupling != "decomposable") return;
  if (matrix.empty() || matrix == "identity") {
    fit.coupling = OutputCoupling::identity;
  } else if (matrix == "covariance") {
    fit.coupling = OutputCoupling::covariance;
  } else {
    fit.coupling = OutputCoupling::matrix;
    fit.output_matrix = read_table(matrix).values;
    require(fit.output_matrix.rows() == n_targets && fit.output_matrix.cols() == n_targets,
            "{}: expected a {} x {} matrix for {} targets, found {} x {}", matrix, n_targets, n_targets, n_targets,
            fit.output_matrix.rows(), fit.output_matrix.cols());
    try {
      factor_output_matrix(fit.output_matrix);
    } catch (const Error& error) {
      fail("{}: {}", matrix, error.what());
    }
  }
}

void FitCommand::run() {
  targets.check(true);
  ProgressLine line;
  fit.execution = resources.execution(line);
  check_words();
  std::vector<std::string> inputs = {data};
  if (!targets.file.empty()) inputs.push_back(targets.file);
  if (!matrix.empty()) inputs.push_back(matrix);
  check_output(model, inputs);

  auto reader = open_table(data);
  const auto& columns = reader->columns();
  std::unique_ptr<TableReader> target_reader;
  ColumnRoles roles;
  if (targets.file.empty()) {
    roles = choose_columns(columns, targets.columns, data);
    fit.target_names = names_of(columns, roles.targets);
  } else {
    target_reader = open_table(targets.file);
    roles = all_inputs(columns);
    for (const Column& column : target_reader->columns()) fit.target_names.push_back(column.name);
  }
  fit.input_names = names_of(columns, roles.inputs);
  read_output_matrix(static_cast<Index>(fit.target_names.size()));
  if (float32) {
    fit_rows<float>(std::move(reader), std::move(target_reader), std::move(roles), line);
  } else {
    fit_rows<double>(std::move(reader), std::move(target_reader), std::move(roles), line);
  }
}

template <Real T>
void FitCommand::fit_rows(std::unique_ptr<TableReader> reader, std::unique_ptr<TableReader> target_reader,
                          ColumnRoles roles, ProgressLine& line) {
  const auto start = std::chrono::steady_clock::now();
  TableRows<T> rows(std::move(reader), std::move(target_reader), std::move(roles), fit.fill_missing);
  const auto machine = KernelMachine<T>::fit(rows, fit);
  fit.execution.checkpoint({"writing", machine.record().rows, machine.record().rows});
  machine.save(model);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  line.erase();

  const FitRecord& record = machine.record();
  const Term& term = machine.kernel().terms()[0];  // a fit by names has one
  const std::string width = length_scale_text(term);
  fmt::print("{}, {}, {}; {} kernel{}{}, {}; {} solver, {}\n", counted(record.rows, "row"),
             counted(machine.dim_in(), "input"), counted(machine.dim_out(), "target"), kernel_text(term),
             width.empty() ? "" : " of width ", width, approximation_text(record), record.report.solver,
             format_seconds(spent.count()));
  fmt::print("wrote {} ({})\n", model, format_bytes(static_cast<double>(std::filesystem::file_size(model))));
  if (!record.report.message.empty()) fmt::print(stderr, "carmina: warning: {}\n", record.report.message);
}

}  // namespace

void add_fit(CLI::App& program) {
  auto* command = program.add_subcommand("fit", "Fit a kernel machine to a table and write it to a model file");
  command->footer("Example: carmina fit train.csv --targets speed,angle --model wind.safetensors --components 2000");
  auto it = std::make_shared<FitCommand>();
  command->add_option("DATA", it->data, "The table, a row for each sample")->required()->type_name("FILE");
  it->targets.add(*command);
  command->add_option("--model", it->model, "The model file to write")->required()->type_name("FILE");
  // Help ends with the default in brackets.
  const auto option = [&](const char* name, auto& value, const char* kind, const char* help) {
    return command->add_option(name, value, fmt::format("{} [{}]", help, value))->type_name(kind);
  };
  option("--kernel", it->kernel, "gaussian|laplacian|matern|cauchy|rational_quadratic|polynomial|sobolev1",
         "The scalar kernel; the last two: exact or sketched");
  command->add_option("--nu", it->nu, "Smoothness of the matern kernel [1.5]")->type_name("NUMBER");
  command->add_option("--shape", it->shape, "Shape of the rational_quadratic kernel [1]")->type_name("NUMBER");
  command->add_option("--degree", it->degree, "Degree of the polynomial kernel (gamma <x, z> + coef0)^degree [3]")
      ->type_name("NUMBER");
  command->add_option("--gamma", it->gamma, "Factor in the polynomial kernel [1 / number of inputs]")
      ->type_name("NUMBER");
  command->add_option("--coef0", it->coef0, "Constant in the polynomial kernel [1]")->type_name("NUMBER");
  command
      ->add_option(
          "--operator", it->coupling,
          "Targets each on their own, coupled by a matrix, or a vector field, a component for each input [none]")
      ->type_name("none|decomposable|curl-free|divergence-free");
  command
      ->add_option("--output-matrix", it->matrix, "The matrix of a decomposable kernel: a table or a word [identity]")
      ->type_name("FILE|identity|covariance");
  command->add_flag("--bounded", it->fit.bounded,
                    "Features of a vector field that vary less, drawn in proportion to their size; gaussian kernel");
  option("--length-scale", it->length_scale, "median|NUMBER", "Width of the kernel; median: of distances between rows")
      ->check(looks_like_number("median"));
  option("--approximation", it->fit.approximation, "fourier|exact|SKETCH",
         "Random Fourier features, the kernel itself, or a sketch: sub_sample, sparse_rademacher, ...");
  option("--components", it->fit.n_components, "N", "Number of Fourier features, even; or size of the sketch");
  command->add_option("--density", it->density, "Share of entries in sparse_rademacher, sparse_gaussian [20 / rows]")
      ->type_name("NUMBER");
  command->add_option("--draws", it->draws, "Draws for each row of the accumulation sketch [20]")->type_name("N");
  option("--loss", it->loss, "squared|huber|epsilon_insensitive|squared_epsilon_insensitive|pinball|absolute|hinge",
         "What a residual costs");
  command->add_option("--kappa", it->kappa, "Where the huber loss turns linear [1]")->type_name("NUMBER");
  command->add_option("--epsilon", it->epsilon, "What the epsilon_insensitive losses forgive [0.1]")
      ->type_name("NUMBER");
  command->add_option("--levels", it->levels, "Levels of the pinball loss, with commas; one target: jointly [0.5]")
      ->delimiter(',')
      ->type_name("NUMBERS");
  option("--alpha", it->fit.alpha, "NUMBER", "Weight of the penalty");
  option("--seed", it->seed, "N", "Seed of the random features")->check(looks_like_integer());
  option("--sampling", it->sampling, "iid|orthogonal|sobol", "How the features' frequencies are drawn");
  option("--solver", it->fit.solver, "auto|direct|cg|lsmr|idr|sgd|adam|newton|lbfgs",
         "direct: factorise a matrix; cg: iterate, in less memory; newton, lbfgs: other losses than squared; the "
         "rest: Fourier features only");
  option("--max-iter", it->fit.max_iter, "N", "Most iterations; of sgd and adam: passes over the rows");
  option("--tol", it->fit.tol, "NUMBER", "Relative residual at which iterations stop; sgd and adam: at its root");
  it->resources.add_threads(*command);
  it->resources.add_memory(*command);
  command->add_flag("--float32", it->float32, "Compute in single precision");
  command->add_flag("--no-scale", it->no_scale, "Leave inputs as they are, not at zero mean and unit variance");
  command->add_flag("--no-intercept", it->no_intercept, "Fit no constant term");
  command->add_flag("--fill-missing", it->fit.fill_missing, "Take the training mean for a missing input");
  command->callback([it] { it->run(); });
}

}  // namespace carmina::cli
