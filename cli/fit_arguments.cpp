// cli/fit_arguments.cpp -- options of a fit: declared, checked, and the table opened.
#include "fit_arguments.hpp"

#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/core/machine.hpp>
#include <carmina/kernels/parse_kernel.hpp>
#include <charconv>
#include <filesystem>
#include <map>
#include "core/words.hpp"
#include "data/choose_columns.hpp"
#include "data/data_rows.hpp"

#include "columns.hpp"
#include "standard_input.hpp"

namespace carmina::cli {
namespace {

constexpr Words<WidthRule, 3> width_rules{"--length-scale", {"auto", "median", "per_input"}};

// The words of --operator: none, a matrix, or a vector field.
std::vector<std::string> field_couplings() {
  std::vector<std::string> words;
  for (const std::string& word : coupling_names()) {
    if (is_differential(parse_coupling(word))) words.push_back(word);
  }
  return words;
}
std::vector<std::string> operator_words() {
  std::vector<std::string> words = field_couplings();
  words.insert(words.begin(), {Independent::name, OutputMatrix::name});
  return words;
}

// The words and more of them, for help.
std::string alternatives(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
  words.insert(words.end(), more.begin(), more.end());
  return join_text(words, "|");
}

void require_known(const char* option, const std::string& word, const std::vector<std::string>& words) {
  require(std::find(words.begin(), words.end(), word) != words.end(), "{}: '{}' is not known here; there is {}", option,
          word, join_text(words, ", "));
}

}  // namespace

void FitArguments::add(CLI::App& command) {
  command_ = &command;
  command.add_option("DATA", data, "The table, a row for each sample")->required()->type_name("FILE");
  targets_.add(command);
  columns_.add(command);
  command.add_option("--model", model, "The model file to write")->required()->type_name("FILE");
  // Help ends with the default in brackets.
  const auto option = [&](const std::string& name, auto& value, const std::string& kind, const char* help) {
    return command.add_option(name, value, format_text("{} [{}]", help, value))->type_name(kind);
  };
  option("--kernel", kernel_, "auto|" + alternatives(scalar_kernel_names(), {MixtureArguments::kernel}),
         "The scalar kernel; auto: gaussian, matern or laplacian, by errors of left-out rows; polynomial, sobolev1: "
         "exact or "
         "sketched; spectral_mixture: learnt from the data; or sums and products with numbers as Python writes them: "
         "\"CurlFree(Gaussian(50)).on(lon, lat) * Gaussian(3).on(time) + Linear()\"");
  for (const auto& [name, help, list] : kernel_parameter_help()) {
    command.add_option("--" + name, kernel_numbers_[name], help)->type_name("NUMBER");
  }
  command
      .add_option(
          "--operator", coupling_,
          "Targets each on their own, coupled by a matrix, or a vector field, a component for each input [none]")
      ->type_name(alternatives(operator_words()));
  command.add_option("--output-matrix", matrix_, "The matrix of a decomposable kernel: a table or a word [identity]")
      ->type_name("FILE|identity|covariance");
  command.add_flag("--bounded", bounded_,
                   "Features of a vector field that vary less, drawn in proportion to their size; gaussian kernel");
  option("--length-scale", length_scale_, alternatives(width_rules.names(), {"NUMBER"}),
         "Width of the kernel; auto: chosen by errors of left-out rows; median: of distances between rows; per_input: "
         "chosen, one for each input")
      ->check(looks_like_number(width_rules.names()));
  option("--metric", metric_, alternatives(metric_names()),
         "Distances between inputs as they are, or in a metric learnt from the gradients of a first fit");
  option("--approximation", fit.approximation, "auto|fourier|exact|SKETCH",
         "Random Fourier features, the kernel itself, or a sketch: sub_sample, sparse_rademacher, ...");
  option("--components", components_, "auto|N",
         "Number of Fourier features, even, of spectral_mixture 600; or size of the sketch")
      ->check(CLI::IsMember({"auto"}) | looks_like_integer());
  command.add_option("--density", density_, "Share of entries in sparse_rademacher, sparse_gaussian [20 / rows]")
      ->type_name("NUMBER");
  command
      .add_option(
          "--draws", draws_,
          "Draws for each row of the accumulation sketch [20]; of spectral_mixture: sets of spectral points that "
          "predictions are averaged over [1]")
      ->type_name("N");
  option("--loss", loss_, alternatives(loss_names()), "What a residual costs");
  for (const auto& [name, help, list] : loss_parameter_help()) {
    if (list) {
      command.add_option("--" + name, loss_lists_[name], help)
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("NUMBERS");
    } else {
      command.add_option("--" + name, loss_numbers_[name], help)
          ->type_name("auto|NUMBER")
          ->check(looks_like_number({"auto"}));
    }
  }
  command.add_flag("--non-crossing", fit.non_crossing, "Put predicted quantiles in order, so that they never cross");
  option("--seed", seed_, "N", "Seed of the random features")->check(looks_like_integer());
  option("--sampling", sampling_, alternatives(sampling_names()), "How the features' frequencies are drawn");
  option("--solver", fit.solver, alternatives(solver_names(), {"natural_gradient"}),
         "direct: factorise a matrix; cg: iterate, in less memory; newton, lbfgs, adam: other losses than squared; the "
         "rest and adam with squared: Fourier features only; spectral_mixture: lbfgs, adam, natural_gradient");
  for (const NumberOption& number : number_options()) {
    std::string name = number.name;
    std::replace(name.begin(), name.end(), '_', '-');
    std::visit(
        [&]<class V>(V FitOptions::* value) {
          option("--" + name, fit.*value, std::same_as<V, Index> ? "N" : "NUMBER", number.help);
        },
        number.value);
  }
  mixture_arguments_.add(command);
  resources_.add_threads(command);
  resources_.add_memory(command);
  resources_.add_device(command);
  command.add_flag("--float32", float32, "Compute in single precision");
  option(
      "--scale", scale_, alternatives(input_scaling_names()),
      "Inputs as they are, at zero mean and unit variance, or by quartiles; auto: standard where the width is chosen");
  command.add_flag("--no-scale", no_scale_, "The same as --scale none");
  command.add_flag("--no-intercept", no_intercept_, "Fit no constant term");
  command.add_flag(
      "--variances", fit.keep_moments,
      "Keep in the file what deviations and intervals of a Fourier model need; squared loss, direct solver");
  command.add_flag("--fill-missing", fit.fill_missing, "Take the training mean for a missing input");
}

void FitArguments::add_noise(CLI::App& command) {
  command
      .add_option("--noise-variance", columns_.noise,
                  "A column of DATA with the variance of each row's noise; no input: rows weigh by it, deviations are "
                  "those of this noise; squared loss")
      ->type_name("NAME");
}

// In a pass over the rows, in their order.
template <Real T>
double FitArguments::unit_of_noise(RowSource<T>& rows, const NoiseRows<T>& noise) const {
  NoiseSums sums;
  DataRows<T>(rows).for_blocks("reading", fit.execution, [&](const RowBlock<T>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      sums.add(noise.variance(block, i), block.weights ? static_cast<double>(block.weights[i]) : 1);
    }
  });
  // As Python has it.
  return sums.unit(fit.alpha || fit.by_evidence ? NoiseUnit::mean : NoiseUnit::least);
}
template double FitArguments::unit_of_noise(RowSource<float>&, const NoiseRows<float>&) const;
template double FitArguments::unit_of_noise(RowSource<double>&, const NoiseRows<double>&) const;

