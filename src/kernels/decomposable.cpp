// kernels/decomposable.cpp -- roots of output matrices by their eigenvalues.
#include "backends/tiled.hpp"

#include <carmina/kernels/coupling.hpp>

#include <algorithm>

namespace carmina {

Matrix<double> OutputFactor::root() const { return vectors * delta.cwiseSqrt().asDiagonal(); }

OutputFactor factor_output_matrix(const Matrix<double>& A) {
  require(A.rows() == A.cols() && A.rows() > 0, "output matrix A must be square, found {} x {}", A.rows(), A.cols());
  require(A.allFinite(), "output matrix A holds a value that is missing or infinite");
  const double largest = A.cwiseAbs().maxCoeff();
  require((A - A.transpose()).cwiseAbs().maxCoeff() <= 1e-10 * largest, "output matrix A must be symmetric");
  const Index p = A.rows();
  Matrix<double> U = (A + A.transpose()) / 2;  // rows become eigenvectors
  Vector<double> values(p);
  backend::small_symmetric_eigen(p, U.data(), p, values.data(), {.threads = 1});
  const double top = values.cwiseAbs().maxCoeff(), tolerance = static_cast<double>(p) * 1e-13 * top;
  require(values[0] >= -std::max(tolerance, 1e-10 * top),
          "output matrix A must be positive semi-definite, its smallest eigenvalue is {:.3g}", values[0]);
  require(top > 0, "output matrix A is zero");
  const Index rank = (values.array() > tolerance).count();
  OutputFactor factor;
  factor.vectors = U.bottomRows(rank).colwise().reverse().transpose();
  factor.delta = values.tail(rank).reverse();
  return factor;
}

}  // namespace carmina
