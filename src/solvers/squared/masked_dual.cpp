// solvers/squared/masked_dual.cpp -- missing targets, in the coefficients of the targets that are there.
#include "solvers/linear/shifted_path.hpp"
#include "solvers/squared/alpha_path_terms.hpp"
#include "solvers/squared/dual_system.hpp"
#include "solvers/squared/masked.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <limits>
#include <numeric>

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

std::vector<Index> SeenTargets::first_of_rows(Index n) const {
  std::vector<Index> first(static_cast<std::size_t>(n) + 1, 0);
  for (const Index i : row) ++first[static_cast<std::size_t>(i) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
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

  // S (count, p); no columns without an intercept.
  Matrix<double> intercepts(bool intercept) const {
    Matrix<double> S = Matrix<double>::Zero(seen.count(), intercept ? p : 0);
    for (Index e = 0; intercept && e < S.rows(); ++e) S(e, output(e)) = root_weights[e];
    return S;
  }
  // c' and b, about the origin, from (H + alpha I)^-1 [z, S].
  struct Found {
    Vector<double> c, b;
  };
  Found found(const Matrix<double>& solved, const Matrix<double>& S) const {
    Found it{solved.col(0), Vector<double>::Zero(p)};
    if (S.cols() == 0) return it;
    const Eigen::MatrixXd SMS = S.transpose() * solved.rightCols(p);
    it.b = SMS.partialPivLu().solve(S.transpose() * it.c);
    it.c -= solved.rightCols(p) * it.b;
    return it;
  }
  LinearSolution finish(const Found& it, const DualRows& rows, bool intercept) const {
    return {seen.spread(it.c.cwiseProduct(root_weights), n, p),
            intercept ? Vector<double>(rows.origin + it.b) : Vector<double>(Vector<double>::Zero(p))};
  }
};

}  // namespace

LinearSolution solve_masked_dual(Matrix<double>& K, const DualRows& rows, const SeenTargets& seen, double alpha,
                                 bool fit_intercept, const Execution& execution, SolveReport& report) {
  const SeenSystem system(rows, seen);
  const Matrix<double> S = system.intercepts(fit_intercept);
  Matrix<double> solved(seen.count(), 1 + S.cols());
  solved << system.right, S;
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  solve_shifted(K.data(), seen.count(), K.outerStride(), Vector<double>::Ones(solved.cols()), alpha, solved, execution,
                report);
  return system.finish(system.found(solved, S), rows, fit_intercept);
}

// P = M - M S (SᵀM S)^-1 SᵀM with M = (H + alpha I)^-1, as for complete rows; its block of a row is of the targets that
// the row has.
std::vector<AlphaPathSolution> masked_dual_path(Matrix<double> K, const DualRows& rows, const AlphaPathProblem& problem,
                                                const Execution& execution) {
  const SeenTargets seen(rows.targets);
  const SeenSystem system(rows, seen);
  const Matrix<double> S = system.intercepts(problem.fit_intercept);
  Matrix<double> right(seen.count(), 1 + S.cols());
  right << system.right, S;
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  const ShiftedPath path(std::move(K), right, Vector<double>::Ones(right.cols()), smallest_of(problem.alphas),
                         problem.leave_one_out, execution);
  const std::vector<Index> first = seen.first_of_rows(system.n);
  std::vector<AlphaPathSolution> points;
  const auto solved = path.solve(problem.alphas, execution);
  for (std::size_t a = 0; a < solved.size(); ++a) {
    const double alpha = problem.alphas[a];
    const SeenSystem::Found found = system.found(solved[a], S);
    const auto MS = solved[a].rightCols(S.cols());
    const Eigen::PartialPivLU<Eigen::MatrixXd> mass(Eigen::MatrixXd(S.transpose() * MS));
    AlphaPathSolution point{alpha, system.finish(found, rows, problem.fit_intercept),
                            alpha * alpha * found.c.squaredNorm(), path.degrees_of_freedom(1, alpha), std::nullopt};
    if (problem.fit_intercept) {
      point.degrees_of_freedom += alpha * mass.solve(Eigen::MatrixXd(MS.transpose() * MS)).trace();
    }
    if (problem.leave_one_out) {
      const Vector<double> filter = path.filter(1, alpha);
      Vector<double> squares(system.n);
      parallel_for(system.n, execution.thread_count(), [&](Index i, int) {
        const Index at = first[static_cast<std::size_t>(i)], count = first[static_cast<std::size_t>(i) + 1] - at;
        const auto U = path.vectors().middleCols(at, count);
        Eigen::MatrixXd P = U.transpose() * filter.asDiagonal() * U;
        if (problem.fit_intercept) {
          const Eigen::MatrixXd MSi = MS.middleRows(at, count).transpose();
          P -= MSi.transpose() * mass.solve(MSi);
        }
        const Eigen::LLT<Eigen::MatrixXd> factor((P + P.transpose()) / 2);
        squares[i] = factor.info() == Eigen::Success ? factor.solve(found.c.segment(at, count)).squaredNorm()
                                                     : std::numeric_limits<double>::infinity();
      });
      point.left_out = squares.sum();
    }
    points.push_back(std::move(point));
  }
  return points;
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
  return system.finish({c, b}, rows, fit_intercept);
}

}  // namespace carmina
