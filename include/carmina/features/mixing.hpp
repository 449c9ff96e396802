// features/mixing.hpp -- the matrix that turns kernel values at anchor rows into sketched ones.
#pragma once
#include <Eigen/SparseCore>
#include <carmina/core/matrix.hpp>
#include <variant>

namespace carmina {

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
