// solvers/squared/alpha_path_solve_primal.cpp -- paths in the coefficients of the features.
#include "backends/blas.hpp"
#include "backends/tiled.hpp"
#include "solvers/linear/shifted_path.hpp"
#include "solvers/squared/alpha_path_terms.hpp"
#include "solvers/squared/row_sums.hpp"

#include <Eigen/Cholesky>

#include <cmath>

namespace carmina {
namespace {

class PrimalPathSolver {
 public:
  PrimalPathSolver(const FeatureRows& rows, const Moments& moments, const Expansion* expansion,
                   const AlphaPathProblem& problem, const Execution& execution)
      : rows_(rows),
        moments_(moments),
        expansion_(expansion),
        problem_(problem),
        execution_(execution),
        sums_(row_sums_of(moments, problem.fit_intercept)) {
    if (expansion) {
      right_ = expansion->contract(sums_.cross);
      delta_ = Vector<double>::Ones(1);
    } else {
      right_ = problem.outputs.identity() ? sums_.cross : Matrix<double>(sums_.cross * problem.outputs.root());
      delta_ =
          problem.outputs.identity() ? Vector<double>(Vector<double>::Ones(moments.outputs)) : problem.outputs.delta;
    }
  }

  std::vector<AlphaPathSolution> run() {
    Matrix<double> H = gram_of(moments_, problem_.fit_intercept);
    if (expansion_) H = expansion_->gram(H, execution_.thread_count());
    const ShiftedPath path(std::move(H), right_, delta_, smallest_of(problem_.alphas), problem_.leave_one_out,
                           execution_);
    auto solved = path.solve(problem_.alphas, execution_);
    std::vector<AlphaPathSolution> points;
    for (std::size_t i = 0; i < solved.size(); ++i) points.push_back(point(path, problem_.alphas[i], solved[i]));
    if (rows_.roundoff() > 0x1p-30) measure_squares(points);
    if (problem_.leave_one_out) {
      const Vector<double> left_out = expansion_ ? leave_out_together(path) : leave_out_apart(path);
      for (std::size_t i = 0; i < points.size(); ++i) points[i].left_out = left_out[static_cast<Index>(i)];
    }
    return points;
  }

 private:
  Index alphas() const { return static_cast<Index>(problem_.alphas.size()); }

  // With (delta H + alpha I) theta = r, of each rotated output
  // sum w (f - y)^2 = sum w y^2 - 2 thetaᵀr + delta thetaᵀ H theta = sum w y^2 - thetaᵀ(r + alpha theta), all centred.
  AlphaPathSolution point(const ShiftedPath& path, double alpha, Matrix<double>& theta) const {
    const Index m = moments_.features, p = moments_.outputs;
    double squares = moments_.sums.block(m, m, p, p).trace();
    if (problem_.fit_intercept) squares -= sums_.target_sums.squaredNorm() / sums_.weight;
    squares -= theta.cwiseProduct(right_ + alpha * theta).sum();
    double freedom = problem_.fit_intercept ? static_cast<double>(p) : 0.0;
    for (const double delta : delta_) freedom += path.degrees_of_freedom(delta, alpha);
    Matrix<double> full = expanded(theta);
    LinearSolution solution = with_intercept(std::move(full), sums_, moments_.origin, problem_.fit_intercept);
    if (!expansion_) solution.coefficients = std::move(theta);
    return {alpha, std::move(solution), std::max(squares, 0.0), freedom, std::nullopt};
  }

  // Theta Bᵀ or E theta: (features, p)
  Matrix<double> expanded(const Matrix<double>& theta) const {
    if (expansion_) return expansion_->expand(theta);
    return problem_.outputs.identity() ? theta : Matrix<double>(theta * problem_.outputs.root().transpose());
  }

  // `squares` by the fits themselves. Sums of products in float are off by more than an alpha below their rounding:
  // what they say of the loss is then too good, and such an alpha would look like the best.
  void measure_squares(std::vector<AlphaPathSolution>& points) const {
    const Index m = moments_.features, p = moments_.outputs, columns = alphas() * p;
    Matrix<double> C(m, columns);
    Vector<double> b(columns);
    for (Index a = 0; a < alphas(); ++a) {
      const LinearSolution& solution = points[static_cast<std::size_t>(a)].solution;
      C.middleCols(a * p, p) = expansion_ ? solution.coefficients : expanded(solution.coefficients);
      b.segment(a * p, p) = solution.intercept;
    }
    const Vector<double> squares = rows_.squares(C, b);
    for (Index a = 0; a < alphas(); ++a) points[static_cast<std::size_t>(a)].squares = squares[a];
  }

  Vector<double> feature_mean() const {
    const Vector<double> g = sums_.feature_sums / sums_.weight;
    return problem_.fit_intercept ? g : Vector<double>(Vector<double>::Zero(g.size()));
  }
  // What targets are taken about.
  Vector<double> target_mean() const {
    return problem_.fit_intercept ? Vector<double>(moments_.origin + sums_.target_sums / sums_.weight)
                                  : moments_.origin;
  }
  // What a row has in the intercept.
  double share(double weight) const { return problem_.fit_intercept ? weight / sums_.weight : 0.0; }

