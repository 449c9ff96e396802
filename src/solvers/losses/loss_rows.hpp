// solvers/losses/loss_rows.hpp -- a loss over all rows: values, gradients, curvatures and conjugates, on both cores.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/losses/loss.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace carmina {

// D_i = diag(diagonal_i) + along_i direction_i direction_iᵀ, times the row's weight. Every family has this form.
struct RowCurvatures {
  Matrix<double> diagonal, direction;  // (n, p); no direction for entrywise losses and one output
  Vector<double> along;                // (n)
  double mean = 0;                     // of tr(D_i) / p, weighted
  double of_one_row = 1;               // what a row of average weight has at most; of losses of a whole row, has
};

class LossRows {
 public:
  LossRows(Loss loss, Matrix<double> targets, Vector<double> weights, Execution execution);

  Index rows() const { return targets_.rows(); }
  Index outputs() const { return targets_.cols(); }
  const Matrix<double>& targets() const { return targets_; }
  double weight(Index i) const { return weights_.size() == 0 ? 1.0 : weights_[i]; }
  double total_weight() const { return total_weight_; }
  // Of the rows that have this target, NaN being a missing one.
  const Vector<double>& target_weights() const { return target_weights_; }
  // sum_i w_i y_i over those rows, divided by their weight; zero of an output that no row has.
  Vector<double> target_means() const;
  const Loss& loss() const { return loss_; }
  bool smooth() const { return carmina::smooth(loss_); }
  // Some of the rows, their weights multiplied.
  LossRows some(const std::vector<Index>& numbers, double factor) const;

  // sum_i w_i l(f_i, y_i)
  double value(const Matrix<double>& F) const;
  // l(f_i, y_i) for each row
  Vector<double> losses(const Matrix<double>& F) const;
  // A subgradient of l by f for a few rows: F and G (count, p), the row's number in rows[k].
  void slopes(const Matrix<double>& F, const Index* rows, Matrix<double>& G) const;
  // sum_i w_i e_rho(f_i + rho lambda_i), and its gradient by f_i, without the weight, in G (n, p). rho = 0: l itself.
  double envelope(const Matrix<double>& F, const Matrix<double>& lambda, double rho, Matrix<double>& G) const;
  // Its second derivatives by f_i.
  void curvatures(const Matrix<double>& F, const Matrix<double>& lambda, double rho, RowCurvatures& out) const;
  // out_i = w_i D_i q_i
  void multiply(const RowCurvatures& D, const Matrix<double>& Q, Matrix<double>& out) const;
  // sum_i w_i l*(g_i)
  double conjugate(const Matrix<double>& G) const;
  // Moves G inside the domain of the conjugate so that sum_i w_i g_i = 0 (to rounding).
  void balance(Matrix<double>& G) const;
  // sum_i w_i g_i . r_i
  double weighted_dot(const Matrix<double>& G, const Matrix<double>& R) const;
  // sum_i w_i r_i, and R_i <- w_i r_i
  Vector<double> sums(const Matrix<double>& R) const;
  void apply_weights(Matrix<double>& R) const;
  // Mean of |y_i - f_i| over the outputs and rows; at least 1 for losses of a whole row, whose targets are classes: no
  // score is near enough to them.
  double mean_deviation(const Matrix<double>& F) const;

 private:
  template <class Body>
  double sum_over_rows(const Body& body) const;
  using Interval = std::function<std::pair<double, double>(Index row)>;
  template <class L>
  void balance_shares(const L& loss, Matrix<double>& G) const;
  bool shift_to_zero(const std::vector<Index>& some, double others, const Interval& interval, double* g,
                     Index stride) const;

  Loss loss_;
  Matrix<double> targets_;
  Vector<double> weights_;
  double total_weight_;
  Vector<double> target_weights_;  // (p)
  Execution execution_;
};

}  // namespace carmina
