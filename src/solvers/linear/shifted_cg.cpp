// solvers/linear/shifted_cg.cpp -- shifted systems by conjugate gradients, one product with H for all columns.
#include "solvers/linear/shifted_systems.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <limits>

namespace carmina {

void report_iterations(const char* solver, Index iterations, double residual, const IterationOptions& options,
                       SolveReport& report) {
  report.solver = solver;
  report.iterations = std::max<Index>(iterations, 1);
  report.residual = residual;
  if (residual <= options.tol * (1 + 1e-12)) return;  // the test that stopped it was on squares
  report.status = SolveStatus::not_converged;
  report.message = format_text(
      "{} stopped after {} iterations at a relative residual of {:.2g} (tol {:.2g}); raise max_iter or alpha, or use "
      "solver 'direct'",
      solver, iterations, residual, options.tol);
}

// Hestenes and Stiefel's recurrence; every column has its own step lengths and stops by itself. A preconditioner in
// float is not quite the same linear map each time: the flexible form <z', r' - r> / <z, r> of the new direction's
// share of the old one allows for that ([Golub1999]).
Matrix<double> solve_shifted_cg(const SymmetricProduct& product, const Vector<double>& delta, double alpha,
                                const Matrix<double>& R, const IterationOptions& options, const Execution& execution,
                                SolveReport& report, const Preconditioner& precondition) {
  const Index m = R.rows(), q = R.cols();
  require(options.max_iter >= 1, "cg: max_iter must be at least 1, found {}", options.max_iter);
  require(options.tol > 0, "cg: tol must be positive, found {}", options.tol);
  const bool plain = !precondition;
  Matrix<double> X = Matrix<double>::Zero(m, q), residual = R, Z, HP(m, q);
  if (!plain) precondition(residual, Z);
  Matrix<double> P = plain ? residual : Z;
  using Row = Eigen::Array<double, 1, Eigen::Dynamic>;
  const auto dots = [](const Matrix<double>& A, const Matrix<double>& B) -> Row {
    return (A.array() * B.array()).colwise().sum();
  };
  const Row start = dots(R, R), goal = start * options.tol * options.tol;
  Row square = start, energy = plain ? start : dots(residual, Z);  // |r|^2, <r, M⁻¹ r>
  Row stretch = Row::Zero(q);  // the largest <p, H p> / |p|^2 that was met, nearly the norm of the system
  Index iteration = 0;
  Resumable loop({options.checkpoint, "cg"}, [&](LoopState& state) {
    state("X", X), state("residual", residual), state("P", P);
    state("square", square), state("energy", energy), state("iteration", iteration);
    state("stretch", stretch);
  });
  while (!loop.ended() && iteration < options.max_iter && (square > goal).any()) {
    loop.step();
    execution.checkpoint({"cg", iteration, options.max_iter, "iteration"});
    product(P, HP);
    HP = HP * delta.asDiagonal();
    HP += alpha * P;
    const Row curvature = dots(P, HP), length = dots(P, P);
    stretch = stretch.max((length > 0).select(curvature / length, 0.0));
    // A column that has converged, or whose direction H does not see, stands still.
    const Row step = (square > goal && curvature > 0).select(energy / curvature, 0.0);
    X += P * step.matrix().asDiagonal();
    HP = HP * step.matrix().asDiagonal();
    residual -= HP;
    square = dots(residual, residual);
    if (!plain) precondition(residual, Z);
    const Row next = plain ? square : dots(residual, Z), change = plain ? next : -dots(HP, Z);
    P = (plain ? residual : Z) + P * (energy > 0).select(change / energy, 0.0).matrix().asDiagonal();
    energy = next;
    ++iteration;
    if ((step == 0.0).all()) break;
  }
  loop.end();
  report_iterations("cg", iteration, (start > 0).select((square / start).sqrt(), 0.0).maxCoeff(), options, report);
  // The residual is updated, not computed: where X is so large that products in float say nothing of R, it is looked
  // at.
  constexpr double eps = std::numeric_limits<float>::epsilon();
  if ((eps * stretch * dots(X, X).sqrt() <= 0.01 * start.sqrt()).all()) return X;
  product(X, HP);
  residual = R - HP * delta.asDiagonal() - alpha * X;
  const double left = (start > 0).select((dots(residual, residual) / start).sqrt(), 0.0).maxCoeff();
  if (left > 0.05) {
    report.status = SolveStatus::not_converged;
    report.residual = left;
    report.message = format_text(
        "cg ended at a relative residual of {:.2g}, and rounding hides the rest: take a larger alpha, float64 or "
        "solver "
        "'direct'",
        left);
  }
  return X;
}

}  // namespace carmina
