// models/machine/fit_record.cpp -- what a record says of its machine.
#include "models/fit/fit_task.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <algorithm>

namespace carmina {

Approximation parse_approximation(const std::string& word) {
  if (word == "auto") return Approximation::fourier;  // where nothing has chosen
  const auto found = std::find(approximation_words.begin(), approximation_words.end(), word);
  return static_cast<Approximation>(found - approximation_words.begin());
}

bool FitRecord::fourier() const { return parse_approximation(approximation) == Approximation::fourier; }
bool FitRecord::exact() const { return parse_approximation(approximation) == Approximation::exact; }
bool FitRecord::has_deviations() const { return fourier() || exact() || approximation == sketches::SubSample::name; }
bool FitRecord::factored() const { return report.solver == Solver::direct.word; }

std::vector<std::string> output_names(const FitRecord& record, Index dim_out) {
  const auto* pinball = record.joint_quantiles ? std::get_if<Pinball>(&record.loss) : nullptr;
  std::vector<std::string> names = record.target_names;
  if (pinball) {
    const std::string target = names.empty() ? "y" : names[0];
    names.clear();
    for (const double level : pinball->levels) names.push_back(format_text("{}@{}", target, level));
  }
  while (static_cast<Index>(names.size()) < dim_out) names.push_back(format_text("y{}", names.size() + 1));
  return names;
}

}  // namespace carmina
