// models/choose/left_open.hpp -- which words of the options leave a choice to the data.
#pragma once
#include <carmina/models/fit_options.hpp>

namespace carmina {

inline bool left_open(const std::string& word) { return word == "auto"; }

inline bool kernel_open(const FitOptions& options) { return left_open(options.kernel_name); }
inline bool approximation_open(const FitOptions& options) {
  return left_open(options.approximation) && !options.sketch;
}

}  // namespace carmina
