// tests/features/operator_valued_test.cpp -- curl-free, divergence-free and sum kernels: exact blocks, factors,
// structure.
#include <gtest/gtest.h>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"

#include <Eigen/Eigenvalues>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

Matrix<double> block(const Kernel& kernel, const Matrix<double>& x, const Matrix<double>& z, Index p) {
  Matrix<double> out(p, p);
  OperatorMap<double>(kernel, z, p).blocks(x, out.data(), Execution{});
  return out;
}

SpectralMixture some_mixture(Index d, const char* family) {
  return SpectralMixture(Vector<double>{{0.4, 1.1}}, 0.15 * random_matrix(2, d, 41),
                         0.08 + 0.05 * random_matrix(2, d, 42).array().abs(), family);
}

std::vector<ScalarKernel> smooth_kernels(const LengthScale& width) {
  return {Gaussian(width), Matern(width, 2.5), Matern(width, 3.2), Cauchy(width), RationalQuadratic(width, 1.7)};
}

// K_curl = -Hessian of k_0, K_div = -(Laplacian I - Hessian), by second differences.
TEST(DifferentialKernels, EqualFiniteDifferencesOfTheScalarKernel) {
  for (const Index d : {2, 3, 5}) {
    for (const bool isotropic : {true, false}) {
      std::vector<double> widths(static_cast<std::size_t>(d));
      for (Index j = 0; j < d; ++j) widths[static_cast<std::size_t>(j)] = 0.8 + 0.3 * static_cast<double>(j);
      std::vector<ScalarKernel> kernels = smooth_kernels(isotropic ? LengthScale(1.1) : LengthScale(widths));
      kernels.emplace_back(some_mixture(d, isotropic ? "gaussian" : "laplace"));
      for (const ScalarKernel& scalar : kernels) {
        const double own = own_weight(scalar);
        const Matrix<double> z = random_matrix(1, d, 1), x = z + 0.7 * random_matrix(1, d, 2);
        constexpr double h = 1e-4;
        Matrix<double> hessian(d, d);
        const auto value = [&](Index a, double sa, Index b, double sb) {
          Matrix<double> moved = x;
          moved(0, a) += sa * h;
          moved(0, b) += sb * h;
          return kernel_matrix<double>(scalar, moved, z)(0, 0);
        };
        for (Index a = 0; a < d; ++a) {
          for (Index b = 0; b < d; ++b) {
            hessian(a, b) =
                (value(a, 1, b, 1) - value(a, 1, b, -1) - value(a, -1, b, 1) + value(a, -1, b, -1)) / (4 * h * h);
          }
        }
        const Matrix<double> I = Matrix<double>::Identity(d, d);
        EXPECT_LT(max_difference(block(CurlFree(scalar), x, z, d), -own * hessian), 1e-6) << kernel_name(scalar);
        EXPECT_LT(max_difference(block(DivergenceFree(scalar), x, z, d), own * (hessian - hessian.trace() * I)), 1e-6);
      }
    }
  }
}

std::vector<Kernel> all_kernels(Index d) {
  return {CurlFree(Gaussian(1.2)),
          DivergenceFree(Gaussian(0.9)),
          DivergenceFree(Matern(LengthScale(1.0), 2.5)),
          Decomposable(Gaussian(1.0), random_psd(d, 1, 3)),
          CurlFree(some_mixture(d, "gaussian")),
          DivergenceFree(some_mixture(d, "laplace")) + Decomposable(some_mixture(d, "gaussian"), random_psd(d, d, 5)),
          0.4 * CurlFree(Gaussian(1.0)) + 0.6 * DivergenceFree(Gaussian(1.3)),
          Kernel(Gaussian(1.0)) + CurlFree(Cauchy(1.0)) + 2.0 * Decomposable(Laplacian(2.0), random_psd(d, d, 4))};
}

