// solvers/shifted_cg.cpp -- shifted systems by conjugate gradients, one product with H for all columns.
#include <carmina/core/error.hpp>
#include <carmina/solvers/shifted_systems.hpp>

namespace carmina {

// Hestenes and Stiefel's recurrence; every column has its own step lengths and stops by itself.
Matrix<double> solve_shifted_cg(const SymmetricProduct& product, const Vector<double>& delta, double alpha,
                                const Matrix<double>& R, const CgOptions& options, const Execution& execution,
                                SolveReport& report) {
  const Index m = R.rows(), q = R.cols();
  require(options.max_iter >= 1, "cg: max_iter must be at least 1, found {}", options.max_iter);
  require(options.tol > 0, "cg: tol must be positive, found {}", options.tol);
  Matrix<double> X = Matrix<double>::Zero(m, q), residual = R, P = R, HP(m, q);
  using Row = Eigen::Array<double, 1, Eigen::Dynamic>;
  const Row start = R.colwise().squaredNorm().array();
  Row energy = start;
  const Row goal = start * options.tol * options.tol;
  Index iteration = 0;
  while (iteration < options.max_iter && (energy > goal).any()) {
    execution.checkpoint({"cg", iteration, options.max_iter});
    product(P, HP);
    HP = HP * delta.asDiagonal();
    HP += alpha * P;
    const Row curvature = (P.array() * HP.array()).colwise().sum();
    // A column that has converged, or whose direction H does not see, stands still.
    const Row step = (energy > goal && curvature > 0).select(energy / curvature, 0.0);
    X += P * step.matrix().asDiagonal();
    residual -= HP * step.matrix().asDiagonal();
    const Row next = residual.colwise().squaredNorm().array();
    P = residual + P * (energy > 0).select(next / energy, 0.0).matrix().asDiagonal();
    energy = next;
    ++iteration;
    if ((step == 0.0).all()) break;
  }
  report.solver = "cg";
  report.iterations = std::max<Index>(iteration, 1);
  report.residual = (start > 0).select((energy / start).sqrt(), 0.0).maxCoeff();
  if ((energy > goal).any()) {
    report.status = SolveStatus::not_converged;
    report.message = fmt::format(
        "cg stopped after {} iterations at a relative residual of {:.2g} (tol {:.2g}); "
        "raise max_iter or alpha, or use solver 'direct'",
        iteration, report.residual, options.tol);
  }
  return X;
}

}  // namespace carmina
