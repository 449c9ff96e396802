// models/fit/checkpoint_facts.hpp -- what the states of a fit depend on: its options, its rows, its kernel and its way.
#pragma once
#include "models/file/checkpoint_file.hpp"
#include "models/fit/fit_pipeline.hpp"
#include "models/fit/merged_rows.hpp"

#include <carmina/models/spectral_mixture.hpp>

namespace carmina {

// Each is an Error where the file is of another fit. What changes no bit is not among them: threads, memory, blocks,
// parts of the rows.
void expect_options(CheckpointFile& file, const FitOptions& options);
void expect_options(CheckpointFile& file, const SpectralMixtureOptions& options);
// What the first pass found.
template <Real T>
void expect_rows(CheckpointFile& file, const DataRows<T>& rows, const DataSummary& summary);
// Those that a mixture is learnt from, of so many.
template <Real T>
void expect_rows(CheckpointFile& file, const MergedRows<T>& some, Index rows, const Vector<double>& target_mean);
void expect_kernel(CheckpointFile& file, const Kernel& kernel, const InputTransform& transform);

// What is remarkable about the file, after other remarks.
void finish(CheckpointFile& file, SolveReport& report);

}  // namespace carmina