TEST(OperatorMap, GramIsSymmetricPositiveAndEqualsItsBlocksAndProducts) {
  for (const Index d : {2, 3}) {
    for (const Kernel& kernel : all_kernels(d)) {
      const Matrix<double> Z = random_matrix(14, d, 5), X = random_matrix(9, d, 6), C = random_matrix(14, d, 7);
      const OperatorMap<double> map(kernel, Z, d);
      const Matrix<double> lower = map.gram(Execution{});
      const Matrix<double> K = lower.selfadjointView<Eigen::Lower>();
      EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K).eigenvalues().minCoeff(), -1e-10);
      std::vector<double> blocks(static_cast<std::size_t>(14 * 14 * d * d));
      map.blocks(Z, blocks.data(), Execution{});
      for (Index i = 0; i < 14; ++i) {
        for (Index j = 0; j < 14; ++j) {
          for (Index a = 0; a < d * d; ++a) {
            EXPECT_NEAR(K(i * d + a / d, j * d + a % d), blocks[static_cast<std::size_t>((i * 14 + j) * d * d + a)],
                        1e-12);
          }
        }
      }
      Matrix<double> expected = Matrix<double>::Zero(9, d), out(9, d), one(9, d);
      for (Index i = 0; i < 9; ++i) {
        for (Index j = 0; j < 14; ++j)
          expected.row(i) += (block(kernel, X.row(i), Z.row(j), d) * C.row(j).transpose()).transpose();
      }
      map.apply(X, C, out, Execution{});
      map.apply(X, C, one, Execution{.threads = 1});
      EXPECT_LT(max_difference(out, expected), 1e-12);
      EXPECT_EQ(out, one);
    }
  }
}

// Phi(x)* theta by the definition: sum_j cos(<x, w_j>) B_j theta_cj + sin(<x, w_j>) B_j theta_sj, B_j built densely.
TEST(Expansion, FactorsSquareToTheSpectralDensityAndAdjointsAgree) {
  for (const Index d : {2, 3, 7}) {
    for (const Kernel& kernel : all_kernels(d)) {
      Matrix<double> W = sample_term_frequencies(kernel, d, 12, 1);
      W.row(0).setZero();  // the zero frequency has B = 0 for differential terms
      const Expansion expansion(kernel, W, d);
      const Index m = 2 * W.rows(), terms = static_cast<Index>(kernel.terms().size());
      Matrix<double> E(m * d, expansion.dim_coef());
      for (Index k = 0; k < expansion.dim_coef(); ++k) {
        Matrix<double> e = Matrix<double>::Zero(expansion.dim_coef(), 1);
        e(k, 0) = 1;
        const Matrix<double> column = expansion.expand(e);
        E.col(k) = Eigen::Map<const Vector<double>>(column.data(), m * d);
      }
      for (Index j = 0; j < W.rows(); ++j) {  // E Eᵀ is block diagonal with weight * terms * A(w_j)
        const Term& term = kernel.terms()[static_cast<std::size_t>(j / (W.rows() / terms))];
        Matrix<double> A = Matrix<double>::Identity(d, d);
        if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) A = matrix->A();
        if (is_differential(term.coupling)) {
          const Matrix<double> outer = W.row(j).transpose() * W.row(j);
          const bool curl = std::holds_alternative<CurlFreeCoupling>(term.coupling);
          A = curl ? outer : Matrix<double>(outer.trace() * Matrix<double>::Identity(d, d) - outer);
        }
        const auto rows = E.middleRows(j * d, d);
        EXPECT_LT(max_difference(rows * rows.transpose(), term.weight * double(terms) * A), 1e-11 * (1 + A.norm()));
      }
      const Matrix<double> R = random_matrix(m, d, 8);
      const Matrix<double> expected = E.transpose() * Eigen::Map<const Vector<double>>(R.data(), m * d);
      EXPECT_LT(max_difference(expansion.contract(R), expected), 1e-11);
      const Matrix<double> G = random_psd(m, m, 9);
      Matrix<double> kron(m * d, m * d);
      for (Index i = 0; i < m * d; ++i) {
        for (Index j = 0; j < m * d; ++j) kron(i, j) = i % d == j % d ? G(i / d, j / d) : 0.0;
      }
      const Matrix<double> lower = expansion.gram(G, 2), full = lower.selfadjointView<Eigen::Lower>();
      EXPECT_LT(max_difference(full, E.transpose() * kron * E), 1e-9 * (1 + full.norm()));
    }
  }
}