std::vector<Index> FitArguments::read_groups(const std::string& column) {
  require(data != "-", "--groups: DATA is read twice for them, so that it must be a file");
  auto table = open_data(data, 0, fit.execution.memory_budget);
  const std::vector<Index> found = columns_by_name(column, table->columns(), data, "group");
  require(found.size() == 1, "--groups takes one column, found '{}'", column);
  ColumnRoles roles{found, {}};
  table = encoded_table(std::move(table), roles, nullptr);  // other columns may hold text
  TableRows<double> rows(std::move(table), nullptr, roles, false);
  std::map<double, Index> numbers;
  std::vector<Index> groups;
  DataRows<double>(rows).for_blocks("reading", fit.execution, [&](const RowBlock<double>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      groups.push_back(numbers.emplace(block.inputs()(i, 0), std::ssize(numbers)).first->second);
    }
  });
  columns_.ignored += (columns_.ignored.empty() ? "" : ",") + column;
  return groups;
}

void FitArguments::check(ProgressLine& line) {
  targets_.check(true);
  columns_.encoding();
  require(columns_.weights.empty() || targets_.file.empty(),
          "--weights is a column of DATA beside --targets, found "
          "--target-file");
  require(columns_.noise.empty() || targets_.file.empty(),
          "--noise-variance is a column of DATA beside --targets, found --target-file");
  require(columns_.noise.empty() || !processes(),
          "--noise-variance is of all rows together, which several processes do not have; start it without mpirun");
  fit.execution = resources_.execution(line);
  mixture_arguments_.check_given(*command_, is_mixture());
  check_words();
  std::vector<std::string> inputs = {data};
  if (!targets_.file.empty()) inputs.push_back(targets_.file);
  if (!matrix_.empty()) inputs.push_back(matrix_);
  if (speaks()) check_output(model, inputs);
}

