// solvers/losses/convex_loss.hpp -- any convex loss with a ridge and an intercept, to a certified duality gap.
//
//   J(theta, b) = sum_i w_i l(f_i + b, y_i) + alpha |theta|^2 / 2,   f_i = phi(x_i) E theta   (mathematics.md 2b, 2c)
//
// Smooth losses are minimised by Newton's method. The others by the method of multipliers: with F' in the place of F
// and multipliers lambda on F = F', each step minimises the smooth
//   sum_i w_i e_rho(f_i + b + rho lambda_i) + alpha |theta|^2 / 2,   e_rho(v) = min_f l(f, y) + |f - v|^2 / (2 rho),
// by semismooth Newton steps, and takes lambda_i <- (v_i - prox(v_i)) / rho, a subgradient at prox(v_i). So each step
// ends with dual variables inside the domain of the conjugate, and with them a lower bound of J.
#pragma once
#include <carmina/models/adam_options.hpp>
#include "features/expansion.hpp"
#include "features/feature_rows.hpp"
#include "solvers/squared/squared_loss.hpp"

#include <carmina/losses/loss.hpp>

namespace carmina {

// How coefficients become what the scalar map multiplies: E theta (features, p).
class CoefficientSpace {
 public:
  // K = k A: theta is Theta (features, rank), row after row, and E theta = Theta Bᵀ.
  CoefficientSpace(OutputFactor outputs, Index features, Index dim_out);
  // Curl-free and divergence-free kernels, sums.
  CoefficientSpace(const Expansion& expansion, Index features);
  // Features that are blocks: E theta = theta.
  static CoefficientSpace of_blocks(Index features) { return {OutputFactor{}, features, 1}; }

  Index dim() const { return dim_; }
  Index dim_out() const { return dim_out_; }
  Matrix<double> expand(const Vector<double>& theta) const;  // E theta (features, p)
  Vector<double> contract(const Matrix<double>& R) const;    // Eᵀ R, R (features, p)
  // Whether E theta = Theta Bᵀ; then, whether every output has coefficients of its own.
  bool separable() const { return expansion_ == nullptr; }
  bool separate() const { return separable() && (outputs_.identity() || dim_out_ == 1); }
  Index rank() const { return rank_; }
  // The same for another number of features, if separable.
  CoefficientSpace with_features(Index features) const { return {outputs_, features, dim_out_}; }
  double root(Index j, Index a) const { return outputs_.identity() ? double(j == a) : root_(j, a); }  // B_ja

  // (c Eᵀ (G (x) I) E + alpha I)⁻¹ for any c, from one eigendecomposition of G (features, features), lower triangle.
  using Inverse = std::function<Vector<double>(double c, const Vector<double>& r)>;
  Inverse inverse(Matrix<double> G, double alpha, const Execution& execution) const;
  // H (dim, dim) += Eᵀ (G (x) D) E, lower triangles, D having ones at some outputs and zeros at the others.
  void add_gram(const Matrix<double>& G, const std::vector<Index>& outputs, Matrix<double>& H,
                const Execution& execution) const;
  // Coefficients as a model keeps them: Theta (features, rank), or E theta (features, p).
  Matrix<double> model_coefficients(const Vector<double>& theta) const;

 private:
  const Expansion* expansion_ = nullptr;
  OutputFactor outputs_;
  Matrix<double> root_;
  Index features_, dim_out_, rank_, dim_;
};

struct ConvexLossProblem {
  const Loss& loss;
  Matrix<double> targets;  // (n, p)
  Vector<double> weights;  // (n), positive; empty: all one
  double alpha;            // positive
  bool fit_intercept;
};

enum class Direction { newton, lbfgs };  // L-BFGS is for smooth losses

// options.tol bounds the relative duality gap (J - lower bound) / |J|.
LinearSolution solve_convex_loss(const FeatureRows& features, const CoefficientSpace& space, ConvexLossProblem problem,
                                 Direction direction, const IterationOptions& options, const Execution& execution,
                                 SolveReport& report);

// Mini-batches with Adam's steps [Kingma2015], as [ElAhmad2023] does, on J / n. Some rows, drawn by the seed, are held
// out: it stops when their mean loss has not become smaller for `patience` epochs, and keeps the coefficients that had
// the smallest. alpha is reduced in proportion to the rows that are left. With none held out it stops at a relative
// duality gap of sqrt(tol), or when steps have become too short to matter. Iterations are epochs; the objective and the
// gap in the report are those of all rows.
LinearSolution solve_convex_loss_adam(const FeatureRows& features, const CoefficientSpace& space,
                                      ConvexLossProblem problem, const AdamOptions& adam,
                                      const IterationOptions& options, const Execution& execution, SolveReport& report);

// Whether rows of a kernel (kernel_rows) serve: Newton's method alone takes them, for outputs that are separate, with a
// loss that does not couple them.
bool by_rows(const CoefficientSpace& space, const Loss& loss);

}  // namespace carmina
