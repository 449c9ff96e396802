// tests/features/spectral_test.cpp -- kernels by a spectrum of one's own, by a signature, and bounded features.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"

#include <cmath>
#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

// K(x_i, x_j) of all pairs by the features: (n p, n p).
Matrix<double> estimate(const Kernel& kernel, const Matrix<double>& X, Index p, Index D, std::uint64_t seed,
                        Sampling sampling = Sampling::iid) {
  const Matrix<double> W = sample_term_frequencies(kernel, X.cols(), 2 * D, seed, sampling);
  const Expansion expansion(kernel, W, p);
  Matrix<double> phi(X.rows(), 2 * W.rows());
  evaluate(FourierMap<double>(W), X, View<double>(phi), Execution{});
  Matrix<double> Phi(X.rows() * p, expansion.dim_coef());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index a = 0; a < p; ++a) {
      Matrix<double> R = Matrix<double>::Zero(2 * W.rows(), p);
      R.col(a) = phi.row(i).transpose();
      Phi.row(i * p + a) = expansion.contract(R).transpose();
    }
  }
  return Phi * Phi.transpose();
}

Matrix<double> exact(const Kernel& kernel, const Matrix<double>& X, Index p) {
  const Matrix<double> lower = OperatorMap<double>(kernel, X, p).gram(Execution{});
  return lower.selfadjointView<Eigen::Lower>();
}

// Root mean square error over seeds.
double error(const Kernel& kernel, const Matrix<double>& X, const Matrix<double>& K, Index p, Index D, int seeds,
             Sampling sampling = Sampling::iid) {
  double square = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    square += (estimate(kernel, X, p, D, static_cast<std::uint64_t>(seed), sampling) - K).squaredNorm() / seeds;
  }
  return std::sqrt(square);
}

template <class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& failure) {
    return failure.what();
  }
  return "no error";
}

// The curl-free kernel of a Gaussian as a user would write it.
Kernel own_curl_free(double width) {
  return Spectral(
      [width](const Random& random, Index i, Index d) {
        Vector<double> w(d);
        normal_vector(random, i, d, 1 / width, w.data());
        return w;
      },
      [](const Vector<double>& w) { return Matrix<double>(w); }, 3);
}

TEST(Spectral, IsTheKernelOfTheSameFrequenciesAndFactors) {
  const Kernel own = own_curl_free(1.2), built_in = CurlFree(Gaussian(1.2));
  const Matrix<double> X = random_matrix(6, 3, 1);
  EXPECT_EQ(sample_term_frequencies(own, 3, 40, 7), sample_term_frequencies(built_in, 3, 40, 7));
  EXPECT_EQ(sample_term_frequencies(own, 3, 80, 7).topRows(20), sample_term_frequencies(own, 3, 40, 7));
  EXPECT_LT(max_difference(estimate(own, X, 3, 30, 5), estimate(built_in, X, 3, 30, 5)), 1e-13);
  const Kernel sum = 0.3 * own + Gaussian(1.0) + 2.0 * DivergenceFree(Gaussian(0.7));
  const Kernel same = 0.3 * built_in + Gaussian(1.0) + 2.0 * DivergenceFree(Gaussian(0.7));
  EXPECT_LT(max_difference(estimate(sum, X, 3, 30, 5), estimate(same, X, 3, 30, 5)), 1e-13);
}

TEST(Spectral, SaysWhatItCannotDo) {
  const Kernel own = own_curl_free(1.0);
  EXPECT_EQ(own.n_outputs(5), 3);
  EXPECT_EQ(own.separable(), nullptr);
  EXPECT_THAT(message_of([&] { OperatorMap<double>(own, Matrix<double>::Zero(2, 3), 3); }),
              HasSubstr("no exact values"));
  EXPECT_THAT(message_of([&] { sample_term_frequencies(own, 3, 4, 0, Sampling::sobol); }), HasSubstr("only 'iid'"));
  EXPECT_THAT(message_of([&] { own.check_dimensions(3, 2); }), HasSubstr("for 3 outputs, Y has 2"));
  const Matrix<double> W = random_matrix(4, 2, 2);
  const auto sampler = [](const Random&, Index, Index d) { return Vector<double>(Vector<double>::Ones(d)); };
  const auto with = [&](FrequencyFactor factor) { return Spectral(sampler, std::move(factor), 2); };
  EXPECT_THAT(
      message_of([&] { Expansion(with([](const Vector<double>&) { return Matrix<double>::Ones(3, 1); }), W, 2); }),
      HasSubstr("3 x 1 for one frequency, expected 2 x 1"));
  EXPECT_THAT(message_of([&] {
                Expansion(with([](const Vector<double>& w) {
                            return Matrix<double>(Matrix<double>::Ones(2, 1) * std::log(-w.norm()));
                          }),
                          W, 2);
              }),
              HasSubstr("NaN"));
  EXPECT_THAT(message_of([] {
                sample_term_frequencies(Spectral([](const Random&, Index, Index) { return Vector<double>(7); },
                                                 [](const Vector<double>& w) { return Matrix<double>(w); }, 2),
                                        2, 4, 0);
              }),
              HasSubstr("7 numbers for inputs of 2 columns"));
}

