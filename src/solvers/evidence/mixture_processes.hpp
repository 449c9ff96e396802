// solvers/evidence/mixture_processes.hpp -- Gaussian processes with a spectral mixture kernel, by the n x n matrix and
// by inducing points: what the Fourier features are measured against.
#pragma once
#include "kernels/mixture_math.hpp"

namespace carmina {

// A value of log p(Y) (or a lower bound of it) with its derivatives. Outputs share the kernel, each on its own.
struct MixtureEvidence {
  double value = 0;
  Mixture by_mixture;          // derivatives by w, mu, sigma themselves, not by their logarithms
  double by_noise = 0;         // by the noise variance
  Matrix<double> by_inducing;  // (m, d), of the inducing points; empty for the exact process
};

// log N(Y | 0, K + noise I), summed over the columns of Y (mathematics.md 3f, GPR). `gradient` false: the value alone.
// `weights` (n, positive; empty: all one) here and below: a row of weight w is w equal rows, which have one value of
// the process. Their w factors N(y | f, s) are N(y | f, s / w) times a number without f: the noise of a row is s / w.
MixtureEvidence exact_evidence(const Mixture& mixture, double noise, ConstView<double> X, ConstView<double> Y,
                               bool gradient, const Execution& execution, const Vector<double>& weights = {});
// The bound F of mathematics.md 3f for inducing points Z (m, d).
MixtureEvidence inducing_evidence(const Mixture& mixture, double noise, ConstView<double> Z, ConstView<double> X,
                                  ConstView<double> Y, bool gradient, const Execution& execution,
                                  const Vector<double>& weights = {});

// What prediction needs. mean (n*, p) = k(x, anchors) coefficients; the latent variance is
// k(x, x) - |L^-1 k|^2 + |LB^-1 L^-1 k|^2, the last term only where LB is not empty.
struct MixtureProcess {
  Matrix<double> anchors;       // training rows (exact) or inducing points
  Matrix<double> coefficients;  // (anchors, p)
  Matrix<double> L, LB;         // lower triangles; LB empty for the exact process
};
MixtureProcess exact_process(const Mixture& mixture, double noise, ConstView<double> X, ConstView<double> Y,
                             const Execution& execution, const Vector<double>& weights = {});
MixtureProcess inducing_process(const Mixture& mixture, double noise, ConstView<double> Z, ConstView<double> X,
                                ConstView<double> Y, const Execution& execution, const Vector<double>& weights = {});
// mean (n*, p) and latent variance (n*), the same for each output; of a row the same bits in any batch.
void predict_process(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X, Matrix<double>& mean,
                     Vector<double>& variance, const Execution& execution);
// The mean alone: the same bits.
Matrix<double> process_mean(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X,
                            const Execution& execution);
// Latent covariance (n*, n*) of the rows of X, for draws from the posterior.
Matrix<double> process_covariance(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X,
                                  const Execution& execution);

}  // namespace carmina
