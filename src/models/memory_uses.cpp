// models/memory_uses.cpp -- the sizes of what each solver holds, one entry for each thing of it that can be large.
#include "memory_plan.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

constexpr double number = 8;  // bytes of a double

double square(double x) { return x * x; }

// W in double and in the data's precision, as it is and turned.
void add_map(MemoryUse& use, const FitOptions& o, const FitShape& s) {
  const double count = o.sampling == Sampling::phases ? s.m : s.m / 2;
  use.parts.emplace_back("frequencies", count * s.d * (2 * number + 2 * s.scalar_bytes));
}

// Sums over stretches of rows, sixteen under way, and the features of a tile of each thread where they outgrow its
// scratch.
void add_products(MemoryUse& use, const FitShape& s, const Execution& execution) {
  constexpr double stretch = 2048, scratch = 524288;
  const double sums = (std::clamp(s.n / stretch, 1.0, 16.0) * s.scalar_bytes + 2 * number) * s.m * (s.p + 1);
  const double tiles = std::max(0.0, 16 * s.m * s.scalar_bytes - scratch) * execution.thread_count();
  use.parts.emplace_back("sums of a product", sums + tiles);
  use.row_bytes += (s.p + 1) * s.scalar_bytes;
}

// Vectors of an iterative solver: solution, residual, direction, their products and copies.
void add_vectors(MemoryUse& use, double length, double count) {
  use.parts.emplace_back("vectors", count * length * number);
}

// A system solved in place; one eigendecomposition takes twice its matrix besides.
void add_system(MemoryUse& use, const char* what, double order, bool by_eigen) {
  use.parts.emplace_back(format_text("{} of order {:.0f}", what, order), number * square(order));
  if (by_eigen) use.parts.emplace_back("workspace of the eigendecomposition", 2 * number * square(order));
}

void add_moments(MemoryUse& use, const FitShape& s, double width, double copies) {
  use.parts.emplace_back(format_text("sums of order {:.0f}", width), copies * number * square(width));
  use.feature_row_bytes = width * s.scalar_bytes;
}

void add_rows(MemoryUse& use, const FitShape& s, double copies_of_inputs) {
  use.parts.emplace_back(format_text("{:.0f} rows", s.n),
                         s.n * (copies_of_inputs * s.d * s.scalar_bytes + 2 * s.p * number));
}

// Normal equations of Fourier features, from sums over the rows.
MemoryUse fourier_direct(const FitOptions& o, const FitShape& s) {
  MemoryUse use{"direct"};
  add_map(use, o, s);
  add_moments(use, s, s.m + s.p + 1, o.keep_moments ? 2 : 1);
  if (!s.separable) {
    add_system(use, "a matrix", s.order, o.alpha == 0);
    use.parts.emplace_back("factors", 2 * s.order * s.p * number);
  } else if (s.by_eigen) {
    use.parts.emplace_back("workspace of the eigendecomposition", 2 * number * square(s.m));
  }
  add_vectors(use, s.separable ? s.m : s.order, 6 * (s.separable ? s.p : 1));
  return use;
}

// Fewer rows than features: the kernel matrix of the features.
MemoryUse fourier_dual(const FitOptions& o, const FitShape& s) {
  MemoryUse use{"direct"};
  add_map(use, o, s);
  add_rows(use, s, 1);
  use.parts.emplace_back("features", s.n * s.m * s.scalar_bytes);
  add_system(use, "a matrix", s.n, s.by_eigen);
  use.parts.emplace_back("blocks of it", std::min(512.0, s.n) * (s.n * s.scalar_bytes + s.m * number));
  add_vectors(use, s.n + s.m, 6 * s.p);
  if (o.keep_moments) add_moments(use, s, s.m + s.p + 1, 2);
  return use;
}

MemoryUse fourier_cg(const FitOptions& o, const FitShape& s, bool preconditioned) {
  MemoryUse use{"cg", preconditioned};
  add_map(use, o, s);
  add_products(use, s, o.execution);
  add_vectors(use, s.order, 10 * (s.separable ? s.p : 1));
  if (preconditioned) {
    add_moments(use, s, s.m + 1, 1);
    // Up to twelve rows a feature, while they are gathered; solve_primal_cg wants a budget of 16 m^2 for all of it.
    use.parts.emplace_back("a sample of rows", 3 * 12 * s.m * (s.d + 1) * s.scalar_bytes + 4 * square(s.m));
  }
  return use;
}

