// solvers/squared/alpha_path_solve_dual.cpp -- paths in the coefficients of the rows.
//
// With M = (delta H + alpha I)^-1, H = W^(1/2) K W^(1/2) and s = w^(1/2), the intercept eliminated:
//   c' = P w^(1/2) y,   P = M - M s (sᵀ M s)^-1 sᵀ M,   w^(1/2) (y - f - b) = alpha c'.
// So 1 - h_i = alpha P_ii, the error of row i left out is c'_i / (w_i^(1/2) P_ii), and the trace of the map from
// targets to fits is tr delta H M + alpha |M s|^2 / sᵀ M s. Without an intercept P = M. Where they are not separable
// s and P_ii are s (x) I and p x p blocks.
#include "backends/tiled.hpp"
#include "solvers/linear/shifted_path.hpp"
#include "solvers/squared/alpha_path_terms.hpp"
#include "solvers/squared/block_system.hpp"
#include "solvers/squared/dual_system.hpp"

#include <Eigen/Cholesky>

#include <cmath>

namespace carmina {
namespace {

// Diagonals of M (n) for each alpha and each delta of the groups, columns by alpha, then delta.
Matrix<double> inverse_diagonals(const ShiftedPath& path, const DeltaGroups& groups, const std::vector<double>& alphas,
                                 const Execution& execution) {
  constexpr Index at_once = 512;
  const Index n = path.values().size();
  Matrix<double> filters(n, static_cast<Index>(alphas.size()) * groups.count());
  Index column = 0;
  for (const double alpha : alphas) {
    for (const double delta : groups.values) filters.col(column++) = path.filter(delta, alpha);
  }
  Matrix<double> diagonals = Matrix<double>::Zero(n, filters.cols()), squared;
  for (Index first = 0; first < n; first += at_once) {
    squared = path.vectors().middleRows(first, std::min(at_once, n - first)).cwiseAbs2();
    backend::gemm<double>(backend::Transpose::yes, backend::Transpose::no, n, filters.cols(), squared.rows(), 1,
                          squared.data(), n, filters.row(first).data(), filters.cols(), 1, diagonals.data(),
                          filters.cols(), execution);
  }
  return diagonals;
}

}  // namespace

std::vector<AlphaPathSolution> dual_path(Matrix<double> K, const DualRows& rows, const AlphaPathProblem& problem,
                                         const Execution& execution) {
  const DualSystem system(rows, problem.outputs, problem.fit_intercept);
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  const ShiftedPath path(std::move(K), system.right, system.delta, smallest_of(problem.alphas), problem.leave_one_out,
                         execution);
  const Index n = rows.targets.rows(), p = rows.targets.cols(), rank = system.rank;
  const DeltaGroups groups(system.delta.head(rank));
  const Vector<double> weights = system.root_weights.cwiseAbs2();
  Vector<double> outside(n);  // squares of what no f reaches
  for (Index i = 0; i < n; ++i) outside[i] = RotatedTargets(rows.targets.row(i).transpose(), problem.outputs).outside;
  Matrix<double> diagonals;
  if (problem.leave_one_out) diagonals = inverse_diagonals(path, groups, problem.alphas, execution);

  std::vector<AlphaPathSolution> points;
  const auto solved = path.solve(problem.alphas, execution);
  for (std::size_t a = 0; a < solved.size(); ++a) {
    const double alpha = problem.alphas[a];
    DualSystem::Rotated rotated = system.rotated(solved[a]);
    AlphaPathSolution point{alpha, {}, weights.dot(outside) + alpha * alpha * rotated.c.squaredNorm(), 0, std::nullopt};
    for (Index j = 0; j < rank; ++j) point.degrees_of_freedom += path.degrees_of_freedom(system.delta[j], alpha);
    if (problem.fit_intercept) {
      for (Index j = 0; j < rank; ++j) {
        point.degrees_of_freedom += alpha * solved[a].col(rank + j).squaredNorm() / system.mass(solved[a], j);
      }
      point.degrees_of_freedom += static_cast<double>(p - rank);
    }
    if (problem.leave_one_out) {
      double sum = 0;
      for (Index j = 0; j < rank; ++j) {
        Vector<double> P =
            diagonals.col(static_cast<Index>(a) * groups.count() + groups.of[static_cast<std::size_t>(j)]);
        if (problem.fit_intercept) P -= solved[a].col(rank + j).cwiseAbs2() / system.mass(solved[a], j);
        for (Index i = 0; i < n; ++i) sum += std::pow(left_out_ratio(rotated.c(i, j), P[i]), 2);
      }
      for (Index i = 0; i < n; ++i) {
        const double share = problem.fit_intercept ? weights[i] / weights.sum() : 0.0;
        if (outside[i] > 0) sum += left_out_ratio(weights[i] * outside[i], std::pow(1 - share, 2));
      }
      point.left_out = sum;
    }
    point.solution = system.finish(std::move(rotated), rows);
    points.push_back(std::move(point));
  }
  return points;
}

std::vector<AlphaPathSolution> dual_blocks_path(Matrix<double> K, const DualRows& rows, const AlphaPathProblem& problem,
                                                const Execution& execution) {
  const BlockSystem system(rows, problem.fit_intercept);
  const Index n = system.n, p = system.p;
  if (rows.weights.size() > 0) weigh(K, system.root_weights);
  const ShiftedPath path(std::move(K), system.right, Vector<double>::Ones(system.right.cols()),
                         smallest_of(problem.alphas), problem.leave_one_out, execution);
  std::vector<AlphaPathSolution> points;
  const auto solved = path.solve(problem.alphas, execution);
  for (std::size_t a = 0; a < solved.size(); ++a) {
    const double alpha = problem.alphas[a];
    const BlockSystem::Found found = system.found(solved[a]);
    const auto S = solved[a].rightCols(problem.fit_intercept ? p : 0);
    const Eigen::PartialPivLU<Eigen::MatrixXd> mass =
        problem.fit_intercept ? system.mass(solved[a]).partialPivLu() : Eigen::MatrixXd(0, 0).partialPivLu();
    AlphaPathSolution point{alpha, system.finish(found, rows), alpha * alpha * found.c.squaredNorm(),
                            path.degrees_of_freedom(1, alpha), std::nullopt};
    if (problem.fit_intercept) {
      point.degrees_of_freedom += alpha * mass.solve(Eigen::MatrixXd(S.transpose() * S)).trace();
    }
    if (problem.leave_one_out) {
      const Vector<double> filter = path.filter(1, alpha);
      Vector<double> squares(n);
      parallel_for(n, execution.thread_count(), [&](Index i, int) {
        const auto U = path.vectors().middleCols(i * p, p);
        Eigen::MatrixXd P = U.transpose() * filter.asDiagonal() * U;
        if (problem.fit_intercept) {
          const Eigen::MatrixXd Si = S.middleRows(i * p, p).transpose();
          P -= Si.transpose() * mass.solve(Si);
        }
        const Eigen::LLT<Eigen::MatrixXd> factor((P + P.transpose()) / 2);
        squares[i] = factor.info() == Eigen::Success ? factor.solve(found.c.segment(i * p, p)).squaredNorm()
                                                     : std::numeric_limits<double>::infinity();
      });
      point.left_out = squares.sum();
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace carmina
