// models/mixture/mixture_plan.cpp -- the sizes of what learning a spectral mixture holds, and rows and blocks that fit.
#include "models/mixture/mixture_plan.hpp"
#include "features/moments_builder.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {
namespace {

constexpr double number = 8;  // bytes of a double
constexpr Index fewest_learning_rows = 100;
constexpr double grid_bytes = 160;  // of a place: four arrays of twice as many complex numbers, and the chirp

double square(double x) { return x * x; }

// Rows as they are gathered, sorted and merged, their standard targets, what the evidence keeps of each group of
// outputs, and the periodogram of a single column: the transforms of a grid as long as the rows.
void add_learning_rows(MemoryUse& use, const MixtureShape& s) {
  const double width = s.d + s.p, gathered = 3 * width * s.scalar_bytes + 4 * number;
  const double kept = (s.d + 2 * s.p) * number + (s.groups * s.d + s.p + s.groups) * number;
  const double start = width * number + (s.d == 1 ? 256 : 4 * number);
  use.add(format_text("{:.0f} rows to learn from", s.learning), s.learning * (gathered + kept + start));
  use.add("the data's spectrum", 4096 * (s.mixtures + 4) * number + s.grid * grid_bytes);
}

void add_fourier(MemoryUse& use, const MixtureShape& s) {
  const double width = s.m + s.p + 1;
  use.add("frequencies", s.m / 2 * (6 * s.d + 4 * s.order / s.m * s.p) * number);
  // Sums of each group and of a segment of its rows, their symmetric copy, times each output's factors; the matrices of
  // gradients by frequencies.
  const RowGrid grid = RowGrid::of(static_cast<Index>(s.n), static_cast<Index>(s.d + s.p));
  const auto chunk = static_cast<double>(MomentsBuilder<double>::chunk_rows(static_cast<Index>(width), grid));
  use.add(format_text("sums of order {:.0f}", width),
          ((s.groups + 1) * square(width) + 3 * square(s.m) + (s.p + 2) * s.m * s.order) * number);
  use.add(format_text("matrices of order {:.0f}", s.order), 3 * square(s.order) * number);
  use.add("posteriors", s.draws * (s.starts > 1 ? 2 : 1) * square(s.order) * number);
  const double targets = s.learning * s.p;
  if (targets < 2 * s.order) {
    use.add(format_text("matrices of {:.0f} targets", targets),
            (3 * square(targets) + 4 * targets * s.order + 2 * s.learning * s.m) * number);
  }
  use.add("features to be summed", std::min(chunk, s.n) * width * number);
}

// Rows in double, twice while they are gathered.
void add_process_rows(MemoryUse& use, const MixtureShape& s) {
  use.add(format_text("{:.0f} rows", s.n), 3 * s.n * (s.d + s.p) * number);
}

// One factor in place at a time while learning; the posterior of another start beside that of the last.
void add_exact(MemoryUse& use, const MixtureShape& s) {
  add_process_rows(use, s);
  use.add(format_text("matrices of order {:.0f}", s.learning), (s.starts > 1 ? 2 : 1) * square(s.learning) * number);
  if (s.n > s.learning) {
    use.add(format_text("the kernel matrix of order {:.0f}", s.n), square(s.n) * number);
  }
}

void add_inducing(MemoryUse& use, const MixtureShape& s) {
  constexpr double rows_at_once = 4096;
  add_process_rows(use, s);
  use.add(format_text("matrices of order {:.0f}", s.inducing),
          (9 + (s.starts > 1 ? 4 : 2)) * square(s.inducing) * number);
  use.add("kernel values", 2 * std::min(s.n, rows_at_once) * s.inducing * number);
}

template <Real T>
class MixtureQuestion {
 public:
  MixtureQuestion(const SpectralMixtureOptions& options, const DataRows<T>& source, std::optional<Index> rows,
                  Index groups)
      : options_(options), source_(source), rows_(rows), groups_(groups), limit_(memory_limit(options.execution)) {}

  double limit() const { return limit_; }
  MemoryUse use(const SpectralMixtureOptions& options, Index learning) const {
    const Index p = source_.dim_out();
    const auto groups = static_cast<double>(groups_ > 0 ? groups_ : 1);
    const auto n = static_cast<double>(rows_ ? *rows_ : learning);
    MixtureShape shape =
        mixture_shape(options, source_.dim_in(), p, n, std::min(n, static_cast<double>(learning)), groups, sizeof(T));
    shape.grid = static_cast<double>(longest_grid(source_.dim_in(), n, shape.learning, limit_));
    MemoryUse use = mixture_memory(shape);
    use.source = [&source = source_](Index rows) { return source.held_bytes(rows); };
    use.rows = n;
    use.stretch = RowGrid::of(static_cast<Index>(n), source_.dim_in() + p).stretch;
    use.choose_blocks(block_rows(source_.dim_in() + p, options.execution), limit_);
    return use;
  }
  bool fits(const SpectralMixtureOptions& options, Index learning) const {
    return use(options, learning).bytes() <= limit_;
  }
  // The largest count from `least` in steps of `step` with which it fits; 0: none.
  template <class Fits>
  static Index largest(Index least, Index most, Index step, const Fits& fits) {
    if (!fits(least)) return 0;
    Index below = 0, above = (most - least) / step + 1;
    while (above - below > 1) {
      const Index middle = (above + below) / 2;
      (fits(least + middle * step) ? below : above) = middle;
    }
    return least + below * step;
  }

