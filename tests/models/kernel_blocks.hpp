// tests/models/kernel_blocks.hpp -- kernels of all kinds and their values as dense matrices, for oracles.
#pragma once
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"

#include <functional>
#include <vector>

#include "support/random_matrix.hpp"

namespace carmina {

constexpr Index p = 2;  // outputs

// Kernel values between all rows of A and B as an (|A| p, |B| p) matrix.
using Blocks = std::function<Matrix<double>(const Matrix<double>&, const Matrix<double>&)>;

inline std::vector<Kernel> all_kernels() {
  return {Gaussian(1.1),
          0.7 * Kernel(Matern(1.0, 1.5)),
          Decomposable(Gaussian(1.0), testing::random_psd(p, p, 5)),
          Decomposable(Gaussian(1.0), testing::random_psd(p, 1, 6)),
          CurlFree(Gaussian(1.0)),
          CurlFree(Gaussian(1.0)) + 0.5 * DivergenceFree(Gaussian(2.0))};
}

inline Blocks exact_blocks(const Kernel& kernel) {
  return [&kernel](const Matrix<double>& A, const Matrix<double>& B) {
    std::vector<double> blocks(static_cast<std::size_t>(A.rows() * B.rows() * p * p));
    OperatorMap<double>(kernel, B, p).blocks(A, blocks.data(), Execution{});
    return Matrix<double>(Matrix<double>::NullaryExpr(A.rows() * p, B.rows() * p, [&](Index i, Index j) {
      return blocks[static_cast<std::size_t>(((i / p * B.rows() + j / p) * p + i % p) * p + j % p)];
    }));
  };
}

// `term`: of the features of one term alone; -1: of all.
inline Blocks fourier_blocks(const Kernel& kernel, Index components, Index term = -1) {
  const Matrix<double> W = sample_term_frequencies(kernel, 2, components, 0);
  const auto features = [&kernel, W, term](const Matrix<double>& A) {
    const Expansion expansion(kernel, W, p);
    Matrix<double> phi(A.rows(), 2 * W.rows()), Phi(A.rows() * p, expansion.dim_coef());
    evaluate(FourierMap<double>(W), A, View<double>(phi), Execution{});
    const Index own = W.rows() / static_cast<Index>(kernel.terms().size());
    for (Index j = 0; term >= 0 && j < phi.cols(); ++j) {
      if (j % W.rows() / own != term) phi.col(j).setZero();
    }
    for (Index i = 0; i < Phi.rows(); ++i) {
      Matrix<double> R = Matrix<double>::Zero(2 * W.rows(), p);
      R.col(i % p) = phi.row(i / p).transpose();
      Phi.row(i) = expansion.contract(R).transpose();
    }
    return Phi;
  };
  return [features](const Matrix<double>& A, const Matrix<double>& B) {
    return Matrix<double>(features(A) * features(B).transpose());
  };
}

}  // namespace carmina
