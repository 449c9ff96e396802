// tests/numbers/exact_minimum.cpp -- pieces of slopes, and Gauss elimination with full pivoting.
#include "exact_minimum.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace carmina::numbers_test {
namespace {

using Row = std::vector<Exact>;

// Of the slope s of a loss as a function of the prediction f.
struct Piece {
  enum Kind { constant, linear, vertical } kind;
  Exact at;         // constant: s = at; linear: s = f - at; vertical: f = at
  Exact low, high;  // bounds of f; of a vertical piece those of s
};

const Exact& endless() {
  static const Exact it = boost::multiprecision::ldexp(Exact(1), 100'000);
  return it;
}

struct PiecesOf {
  Exact y;
  using Pieces = std::vector<Piece>;

  Pieces operator()(const Squared&) const { return {{Piece::linear, y, -endless(), endless()}}; }
  Pieces operator()(const Huber& loss) const {
    const Exact k = loss.kappa;
    return {{Piece::constant, -k, -endless(), y - k},
            {Piece::linear, y, y - k, y + k},
            {Piece::constant, k, y + k, endless()}};
  }
  Pieces operator()(const EpsilonInsensitive& loss) const {
    const Exact low = y - Exact(loss.epsilon), high = y + Exact(loss.epsilon);
    return {{Piece::constant, -1, -endless(), low},
            {Piece::vertical, low, -1, 0},
            {Piece::constant, 0, low, high},
            {Piece::vertical, high, 0, 1},
            {Piece::constant, 1, high, endless()}};
  }
  Pieces operator()(const SquaredEpsilonInsensitive& loss) const {
    const Exact low = y - Exact(loss.epsilon), high = y + Exact(loss.epsilon);
    return {
        {Piece::linear, low, -endless(), low}, {Piece::constant, 0, low, high}, {Piece::linear, high, high, endless()}};
  }
  Pieces operator()(const Pinball& loss) const { return kink(y, -Exact(loss.level(0)), 1 - Exact(loss.level(0))); }
  Pieces operator()(const Absolute&) const { return kink(y, -1, 1); }
  Pieces operator()(const Hinge&) const { return y > 0 ? kink(1, -1, 0) : kink(-1, 0, 1); }
  Pieces operator()(const Logistic&) const { return {}; }

  static Pieces kink(const Exact& at, const Exact& before, const Exact& behind) {
    return {{Piece::constant, before, -endless(), at},
            {Piece::vertical, at, before, behind},
            {Piece::constant, behind, at, endless()}};
  }
};

// A solution of A x = b, columns without a pivot being zero; nothing where there is none. Rows are scaled.
std::optional<Row> solve(std::vector<Row> A, Row b) {
  const Exact tiny = boost::multiprecision::ldexp(Exact(1), -1100);
  const std::size_t n = b.size();
  std::vector<std::size_t> column(n);
  for (std::size_t i = 0; i < n; ++i) {
    column[i] = i;
    Exact largest = 0;
    for (const Exact& a : A[i]) largest = std::max<Exact>(largest, abs(a));
    if (largest == 0) largest = 1;
    for (Exact& a : A[i]) a /= largest;
    b[i] /= largest;
  }
  std::size_t rank = 0;
  for (; rank < n; ++rank) {
    std::size_t row = rank, best = rank;
    for (std::size_t i = rank; i < n; ++i) {
      for (std::size_t j = rank; j < n; ++j) {
        if (abs(A[i][column[j]]) > abs(A[row][column[best]])) row = i, best = j;
      }
    }
    if (abs(A[row][column[best]]) < tiny) break;
    std::swap(A[row], A[rank]), std::swap(b[row], b[rank]), std::swap(column[best], column[rank]);
    for (std::size_t i = rank + 1; i < n; ++i) {
      const Exact factor = A[i][column[rank]] / A[rank][column[rank]];
      if (factor == 0) continue;
      for (std::size_t j = rank; j < n; ++j) A[i][column[j]] -= factor * A[rank][column[j]];
      b[i] -= factor * b[rank];
    }
  }
  Exact scale = 0;
  for (std::size_t i = 0; i < rank; ++i) scale = std::max<Exact>(scale, abs(b[i]));
  for (std::size_t i = rank; i < n; ++i) {
    if (abs(b[i]) > scale * tiny) return std::nullopt;
  }
  Row x(n, Exact(0));
  for (std::size_t i = rank; i-- > 0;) {
    Exact sum = b[i];
    for (std::size_t j = i + 1; j < rank; ++j) sum -= A[i][column[j]] * x[column[j]];
    x[column[i]] = sum / A[i][column[i]];
  }
  return x;
}

// Rows of positive weight.
Problem without_zero_weights(const Problem& all) {
  std::vector<Index> kept;
  for (Index i = 0; i < all.w.size(); ++i) {
    if (all.w[i] > 0) kept.push_back(i);
  }
  return {all.loss, all.K(kept, kept), all.y(kept), all.w(kept), all.alpha, all.intercept};
}

// x holds slopes u of the rows, then b: c_i = -w_i u_i / alpha, f_i = b - sum_j K_ij w_j u_j / alpha. Slopes have the
// size of residuals whatever the weights and alpha.
struct Solution {
  Row u, f;
  Exact b = 0;

  Solution(const Problem& problem, const Row& x) : u(x.begin(), x.begin() + problem.y.size()) {
    if (problem.intercept) b = x.back();
    for (Index i = 0; i < problem.y.size(); ++i) {
      Exact sum = 0;
      for (Index j = 0; j < problem.y.size(); ++j) sum += influence(problem, i, j) * u[static_cast<std::size_t>(j)];
      f.push_back(b - sum);
    }
  }
  static Exact influence(const Problem& problem, Index i, Index j) {
    return problem.K(i, j) * Exact(problem.w[j]) / problem.alpha;
  }
  Exact objective(const Problem& problem) const {
    Exact sum = 0;
    for (Index i = 0; i < problem.y.size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      sum += Exact(problem.w[i]) * (loss_of(problem.loss, f[k], problem.y[i]) - u[k] * (f[k] - b) / 2);
    }
    return sum;
  }
};

// For each row an equation, p u_i - q f_i = right; and sum_i w_i u_i = 0 where there is an intercept.
struct Equations {
  std::vector<Row> A;
  Row right;

  explicit Equations(const Problem& problem) {
    const auto n = static_cast<std::size_t>(problem.y.size()), order = n + (problem.intercept ? 1 : 0);
    A.assign(order, Row(order, Exact(0)));
    right.assign(order, Exact(0));
    for (std::size_t j = 0; problem.intercept && j < n; ++j) A[n][j] = problem.w[static_cast<Index>(j)];
  }
  void set(const Problem& problem, std::size_t i, const Exact& p, const Exact& q, const Exact& value) {
    const auto n = static_cast<std::size_t>(problem.y.size());
    for (std::size_t j = 0; j < n; ++j) {
      A[i][j] = q * Solution::influence(problem, static_cast<Index>(i), static_cast<Index>(j));
    }
    A[i][i] += p;
    if (problem.intercept) A[i][n] = -q;
    right[i] = value;
  }
};

// Whether the solution lies in the pieces that it was made for, and on them.
bool in_its_pieces(const Solution& solution, const std::vector<Piece>& chosen) {
  Exact largest = 1;
  for (const Exact& one : solution.f) largest = std::max<Exact>(largest, abs(one));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Piece& piece = chosen[i];
    const Exact &u = solution.u[i], &f = solution.f[i], &value = piece.kind == Piece::vertical ? u : f;
    const Exact slack = boost::multiprecision::ldexp(largest + abs(piece.at), -600);
    if (value < piece.low - slack || value > piece.high + slack) return false;
    if (piece.kind == Piece::vertical && abs(f - piece.at) > slack) return false;
    if (piece.kind == Piece::linear && abs(f - piece.at - u) > slack) return false;
  }
  return true;
}

std::optional<Exact> minimum_in(const Problem& problem, const std::vector<Piece>& chosen) {
  Equations equations(problem);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Piece& piece = chosen[i];
    if (piece.kind == Piece::constant) equations.set(problem, i, 1, 0, piece.at);
    if (piece.kind == Piece::linear) equations.set(problem, i, 1, 1, -piece.at);
    if (piece.kind == Piece::vertical) equations.set(problem, i, 0, 1, -piece.at);
  }
  const auto x = solve(std::move(equations.A), std::move(equations.right));
  if (!x) return std::nullopt;
  const Solution solution(problem, *x);
  if (!in_its_pieces(solution, chosen)) return std::nullopt;
  return solution.objective(problem);
}

