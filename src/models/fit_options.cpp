// models/fit_options.cpp -- what a fit's options may be.
#include <carmina/core/error.hpp>
#include <carmina/features/fourier_map.hpp>
#include <carmina/models/fit_options.hpp>

#include <cmath>

namespace carmina {

void FitOptions::check() const {
  require(approximation == "fourier" || approximation == "exact",
          "approximation must be 'fourier' or 'exact', found '{}'", approximation);
  const bool common = solver == "auto" || solver == "direct" || solver == "cg";
  require(common || solver == "lsmr" || solver == "idr" || solver == "sgd" || solver == "adam",
          "solver must be 'auto', 'direct', 'cg', 'lsmr', 'idr', 'sgd' or 'adam', found '{}'", solver);
  require(common || approximation == "fourier",
          "solver '{}' is for approximation 'fourier'; an exact machine takes 'auto', 'direct' or 'cg'", solver);
  require(alpha >= 0 && std::isfinite(alpha), "alpha must be finite and not negative, found {}", alpha);
  if (approximation == "fourier") frequency_count(n_components);
  require(max_iter >= 1, "max_iter must be at least 1, found {}", max_iter);
  require(tol > 0 && std::isfinite(tol), "tol must be positive, found {}", tol);
}

}  // namespace carmina