// mathematics.md 5.2: for any theta a curl-free model has a symmetric Jacobian and a divergence-free one no divergence.
TEST(Expansion, CurlFreeModelsAreGradientsAndDivergenceFreeOnesConserve) {
  for (const Index d : {2, 3, 7}) {
    for (const bool curl : {true, false}) {
      const Kernel kernel = curl ? Kernel(CurlFree(Gaussian(1.0))) : Kernel(DivergenceFree(Gaussian(1.0)));
      const Matrix<double> W = sample_term_frequencies(kernel, d, 40, 2);
      const FourierMap<double> map(W);
      const Expansion expansion(kernel, W, d);
      const Matrix<double> coefficients = expansion.expand(random_matrix(expansion.dim_coef(), 1, 10));
      constexpr double h = 1e-4;
      const Matrix<double> x = random_matrix(1, d, 11);
      Matrix<double> points(4 * d, d), F(4 * d, d);
      for (Index j = 0; j < d; ++j) {
        for (Index k = 0; k < 4; ++k) {
          points.row(4 * j + k) = x;
          points(4 * j + k, j) += h * (k < 2 ? double(k) - 2 : double(k) - 1);  // -2h, -h, h, 2h
        }
      }
      apply(map, points, coefficients, View<double>(F), Execution{});
      Matrix<double> J(d, d);  // J(a, j) = dF_a / dx_j, fourth order
      for (Index j = 0; j < d; ++j) {
        J.col(j) =
            ((F.row(4 * j) - 8 * F.row(4 * j + 1) + 8 * F.row(4 * j + 2) - F.row(4 * j + 3)) / (12 * h)).transpose();
      }
      if (curl) {
        EXPECT_LT(max_difference(J, J.transpose()), 1e-8 * (1 + J.norm())) << d;
      } else {
        EXPECT_LT(std::abs(J.trace()), 1e-8 * (1 + J.norm())) << d;
      }
    }
  }
}

// Phi(x)* Phi(z) estimates K(x, z) at the Monte Carlo rate: slope -1/2 of the error, all kinds. Fixed seeds.
TEST(Expansion, FeaturesEstimateTheOperatorValuedKernel) {
  const Index d = 3, n = 8;
  const Matrix<double> X = 0.7 * random_matrix(n, d, 12);
  for (const Kernel& kernel : all_kernels(d)) {
    const Matrix<double> lower = OperatorMap<double>(kernel, X, d).gram(Execution{});
    const Matrix<double> K = lower.selfadjointView<Eigen::Lower>();
    std::vector<double> x, y;
    for (Index D = 64; D <= 4096; D *= 4) {
      double square = 0;
      constexpr int seeds = 30;
      for (int seed = 0; seed < seeds; ++seed) {
        const Matrix<double> W = sample_term_frequencies(kernel, d, 2 * D, static_cast<std::uint64_t>(seed));
        const Expansion expansion(kernel, W, d);
        Matrix<double> phi(n, 2 * W.rows());
        evaluate(FourierMap<double>(W), X, View<double>(phi), Execution{});
        // Row (i, a) of Phi: contract(phi_i e_aᵀ).
        Matrix<double> Phi(n * d, expansion.dim_coef());
        for (Index i = 0; i < n; ++i) {
          for (Index a = 0; a < d; ++a) {
            Matrix<double> R = Matrix<double>::Zero(2 * W.rows(), d);
            R.col(a) = phi.row(i).transpose();
            Phi.row(i * d + a) = expansion.contract(R).transpose();
          }
        }
        square += (Phi * Phi.transpose() - K).squaredNorm() / seeds;
      }
      x.push_back(std::log(double(D)));
      y.push_back(std::log(square) / 2);
    }
    const auto count = static_cast<double>(x.size());
    double mx = 0, my = 0, sxy = 0, sxx = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mx += x[i] / count, my += y[i] / count;
    for (std::size_t i = 0; i < x.size(); ++i) sxy += (x[i] - mx) * (y[i] - my), sxx += (x[i] - mx) * (x[i] - mx);
    EXPECT_NEAR(sxy / sxx, -0.5, 0.06);
  }
}

}  // namespace
}  // namespace carmina