// Newton's steps: u_i = s_i + D_i (f_i - last f_i), s and D the slope and the curvature at the last f.
Exact logistic_minimum(const Problem& problem) {
  const auto n = static_cast<std::size_t>(problem.y.size()), order = n + (problem.intercept ? 1 : 0);
  const bool one_class = (problem.y.array() == problem.y[0]).all();
  if (problem.intercept && one_class) return 0;  // at infinity
  Row x(order, Exact(0));
  Exact value = Solution(problem, x).objective(problem);
  for (int step = 0; step < 200; ++step) {
    const Solution last(problem, x);
    Equations equations(problem);
    for (std::size_t i = 0; i < n; ++i) {
      const Exact y = problem.y[static_cast<Index>(i)], s = 1 / (1 + exp(y * last.f[i])), D = s * (1 - s);
      equations.set(problem, i, 1, D, -y * s - D * last.f[i]);
    }
    const auto target = solve(std::move(equations.A), std::move(equations.right));
    if (!target) throw std::runtime_error("a step of the logistic loss has no solution");
    Exact length = 1, found = value;
    Row next = x;
    for (; length > Exact(1e-12); length /= 2) {
      for (std::size_t j = 0; j < order; ++j) next[j] = x[j] + length * ((*target)[j] - x[j]);
      found = Solution(problem, next).objective(problem);
      if (found <= value) break;
    }
    const bool done = value - found <= boost::multiprecision::ldexp(value, -100);
    if (found <= value) x = next, value = found;
    if (done) break;
  }
  return value;
}

}  // namespace

