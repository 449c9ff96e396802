// solvers/linear/lsmr.cpp -- LSMR: least squares by Golub and Kahan's bidiagonalisation, products with P and Pᵀ apart.
#include "solvers/squared/expanded_operator.hpp"

#include <cmath>

namespace carmina {
namespace {

// A Givens rotation that takes (a, b) to (r, 0).
struct Rotation {
  double c, s, r;
  Rotation(double a, double b) : r(std::hypot(a, b)) {
    c = r > 0 ? a / r : 1;
    s = r > 0 ? b / r : 0;
  }
};

}  // namespace

// [Fong2011, Section 5], with its notation; damped by sqrt(alpha). |zeta_bar| is the norm of Aᵀr - alpha x, which never
// grows; at x = 0 it is |Aᵀb|.
Vector<double> lsmr(const RowOperator& A, Matrix<double> b, double alpha, const IterationOptions& options,
                    const Execution& execution, SolveReport& report, double rounding) {
  const double damp = std::sqrt(alpha), largest = b.size() > 0 ? b.cwiseAbs().maxCoeff() : 0;
  // A power of two: squares of targets near the edges of double stay inside, and no bit changes.
  const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
  Matrix<double> u = std::move(b), image;
  u = u.unaryExpr([exponent](double y) { return std::scalbn(y, -exponent); });
  Vector<double> v, preimage;
  double beta = u.norm();
  if (beta > 0) u /= beta;
  A.backward(u, v);
  double norm = v.norm();
  if (norm > 0) v /= norm;
  Vector<double> h = v, h_bar = Vector<double>::Zero(v.size()), x = h_bar;
  double alpha_bar = norm, zeta_bar = norm * beta, rho = 1, rho_bar = 1, c_bar = 1, s_bar = 0;
  const double start = zeta_bar, lost = rounding * beta;
  Index iteration = 0;
  Resumable loop({options.checkpoint, "lsmr"}, [&](LoopState& state) {
    state("u", u), state("v", v), state("h", h), state("h_bar", h_bar), state("x", x), state("norm", norm);
    state("alpha_bar", alpha_bar), state("zeta_bar", zeta_bar), state("rho", rho), state("rho_bar", rho_bar);
    state("c_bar", c_bar), state("s_bar", s_bar), state("iteration", iteration);
  });
  while (!loop.ended() && iteration < options.max_iter && std::abs(zeta_bar) > std::max(options.tol * start, lost)) {
    loop.step();
    execution.checkpoint({"lsmr", iteration, options.max_iter, "iteration"});
    A.forward(v, image);
    u = image - norm * u;
    beta = u.norm();
    if (beta > 0) u /= beta;
    A.backward(u, preimage);
    v = preimage - beta * v;
    norm = v.norm();
    if (norm > 0) v /= norm;

    const Rotation damped(alpha_bar, damp), first(damped.r, beta);
    const double rho_old = rho, rho_bar_old = rho_bar;
    rho = first.r;
    const double theta = first.s * norm;
    alpha_bar = first.c * norm;
    const double theta_bar = s_bar * rho;
    const Rotation second(c_bar * rho, theta);
    rho_bar = second.r;
    c_bar = second.c;
    s_bar = second.s;
    const double zeta = c_bar * zeta_bar;
    zeta_bar *= -s_bar;
    ++iteration;
    if (!(rho * rho_bar > 0)) break;
    h_bar = h - theta_bar * rho / (rho_old * rho_bar_old) * h_bar;
    x += zeta / (rho * rho_bar) * h_bar;
    h = v - theta / rho * h;
  }
  loop.end();
  const bool solved = std::abs(zeta_bar) <= lost;
  const double residual = start > 0 ? std::abs(zeta_bar) / start : 0.0;
  report_iterations("lsmr", iteration, solved ? std::min(residual, options.tol) : residual, options, report);
  return x.unaryExpr([exponent](double value) { return std::scalbn(value, exponent); });
}

LinearSolution solve_expanded_lsmr(const ExpandedProblem& problem, const IterationOptions& options,
                                   const Execution& execution, SolveReport& report) {
  ExpandedOperator P(problem);
  const RowOperator A{[&](const Vector<double>& theta, Matrix<double>& out) { P.forward(theta, out); },
                      [&](const Matrix<double>& u, Vector<double>& out) { P.backward(u, out); }};
  Matrix<double> targets = P.targets();
  // Of features about their mean nothing but rounding may be left.
  const double rounding = 8 * problem.rows.roundoff() * std::sqrt(P.sums().weight) * P.feature_means().norm();
  return P.solution(lsmr(A, std::move(targets), problem.alpha, options, execution, report, rounding));
}

}  // namespace carmina
