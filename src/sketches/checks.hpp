// sketches/checks.hpp -- what all distributions ask of their numbers.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>

namespace carmina::sketches {

inline void check_components(const char* owner, Index n_components) {
  require(n_components > 0, "{}: n_components must be positive, found {}", owner, n_components);
}

inline void check_rows(const char* owner, Index n) {
  require(n > 0, "{}: a sketch is of one row or more, found n = {}", owner, n);
}

inline void check_no_more_than_rows(const char* owner, Index n_components, Index n) {
  check_rows(owner, n);
  require(n_components <= n, "{}: {} different rows cannot be chosen of {}; n_components must be at most n", owner,
          n_components, n);
}

}  // namespace carmina::sketches
