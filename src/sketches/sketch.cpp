// sketches/sketch.cpp -- the whole matrix S, and the rows that it looks at.
#include <carmina/core/error.hpp>
#include <carmina/sketches/sketch.hpp>

namespace carmina::sketches {

Matrix<double> Sketch::toarray() const {
  Matrix<double> S = Matrix<double>::Zero(rows(), n);
  std::visit(
      [&](const auto& m) {
        const Matrix<double> dense(m);  // NOLINT(performance-unnecessary-copy-initialization): the other type is sparse
        for (Index a = 0; a < anchor_count(); ++a) S.col(anchors[static_cast<std::size_t>(a)]) = dense.col(a);
      },
      mixing);
  return S;
}

template <Real T>
Matrix<T> Sketch::anchor_rows(ConstView<T> X) const {
  require(X.rows() == n, "the sketch is of {} rows, X has {}", n, X.rows());
  Matrix<T> out(anchor_count(), X.cols());
  for (Index a = 0; a < anchor_count(); ++a) out.row(a) = X.row(anchors[static_cast<std::size_t>(a)]);
  return out;
}
template Matrix<float> Sketch::anchor_rows(ConstView<float>) const;
template Matrix<double> Sketch::anchor_rows(ConstView<double>) const;

}  // namespace carmina::sketches
