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

// Where the recurrence stands: x, r = b - A x, and since it began, when `open`, its vectors.
struct Recurrence {
  Vector<double> x, r;
  Index products = 0;
  Eigen::MatrixXd G = {}, U = {}, mass = {};
  double omega = 1;
  bool open = false;

  void begin(Index width) {
    G = U = Eigen::MatrixXd::Zero(x.size(), width);
    mass = Eigen::MatrixXd::Identity(width, width);
    omega = 1;
    open = true;
  }
};

// One run of the recurrence. Ends at |r| <= goal, at max_iter products, or when it breaks down.
void run(const SquareProduct& product, const Eigen::MatrixXd& shadow, double goal, const IterationOptions& options,
         const Execution& execution, Recurrence& at, Resumable& loop) {
  Vector<double>&x = at.x, &r = at.r;
  Eigen::MatrixXd &G = at.G, &U = at.U, &mass = at.mass;
  const Index width = shadow.cols();
  Vector<double> v, t, image;
  const auto done = [&] { return r.norm() <= goal || at.products >= options.max_iter; };
  const auto multiply = [&](const Vector<double>& in, Vector<double>& out) {
    execution.checkpoint({"idr", at.products++, options.max_iter, "iteration"});
    product(in, out);
  };
  // [VanGijzen2011, Fig. 2]
  while (!done()) {
    loop.step();
    Eigen::VectorXd f = shadow.transpose() * r;
    for (Index k = 0; k < width && !done(); ++k) {
      const Index rest = width - k;
      const Eigen::VectorXd c = mass.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solve(f.tail(rest));
      v = r - G.rightCols(rest) * c;
      U.col(k) = (U.rightCols(rest) * c + at.omega * v).eval();
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
    at.omega = stabilising_step(t, r);
    if (at.omega == 0) return;
    x += at.omega * r;
    r -= at.omega * t;
  }
}

}  // namespace

Vector<double> idr(const SquareProduct& product, const Vector<double>& b, std::uint64_t seed, double floor,
                   const IterationOptions& options, const Execution& execution, SolveReport& report) {
  const double start = b.norm();
  Recurrence at{.x = Vector<double>::Zero(b.size()), .r = b};
  Vector<double>&x = at.x, &r = at.r, best = x, image;
  double residual = start > 0 ? 1 : 0, smallest = residual;
  std::uint32_t round = 0;
  Resumable loop({options.checkpoint, "idr"}, [&](LoopState& state) {
    state("x", at.x), state("r", at.r), state("products", at.products), state("G", at.G), state("U", at.U);
    state("mass", at.mass), state("omega", at.omega), state("open", at.open), state("best", best);
    state("residual", residual), state("smallest", smallest), state("round", round);
  });
  // The recurrence's residual drifts from the true one, and may break down: then it starts again from where it stands,
  // as long as that helps.
  for (; !loop.ended() && (at.open || (residual > options.tol && at.products < options.max_iter)); ++round) {
    const Index width = std::min(s, b.size());
    if (!at.open) at.begin(width);
    run(product, shadow_space(b.size(), width, seed, round), options.tol * start, options, execution, at, loop);
    at.open = false;
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
  loop.end();
  report_iterations("idr", at.products, smallest, options, report);
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