void FitArguments::check_words() {
  if (!coupling_.empty()) require_known("--operator", coupling_, operator_words());
  const auto [end, code] = std::from_chars(seed_.data(), seed_.data() + seed_.size(), fit.seed);
  require(code == std::errc() && end == seed_.data() + seed_.size(), "--seed must be from 0 to 2^64 - 1, found {}",
          seed_);
  fit.fit_intercept = !no_intercept_;
  fit.n_components = number_in<Index>("--components", components_);
  if (is_mixture()) {
    require_known("--solver", fit.solver, mixture_solver_names());
    require(!fit.keep_moments, "--variances is for kernel machines, the file of a spectral mixture always holds them");
    mixture = mixture_arguments_.options(*this, *command_);
    return;
  }
  require_known("--solver", fit.solver, solver_names());
  require_known("--sampling", sampling_, sampling_names());
  require(matrix_.empty() || coupling_.empty() || coupling_ == OutputMatrix::name,
          "--output-matrix needs --operator decomposable, found {}", coupling_);
  check_kernel();
  fit.loss = make_loss_with("", std::nullopt);
  require(columns_.noise.empty() || std::holds_alternative<Squared>(fit.loss),
          "--noise-variance is for the squared loss, found --loss {}", loss_);
  check_sketch();
  fit.sampling = parse_sampling(sampling_);
  if (fit.keep_moments) fit = fit.with_moments("--variances");
  require_known("--scale", scale_, input_scaling_names());
  fit.scale_inputs = parse_input_scaling(scale_);
  require(!no_scale_ || fit.scale_inputs == InputScaling::automatic, "--no-scale and --scale {} contradict each other",
          scale_);
  if (no_scale_) fit.scale_inputs = InputScaling::none;
  require_known("--metric", metric_, metric_names());
  fit.metric = parse_metric(metric_);
  fit.check();
}

// A kernel with numbers leaves nothing to other options.
void FitArguments::check_kernel_expression() {
  const bool numbers = std::any_of(kernel_numbers_.begin(), kernel_numbers_.end(),
                                   [](const auto& one) { return one.second.has_value(); });
  require(!numbers && length_scale_ == width_rules.name(WidthRule::automatic) && coupling_.empty() && matrix_.empty() &&
              !bounded_,
          "--kernel {}: its numbers and couplings are in it; other options of the kernel do not go with that", kernel_);
  fit.kernel = parse_kernel(kernel_);
}

void FitArguments::check_kernel() {
  if (kernel_.find('(') != kernel_.npos) return check_kernel_expression();
  fit.kernel_name = kernel_;
  for (const auto& [name, value] : kernel_numbers_) {
    if (value) fit.kernel_parameters[name] = *value;
  }
  if (const auto width = number_in<double>("--length-scale", length_scale_)) {
    fit.length_scale = *width;
  } else {
    fit.width = width_rules.parse(length_scale_);
  }
  const ScalarKernel scalar = make_scalar_kernel(fit.settled_kernel_name(), fit.length_scale, fit.kernel_parameters);
  // A matrix is read with the table.
  if (!coupling_.empty() && coupling_ != OutputMatrix::name) {
    const bool field = is_differential(parse_coupling(coupling_));
    fit.coupling = parse_coupling(coupling_, bounded_ && field, field);
  }
  require(!bounded_ || is_differential(fit.coupling), "--bounded needs --operator {}, found {}",
          join_text(field_couplings(), " or "), coupling_.empty() ? Independent::name : coupling_);
  Kernel checked(own_term(scalar, fit.coupling));
}

