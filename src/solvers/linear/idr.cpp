// solvers/linear/idr.cpp -- IDR(s): induced dimension reduction with bi-orthogonalised vectors, s = 4.
#include "solvers/squared/expanded_operator.hpp"

#include <carmina/random/philox.hpp>

#include <Eigen/QR>

#include <limits>

namespace carmina {
namespace {

constexpr Index s = 4;  // [VanGijzen2011]: 4 is close to the best there; 3 s vectors are kept

// (size, width) with orthonormal columns, the same for the same seed and round.
Eigen::MatrixXd shadow_space(Index size, Index width, std::uint64_t seed, std::uint32_t round) {
  const Random random = Random(seed, Stream::shadow).child(round);
  const Eigen::MatrixXd normal = Eigen::MatrixXd::NullaryExpr(size, width, [&](Index i, Index j) {
    return random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
  });
  return normal.householderQr().householderQ() * Eigen::MatrixXd::Identity(size, width);
}

// The step that makes r - omega t smallest, lengthened where t and r are nearly orthogonal (angle below acos 0.7).
double stabilising_step(const Vector<double>& t, const Vector<double>& r) {
  const double tt = t.squaredNorm(), tr = t.dot(r);
  if (!(tt > 0)) return 0;
  const double cosine = std::abs(tr) / std::sqrt(tt * r.squaredNorm()), omega = tr / tt;
  return cosine > 0 && cosine < 0.7 ? omega * 0.7 / cosine : omega;
}

// One run of the recurrence from x, r = b - A x. Ends at |r| <= goal, at max_iter products, or when it breaks down.
void run(const SquareProduct& product, const Eigen::MatrixXd& shadow, double goal, const IterationOptions& options,
         const Execution& execution, Vector<double>& x, Vector<double>& r, Index& products) {
  const Index size = x.size(), width = shadow.cols();
  Eigen::MatrixXd G = Eigen::MatrixXd::Zero(size, width), U = G, mass = Eigen::MatrixXd::Identity(width, width);
  Vector<double> v, t, image;
  double omega = 1;
  const auto done = [&] { return r.norm() <= goal || products >= options.max_iter; };
  const auto multiply = [&](const Vector<double>& in, Vector<double>& out) {
    execution.checkpoint({"idr", products++, options.max_iter, "iteration"});
    product(in, out);
  };
  // [VanGijzen2011, Fig. 2]
  while (!done()) {
    Eigen::VectorXd f = shadow.transpose() * r;
    for (Index k = 0; k < width && !done(); ++k) {
      const Index rest = width - k;
      const Eigen::VectorXd c = mass.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solve(f.tail(rest));
      v = r - G.rightCols(rest) * c;
      U.col(k) = (U.rightCols(rest) * c + omega * v).eval();
      multiply(U.col(k), image);
      G.col(k) = image;
      for (Index i = 0; i < k; ++i) {
        const double along = shadow.col(i).dot(G.col(k)) / mass(i, i);
        G.col(k) -= along * G.col(i);
        U.col(k) -= along * U.col(i);
      }
      mass.col(k).tail(rest) = shadow.rightCols(rest).transpose() * G.col(k);
      if (!(std::abs(mass(k, k)) > std::numeric_limits<double>::epsilon() * G.col(k).norm())) return;
      const double beta = f[k] / mass(k, k);
      r -= beta * G.col(k);
      x += beta * U.col(k);
      f.tail(rest - 1) -= beta * mass.col(k).tail(rest - 1);
    }
    if (done()) return;
    multiply(r, t);
    omega = stabilising_step(t, r);
    if (omega == 0) return;
    x += omega * r;
    r -= omega * t;
  }
}

}  // namespace

Vector<double> idr(const SquareProduct& product, const Vector<double>& b, std::uint64_t seed, double floor,
                   const IterationOptions& options, const Execution& execution, SolveReport& report) {
  const double start = b.norm();
  Vector<double> x = Vector<double>::Zero(b.size()), r = b, best = x, image;
  double residual = start > 0 ? 1 : 0, smallest = residual;
  Index products = 0;
  // The recurrence's residual drifts from the true one, and may break down: then it starts again from where it stands,
  // as long as that helps.
  for (std::uint32_t round = 0; residual > options.tol && products < options.max_iter; ++round) {
    run(product, shadow_space(b.size(), std::min(s, b.size()), seed, round), options.tol * start, options, execution, x,
        r, products);
    const double estimated = r.norm() / start;
    product(x, image);
    r = b - image;
    residual = r.norm() / start;
    const bool rounding = estimated <= options.tol && residual <= std::max(10 * options.tol, floor);
    const bool helped = residual < 0.5 * smallest;
    if (residual < smallest) best = x, smallest = residual;
    if (rounding) residual = smallest = estimated;  // what is reported is the recurrence's, as for cg
    if (!helped) break;
  }
  report_iterations("idr", products, smallest, options, report);
  return best;
}

LinearSolution solve_expanded_idr(const ExpandedProblem& problem, const IterationOptions& options,
                                  const Execution& execution, SolveReport& report) {
  ExpandedOperator P(problem);
  const double floor = 2e3 * problem.rows.roundoff();
  const auto product = [&](const Vector<double>& theta, Vector<double>& out) { P.normal(theta, out); };
  return P.solution(idr(product, P.right(), problem.seed, floor, options, execution, report));
}

}  // namespace carmina
