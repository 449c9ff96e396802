// tests/solvers/loss_problem.hpp -- small problems with every loss, some of their targets far off.
#pragma once
#include "losses/row_functions.hpp"
#include "solvers/losses/convex_loss.hpp"

#include <vector>

#include "support/loss_targets.hpp"
#include "support/random_matrix.hpp"

namespace carmina::testing {

struct Case {
  Index n, m, p;
  int outputs;  // 0: the identity; otherwise the rank of A
  bool intercept, weighted;
};

inline std::vector<Case> cases() {
  return {{60, 8, 1, 0, true, false}, {60, 8, 1, 1, false, true}, {40, 6, 3, 0, true, true}, {40, 6, 3, 2, true, false},
          {40, 6, 3, 3, false, true}, {5, 9, 2, 0, true, false},  {1, 3, 1, 0, false, false}};
}

inline std::vector<Loss> all_losses(Index p) {
  std::vector<double> levels;
  for (Index j = 0; j < p; ++j) levels.push_back((static_cast<double>(j) + 0.5) / static_cast<double>(p + 1));
  return {Squared{}, Huber(0.5), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2), Pinball(levels), Absolute{},
          Hinge{},   Logistic{}};
}

// A problem with a tenth of its targets far off.
struct Problem {
  Case shape;
  Loss loss;
  Matrix<double> phi, Y, root;
  Vector<double> w;
  OutputFactor outputs;
  double alpha = 0.3;

  Problem(const Case& which, Loss of) : shape(which), loss(std::move(of)) {
    phi = random_matrix(shape.n, shape.m, 1);
    phi.col(0).array() += 2;  // a mean that the intercept must not fight
    Y = phi * random_matrix(shape.m, shape.p, 2) + random_matrix(shape.n, shape.p, 3);
    Y.array() += 3;
    for (Index i = 0; i < shape.n; i += 10) Y.row(i).array() += 20;
    Y = targets_for(loss, Y, 3);
    w = Vector<double>::Ones(shape.n);
    if (shape.weighted) w = random_matrix(shape.n, 1, 4).cwiseAbs().array() + 0.1;
    root = Matrix<double>::Identity(shape.p, shape.p);
    if (shape.outputs > 0) {
      outputs = factor_output_matrix(random_psd(shape.p, shape.outputs, 5));
      root = outputs.root();
    }
  }

  LinearSolution solve(Direction direction, double tol, SolveReport& report) const {
    return solve(*stored_rows(phi, Execution{}), direction, tol, report);
  }
  LinearSolution solve(const FeatureRows& features, Direction direction, double tol, SolveReport& report) const {
    const CoefficientSpace space(outputs, shape.m, shape.p);
    return solve_convex_loss(features, space, {loss, Y, w, alpha, shape.intercept}, direction, {1000, tol}, Execution{},
                             report);
  }

  double objective(const Matrix<double>& Theta, const Vector<double>& b) const {
    const Matrix<double> F = (phi * Theta * root.transpose()).rowwise() + b.transpose();
    double sum = alpha / 2 * Theta.squaredNorm();
    for (Index i = 0; i < shape.n; ++i) {
      std::visit([&](const auto& l) { sum += w[i] * row_value(l, F.row(i).data(), Y.row(i).data(), shape.p); }, loss);
    }
    return sum;
  }
};

}  // namespace carmina::testing
