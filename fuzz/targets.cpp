// fuzz/targets.cpp -- the list of targets. CMakeLists.txt reads its lines: each becomes a program.
#include "fuzz/targets.hpp"

#include <algorithm>
#include <array>

namespace carmina::fuzz {

std::span<const Target> targets() {
  static constexpr std::array all = {
      Target{"csv", run_csv},
      Target{"arff", run_arff},
      Target{"npy", run_npy},
      Target{"libsvm", run_libsvm},
      Target{"idx", run_idx},
      Target{"gzip", run_gzip, nullptr, unpacked_gzip},
      Target{"model", run_model, mutate_model},
      Target{"header", run_header, mutate_header},
      Target{"description", run_description, mutate_description},
      Target{"command_line", run_command_line},
      Target{"instruction_sets", run_instruction_sets},
  };
  return all;
}

const Target& target(std::string_view name) {
  const auto all = targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& one) { return one.name == name; });
  if (found == all.end()) throw std::out_of_range("there is no target " + std::string(name));
  return *found;
}

}  // namespace carmina::fuzz
