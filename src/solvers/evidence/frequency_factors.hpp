// solvers/evidence/frequency_factors.hpp -- products with E_a, which turns the scalar map's cosines and sines into the
// features of output a: Psi_a = F E_a (see fourier_evidence.hpp). E_a has a 2 x 2 block for each frequency and column
// of B: columns (c, j, b), then (s, j, b).
#pragma once
#include "backends/tiled.hpp"
#include "solvers/evidence/fourier_evidence.hpp"

#include <algorithm>

namespace carmina {

// Block by block: rows and columns of one are in a near cache.
constexpr Index transposed_at_once = 32;
inline Matrix<double> transposed(const Matrix<double>& A, const Execution& execution) {
  Matrix<double> out(A.cols(), A.rows());
  const Index blocks = (A.rows() + transposed_at_once - 1) / transposed_at_once;
  parallel_for(blocks, execution.thread_count(), [&](Index task, int) {
    const Index i = task * transposed_at_once, rows = std::min(transposed_at_once, A.rows() - i);
    for (Index j = 0; j < A.cols(); j += transposed_at_once) {
      const Index columns = std::min(transposed_at_once, A.cols() - j);
      out.block(j, i, columns, rows) = A.block(i, j, rows, columns).transpose();
    }
  });
  return out;
}
// The upper triangle is what the lower one is.
inline void mirror(Matrix<double>& A, const Execution& execution) {
  const Index blocks = (A.rows() + transposed_at_once - 1) / transposed_at_once;
  parallel_for(blocks, execution.thread_count(), [&](Index task, int) {
    const Index i = task * transposed_at_once, rows = std::min(transposed_at_once, A.rows() - i);
    for (Index j = 0; j < i; j += transposed_at_once) {
      A.block(j, i, transposed_at_once, rows) = A.block(i, j, rows, transposed_at_once).transpose();
    }
    auto corner = A.block(i, i, rows, rows);
    corner.triangularView<Eigen::StrictlyUpper>() = corner.transpose();
  });
}

// A = I + something positive semi-definite has a factor, unless rounding of that is larger than I.
inline bool factor_with_jitter(Matrix<double>& A, const Execution& execution) {
  const Matrix<double> whole = A;
  const double mean = A.trace() / static_cast<double>(A.rows());
  for (double jitter = 0; jitter <= 1e-10; jitter = jitter > 0 ? 10 * jitter : 1e-15) {
    if (jitter > 0) A = whole;
    A.diagonal().array() += jitter * mean;
    if (backend::cholesky(A.rows(), A.data(), A.outerStride(), execution)) return true;
  }
  return false;
}

class FrequencyFactors {
 public:
  // `scale`: what the scalar map's features lack, sqrt(M).
  FrequencyFactors(const WeightedFrequencies& at, double scale)
      : at_(at), scale_(scale), M_(at.size()), rank_(at.rank()), complex_(at.imaginary.size() > 0) {}

  Index features() const { return 2 * M_; }
  Index columns() const { return 2 * M_ * rank_; }

