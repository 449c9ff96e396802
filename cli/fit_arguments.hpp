// cli/fit_arguments.hpp -- what `fit` and `tune` are asked alike: the table, its targets, the machine, the model file.
#pragma once
#include <CLI/App.hpp>
#include <carmina/data/read_ahead.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/model_inputs.hpp>
#include <carmina/models/row_noise.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/noise_rows.hpp"
#include "data/weighted_rows.hpp"

#include "mixture_arguments.hpp"
#include "options.hpp"
#include "processes.hpp"
#include "table_columns.hpp"

namespace carmina::cli {

struct FitArguments {
  std::string data, model;
  bool float32 = false;
  FitOptions fit;
  SpectralMixtureOptions mixture;  // in the place of `fit`, with --kernel spectral_mixture

  // Declares the options; help shows defaults.
  void add(CLI::App& command);
  bool is_mixture() const { return kernel_ == MixtureArguments::kernel; }
  const std::string& coupling() const { return coupling_; }
  std::optional<double> draws() const { return draws_; }
  // Before a file is opened: words and numbers that parsed but may be out of range, and whether the model can be
  // written.
  void check(ProgressLine& line);
  // Whether kappa or epsilon is "auto", or open and not `unless_given`.
  bool leaves_loss(bool unless_given) const;
  // The loss by name with its parameters, one of them perhaps another value.
  Loss make_loss_with(const std::string& parameter, std::optional<double> value) const;

  // body(rows) with the table opened in the precision asked for, its names and the output matrix in `fit`.
  template <class Body>
  void with_rows(Body body) {
    if (float32) {
      with_rows_of<float>(body);
    } else {
      with_rows_of<double>(body);
    }
  }

  // Fits, writes the model file and clears the line of progress; `seconds` that took.
  template <Real T>
  KernelMachine<T> fit_and_save(RowSource<T>& rows, ProgressLine& line, double& seconds) const {
    return timed(line, seconds, [&] {
      if (processes()) return KernelMachine<T>::fit(rows, fit, *processes());
      KernelMachine<T> machine = KernelMachine<T>::fit(rows, fit);
      return noise_unit_ ? with_known_noise(machine, *noise_unit_) : machine;
    });
  }
  template <Real T>
  SpectralMixtureMachine fit_mixture_and_save(RowSource<T>& rows, ProgressLine& line, double& seconds) const {
    return timed(line, seconds, [&] {
      return processes() ? SpectralMixtureMachine::fit(std::vector<RowSource<T>*>{&rows}, mixture, *processes())
                         : SpectralMixtureMachine::fit(rows, mixture);
    });
  }
  // The machine that make() gives, written to its file.
  template <class Make>
  auto timed(ProgressLine& line, double& seconds, const Make& make) const {
    const auto start = std::chrono::steady_clock::now();
    auto machine = make();
    fit.execution.checkpoint({"writing", machine.record().rows, machine.record().rows});
    if (!speaks()) return machine;
    write(machine);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    line.erase();
    return machine;
  }
  // The model file, with what makes the machine's inputs of the table's columns.
  template <class Machine>
  void write(const Machine& machine) const {
    ModelFile file;
    if constexpr (requires { machine.to_file(KernelStorage::in_file, true); }) {
      file = machine.to_file(KernelStorage::in_file, fit.keep_moments);
    } else {
      file = machine.to_file();
    }
    if (encoder_) put_encoder(file, *encoder_);
    write_model_file(model, file);
  }
  // "3 inputs", or "3 inputs as 7 numbers"
  std::string inputs_text(Index dim_in) const;
  // What the evidence found, if it was asked: the noise and the evidence itself.
  static void print_learnt(const FitRecord& record);
  // The last line: the model file; and a warning, if there is one.
  void print_written(const std::string& warning) const;

  // Declares --noise-variance, of the commands that fit once.
  void add_noise(CLI::App& command);
  // A number for each row, of a column of numbers that is then no input: rows of one group are left out together.
  std::vector<Index> read_groups(const std::string& column);

 private:
  void check_words();
  void check_kernel();
  void check_kernel_expression();
  void check_sketch();
  void read_output_matrix(Index n_targets);
  template <Real T>
  TableRows<T> open();
  template <Real T, class Body>
  void with_rows_of(const Body& body) {
    ReadAhead<T> rows(open<T>());
    if (columns_.weights.empty()) return with_noise_of<T>(rows, body);
    WeightedRows<T> weighted(rows, columns_.weights);
    with_noise_of<T>(weighted, body);
  }
  // Rows weigh by their noise where that is a column.
  template <Real T, class Body>
  void with_noise_of(RowSource<T>& rows, const Body& body) {
    if (columns_.noise.empty()) return body(rows);
    NoiseRows<T> weighted(rows, columns_.noise);
    noise_unit_ = unit_of_noise(rows, weighted);
    weighted.set_unit(*noise_unit_);
    body(static_cast<RowSource<T>&>(weighted));
  }
  template <Real T>
  double unit_of_noise(RowSource<T>& rows, const NoiseRows<T>& noise) const;

  CLI::App* command_ = nullptr;
  MixtureArguments mixture_arguments_;
  Targets targets_;
  TableColumns columns_;
  std::shared_ptr<const InputEncoder> encoder_;  // of the table; null: its inputs are numbers
  std::optional<double> noise_unit_;             // of rows whose noise is known
  Resources resources_;
  std::string kernel_ = "auto", coupling_, length_scale_ = "auto", loss_ = "squared", matrix_, seed_ = "0",
              sampling_ = "iid", components_ = "auto", scale_ = "auto", metric_ = "auto";
  // Parameters of the kernel and of the loss, by name.
  NamedValues<std::optional<double>> kernel_numbers_;
  NamedValues<std::string> loss_numbers_;  // "auto", a number, or empty
  NamedValues<std::vector<double>> loss_lists_;
  std::optional<double> density_, draws_;
  bool no_scale_ = false, no_intercept_ = false, bounded_ = false;
};

}  // namespace carmina::cli
