// features/feature_rows.hpp -- what a solver, an evidence or a tuner may ask of the data: the one door to the rows.
//
// Each call is a pass over many rows, so a virtual call costs nothing. Sums are over all rows, wherever they are, in
// the order of RowGrid (data/data_rows.hpp): they do not depend on threads, on the size of blocks, on whether features
// are stored, or on how the rows are divided into parts.
//
// A row has one vector of features, shared by the outputs, or (blocks) a vector for each output, phi_ij: then C has one
// column, F_ij = phi_ij . C, and adjoint and gram sum over the outputs too; u is (n p), output after output of a row.
#pragma once
#include "backends/reduced_gram.hpp"
#include "core/checkpoint.hpp"
#include "data/data_rows.hpp"
#include "features/map_operations.hpp"
#include "features/moments.hpp"

#include <functional>
#include <memory>

namespace carmina {

// Rows of features rotated by a matrix, a few at a time: Z (rows, columns), with their targets and weights.
struct RotatedRows {
  const Matrix<double>& Z;
  const Matrix<double>& targets;
  const Vector<double>& weights;
};

// The Gram matrix of some rows, good enough for a preconditioner.
struct SubsetGram {
  Matrix<float> sums;           // (m, m), lower triangle
  Vector<double> feature_sums;  // (m)
  double weight = 0;
};

// Sums of the residuals R = Y - F Theta of Fourier features F, and the gradient by the frequencies that S gives:
// U = W (sum_a r_a theta_aᵀ / v_a - F S), dL/dw_j = sum_i x_i (U^s F^c - U^c F^s)_ij.
struct ResidualSums {
  Vector<double> squares;    // sum w r_a^2 (p)
  Matrix<double> cross;      // FᵀW R (m, p)
  Matrix<double> frequency;  // dL/dW (m / 2, d)
};

class FeatureRows {
 public:
  virtual ~FeatureRows() = default;
  FeatureRows& operator=(const FeatureRows&) = delete;

  Index rows() const { return rows_; }
  Index features() const { return features_; }
  Index outputs() const { return outputs_; }
  Index block_outputs() const { return block_outputs_; }  // p of blocks; 0: shared features
  // Unit roundoff of the products.
  double roundoff() const { return roundoff_; }
  // K (n, n) of kernel_rows: theta are then coefficients of the rows, with |theta|^2 = thetaᵀ K theta. Else null.
  virtual const Matrix<double>* kernel() const { return nullptr; }

  // Sums over rows. moments adds to what is there; the sums of closed segments may be kept while it runs.
  virtual void moments(Moments& into, const SavedLoop& saved = {}) const;
  virtual RowSums sums(const Vector<double>& origin) const;
  // out (features, q) = phiᵀ R, R (n, q)
  virtual void adjoint(const Matrix<double>& R, Matrix<double>& out) const;
  // out (features, q) = phiᵀ W phi P; where targets are missing q = p, and column a takes the rows that have output a
  virtual void normal(const Matrix<double>& P, Matrix<double>& out) const;
  // lower triangle of [phi, 1]ᵀ diag(u) [phi, 1], u >= 0 (n); rows with u_i = 0 are ignored
  virtual void gram(const Vector<double>& u, Matrix<double>& out) const;
  // sum w |phi C_a + b_a - y|^2 for k models side by side, C (features, k p), b (k p)
  virtual Vector<double> squares(const Matrix<double>& C, const Vector<double>& b) const;
  // The sum of what add(rows, sums) adds to `sums` (count), with Z = (phi - mean) rotation; add is called by several
  // threads at once.
  using AddRotated = std::function<void(const RotatedRows& rows, Vector<double>& sums)>;
  virtual Vector<double> sum_rotated(const Vector<double>& mean, const Matrix<double>& rotation, Index count,
                                     const AddRotated& add) const;
  virtual ResidualSums residuals(const Matrix<double>& Theta, const Matrix<double>* S,
                                 const Vector<double>& noise) const;
  // Of about `wanted` rows, spread evenly by their numbers.
  virtual SubsetGram subset_gram(Index wanted, backend::Reduced precision) const;

  // Row by row: F (n, q) = phi C.
  virtual void forward(const Matrix<double>& C, Matrix<double>& F) const;

  // Rows by number. Targets and weights of all rows; weights are empty when all are one.
  virtual Matrix<double> targets() const;
  virtual Vector<double> weights() const;
  // The rows in windows whose size follows from the problem, each of which gives the features of any of its rows by
  // their ascending places in it: out (count, features), or (count p, features) of blocks. Where several processes have
  // the rows there is one window, and who asks for features of its rows asks for a pass.
  using Gather = std::function<void(const Index* places, Index count, Matrix<double>& out)>;
  using Window = std::function<void(Index first_row, Index rows, const Gather& gather)>;
  virtual void windows(const Window& body) const;

 protected:
  FeatureRows(Index rows, Index features, Index outputs, double roundoff, Index block_outputs = 0)
      : rows_(rows), features_(features), outputs_(outputs), block_outputs_(block_outputs), roundoff_(roundoff) {}
  FeatureRows(const FeatureRows&) = default;

 private:
  Index rows_, features_, outputs_, block_outputs_;
  double roundoff_;
};

// Makers. What they are given must outlive what they return.

// Features are made anew on each pass, or (stored) made once and kept; both give the same numbers.
enum class FeatureStorage { none, memory };
template <ScalarMap M>
std::unique_ptr<FeatureRows> rows_of(const M& map, const DataRows<typename M::Scalar>& rows, FeatureStorage storage,
                                     const Execution& execution);

// The same where all features (n, features) are known already.
template <ScalarMap M>
std::unique_ptr<FeatureRows> rows_of(const M& map, const DataRows<typename M::Scalar>& rows,
                                     const Matrix<typename M::Scalar>& known, const Execution& execution);

// Features phi (n, features) that somebody has made, without targets.
template <Real T>
std::unique_ptr<FeatureRows> stored_rows(const Matrix<T>& phi, const Execution& execution);

// Blocks: phi (n p, features), the p rows of a sample one after the other.
std::unique_ptr<FeatureRows> stored_blocks(const Matrix<double>& phi, Index outputs, const Execution& execution);

// The rows of a kernel matrix K (n, n) in the place of features: f = K Theta Bᵀ + b. Both triangles are read; forward
// skips the rows of K whose coefficients are zero.
std::unique_ptr<FeatureRows> kernel_rows(const Matrix<double>& K, const Execution& execution);

}  // namespace carmina