 private:
  const SpectralMixtureOptions& options_;
  const DataRows<T>& source_;
  std::optional<Index> rows_;
  Index groups_;
  double limit_;
};

// What would fit, in words.
template <Real T>
std::string advice(const MixtureQuestion<T>& question, const SpectralMixtureOptions& options, Index learning) {
  std::vector<std::string> choices;
  const Index rows = question.largest(std::min(learning, fewest_learning_rows), learning, 1,
                                      [&](Index count) { return question.fits(options, count); });
  if (rows > 0) choices.push_back(format_text("learning_rows of at most {}", rows));
  const Index mixtures = options.start ? options.start->size() : options.n_mixtures;
  const auto components_that_fit = [&](SpectralMixtureOptions other, Index from) {
    other.inference = Inference::fourier;
    const Index least = 2 * mixtures;
    return question.largest(least, std::max(least, from), 2, [&](Index count) {
      other.n_components = count;
      return question.fits(other, std::min(learning, fewest_learning_rows));
    });
  };
  if (options.inference == Inference::fourier && rows == 0) {
    const Index count = components_that_fit(options, options.features());
    if (count > 0) {
      choices.push_back(format_text("at most {} components with learning_rows of {}", count,
                                    std::min(learning, fewest_learning_rows)));
    }
  } else if (options.inference != Inference::fourier) {
    const Index count = components_that_fit(options, options.features());
    if (count > 0) choices.push_back(format_text("inference 'fourier' with at most {} components", count));
  }
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : ", or ") + choice;
  if (!text.empty()) return text + " would fit";
  SpectralMixtureOptions smallest = options;
  smallest.inference = Inference::fourier;
  smallest.n_components = 2 * mixtures;
  const Index few = std::min(learning, fewest_learning_rows);
  return format_text("even the smallest model needs {}", format_bytes(question.use(smallest, few).bytes()));
}

}  // namespace

MixtureShape mixture_shape(const SpectralMixtureOptions& options, Index d, Index p, double n, double learning,
                           double groups, std::size_t scalar_bytes) {
  MixtureShape s;
  s.inference = options.inference == Inference::automatic ? Inference::fourier : options.inference;
  s.n = n, s.learning = learning;
  s.d = static_cast<double>(d), s.p = static_cast<double>(p);
  s.m = static_cast<double>(options.features() + (options.trend == Trend::none || d > 1 ? 0 : 2 * p));
  Index rank = 1;
  if (const auto* factors = std::get_if<LearntFactors>(&options.coupling)) {
    if (p > 1) rank = factors->rank > 0 ? factors->rank : std::min<Index>(p, 2);
  } else if (!std::holds_alternative<CurlFreeCoupling>(options.coupling)) {
    rank = p;
  }
  s.order = s.m * static_cast<double>(rank);
  s.mixtures = static_cast<double>(options.start ? options.start->size() : options.n_mixtures);
  s.starts = static_cast<double>(options.n_starts);
  s.draws = static_cast<double>(options.n_draws);
  s.groups = groups;
  s.inducing =
      std::min(learning, static_cast<double>(options.n_inducing > 0 ? options.n_inducing : options.features()));
  s.scalar_bytes = static_cast<double>(scalar_bytes);
  return s;
}

Index longest_grid(Index d, double n, double learning, double limit) {
  if (d > 1 || learning >= n) return 0;
  Index cells = Index{1} << 18;
  while (cells > 256 && static_cast<double>(cells) * grid_bytes > limit / 4) cells /= 2;
  return cells;
}

MemoryUse mixture_memory(const MixtureShape& shape) {
  MemoryUse use;
  add_learning_rows(use, shape);
  switch (shape.inference) {
    case Inference::fourier:
    case Inference::automatic:
      add_fourier(use, shape);
      break;
    case Inference::exact:
      add_exact(use, shape);
      break;
    case Inference::inducing:
      add_inducing(use, shape);
      break;
  }
  use.row_bytes = (shape.d + shape.p + 1) * number;  // in double, with the targets of a group
  return use;
}

template <Real T>
MixturePlan plan_mixture(const SpectralMixtureOptions& options, const DataRows<T>& source, std::optional<Index> rows,
                         std::optional<double> copies, Index groups) {
  const MixtureQuestion<T> question(options, source, rows, groups);
  const bool automatic = options.learning_rows == 0;
  Index learning = automatic ? usual_learning_rows : options.learning_rows;
  // Without their number: what any number of rows needs.
  const double counted = copies.value_or(static_cast<double>(rows.value_or(fewest_learning_rows)));
  if (counted < static_cast<double>(learning)) learning = static_cast<Index>(counted);
  if (automatic) {
    const Index count = question.largest(std::min(learning, fewest_learning_rows), learning, 1,
                                         [&](Index some) { return question.fits(options, some); });
    if (count > 0) learning = count;
  }
  const MemoryUse use = question.use(options, learning);
  if (use.bytes() > question.limit()) {
    const auto heaviest = std::max_element(use.parts.begin(), use.parts.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
    fail("fit: inference '{}' needs {}, {} of it for {}, and the memory budget is {}; {}",
         inference_name(options.inference), format_bytes(use.bytes()), format_bytes(heaviest->second), heaviest->first,
         format_bytes(question.limit()), advice(question, options, learning));
  }
  const Index grid = longest_grid(source.dim_in(), rows ? counted : static_cast<double>(learning),
                                  static_cast<double>(learning), question.limit());
  return {learning, use.rows_at_once, grid, use.text(question.limit())};
}
template MixturePlan plan_mixture(const SpectralMixtureOptions&, const DataRows<float>&, std::optional<Index>,
                                  std::optional<double>, Index);
template MixturePlan plan_mixture(const SpectralMixtureOptions&, const DataRows<double>&, std::optional<Index>,
                                  std::optional<double>, Index);

}  // namespace carmina
