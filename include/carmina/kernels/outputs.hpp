// kernels/outputs.hpp -- output matrices A for decomposable kernels: how the outputs are believed to go together.
#pragma once
#include <carmina/core/matrix.hpp>
#include <vector>

namespace carmina::outputs {

Matrix<double> identity(Index p);
// Covariance of the columns of Y, as numpy.cov: divided by n - 1.
Matrix<double> covariance(ConstView<double> Y);
// (mu L + (1 - mu) I)^-1 with L = diag(adjacency 1) - adjacency: outputs joined by an edge are pulled together.
// [Brault2016, Example 2]; needs 0 <= mu < 1, since L is singular.
Matrix<double> graph(const Matrix<double>& adjacency, double mu);
// Pseudo-inverse of L: the same without a pull of each output towards zero.
Matrix<double> graph_pinv(const Matrix<double>& adjacency);
// exp(-gamma (tau_i - tau_j)^2) over quantile levels.
Matrix<double> quantiles(const std::vector<double>& levels, double gamma);
// T/(T-1) (I - 11ᵀ/T): products of the simplex code of T classes (SPEC 1f).
Matrix<double> simplex(Index n_classes);

}  // namespace carmina::outputs