  // With Z = phi U: f_j = sum_k Z_k sqrt(delta_j) (Uᵀr_j)_k / (delta_j g_k + alpha), and h_j likewise from Z_k^2.
  Vector<double> leave_out_apart(const ShiftedPath& path) const {
    const Index q = delta_.size(), m = moments_.features;
    const DeltaGroups groups(delta_);
    const Index g = groups.count();
    Matrix<double> fits(m, alphas() * q), leverages(m, alphas() * g);
    for (Index a = 0; a < alphas(); ++a) {
      const double alpha = problem_.alphas[static_cast<std::size_t>(a)];
      for (Index k = 0; k < g; ++k) {
        const double delta = groups.values[static_cast<std::size_t>(k)];
        leverages.col(a * g + k) = delta * path.filter(delta, alpha);
      }
      for (Index j = 0; j < q; ++j) {
        fits.col(a * q + j) = std::sqrt(delta_[j]) * path.filter(delta_[j], alpha).cwiseProduct(path.rotated().col(j));
      }
    }
    const Vector<double> mean = target_mean();
    const auto add = [&](const RotatedRows& rows, Vector<double>& sums) {
      const Matrix<double> f = times(rows.Z, fits), h = times(rows.Z.cwiseAbs2(), leverages);
      for (Index i = 0; i < rows.Z.rows(); ++i) {
        const double w = rows.weights[i], own = share(w);
        if (w == 0) continue;
        const RotatedTargets y(rows.targets.row(i).transpose() - mean, problem_.outputs);
        const double outside = y.outside > 0 ? left_out_ratio(y.outside, std::pow(1 - own, 2)) : 0.0;
        for (Index a = 0; a < alphas(); ++a) {
          double squares = outside;
          for (Index j = 0; j < q; ++j) {
            const double leverage = own + w * h(i, a * g + groups.of[static_cast<std::size_t>(j)]);
            const double e = left_out_ratio(y.inside[j] - f(i, a * q + j), 1 - leverage);
            squares += e * e;
          }
          sums[a] += w * squares;
        }
      }
    };
    return rows_.sum_rotated(feature_mean(), path.vectors().transpose(), alphas(), add);
  }

  // Z holds a vector z_k = (phi (x) I) E u_k of p numbers for each eigenvector: f = sum_k z_k (uᵀr)_k / (g_k + alpha)
  // and h = sum_k z_k z_kᵀ / (g_k + alpha).
  Vector<double> leave_out_together(const ShiftedPath& path) const {
    const Index p = moments_.outputs, c = path.values().size();
    Matrix<double> rotation(moments_.features, c * p);
    for (Index k = 0; k < c; ++k) {
      rotation.middleCols(k * p, p) = expansion_->expand(Matrix<double>(path.vectors().row(k).transpose()));
    }
    const Vector<double> mean = target_mean();
    const auto add = [&](const RotatedRows& rows, Vector<double>& sums) {
      for (Index i = 0; i < rows.Z.rows(); ++i) {
        const double w = rows.weights[i];
        if (w == 0) continue;
        const Matrix<double> z = Eigen::Map<const Matrix<double>>(rows.Z.row(i).data(), c, p);
        const Vector<double> y = rows.targets.row(i).transpose() - mean;
        for (Index a = 0; a < alphas(); ++a) {
          const Matrix<double> filtered = path.filter(1, problem_.alphas[static_cast<std::size_t>(a)]).asDiagonal() * z;
          const Eigen::MatrixXd left =
              (1 - share(w)) * Eigen::MatrixXd::Identity(p, p) - w * Eigen::MatrixXd(filtered.transpose() * z);
          const Eigen::LLT<Eigen::MatrixXd> factor(left);
          const Vector<double> residual = y - filtered.transpose() * path.rotated().col(0);
          sums[a] += factor.info() == Eigen::Success ? w * factor.solve(residual).squaredNorm()
                                                     : std::numeric_limits<double>::infinity();
        }
      }
    };
    return rows_.sum_rotated(feature_mean(), rotation, alphas(), add);
  }

  static Matrix<double> times(const Matrix<double>& A, const Matrix<double>& B) {
    Matrix<double> C(A.rows(), B.cols());
    backend::gemm<double>(backend::Transpose::no, backend::Transpose::no, A.rows(), B.cols(), A.cols(), 1.0, A.data(),
                          A.cols(), B.data(), B.cols(), 0.0, C.data(), C.cols());
    return C;
  }

  const FeatureRows& rows_;
  const Moments& moments_;
  const Expansion* expansion_;
  const AlphaPathProblem& problem_;
  const Execution execution_;
  RowSums sums_;
  Matrix<double> right_;
  Vector<double> delta_;
};

}  // namespace

std::vector<AlphaPathSolution> primal_path(const FeatureRows& rows, const Moments& moments, const Expansion* expansion,
                                           const AlphaPathProblem& problem, const Execution& execution) {
  return PrimalPathSolver(rows, moments, expansion, problem, execution).run();
}

}  // namespace carmina
