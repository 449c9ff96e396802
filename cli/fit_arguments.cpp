// cli/fit_arguments.cpp -- options of a fit: declared, checked, and the table opened.
#include "fit_arguments.hpp"

#include <carmina/core/error.hpp>
#include <charconv>
#include <filesystem>

#include "columns.hpp"

namespace carmina::cli {

void FitArguments::add(CLI::App& command) {
  command_ = &command;
  command.add_option("DATA", data, "The table, a row for each sample")->required()->type_name("FILE");
  targets_.add(command);
  command.add_option("--model", model, "The model file to write")->required()->type_name("FILE");
  // Help ends with the default in brackets.
  const auto option = [&](const char* name, auto& value, const char* kind, const char* help) {
    return command.add_option(name, value, format_text("{} [{}]", help, value))->type_name(kind);
  };
  option("--kernel", kernel_,
         "gaussian|laplacian|matern|cauchy|rational_quadratic|polynomial|sobolev1|spectral_mixture",
         "The scalar kernel; polynomial, sobolev1: exact or sketched; spectral_mixture: learnt from the data");
  command.add_option("--nu", nu_, "Smoothness of the matern kernel [1.5]")->type_name("NUMBER");
  command.add_option("--shape", shape_, "Shape of the rational_quadratic kernel [1]")->type_name("NUMBER");
  command.add_option("--degree", degree_, "Degree of the polynomial kernel (gamma <x, z> + coef0)^degree [3]")
      ->type_name("NUMBER");
  command.add_option("--gamma", gamma_, "Factor in the polynomial kernel [1 / number of inputs]")->type_name("NUMBER");
  command.add_option("--coef0", coef0_, "Constant in the polynomial kernel [1]")->type_name("NUMBER");
  command
      .add_option(
          "--operator", coupling_,
          "Targets each on their own, coupled by a matrix, or a vector field, a component for each input [none]")
      ->type_name("none|decomposable|curl-free|divergence-free");
  command.add_option("--output-matrix", matrix_, "The matrix of a decomposable kernel: a table or a word [identity]")
      ->type_name("FILE|identity|covariance");
  command.add_flag("--bounded", bounded_,
                   "Features of a vector field that vary less, drawn in proportion to their size; gaussian kernel");
  option("--length-scale", length_scale_, "median|NUMBER", "Width of the kernel; median: of distances between rows")
      ->check(looks_like_number("median"));
  option("--approximation", fit.approximation, "fourier|exact|SKETCH",
         "Random Fourier features, the kernel itself, or a sketch: sub_sample, sparse_rademacher, ...");
  option("--components", fit.n_components, "N",
         "Number of Fourier features, even, of spectral_mixture 600; or size of the sketch");
  command.add_option("--density", density_, "Share of entries in sparse_rademacher, sparse_gaussian [20 / rows]")
      ->type_name("NUMBER");
  command
      .add_option(
          "--draws", draws_,
          "Draws for each row of the accumulation sketch [20]; of spectral_mixture: sets of spectral points that "
          "predictions are averaged over [1]")
      ->type_name("N");
  option("--loss", loss_, "squared|huber|epsilon_insensitive|squared_epsilon_insensitive|pinball|absolute|hinge",
         "What a residual costs");
  command.add_option("--kappa", kappa_, "Where the huber loss turns linear [1]")->type_name("NUMBER");
  command.add_option("--epsilon", epsilon_, "What the epsilon_insensitive losses forgive [0.1]")->type_name("NUMBER");
  command.add_option("--levels", levels_, "Levels of the pinball loss, with commas; one target: jointly [0.5]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NUMBERS");
  command.add_flag("--non-crossing", fit.non_crossing, "Put predicted quantiles in order, so that they never cross");
  option("--seed", seed_, "N", "Seed of the random features")->check(looks_like_integer());
  option("--sampling", sampling_, "iid|orthogonal|sobol|hadamard|phases", "How the features' frequencies are drawn");
  option("--solver", fit.solver, "auto|direct|cg|lsmr|idr|sgd|adam|newton|lbfgs|natural_gradient",
         "direct: factorise a matrix; cg: iterate, in less memory; newton, lbfgs, adam: other losses than squared; the "
         "rest and adam with squared: Fourier features only; spectral_mixture: lbfgs, adam, natural_gradient");
  option("--max-iter", fit.max_iter, "N",
         "Most iterations, of spectral_mixture 500; of sgd and adam: passes over the rows");
  option("--tol", fit.tol, "NUMBER",
         "Relative residual at which iterations stop; sgd and adam: at its root; spectral_mixture: relative progress, "
         "1e-05");
  option("--validation-fraction", fit.validation_fraction, "NUMBER",
         "Of adam with other losses than squared: part of the rows held out to tell when to stop; 0: none");
  option("--patience", fit.patience, "N", "Passes over the rows without a smaller loss of those held out");
  mixture_arguments_.add(command);
  resources_.add_threads(command);
  resources_.add_memory(command);
  command.add_flag("--float32", float32, "Compute in single precision");
  command.add_flag("--no-scale", no_scale_, "Leave inputs as they are, not at zero mean and unit variance");
  command.add_flag("--no-intercept", no_intercept_, "Fit no constant term");
  command.add_flag("--fill-missing", fit.fill_missing, "Take the training mean for a missing input");
}

void FitArguments::check(ProgressLine& line) {
  targets_.check(true);
  fit.execution = resources_.execution(line);
  mixture_arguments_.check_given(*command_, is_mixture());
  check_words();
  std::vector<std::string> inputs = {data};
  if (!targets_.file.empty()) inputs.push_back(targets_.file);
  if (!matrix_.empty()) inputs.push_back(matrix_);
  check_output(model, inputs);
}

void FitArguments::check_words() {
  const auto known = [](const char* option, const std::string& word, std::initializer_list<const char*> words) {
    std::string list;
    for (const char* one : words) {
      if (word == one) return;
      list += format_text("{}{}", list.empty() ? "" : ", ", one);
    }
    fail("{}: '{}' is not known here; there is {}", option, word, list);
  };
  known("--operator", coupling_, {"", "none", "decomposable", "curl-free", "divergence-free"});
  const auto [end, code] = std::from_chars(seed_.data(), seed_.data() + seed_.size(), fit.seed);
  require(code == std::errc() && end == seed_.data() + seed_.size(), "--seed must be from 0 to 2^64 - 1, found {}",
          seed_);
  fit.fit_intercept = !no_intercept_;
  if (is_mixture()) {
    known("--solver", fit.solver, {"auto", "lbfgs", "adam", "natural_gradient"});
    mixture = mixture_arguments_.options(*this, *command_);
    return;
  }
  known("--solver", fit.solver, {"auto", "direct", "cg", "lsmr", "idr", "sgd", "adam", "newton", "lbfgs"});
  known("--sampling", sampling_, {"iid", "orthogonal", "sobol", "hadamard", "phases"});
  require(matrix_.empty() || coupling_.empty() || coupling_ == "decomposable",
          "--output-matrix needs --operator decomposable, found {}", coupling_);
  check_kernel();
  fit.loss = make_loss_with("", std::nullopt);
  check_sketch();
  fit.sampling = parse_sampling(sampling_);
  fit.scale_inputs = !no_scale_;
  fit.check();
}

void FitArguments::check_kernel() {
  fit.kernel_name = kernel_;
  const auto parameter = [&](const char* name, std::optional<double> value) {
    if (value) fit.kernel_parameters[name] = *value;
  };
  parameter("nu", nu_);
  parameter("shape", shape_);
  parameter("degree", degree_);
  parameter("gamma", gamma_);
  parameter("coef0", coef0_);
  if (length_scale_ != "median") {
    double width = 1;
    std::from_chars(length_scale_.data(), length_scale_.data() + length_scale_.size(), width);
    fit.length_scale = width;
  }
  const ScalarKernel scalar = make_scalar_kernel(kernel_, fit.length_scale, fit.kernel_parameters);
  // A matrix is read with the table.
  if (!coupling_.empty() && coupling_ != OutputMatrix::name) fit.coupling = parse_coupling(coupling_);
  require(!bounded_ || is_differential(fit.coupling),
          "--bounded needs --operator curl-free or divergence-free, found {}", coupling_.empty() ? "none" : coupling_);
  if (bounded_) fit.coupling = parse_coupling(coupling_, bounded_);
  Kernel checked(own_term(scalar, fit.coupling));
}

Loss FitArguments::make_loss_with(const std::string& parameter, std::optional<double> value) const {
  LossParameters parameters;
  if (kappa_) parameters["kappa"] = {*kappa_};
  if (epsilon_) parameters["epsilon"] = {*epsilon_};
  if (!levels_.empty()) parameters["levels"] = levels_;
  if (value) parameters[parameter] = {*value};
  return make_loss(loss_, parameters);
}

void FitArguments::check_sketch() {
  if (fit.approximation == "fourier" || fit.approximation == "exact") {
    require(!density_ && !draws_, "--{} is for sketches, --approximation is {}", density_ ? "density" : "draws",
            fit.approximation);
    return;
  }
  fit.chosen_sketch();  // an unknown name is refused with a list
  sketches::Parameters parameters;
  if (density_) parameters["density"] = {*density_};
  if (draws_) parameters["m"] = {*draws_};
  fit.sketch = sketches::make_sketch(fit.approximation, fit.n_components, parameters);
}

void FitArguments::read_output_matrix(Index n_targets) {
  if (is_mixture() || (matrix_.empty() && coupling_ != OutputMatrix::name)) return;
  if (matrix_.empty() || matrix_ == "identity") {
    fit.coupling = OutputMatrix(Matrix<double>::Identity(n_targets, n_targets));
  } else if (matrix_ == TargetCovariance::name) {
    fit.coupling = TargetCovariance{};
  } else {
    const Matrix<double> A = read_table(matrix_).values;
    require(A.rows() == n_targets && A.cols() == n_targets,
            "{}: expected a {} x {} matrix for {} targets, found {} x {}", matrix_, n_targets, n_targets, n_targets,
            A.rows(), A.cols());
    try {
      fit.coupling = OutputMatrix(A);
    } catch (const Error& error) {
      fail("{}: {}", matrix_, error.what());
    }
  }
}

template <Real T>
TableRows<T> FitArguments::open() {
  auto reader = open_table(data);
  const auto& columns = reader->columns();
  std::unique_ptr<TableReader> target_reader;
  ColumnRoles roles;
  if (targets_.file.empty()) {
    roles = choose_columns(columns, targets_.columns, data);
    fit.target_names = names_of(columns, roles.targets);
  } else {
    target_reader = open_table(targets_.file);
    roles = all_inputs(columns);
    for (const Column& column : target_reader->columns()) fit.target_names.push_back(column.name);
  }
  fit.input_names = names_of(columns, roles.inputs);
  mixture.input_names = fit.input_names;
  mixture.target_names = fit.target_names;
  read_output_matrix(static_cast<Index>(fit.target_names.size()));
  return {std::move(reader), std::move(target_reader), std::move(roles), fit.fill_missing};
}
template TableRows<float> FitArguments::open<float>();
template TableRows<double> FitArguments::open<double>();

void FitArguments::print_learnt(const FitRecord& record) {
  if (!record.evidence) return;
  print_text("learnt by evidence: alpha, the variance of the noise, {:.6g}; log evidence {:.6g}\n", record.alpha,
             *record.evidence);
}

void FitArguments::print_written(const std::string& warning) const {
  print_text("wrote {} ({})\n", model, format_bytes(static_cast<double>(std::filesystem::file_size(model))));
  if (!warning.empty()) print_text(stderr, "carmina: warning: {}\n", warning);
}

}  // namespace carmina::cli