// Solvers that see every Fourier kernel as one vector of coefficients.
MemoryUse fourier_iterative(const FitOptions& o, const FitShape& s) {
  MemoryUse use{o.solver};
  add_map(use, o, s);
  add_products(use, s, o.execution);
  if (o.solver == "lsmr") {
    add_vectors(use, s.order, 8);
    use.parts.emplace_back("vectors over the rows", 2 * number * s.n * s.p);
  } else if (o.solver == "idr") {
    add_vectors(use, s.order, 24);
  } else {
    const double kept = s.n * (s.d + 1) * s.scalar_bytes;
    if (kept <= memory_limit(o.execution) / 4) use.parts.emplace_back(format_text("{:.0f} rows", s.n), kept);
    const double directions = std::min({128.0, s.order / 2, std::pow(2.0, 24) / s.order});
    add_vectors(use, s.order, 10 + 5 * directions);
    use.parts.emplace_back("features of a batch", std::min(s.n, 2048.0) * (s.m + s.d) * s.scalar_bytes);
  }
  return use;
}

MemoryUse exact_direct(const FitShape& s) {
  MemoryUse use{"direct"};
  const double order = s.separable ? s.n : s.n * s.p;
  add_rows(use, s, 3);
  add_system(use, "the kernel matrix", order, s.by_eigen);
  if (s.scalar_bytes < number) use.parts.emplace_back("blocks of it", std::min(512.0, s.n) * order * s.scalar_bytes);
  add_vectors(use, order, s.separable ? 6 * s.p : 3 * (s.p + 1));
  return use;
}

MemoryUse exact_cg(const FitShape& s) {
  MemoryUse use{"cg"};
  const double order = s.separable ? s.n : s.n * s.p, columns = s.separable ? 2 * s.p : s.p + 1;
  add_rows(use, s, 4);
  add_vectors(use, order, 10 * columns);
  use.parts.emplace_back("the preconditioner", 3 * number * order * std::min(order / 10, 200.0));
  return use;
}

// Anchor rows that a sketch of so many rows may have.
double anchors_of(const sketches::Distribution& sketch, double n) {
  const auto size = static_cast<double>(n_components(sketch));
  return std::visit(
      [&]<class S>(const S& one) {
        double anchors = n;
        if constexpr (requires { one.density; }) {
          const double share = one.density.value_or(std::min(1.0, sketches::usual_entries / n));
          anchors = 1 + n * (1 - std::pow(1 - std::min(share, 1.0), size)) + 3 * std::sqrt(n);
        } else if constexpr (requires { one.m; }) {
          anchors = size * static_cast<double>(one.m);
        } else if constexpr (std::same_as<S, sketches::SubSample> || std::same_as<S, sketches::LeverageScores> ||
                             std::same_as<S, sketches::PivotedCholesky>) {
          anchors = size;
        }
        return std::min(n, anchors);
      },
      sketch);
}

// Losses other than the squared one: vectors over the rows, features where they are kept, and Newton's matrices.
void add_loss(MemoryUse& use, const FitOptions& o, const FitShape& s, double order, bool features_kept) {
  use.solver = o.solver == "auto" ? "newton" : o.solver;
  use.parts.emplace_back("vectors over the rows", s.n * (12 * s.p + 4) * number);
  if (features_kept) {
    const double kept = s.n * s.m * s.scalar_bytes;
    const bool stored = kept <= memory_limit(o.execution) / 4;
    if (stored) use.parts.emplace_back("features", kept);
    // Else they are made anew, some rows at a time; weighted copies of them make a Gram matrix.
    if (!stored) use.feature_row_bytes = s.m * s.scalar_bytes + (s.m + 1) * number;
    // Fewer rows than features: their kernel matrix, its eigenvectors and features of them.
    if (s.n < s.m && s.separable) use.parts.emplace_back("matrices over the rows", 3 * number * square(s.n));
  }
  const double width = std::min(order, s.separable ? s.n : s.n * s.p) + s.p + 1;
  if (use.solver == "newton") use.parts.emplace_back("Newton's matrices", 4 * number * square(width));
  if (use.feature_row_bytes == 0) {
    use.parts.emplace_back("weighted features", std::min(4096.0, s.n) * (s.separable ? 1 : s.p) * width * number);
  }
  add_vectors(use, order, use.solver == "newton" ? 28 * s.p : 60 * s.p);
}