bool FitArguments::leaves_loss(bool unless_given) const {
  return std::any_of(loss_numbers_.begin(), loss_numbers_.end(), [&](const auto& one) {
    return one.second == "auto" ||
           (!unless_given && one.second.empty() && loss_parameters(fit.loss).contains(one.first));
  });
}

Loss FitArguments::make_loss_with(const std::string& parameter, std::optional<double> value) const {
  LossParameters parameters;
  for (const auto& [name, number] : loss_numbers_) {
    if (!number.empty() && number != "auto") {
      parameters[name].push_back(number_in<double>("--" + name, number).value());
    }
  }
  for (const auto& [name, list] : loss_lists_) {
    if (!list.empty()) parameters[name] = list;
  }
  if (value) parameters[parameter] = {*value};
  return make_loss(loss_, parameters);
}

void FitArguments::check_sketch() {
  if (!fit.chosen_sketch()) {  // an unknown name is refused with a list
    require(!density_ && !draws_, "--{} is for sketches, --approximation is {}", density_ ? "density" : "draws",
            fit.approximation);
    return;
  }
  sketches::Parameters parameters;
  if (density_) parameters["density"] = {*density_};
  if (draws_) parameters["m"] = {*draws_};
  fit.sketch = sketches::make_sketch(fit.approximation, fit.components(), parameters);
}

void FitArguments::read_output_matrix(Index n_targets) {
  if (is_mixture() || (matrix_.empty() && coupling_ != OutputMatrix::name)) return;
  if (matrix_.empty() || matrix_ == "identity") {
    fit.coupling = OutputMatrix(Matrix<double>::Identity(n_targets, n_targets));
  } else if (matrix_ == TargetCovariance::name) {
    fit.coupling = TargetCovariance{};
  } else {
    const Matrix<double> A = read_table(matrix_, fit.execution.memory_budget).values;
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
  auto reader = open_data(data, 0, fit.execution.memory_budget);
  const auto& columns = reader->columns();
  std::unique_ptr<TableReader> target_reader;
  ColumnRoles roles;
  if (targets_.file.empty()) {
    roles = choose_columns(columns, targets_.columns, data);
    fit.target_names = names_of(columns, roles.targets);
  } else {
    target_reader = open_data(targets_.file, 0, fit.execution.memory_budget);
    roles = all_inputs(columns);
    for (const Column& column : target_reader->columns()) fit.target_names.push_back(column.name);
  }
  columns_.narrow(roles, columns, data);
  const EncodingOptions encoding = columns_.encoding();
  encoder_ = encoder_of(*reader, roles.inputs, encoding);
  reader = encoded_table(std::move(reader), roles, encoder_);
  fit.input_names = names_of(reader->columns(), roles.inputs);
  const std::vector<Index> firsts = encoder_ ? encoder_->firsts() : std::vector<Index>();
  if (fit.kernel) fit.kernel = fit.kernel->with_columns_found(fit.input_names, firsts);
  if (encoder_) fit.wrapped_inputs = encoder_->wrapped();
  require(fit.wrapped_inputs.empty() || !is_mixture() || !is_differential(mixture.coupling),
          "--wrap: a vector field is of inputs as they are, found --operator {}", coupling_);
  mixture.input_names = fit.input_names;
  mixture.target_names = fit.target_names;
  read_output_matrix(static_cast<Index>(fit.target_names.size()));
  return {std::move(reader), std::move(target_reader), std::move(roles), fit.fill_missing};
}
template TableRows<float> FitArguments::open<float>();
template TableRows<double> FitArguments::open<double>();

std::string FitArguments::inputs_text(Index dim_in) const {
  if (!encoder_) return counted(dim_in, "input");
  return format_text("{} as {}", counted(static_cast<Index>(encoder_->columns().size()), "input"),
                     counted(dim_in, "number"));
}

void FitArguments::print_learnt(const FitRecord& record) {
  if (!record.evidence) return;
  print_text("learnt by evidence: alpha, the variance of the noise, {:.6g}; log evidence {:.6g}\n", record.alpha,
             *record.evidence);
}

void FitArguments::print_written(const std::string& warning) const {
  print_text("wrote {} ({})\n", model, format_bytes(static_cast<double>(std::filesystem::file_size(model))));
  if (!warning.empty()) say("warning: " + warning);
}

}  // namespace carmina::cli
