// sketches/sketch.hpp -- one sample of a sketch: a few anchor rows and a matrix that mixes them.
#pragma once
#include <carmina/features/mixing.hpp>
#include <vector>

namespace carmina::sketches {

// S (s, n) = mixing (s, s') times the selection of the anchor rows, [ElAhmad2023, Section 3]: S K and S K Sᵀ need
// kernel values at anchors alone. A dense sketch has every row as an anchor.
struct Sketch {
  Index n = 0;
  std::vector<Index> anchors;  // ascending: the rows whose column of S is not zero
  Mixing mixing;

  Index rows() const { return rows_of(mixing); }
  Index anchor_count() const { return static_cast<Index>(anchors.size()); }
  bool sparse() const { return std::holds_alternative<SparseMixing>(mixing); }

  Matrix<double> toarray() const;  // S (s, n)

  // Rows of X (n, d) that a model keeps.
  template <Real T>
  Matrix<T> anchor_rows(ConstView<T> X) const;
};

}  // namespace carmina::sketches