// K_0 of any kernel that has exact values.
Signature signature_of(const Kernel& kernel, Index d, Index p) {
  return [=](const Matrix<double>& deltas) {
    Matrix<double> out(deltas.rows(), p * p);
    OperatorMap<double>(kernel, Matrix<double>::Zero(1, d), p).blocks(deltas, out.data(), Execution{});
    return out;
  };
}

struct Case {
  const char* name;
  Kernel kernel;
  Index d, p;
};
std::vector<Case> gaussian_cases() {
  return {{"scalar", Decomposable(Gaussian(0.7), Matrix<double>::Ones(1, 1)), 1, 1},
          {"decomposable", Decomposable(Gaussian(2.0), random_psd(3, 2, 3)), 2, 3},
          {"curl-free", CurlFree(Gaussian(LengthScale({0.5, 1.5}))), 2, 2},
          {"divergence-free", DivergenceFree(Gaussian(1.3)), 2, 2},
          {"divergence-free in space", DivergenceFree(Gaussian(1.0)), 3, 3}};
}

// C(w) in closed form: the Gaussian density of w times A(w).
Matrix<double> closed_density(const Kernel& kernel, const Vector<double>& w, Index p) {
  const Term& term = kernel.terms()[0];
  double density = 1;
  for (Index j = 0; j < w.size(); ++j) {
    const double width = length_scale(term.scalar)[j];
    density *= width * std::exp(-0.5 * std::pow(width * w[j], 2)) / std::sqrt(2 * std::numbers::pi);
  }
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) return density * matrix->A();
  const Matrix<double> outer = w * w.transpose();
  if (std::holds_alternative<CurlFreeCoupling>(term.coupling)) return density * outer;
  return density * (w.squaredNorm() * Matrix<double>::Identity(p, p) - outer);
}

TEST(FromSignature, FindsTheDensityOfGaussianKernels) {
  for (const auto& [name, kernel, d, p] : gaussian_cases()) {
    const SignatureSpectrum spectrum(signature_of(kernel, d, p), d);
    EXPECT_LT(spectrum.error(), 1e-4) << name;
    const Matrix<double> W = spectrum.sample(50, d, Random(1, Stream::frequencies));
    const Matrix<double> C = spectrum.density(W);
    double largest = 0;
    for (Index i = 0; i < W.rows(); ++i) largest = std::max(largest, closed_density(kernel, W.row(i), p).norm());
    for (Index i = 0; i < W.rows(); ++i) {
      const Matrix<double> found = Eigen::Map<const Matrix<double>>(C.row(i).data(), p, p);
      EXPECT_LT(max_difference(found, closed_density(kernel, W.row(i), p)), 2e-5 * largest) << name;
    }
  }
}

// Frequencies are drawn from mu, of density tr C / tr K_0(0) but for the averages over cells.
TEST(FromSignature, DrawsInProportionToTheTrace) {
  const double width = 0.8;
  const SignatureSpectrum spectrum(signature_of(CurlFree(Gaussian(width)), 2, 2), 2);
  const Matrix<double> W = spectrum.sample(40000, 2, Random(3, Stream::frequencies));
  // By tr C alone |w|^2 would be chi^2 with d + 2 = 4 degrees of freedom over width^2. Averages over cells of step s
  // and the place within one add s^2 / 4 + s^2 / 12 for each input.
  const Vector<double> square = W.rowwise().squaredNorm() * width * width;
  const double step =
      2 * std::numbers::pi / (2 * spectrum.extent()[0] * double(spectrum.size()) / double(spectrum.size() - 1));
  EXPECT_NEAR(square.mean(), 4 + 2 * std::pow(step * width, 2) / 3, 0.06);  // 4 standard errors
  EXPECT_NEAR(W.col(0).mean(), 0, 0.05);
  EXPECT_EQ(W.topRows(100), spectrum.sample(100, 2, Random(3, Stream::frequencies)));
}

