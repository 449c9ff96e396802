// models/tune/tune_grid.hpp -- widths and alphas to try, and where their lists go on.
#pragma once
#include <carmina/models/tune.hpp>

#include <string>
#include <vector>

namespace carmina {

struct TriedKernel {
  Kernel kernel;
  double factor = 1;  // of its own widths
};

bool has_width(const Kernel& kernel);
TriedKernel widened(const Kernel& kernel, double factor);
std::vector<double> usual_factors();
std::vector<TriedKernel> kernel_grid(const Kernel& kernel, const TuneOptions& options);

std::size_t best_of(const std::vector<Trial>& trials);
// The next values of a list of powers, beyond the end where `best` is; none where it is at neither, or they would be
// more than `farthest` times as far as the list `began`.
std::vector<double> beyond(const std::vector<double>& list, double best, double step, int count, double farthest,
                           const std::vector<double>& began);
// What the user should know: a best value at the end of its list may not be the best there is.
std::string end_of_grid(const Trial& best, const std::vector<Trial>& trials);

}  // namespace carmina
