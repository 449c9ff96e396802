// models/mixture/mixture_plan.hpp -- what learning a spectral mixture will hold in memory, known before it begins: how
// many rows it learns from and the size of its blocks, or a sentence that says what would fit.
#pragma once
#include "models/plan/memory_plan.hpp"

#include <carmina/models/spectral_mixture.hpp>

namespace carmina {

constexpr Index usual_learning_rows = 20000;

// A task as far as memory goes.
struct MixtureShape {
  Inference inference = Inference::fourier;
  double n = 0, learning = 0;  // rows, and those that parameters are learnt from
  double d = 0, p = 0;         // inputs, outputs
  double m = 0, order = 0;     // feature columns, and coefficients of all outputs together
  double mixtures = 0, starts = 1, draws = 1;
  double groups = 1;  // of outputs whose targets are there in the same rows, at most p
  double inducing = 0;
  double grid = 0;          // places of a sampled series that its spectrum is found on
  double scalar_bytes = 8;  // of the data
};
MixtureShape mixture_shape(const SpectralMixtureOptions& options, Index d, Index p, double n, double learning,
                           double groups, std::size_t scalar_bytes);
// Places of a series, of one input, that is learnt from a sample: up to 2^18 where a quarter of the limit holds their
// transforms.
Index longest_grid(Index d, double n, double learning, double limit);

// Everything of it that can be large.
MemoryUse mixture_memory(const MixtureShape& shape);

struct MixturePlan {
  Index learning = 0;  // rows to learn from
  Index rows_at_once = 0;
  Index longest_grid = 0;
  std::string text;  // for the report
};

// `rows`: of positive weight; when not known, the plan is for few rows. `copies`: the same, a row of integer weight w
// counted w times; not given: as many as rows. `groups` 0: not known. Learning takes options.learning_rows of the
// copies, or where that is 0 as many as fit, at most the usual number. Error when not even that does.
template <Real T>
MixturePlan plan_mixture(const SpectralMixtureOptions& options, const DataRows<T>& source, std::optional<Index> rows,
                         std::optional<double> copies, Index groups);

}  // namespace carmina
