// models/fit/learn_from_rows.hpp -- a kernel and its noise learnt by evidence from a source of rows.
#pragma once
#include "data/data_rows.hpp"
#include "models/file/checkpoint_file.hpp"
#include "models/fit/learn_kernel.hpp"

#include <carmina/models/report.hpp>

namespace carmina {

// Reads the rows twice: for the summary that a fit makes too, and for those it learns from.
template <Real T>
LearntKernel learn_from_rows(DataRows<T>& rows, const FitOptions& options, SolveReport& report,
                             CheckpointFile* checkpoint = nullptr);

}  // namespace carmina
