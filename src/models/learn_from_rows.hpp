// models/learn_from_rows.hpp -- a kernel and its noise learnt by evidence from a source of rows.
#pragma once
#include <carmina/data/data_rows.hpp>
#include <carmina/models/learn_kernel.hpp>
#include <carmina/solvers/report.hpp>

namespace carmina {

// Reads the rows twice: for the summary that a fit makes too, and for those it learns from.
template <Real T>
LearntKernel learn_from_rows(DataRows<T>& rows, const FitOptions& options, SolveReport& report);

}  // namespace carmina
