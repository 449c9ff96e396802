// models/choose/field_errors.hpp -- rows of any kernel left out in groups, by the whole matrix of the kernel.
#pragma once
#include "data/data_rows.hpp"
#include "models/choose/left_out_groups.hpp"

namespace carmina {

// The exact system of some rows, whatever couples their outputs: one entry for each target that is there.
template <Real T>
class FieldSystem {
 public:
  FieldSystem(const HeldRows<T>& held, const Kernel& kernel, const FitOptions& options);

  // ||e||^2 (n) of each row, its group left out; empty where a system is singular.
  Vector<double> squares(double alpha, const std::vector<Index>& groups) const;
  // Weighted mean over the rows of ||e||^2 / 2, infinite where a system is singular.
  double error(double alpha, const std::vector<Index>& groups) const;

 private:
  Matrix<double> K_, Y_, E_;   // (N, N), lower triangle; (N, 1); (N, p) or (N, 0)
  std::vector<Index> row_of_;  // (N)
  Vector<double> weights_;     // (n)
  Execution execution_;
};

}  // namespace carmina
