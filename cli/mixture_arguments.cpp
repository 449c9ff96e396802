// cli/mixture_arguments.cpp -- words and numbers of a spectral mixture on the command line.
#include "mixture_arguments.hpp"

#include <algorithm>
#include <carmina/core/error.hpp>
#include <string_view>
#include <vector>

#include "fit_arguments.hpp"

namespace carmina::cli {

namespace {

const std::vector<std::string_view> own_options = {
    "--mixtures",   "--trend",      "--periods",          "--inference",     "--starts",    "--learning-rows",
    "--inducing",   "--rank",       "--phases",           "--family",        "--kl-copies", "--learning-rate",
    "--step-draws", "--allocation", "--parameterization", "--mixture-counts"};
const std::vector<std::string_view> shared_options = {"DATA",
                                                      "--inputs",
                                                      "--ignore",
                                                      "--weights",
                                                      "--categories",
                                                      "--unseen",
                                                      "--dates",
                                                      "--wrap",
                                                      "--config",
                                                      "--targets",
                                                      "--target-file",
                                                      "--model",
                                                      "--kernel",
                                                      "--operator",
                                                      "--components",
                                                      "--draws",
                                                      "--seed",
                                                      "--solver",
                                                      "--tol",
                                                      "--max-iter",
                                                      "--threads",
                                                      "--memory",
                                                      "--float32",
                                                      "--no-scale",
                                                      "--no-intercept",
                                                      "--by",
                                                      "--json",
                                                      "--checkpoint",
                                                      "--checkpoint-seconds"};

bool among(const std::vector<std::string_view>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void MixtureArguments::add(CLI::App& command) {
  const auto option = [&](const char* name, auto& value, const char* kind, const char* help) {
    command.add_option(name, value, format_text("Of spectral_mixture: {} [{}]", help, value))->type_name(kind);
  };
  const auto optional = [&](const char* name, std::optional<Index>& value, const char* help) {
    command.add_option(name, value, format_text("Of spectral_mixture: {}", help))->type_name("N");
  };
  option("--mixtures", mixture_.n_mixtures, "N", "components, each with a frequency, a width and a weight");
  option("--trend", trend_, "auto|none|linear", "a line beside the mixture, for one input; auto: as the evidence says");
  command
      .add_option("--periods", mixture_.periods,
                  "Of spectral_mixture: known periods, with commas, in the unit of the input, where frequencies start")
      ->type_name("NUMBERS")
      ->delimiter(',');
  option("--inference", inference_, "auto|fourier|exact|inducing",
         "Fourier features, the matrix of all rows, or inducing points; auto: the matrix for a series of up to 4000 "
         "rows, else Fourier features");
  option("--starts", mixture_.n_starts, "N", "starts from the data's spectrum; the best by evidence is kept");
  optional("--learning-rows", learning_rows_,
           "rows that parameters are learnt from; the posterior is of all [20000, or what fits the memory]");
  optional("--inducing", inducing_, "inducing points [--components]");
  option("--allocation", allocation_, "softmax|equal|optimal", "how features are shared out among the components");
  option("--parameterization", parameterization_, "natural|general", "coordinates that components are learnt in");
  option("--kl-copies", kl_copies_, "all|one|none", "how often a component's divergence from its start counts");
  option("--family", family_, "gaussian|laplace", "distribution of a component's frequencies");
  option("--learning-rate", mixture_.learning_rate, "NUMBER", "of the solvers adam and natural_gradient");
  option("--step-draws", mixture_.step_draws, "N", "sets of spectral points in a step of these");
  optional("--rank", rank_, "columns of the matrices that couple several targets [targets, at most 2]");
  command.add_flag("--phases", phases_, "Of spectral_mixture: targets may be shifted against each other");
}

void MixtureArguments::check_given(const CLI::App& command, bool chosen) const {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--help") continue;
    if (chosen) {
      require(among(own_options, name) || among(shared_options, name),
              "{} has no meaning with --kernel {}; 'carmina fit --help' lists what has", name, kernel);
    } else {
      require(!among(own_options, name), "{} needs --kernel {}", name, kernel);
    }
  }
}

SpectralMixtureOptions MixtureArguments::options(const FitArguments& arguments, const CLI::App& command) const {
  const FitOptions& fit = arguments.fit;
  const auto given = [&](const char* name) { return command.get_option(name)->count() > 0; };
  SpectralMixtureOptions options = mixture_;
  options.inference = parse_inference(inference_);
  options.trend = parse_trend(trend_);
  options.parameterization = parse_parameterization(parameterization_);
  options.allocation = parse_allocation(allocation_);
  options.kl_copies = parse_kl_copies(kl_copies_);
  options.family = make_mixture_family(family_);
  if (!arguments.coupling().empty()) options.coupling = parse_coupling(arguments.coupling());
  if (fit.n_components) options.n_components = *fit.n_components;
  if (given("--solver")) options.solver = fit.solver;
  if (given("--max-iter")) options.max_iter = fit.max_iter;
  if (given("--tol")) options.tol = fit.tol;
  if (const auto draws = arguments.draws()) {
    require(*draws >= 1 && *draws == static_cast<double>(static_cast<Index>(*draws)),
            "--draws must be a whole number from 1, found {}", *draws);
    options.n_draws = static_cast<Index>(*draws);
  }
  const auto positive = [](const char* name, std::optional<Index> value, Index& to) {
    if (!value) return;
    require(*value >= 1, "{} must be at least 1, found {}", name, *value);
    to = *value;
  };
  positive("--learning-rows", learning_rows_, options.learning_rows);
  positive("--inducing", inducing_, options.n_inducing);
  if (auto* factors = std::get_if<LearntFactors>(&options.coupling)) {
    positive("--rank", rank_, factors->rank);
    factors->phases = phases_;
  }
  options.fit_intercept = fit.fit_intercept;
  options.seed = fit.seed;
  options.execution = fit.execution;
  options.check();
  return options;
}

std::string MixtureArguments::describe(const SpectralMixtureMachine& machine) {
  const FitRecord& record = machine.record();
  std::string inference = "exact";
  if (machine.inference() == Inference::fourier) {
    inference = format_text("{} Fourier features", record.n_components);
  } else if (machine.inference() == Inference::inducing) {
    inference = "inducing points";
  }
  return format_text("{}, {}, {}; spectral mixture of {}, {}", counted(record.rows, "row"),
                     counted(machine.dim_in(), "input"), counted(machine.dim_out(), "target"),
                     counted(machine.parameters().mixture.size(), "component"), inference);
}

void MixtureArguments::print_learnt(const SpectralMixtureMachine& machine) {
  std::string noise;
  for (const double one : machine.parameters().noise) noise += format_text("{}{:.6g}", noise.empty() ? "" : ", ", one);
  if (machine.dim_in() == 1 && !machine.report().text.empty()) print_text("series: {}\n", machine.report().text);
  print_text("learnt by evidence: variance of the noise {}; log evidence {:.6g}\n", noise,
             machine.log_marginal_likelihood());
}

}  // namespace carmina::cli
