// cli/mixture_arguments.hpp -- the options of `--kernel spectral_mixture`: declared, checked, and the fit itself.
#pragma once
#include <CLI/App.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <optional>
#include <string>

namespace carmina::cli {

struct FitArguments;

class MixtureArguments {
 public:
  static constexpr const char* kernel = "spectral_mixture";

  // Declares the options that only a spectral mixture has.
  void add(CLI::App& command);
  // Error for an option that was given and has no meaning: of a mixture with another kernel, or of other kernels with a
  // mixture.
  void check_given(const CLI::App& command, bool chosen) const;
  // What was asked, from these options and those that all fits have.
  SpectralMixtureOptions options(const FitArguments& fit, const CLI::App& command) const;

  // "3 rows, 1 input, 1 target; spectral mixture of 10 components, 600 Fourier features"
  static std::string describe(const SpectralMixtureMachine& machine);
  static void print_learnt(const SpectralMixtureMachine& machine);

 private:
  SpectralMixtureOptions mixture_;
  std::string inference_ = "auto", trend_ = "auto", parameterization_ = "natural", allocation_ = "softmax",
              kl_copies_ = "all", family_ = "gaussian";
  std::optional<Index> learning_rows_, inducing_, rank_;
  bool phases_ = false;
};

}  // namespace carmina::cli
