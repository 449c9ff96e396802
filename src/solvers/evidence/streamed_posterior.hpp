// solvers/evidence/streamed_posterior.hpp -- the posterior of a process made of Fourier features, from rows that are
// read block by block.
#pragma once
#include "core/checkpoint.hpp"
#include "solvers/evidence/fourier_evidence.hpp"

#include <carmina/core/communicator.hpp>
#include <carmina/data/rows.hpp>

#include <vector>

namespace carmina {

// A source, the number of its rows, how many are read together, and the processes that have the others.
template <Real T>
struct CountedRows {
  RowSource<T>& source;
  Index rows;
  Index at_once = Index{1} << 14;
  const Communicator* processes = nullptr;
};

// What FourierEvidence<double>::posterior gives for all rows, targets about `origin` (p), in one pass of O(n M^2) for
// each group: of the rows nothing is kept but the sums of their features, which are made in double, since rounding of
// the sums counts beside the identity in A = I + sum_a Psi_aᵀ Psi_a / v_a. `groups` divides the outputs into those
// whose targets are there (not NaN) in the same rows. The sums of each are kept as loops of this name.
template <Real T>
FourierPosterior streamed_posterior(const CountedRows<T>& rows, const WeightedFrequencies& at,
                                    const Vector<double>& origin, const std::vector<std::vector<Index>>& groups,
                                    const Execution& execution, const SavedLoop& saved = {});

}  // namespace carmina