TEST(FromSignature, FeaturesEstimateTheKernelAtTheMonteCarloRate) {
  for (const auto& [name, kernel, d, p] : gaussian_cases()) {
    const Kernel own = FromSignature(signature_of(kernel, d, p), d);
    const Matrix<double> X = random_matrix(4, d, 4), K = exact(kernel, X, p);
    EXPECT_LT(max_difference(exact(own, X, p), K), 1e-12 * K.norm()) << name;
    const int seeds = d == 3 ? 12 : 120;
    const double coarse = error(own, X, K, p, 64, seeds), fine = error(own, X, K, p, 1024, seeds);
    EXPECT_NEAR(std::log(fine / coarse) / std::log(16.0), -0.5, d == 3 ? 0.2 : 0.08) << name;
  }
}

TEST(FromSignature, KeepsTheStructureOfCurlFreeKernels) {
  const Kernel own = FromSignature(signature_of(CurlFree(Gaussian(0.8)), 2, 2), 2);
  const Matrix<double> W = sample_term_frequencies(own, 2, 400, 5);
  const Expansion expansion(own, W, 2);
  EXPECT_EQ(expansion.dim_coef(), 2 * W.rows());  // one column a frequency
  const Matrix<double> rows = expansion.expand(Matrix<double>::Ones(expansion.dim_coef(), 1));
  for (Index j = 0; j < W.rows(); ++j) {  // along w
    const double across = std::abs(rows(j, 0) * W(j, 1) - rows(j, 1) * W(j, 0));
    EXPECT_LT(across, 1e-3 * W.row(j).norm() * (rows.row(j).norm() + 0.01));
  }
}

TEST(FromSignature, TakesRoughKernelsAndAGivenGrid) {
  const Signature matern = signature_of(Decomposable(Matern(1.0, 1.5), Matrix<double>::Identity(2, 2)), 2, 2);
  const SignatureSpectrum chosen(matern, 2);
  EXPECT_LT(chosen.error(), 5e-3);
  const SignatureSpectrum laplacian(signature_of(Decomposable(Laplacian(1.0), Matrix<double>::Identity(1, 1)), 1, 1),
                                    1);
  EXPECT_LE(laplacian.size(), 2049);  // a corner is never fine enough: the size must end somewhere
  EXPECT_LT(laplacian.error(), 5e-3);
  const SignatureSpectrum given(matern, 2, {{12.0, 14.0}, 100});
  EXPECT_EQ(given.size(), 101);
  EXPECT_EQ(given.extent()[1], 14.0);
  const Matrix<double> X = random_matrix(4, 2, 6);
  const Kernel own = FromSignature(matern, 2);
  EXPECT_LT(error(own, X, exact(own, X, 2), 2, 4096, 4), 0.2);
}

TEST(FromSignature, SaysWhatIsWrongWithK0) {
  const auto radial = [](auto f) {
    return [f](const Matrix<double>& deltas) -> Matrix<double> {
      return deltas.rowwise().norm().unaryExpr([f](double r) { return f(r); });
    };
  };
  const auto fails = [](const Signature& K0, Index d, SignatureGrid grid = {}) {
    return message_of([&] { SignatureSpectrum(K0, d, std::move(grid)); });
  };
  // A smoothed box: its transform is negative beyond its first zero.
  EXPECT_THAT(fails(radial([](double r) { return std::exp(-std::pow(r, 8)); }), 1),
              AllOf(HasSubstr("not positive definite: at the frequency ("), HasSubstr("the eigenvalue -0.")));
  EXPECT_THAT(fails(radial([](double r) { return std::exp(-std::pow(r, 8)); }), 2), HasSubstr("not positive definite"));
  EXPECT_THAT(fails([](const Matrix<double>& deltas)
                        -> Matrix<double> { return (-(deltas.array() - 0.5).square()).exp().rowwise().prod(); },
                    1),
              HasSubstr("must be the transpose"));
  // k(delta + s) above and k(delta - s) below the diagonal: a delay between the outputs.
  EXPECT_THAT(fails(
                  [](const Matrix<double>& deltas) {
                    Matrix<double> out(deltas.rows(), 4);
                    for (Index i = 0; i < deltas.rows(); ++i) {
                      const double x = deltas(i, 0);
                      const auto k = [](double t) { return std::exp(-t * t); };
                      out.row(i) << k(x), 0.5 * k(x + 0.3), 0.5 * k(x - 0.3), k(x);
                    }
                    return out;
                  },
                  1),
              HasSubstr("must be a symmetric matrix"));
  EXPECT_THAT(fails(radial([](double) { return 1.0; }), 1), HasSubstr("does not decay"));
  const Signature gaussian = radial([](double r) { return std::exp(-r * r / 2); });
  EXPECT_THAT(fails(gaussian, 2, {{2.0}, 0}), HasSubstr("not decayed at the edge"));
  EXPECT_THAT(fails(gaussian, 2, {{6.0}, 7}), HasSubstr("too coarse"));
  EXPECT_THAT(fails(gaussian, 2, {{6.0, 6.0, 6.0}, 0}), HasSubstr("3 extents given for 2 inputs"));
  EXPECT_THAT(fails(gaussian, 4), HasSubstr("dim_in must be 1, 2 or 3"));
  EXPECT_THAT(fails(radial([](double r) { return 1 / r; }), 1), HasSubstr("K0(0) must be finite"));
  const Kernel fitted = FromSignature(gaussian, 2);
  EXPECT_THAT(message_of([&] { fitted.check_dimensions(3, 1); }), HasSubstr("given for 2 inputs, found 3"));
}

