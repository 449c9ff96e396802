// models/checkpoint_options.hpp -- a file that a fit leaves its state in while it runs.
#pragma once
#include <string>
#include <utility>

namespace carmina {

// A fit that was killed and is made again, with the same options and the same rows, goes on from the file and gives the
// same model to the bit. A file of another fit is refused. It is removed when the fit ends.
struct CheckpointOptions {
  std::string path;     // empty: none
  double seconds = 10;  // between two writings, at least; and ten times what a writing takes
  bool keep = false;    // leaves the file when the fit ends: for those who have yet to save the model
  bool each = false;    // of several processes each has a file of its own, not the first one alone

  CheckpointOptions() = default;
  CheckpointOptions(std::string file) : path(std::move(file)) {}  // NOLINT: a file
  CheckpointOptions(const char* file) : path(file) {}             // NOLINT: likewise

  explicit operator bool() const { return !path.empty(); }
};

}  // namespace carmina