MemoryUse sketched(const FitOptions& o, const FitShape& s, const sketches::Distribution& sketch) {
  MemoryUse use{"direct"};
  const double anchors = anchors_of(sketch, s.n);
  const bool dense =
      std::holds_alternative<sketches::Gaussian>(sketch) || std::holds_alternative<sketches::Hadamard>(sketch);
  if (needs_data(sketch) || !s.separable) add_rows(use, s, 2);
  use.parts.emplace_back(format_text("{:.0f} anchors", anchors), anchors * s.d * (3 * s.scalar_bytes + 2 * number));
  use.parts.emplace_back("the sketch", dense ? 2 * number * s.m * anchors : 60 * anchors);
  if (s.separable) {
    add_system(use, "a matrix", s.m, true);
    use.parts.emplace_back("features of the anchors", number * s.m * (s.m + 16 * 128));
    const double mixed = number * s.n * s.m;
    if (mixed <= std::min(256e6, memory_limit(o.execution) / 8)) use.parts.emplace_back("mixed rows", mixed);
    if (std::holds_alternative<Squared>(o.loss)) add_moments(use, s, s.m + s.p + 1, 1);
    add_vectors(use, s.m + anchors, 4 * s.p);
  } else {
    use.parts.emplace_back("matrices of anchors", 2 * number * square(anchors * s.p));
    use.parts.emplace_back("features", number * s.n * s.p * s.m * s.p);
  }
  if (!std::holds_alternative<Squared>(o.loss) || !s.separable) add_loss(use, o, s, s.m, s.separable);
  return use;
}

MemoryUse exact_any_loss(const FitOptions& o, const FitShape& s) {
  MemoryUse use;
  const double order = s.separable ? s.n : s.n * s.p;
  add_rows(use, s, 3);
  // Eigenvectors and features beside Newton's matrices, which take more than the eigendecomposition did before.
  use.parts.emplace_back(format_text("matrices of order {:.0f}", order), 2 * number * square(order));
  add_loss(use, o, s, order, false);
  if (use.solver != "newton") use.parts.emplace_back("workspace of the eigendecomposition", number * square(order));
  return use;
}

std::vector<MemoryUse> fourier(const FitOptions& o, const FitShape& s) {
  if (!std::holds_alternative<Squared>(o.loss)) {
    MemoryUse use;
    add_map(use, o, s);
    add_products(use, s, o.execution);
    add_loss(use, o, s, s.order, true);
    return {use};
  }
  if (o.solver != "auto" && o.solver != "direct" && o.solver != "cg") return {fourier_iterative(o, s)};
  std::vector<MemoryUse> ways;
  if (o.solver != "cg") ways.push_back(s.separable && s.n < s.m ? fourier_dual(o, s) : fourier_direct(o, s));
  if (o.solver != "direct") {
    if (s.separable) ways.push_back(fourier_cg(o, s, true));
    ways.push_back(fourier_cg(o, s, false));
  }
  return ways;
}

}  // namespace

std::vector<MemoryUse> memory_uses(const FitOptions& options, const FitShape& shape) {
  const bool exact = options.approximation == "exact";
  std::vector<MemoryUse> ways;
  if (const auto sketch = options.chosen_sketch()) {
    ways = {sketched(options, shape, *sketch)};
  } else if (!exact) {
    ways = fourier(options, shape);
  } else if (!std::holds_alternative<Squared>(options.loss)) {
    ways = {exact_any_loss(options, shape)};
  } else {
    if (options.solver != "cg") ways.push_back(exact_direct(shape));
    if (options.solver != "direct") ways.push_back(exact_cg(shape));
  }
  // Rows for the median width, as they are kept, gathered and transformed.
  const bool sample = !options.kernel && !options.length_scale;
  for (MemoryUse& use : ways) use.summary_bytes = sample ? std::min(shape.n, 2000.0) * (3 * shape.d + 6) * number : 0;
  return ways;
}

}  // namespace carmina