std::vector<Case> bounded_cases() {
  return {{"curl-free", CurlFree(Gaussian(0.9), true), 2, 2},
          {"divergence-free", DivergenceFree(Gaussian(0.9), true), 2, 2},
          {"curl-free, three widths", CurlFree(Gaussian(LengthScale({0.6, 1.0, 1.7})), true), 3, 3},
          {"divergence-free, three widths", DivergenceFree(Gaussian(LengthScale({0.6, 1.0, 1.7})), true), 3, 3}};
}

TEST(BoundedFeatures, EstimateTheSameKernel) {
  for (const auto& [name, kernel, d, p] : bounded_cases()) {
    Term plain = kernel.terms()[0];
    plain.coupling = parse_coupling(coupling_name(plain.coupling));
    const Matrix<double> X = 0.8 * random_matrix(5, d, 7), K = exact(plain, X, p);
    EXPECT_EQ(exact(kernel, X, p), K) << name;
    const double coarse = error(kernel, X, K, p, 128, 30), fine = error(kernel, X, K, p, 8192, 30);
    EXPECT_NEAR(std::log(fine / coarse) / std::log(64.0), -0.5, 0.06) << name;
    EXPECT_LT(coarse, 0.9 * error(Kernel(plain), X, K, p, 128, 30)) << name;
    EXPECT_LT(error(kernel, X, K, p, 128, 30, Sampling::orthogonal), coarse) << name;
    EXPECT_LT(error(kernel, X, K, p, 8192, 10, Sampling::sobol), 0.5 * fine) << name;
  }
}

// mathematics.md 1b: D times the variance of K~(0) is (d - 1) / sigma^4 for both, instead of (d + 1) and 3 (d - 1).
TEST(BoundedFeatures, VaryLessAtZero) {
  const Index D = 400000;
  const double width = 0.7;
  for (const Index d : {2, 3, 5}) {
    for (const bool curl : {true, false}) {
      const Kernel kernel =
          curl ? Kernel(CurlFree(Gaussian(width), true)) : Kernel(DivergenceFree(Gaussian(width), true));
      const Matrix<double> W = sample_term_frequencies(kernel, d, 2 * D, 1);
      const Expansion expansion(kernel, W, d);
      Matrix<double> mean = Matrix<double>::Zero(d, d), square = mean;
      Matrix<double> first = Matrix<double>::Zero(2 * D, d);
      for (Index a = 0; a < d; ++a) {  // column a of A(w_j) for all j
        first.setZero();
        first.col(a).head(D).setOnes();
        const Matrix<double> A = expansion.expand(expansion.contract(first)).topRows(D);
        mean.col(a) = A.colwise().mean().transpose();
        square(a, a) = A.rowwise().squaredNorm().mean();  // (A^2)_aa
      }
      const double unit = std::pow(width, -4), expected = static_cast<double>(curl ? 1 : d - 1) / (width * width);
      for (Index a = 0; a < d; ++a) {
        EXPECT_NEAR(mean(a, a), expected, 0.02 * expected);
        EXPECT_NEAR((square(a, a) - mean(a, a) * mean(a, a)) / unit, double(d - 1), 0.05 * double(d - 1));
      }
    }
  }
}

TEST(BoundedFeatures, AreForGaussianVectorFieldsOnly) {
  EXPECT_THAT(message_of([] { CurlFree(Matern(1.0, 2.5), true); }), HasSubstr("'gaussian' only"));
  EXPECT_THAT(message_of([] { parse_coupling("none", true); }), HasSubstr("found 'none'"));
  EXPECT_NE(Kernel(CurlFree(Gaussian(1.0), true)), Kernel(CurlFree(Gaussian(1.0))));
}

}  // namespace
}  // namespace carmina
