// sketches/sketch.hpp -- a sampled sketch: the rows that it keeps and the matrix over them.
#pragma once
#include <Eigen/SparseCore>
#include <carmina/core/matrix.hpp>
#include <variant>
#include <vector>

namespace carmina {

// The matrix that turns kernel values at anchor rows into sketched ones.
// (s, s'): S without its zero columns. Sparse by columns, one for each anchor row, so that a tile of anchors is a range
// of them.
using SparseMixing = Eigen::SparseMatrix<double>;
using Mixing = std::variant<SparseMixing, Matrix<double>>;

inline Index rows_of(const Mixing& mixing) {
  return std::visit([](const auto& m) -> Index { return m.rows(); }, mixing);
}
inline Index columns_of(const Mixing& mixing) {
  return std::visit([](const auto& m) -> Index { return m.cols(); }, mixing);
}

}  // namespace carmina

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