  // out (k, columns) = P E_a, P (k, 2 M)
  Matrix<double> expand(const Matrix<double>& P, Index a) const {
    Matrix<double> out(P.rows(), columns());
    const Index half = M_ * rank_;
    for (Index i = 0; i < P.rows(); ++i) {
      const double* row = P.row(i).data();
      double* to = out.row(i).data();
      for (Index j = 0; j < M_; ++j) {
        for (Index b = 0; b < rank_; ++b) {
          const double re = real(j, a, b), im = imaginary(j, a, b), c = row[j], s = row[M_ + j];
          to[j * rank_ + b] = re * c + im * s;
          to[half + j * rank_ + b] = re * s - im * c;
        }
      }
    }
    return out;
  }
  // out (k, 2 M) = Q E_aᵀ, Q (k, columns)
  Matrix<double> contract(const Matrix<double>& Q, Index a) const {
    Matrix<double> out(Q.rows(), features());
    const Index half = M_ * rank_;
    for (Index i = 0; i < Q.rows(); ++i) {
      const double* row = Q.row(i).data();
      double* to = out.row(i).data();
      for (Index j = 0; j < M_; ++j) {
        double c = 0, s = 0;
        for (Index b = 0; b < rank_; ++b) {
          const double re = real(j, a, b), im = imaginary(j, a, b);
          const double qc = row[j * rank_ + b], qs = row[half + j * rank_ + b];
          c += re * qc - im * qs;
          s += im * qc + re * qs;
        }
        to[j] = c, to[M_ + j] = s;
      }
    }
    return out;
  }
  // A += factor E_aᵀ H E_a, lower triangle; H (2 M, 2 M) symmetric.
  void add_system(const Matrix<double>& H, Index a, double factor, Matrix<double>& A,
                  const Execution& execution) const {
    const Matrix<double> HE = transposed(expand_rows(H, a, execution), execution);
    const Index half = M_ * rank_;
    over_frequencies(execution, [&](Index j) {
      const auto c = HE.row(j), s = HE.row(M_ + j);
      for (Index b = 0; b < rank_; ++b) {
        const double re = factor * real(j, a, b), im = factor * imaginary(j, a, b);
        const Index row = j * rank_ + b;
        A.row(row).head(row + 1) += re * c.head(row + 1) + im * s.head(row + 1);
        A.row(half + row).head(half + row + 1) += re * s.head(half + row + 1) - im * c.head(half + row + 1);
      }
    });
  }
  // E_aᵀ P (columns, k), P (2 M, k): whole rows of P at a time.
  Matrix<double> expand_rows(const Matrix<double>& P, Index a, const Execution& execution) const {
    Matrix<double> out(columns(), P.cols());
    const Index half = M_ * rank_;
    over_frequencies(execution, [&](Index j) {
      const auto c = P.row(j), s = P.row(M_ + j);
      for (Index b = 0; b < rank_; ++b) {
        const double re = real(j, a, b), im = imaginary(j, a, b);
        out.row(j * rank_ + b) = re * c + im * s;
        out.row(half + j * rank_ + b) = re * s - im * c;
      }
    });
    return out;
  }
  // E_a Q (2 M, k), Q (columns, k)
  Matrix<double> contract_rows(const Matrix<double>& Q, Index a, const Execution& execution) const {
    Matrix<double> out(features(), Q.cols());
    const Index half = M_ * rank_;
    over_frequencies(execution, [&](Index j) {
      out.row(j).setZero();
      out.row(M_ + j).setZero();
      for (Index b = 0; b < rank_; ++b) {
        const double re = real(j, a, b), im = imaginary(j, a, b);
        const auto c = Q.row(j * rank_ + b), s = Q.row(half + j * rank_ + b);
        out.row(j) += re * c - im * s;
        out.row(M_ + j) += im * c + re * s;
      }
    });
    return out;
  }
  // Adds to the gradient what dL/dE_a gives for B; entry(row, column) is that derivative at a place of E_a.
  template <class Entry>
  void add_gradient(Index a, const Entry& entry, WeightedFrequencies& gradient) const {
    const Index half = M_ * rank_;
    for (Index j = 0; j < M_; ++j) {
      for (Index b = 0; b < rank_; ++b) {
        const Index c = j * rank_ + b, s = half + c, at = a * rank_ + b;
        gradient.real(j, at) += scale_ * (entry(j, c) + entry(M_ + j, s));
        if (complex_) gradient.imaginary(j, at) += scale_ * (entry(M_ + j, c) - entry(j, s));
      }
    }
  }

 private:
  // Calls body(j) for all frequencies, which write to different rows.
  template <class Body>
  void over_frequencies(const Execution& execution, const Body& body) const {
    constexpr Index at_once = 16;
    parallel_for((M_ + at_once - 1) / at_once, execution.thread_count(), [&](Index task, int) {
      for (Index j = task * at_once; j < std::min(M_, (task + 1) * at_once); ++j) body(j);
    });
  }
  double real(Index j, Index a, Index b) const { return scale_ * at_.real(j, a * rank_ + b); }
  double imaginary(Index j, Index a, Index b) const {
    return complex_ ? scale_ * at_.imaginary(j, a * rank_ + b) : 0.0;
  }

  const WeightedFrequencies& at_;
  double scale_;
  Index M_, rank_;
  bool complex_;
};

}  // namespace carmina
