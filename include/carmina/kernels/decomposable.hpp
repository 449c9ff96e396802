// kernels/decomposable.hpp -- output matrices A of K(x, z) = k(x, z) A, and their roots.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <memory>

namespace carmina {

// A symmetric positive semi-definite matrix by its non-zero eigenvalues, A = V diag(delta) Vᵀ, so that its root is
// B = V sqrt(delta) (SPEC 1b). Without vectors it stands for the identity of any size.
struct OutputFactor {
  Matrix<double> vectors;  // V (p, rank)
  Vector<double> delta;    // (rank), descending, positive

  bool identity() const { return vectors.size() == 0; }
  Index rank(Index outputs) const { return identity() ? outputs : delta.size(); }
  double eigenvalue(Index j) const { return identity() ? 1.0 : delta[j]; }
  Matrix<double> root() const;  // B (p, rank)
};

// Error when A is not square, symmetric, finite or positive semi-definite (to rounding).
OutputFactor factor_output_matrix(const Matrix<double>& A);

// A, checked, immutable and shared by copies.
class OutputMatrix {
 public:
  static constexpr const char* name = "decomposable";
  explicit OutputMatrix(Matrix<double> matrix) : A_(std::make_shared<const Matrix<double>>(std::move(matrix))) {
    factor_output_matrix(*A_);
  }
  const Matrix<double>& A() const { return *A_; }  // (p, p)
  bool operator==(const OutputMatrix& other) const { return A_->rows() == other.A_->rows() && *A_ == *other.A_; }

 private:
  std::shared_ptr<const Matrix<double>> A_;
};

}  // namespace carmina
