// solvers/streamed_posterior.hpp -- the posterior of a process made of Fourier features, from rows that are read block
// by block.
#pragma once
#include <carmina/data/rows.hpp>
#include <carmina/solvers/fourier_evidence.hpp>

#include <vector>

namespace carmina {

// Blocks of the pass: rows asked of the source together, rows of features held at once.
struct PosteriorBlocks {
  Index rows_at_once = 4096, feature_rows = 1024;
};

// What FourierEvidence<double>::posterior gives for all rows of the source, targets about `origin` (p), in one pass of
// O(n M^2): of the rows nothing is kept but the sums of their features, which are made in double, since rounding of the
// sums counts beside the identity in A = I + sum_a Psi_aᵀ Psi_a / v_a. `groups` divides the outputs into those whose
// targets are there (not NaN) in the same rows.
template <Real T>
FourierPosterior streamed_posterior(RowSource<T>& rows, const WeightedFrequencies& at, const Vector<double>& origin,
                                    const std::vector<std::vector<Index>>& groups, const PosteriorBlocks& blocks,
                                    const Execution& execution);

}  // namespace carmina
