// kernels/coupling.hpp -- how the outputs of a kernel go together: output matrices, and the couplings that a term may
// have.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/kernels/spectrum.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace carmina {

// Output matrices A of K(x, z) = k(x, z) A, and their roots.
// A symmetric positive semi-definite matrix by its non-zero eigenvalues, A = V diag(delta) Vᵀ, so that its root is
// B = V sqrt(delta) (mathematics.md 1b). Without vectors it stands for the identity of any size.
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

namespace carmina::outputs {

// Output matrices A for decomposable kernels: how the outputs are believed to go together.
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
// T/(T-1) (I - 11ᵀ/T): products of the simplex code of T classes (mathematics.md 1f).
Matrix<double> simplex(Index n_classes);

}  // namespace carmina::outputs

namespace carmina {

// K(x, z) = k(x, z) I: any number of outputs, each on its own.
struct Independent {
  static constexpr const char* name = "none";
  bool operator==(const Independent&) const = default;
};

// K = k A with the covariance A of the targets: an OutputMatrix once a fit has seen them.
struct TargetCovariance {
  static constexpr const char* name = "covariance";
  bool operator==(const TargetCovariance&) const = default;
};

// K_0(delta) = sum_q w_q B_q B_q* k_q(delta) (mathematics.md 4): a spectral mixture learns the factors B_q.
struct LearntFactors {
  static constexpr const char* name = "coupled";
  Index rank = 0;       // columns of B_q; 0: as many as outputs, at most 2
  bool phases = false;  // complex B_q: outputs may be shifted against each other
  bool operator==(const LearntFactors&) const = default;
};

// mathematics.md 1b, with k = g(|delta|^2 / 2): K_curl = -g' I - g'' delta deltaᵀ, whose functions are gradients, and
// K_div = tr(K_curl) I - K_curl, whose functions have no divergence. As many outputs as inputs. `bounded`, over a
// Gaussian: features of another measure, in proportion to |w|^2, whose factors are bounded. The same kernel.
// `normalized`: K times a number that makes tr K(0) = p, so that its functions have unit mean variance per component,
// whatever the unit of length.
struct CurlFreeCoupling {
  static constexpr const char* name = "curl-free";
  bool bounded = false, normalized = false;
  bool operator==(const CurlFreeCoupling&) const = default;
};
struct DivergenceFreeCoupling {
  static constexpr const char* name = "divergence-free";
  bool bounded = false, normalized = false;
  bool operator==(const DivergenceFreeCoupling&) const = default;
};

// A UserSpectrum stands for the whole kernel: the term's scalar kernel is not used.
using OutputCoupling = std::variant<Independent, OutputMatrix, TargetCovariance, LearntFactors, CurlFreeCoupling,
                                    DivergenceFreeCoupling, UserSpectrum>;

inline bool is_differential(const OutputCoupling& coupling) {
  return std::holds_alternative<CurlFreeCoupling>(coupling) || std::holds_alternative<DivergenceFreeCoupling>(coupling);
}
bool has_bounded_features(const OutputCoupling& coupling);
bool is_normalized(const OutputCoupling& coupling);

// Outputs that it is for: nothing when it takes any number; as many as inputs for differential ones.
std::optional<Index> n_outputs(const OutputCoupling& coupling, Index dim_in);
// Error when inputs or outputs do not fit.
void check_dimensions(const OutputCoupling& coupling, Index dim_in, Index dim_out);
// Columns of its factors B of A = B Bᵀ, at most.
Index factor_columns(const OutputCoupling& coupling, Index dim_out);

// Words for the command line, Python and files; the names are those that `parse_coupling` takes, which also knows
// 'independent' for none and 'factors' for coupled.
std::vector<std::string> coupling_names();
std::string coupling_name(const OutputCoupling& coupling);
// Error, with what there is, for another word: an output matrix and a spectrum are more than a word.
OutputCoupling parse_coupling(const std::string& word, bool bounded = false, bool normalized = false);

}  // namespace carmina
