// models/onnx/onnx_series.hpp -- exact mixtures and series as nodes, and small steps that other models take too.
#pragma once
#include "models/onnx/onnx_kernels.hpp"

#include <carmina/models/spectral_mixture.hpp>

namespace carmina::onnx {

inline Name row_constant(Graph& graph, const Vector<double>& values) {
  return graph.constant(Matrix<double>(values.transpose()));
}

inline Matrix<double> inverse_of_lower(const Matrix<double>& L) {
  Matrix<double> inverse = Matrix<double>::Identity(L.rows(), L.cols());
  L.triangularView<Eigen::Lower>().solveInPlace(inverse);
  return inverse;
}

// A process, or the members of a series by their shares, in bands as wide as rolling origins have shown.
Prediction predict_members(Graph& graph, const SpectralMixtureMachine& machine, const Name& x, bool deviations);

}  // namespace carmina::onnx
