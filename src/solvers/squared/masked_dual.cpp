// solvers/squared/masked_dual.cpp -- missing targets, in the coefficients of the targets that are there.
#include "solvers/squared/dual_system.hpp"
#include "solvers/squared/masked.hpp"

#include <Eigen/LU>

#include <cmath>

namespace carmina {

SeenTargets::SeenTargets(const Matrix<double>& targets) {
  for (Index i = 0; i < targets.rows(); ++i) {
    for (Index a = 0; a < targets.cols(); ++a) {
      if (std::isnan(targets(i, a))) continue;
      row.push_back(i);
      output.push_back(a);
    }
  }
}

Matrix<double> SeenTargets::spread(const Vector<double>& v, Index n, Index p) const {
  Matrix<double> V = Matrix<double>::Zero(n, p);
  for (std::size_t e = 0; e < row.size(); ++e) V(row[e], output[e]) = v[static_cast<Index>(e)];
  return V;
}

Vector<double> SeenTargets::gathered(const Matrix<double>& V) const {
  return Vector<double>::NullaryExpr(count(), [&](Index e) {
    const auto k = static_cast<std::size_t>(e);
    return V(row[k], output[k]);
  });
}

namespace {

// With c = W^(1/2) c' and H = W^(1/2) K W^(1/2): (H + alpha I) c' + S b = z, S = W^(1/2) E, Sᵀc' = 0.
struct SeenSystem {
  const SeenTargets& seen;
  Index n, p;
  Vector<double> root_weights, right;  // (count): w^(1/2), z
  Vector<double> mass;                 // (p): the diagonal of SᵀS

  SeenSystem(const DualRows& rows, const SeenTargets& targets)
      : seen(targets),
        n(rows.targets.rows()),
        p(rows.targets.cols()),
        root_weights(Vector<double>::Ones(targets.count())),
        right(targets.gathered(rows.targets)),
        mass(Vector<double>::Zero(p)) {
    for (Index e = 0; e < targets.count(); ++e) {
      if (rows.weights.size() > 0) root_weights[e] = std::sqrt(rows.weights[seen.row[static_cast<std::size_t>(e)]]);
      mass[output(e)] += root_weights[e] * root_weights[e];
    }
    right = right.cwiseProduct(root_weights);
  }
  Index output(Index e) const { return seen.output[static_cast<std::size_t>(e)]; }
  // Sᵀv (p)
  Vector<double> totals(const Vector<double>& v) const {
    Vector<double> sums = Vector<double>::Zero(p);
    for (Index e = 0; e < v.size(); ++e) sums[output(e)] += root_weights[e] * v[e];
    return sums;
  }
  // v - S b
  Vector<double> less(const Vector<double>& v, const Vector<double>& b) const {
    return Vector<double>::NullaryExpr(v.size(), [&](Index e) { return v[e] - root_weights[e] * b[output(e)]; });
  }
  // Columns of S are orthogonal, so this is the nearest v with Sᵀv = 0.
  Vector<double> projected(const Vector<double>& v) const { return less(v, totals(v).cwiseQuotient(mass)); }

  LinearSolution finish(const Vector<double>& c, const Vector<double>& b, const DualRows& rows, bool intercept) const {
    return {seen.spread(c.cwiseProduct(root_weights), n, p),
            intercept ? Vector<double>(rows.origin + b) : Vector<double>(Vector<double>::Zero(p))};
  }
};

}  // namespace

LinearSolution solve_masked_dual(Matrix<double>& K, const DualRows& rows, const SeenTargets& seen, double alpha,
                                 bool fit_intercept, const Execution& execution, SolveReport& report) {
  const SeenSystem system(rows, seen);
  const Index count = seen.count(), p = system.p;
  Matrix<double> S = Matrix<double>::Zero(count, fit_intercept ? p : 0);
  for (Index e = 0; fit_intercept && e < count; ++e) S(e, system.output(e)) = system.root_weights[e];
  Matrix<double> solved(count, 1 + S.cols());
  solved << system.right, S;
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  solve_shifted(K.data(), count, K.outerStride(), Vector<double>::Ones(solved.cols()), alpha, solved, execution,
                report);
  Vector<double> c = solved.col(0), b = Vector<double>::Zero(p);
  if (fit_intercept) {
    const Eigen::MatrixXd mass = S.transpose() * solved.rightCols(p);
    b = mass.partialPivLu().solve(S.transpose() * c);
    c -= solved.rightCols(p) * b;
  }
  return system.finish(c, b, rows, fit_intercept);
}

LinearSolution solve_masked_dual_cg(const OutputProduct& product, const DualRows& rows, const SeenTargets& seen,
                                    double alpha, bool fit_intercept, const IterationOptions& options,
                                    const Execution& execution, SolveReport& report, const MatrixColumns& columns) {
  const SeenSystem system(rows, seen);
  const auto inside = [&](const Vector<double>& v) { return fit_intercept ? system.projected(v) : v; };
  const auto times_H = [&](const Vector<double>& v) -> Vector<double> {
    const Matrix<double> image = product(seen.spread(v.cwiseProduct(system.root_weights), system.n, system.p));
    return seen.gathered(image).cwiseProduct(system.root_weights);
  };
  const SymmetricProduct projected = [&](const Matrix<double>& P, Matrix<double>& HP) {
    HP = inside(times_H(inside(P)));
  };
  const Vector<double> one = Vector<double>::Ones(1);
  const Preconditioner low_rank = low_rank_preconditioner(columns, system.root_weights, one, alpha, execution);
  Preconditioner precondition;
  if (low_rank) {
    precondition = [&](const Matrix<double>& R, Matrix<double>& Z) {
      low_rank(R, Z);
      Z = Matrix<double>(inside(Z));
    };
  }
  const Matrix<double> right = inside(system.right);
  const Vector<double> c = solve_shifted_cg(projected, one, alpha, right, options, execution, report, precondition);
  Vector<double> b = Vector<double>::Zero(system.p);
  if (fit_intercept) b = system.totals(system.right - times_H(c) - alpha * c).cwiseQuotient(system.mass);
  return system.finish(c, b, rows, fit_intercept);
}

}  // namespace carmina
