// models/adam_options.hpp -- what Adam is asked with losses other than the squared one.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstdint>
#include <limits>

namespace carmina {

// The part of this that is an option of a fit: this part of the rows with a weight, at least one, is held out, and the
// fit stops when their loss has not become smaller for `patience` epochs. 0: none are, and it stops as by tol.
struct EarlyStopping {
  double validation_fraction = 0.1;
  Index patience = 10;
};

struct AdamOptions {
  double validation_fraction = EarlyStopping().validation_fraction;
  Index patience = EarlyStopping().patience;
  double learning_rate = 0.1;  // of the first steps, in units of what a coefficient may be; it falls
  std::uint64_t seed = 0;
  double enough = -std::numeric_limits<double>::infinity();  // with no rows held out: stop at an objective of this

  static AdamOptions with(const EarlyStopping& stopping, std::uint64_t seed) {
    return {.validation_fraction = stopping.validation_fraction, .patience = stopping.patience, .seed = seed};
  }
};

}  // namespace carmina
