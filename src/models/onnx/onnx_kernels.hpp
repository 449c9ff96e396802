// models/onnx/onnx_kernels.hpp -- predictions of each kind of model as nodes of a graph, in double.
#pragma once
#include "models/onnx/graph.hpp"

#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/spectral_mixture.hpp>

namespace carmina::onnx {

struct Prediction {
  Name mean;      // (rows, p)
  Name variance;  // (rows, p), of a new observation; empty: not known
};

// `x` (rows, d): inputs before the transform.
template <Real T>
Prediction predict_machine(Graph& graph, const KernelMachine<T>& machine, const Name& x, bool deviations);
Prediction predict_mixture(Graph& graph, const SpectralMixtureMachine& machine, const Name& x, bool deviations);

// k(x, z_i) for the rows of Z (s, d), both as the kernel takes them: (rows, s). Error for one without a formula.
Name kernel_values(Graph& graph, const ScalarKernel& kernel, const Name& x, const Matrix<double>& Z);
// k(x, x), (rows, 1); empty where it is 1, as of functions of x - z.
Name own_values(Graph& graph, const ScalarKernel& kernel, const Name& x, Index dim_in);
// Some columns of x and of Z.
struct Chosen {
  Name x;
  Matrix<double> Z;
};
Chosen chosen(Graph& graph, const InputColumns& columns, const Name& x, const Matrix<double>& Z);
// Cosines and sines of <x, w_j>, W (D, d): (rows, 2 D)
Name waves(Graph& graph, const Name& x, const Matrix<double>& W);
// sum_j w_j (x_j - z_ij)^2, at least 0: (rows, s)
Name squared_distances(Graph& graph, const Name& x, const Matrix<double>& Z, const Vector<double>& w);
// sum_q w_q chi(...) cos(...) of a mixture (kernels/mixture_kernel.hpp): (rows, s)
Name mixture_values(Graph& graph, const Mixture& mixture, const Name& x, const Matrix<double>& Z);
// |rows of a|^2: (rows, 1)
inline Name squares(Graph& graph, const Name& a) { return graph.sum_rows(graph.multiply(a, a)); }

}  // namespace carmina::onnx