Exact loss_of(const Loss& loss, const Exact& f, double y) {
  const Exact r = f - Exact(y), n = abs(r);
  if (std::holds_alternative<Squared>(loss)) return r * r / 2;
  if (const auto* huber = std::get_if<Huber>(&loss)) {
    const Exact k = huber->kappa;
    return n <= k ? n * n / 2 : k * (n - k / 2);
  }
  if (const auto* one = std::get_if<EpsilonInsensitive>(&loss)) return std::max<Exact>(n - Exact(one->epsilon), 0);
  if (const auto* two = std::get_if<SquaredEpsilonInsensitive>(&loss)) {
    const Exact over = std::max<Exact>(n - Exact(two->epsilon), 0);
    return over * over / 2;
  }
  if (const auto* pinball = std::get_if<Pinball>(&loss)) {
    const Exact level = pinball->level(0);
    return std::max<Exact>(-level * r, (1 - level) * r);
  }
  if (std::holds_alternative<Absolute>(loss)) return n;
  if (std::holds_alternative<Hinge>(loss)) return std::max<Exact>(1 - Exact(y) * f, 0);
  const Exact margin = Exact(y) * f;  // log(1 + exp(-m)), without overflow
  return margin > 0 ? log1p(exp(-margin)) : -margin + log1p(exp(margin));
}

Exact objective_of_nothing(const Problem& problem) {
  std::vector<Exact> constants = {0};
  if (problem.intercept) {
    Exact sum = 0, weight = 0, positive = 0;
    for (Index i = 0; i < problem.y.size(); ++i) {
      constants.emplace_back(problem.y[i]);
      sum += Exact(problem.w[i]) * Exact(problem.y[i]), weight += Exact(problem.w[i]);
      if (problem.y[i] > 0) positive += Exact(problem.w[i]);
    }
    constants.push_back(sum / weight);
    const bool both = positive > 0 && positive < weight;
    if (std::holds_alternative<Logistic>(problem.loss) && both)
      constants.push_back(log(positive / (weight - positive)));
  }
  std::optional<Exact> least;
  for (const Exact& b : constants) {
    Exact value = 0;
    for (Index i = 0; i < problem.y.size(); ++i) {
      value += Exact(problem.w[i]) * loss_of(problem.loss, b, problem.y[i]);
    }
    if (!least || value < *least) least = value;
  }
  return *least;
}

Exact exact_minimum(const Problem& given) {
  const Problem problem = without_zero_weights(given);
  if (std::holds_alternative<Logistic>(problem.loss)) return logistic_minimum(problem);
  const auto n = static_cast<std::size_t>(problem.y.size());
  std::vector<std::vector<Piece>> pieces;
  for (const double y : problem.y) {
    pieces.push_back(std::visit([&](const auto& loss) { return PiecesOf{y}(loss); }, problem.loss));
  }
  std::vector<std::size_t> number(n, 0);
  for (;;) {
    std::vector<Piece> chosen;
    for (std::size_t i = 0; i < n; ++i) chosen.push_back(pieces[i][number[i]]);
    if (const auto least = minimum_in(problem, chosen)) return *least;
    std::size_t i = 0;
    while (i < n && ++number[i] == pieces[i].size()) number[i++] = 0;
    if (i == n) throw std::runtime_error("no choice of pieces holds the minimum");
  }
}

}  // namespace carmina::numbers_test
