// models/fit/ways.hpp -- the table of ways to fit: name, when it applies, what it holds, what it costs, how it runs.
//
// Fits, paths of alphas, cross-validation, the memory plan, the check of options and help texts all read it. A new
// solver is a file beside ways_fourier.cpp and its line in ways().
#pragma once
#include "models/fit/fit_pipeline.hpp"
#include "models/plan/memory_plan.hpp"

namespace carmina {

template <Real T>
struct Way : WayInfo {
  KernelMachine<T> (*run)(FitPipeline<T>& fit, const Way& way) = nullptr;
  // A squared-loss problem whose systems are in memory: paths of alphas and cross-validation start from it too.
  PosedProblem<T> (*pose)(FitPipeline<T>& fit) = nullptr;
};

// In the order of preference.
template <Real T>
const std::vector<Way<T>>& ways();

// The parts of the table: normal equations and iterations of Fourier features, kernel matrices, sketches, targets that
// are missing, other losses.
template <Real T>
std::vector<Way<T>> fourier_ways();
template <Real T>
std::vector<Way<T>> exact_ways();
template <Real T>
std::vector<Way<T>> sketched_ways();
template <Real T>
std::vector<Way<T>> missing_ways();
template <Real T>
std::vector<Way<T>> missing_dual_ways();
template <Real T>
std::vector<Way<T>> loss_ways();

// The same without how they run.
template <Real T>
std::vector<const WayInfo*> way_table() {
  std::vector<const WayInfo*> table;
  for (const Way<T>& way : ways<T>()) table.push_back(&way);
  return table;
}

// Solvers that some way offers for this approximation, loss and kernel, in the order of the table; "auto" first.
std::vector<Solver> solvers_for(const FitTask& task);
// Error, beginning with `what`, unless the solver asked for factors its system or may be such.
void require_factors(const FitTask& task, const std::string& what);

// Solves a posed problem: what every `direct` way does. The errors of rows left out go to the pipeline; the sums of a
// primal problem, or its matrix, are overwritten. Where targets are missing each pattern is solved alone, from sums of
// its own.
template <Real T>
LinearSolution solve_posed(FitPipeline<T>& fit, PosedSystem<T>& posed, Moments* sums, double alpha);
template <Real T>
KernelMachine<T> run_posed(FitPipeline<T>& fit, const Way<T>& way);

// Parts that several ways hold, in bytes of memory_plan.hpp.
constexpr double number_bytes = 8;
inline double square(double x) { return x * x; }
void add_map(MemoryUse& use, const FitTask& task);
void add_products(MemoryUse& use, const FitTask& task);
void add_vectors(MemoryUse& use, double length, double count);
double eigen_workspace(double order);
void add_system(MemoryUse& use, const char* what, double order, bool by_eigen);
void add_moments(MemoryUse& use, const FitTask& task, double width, double copies);
void add_rows(MemoryUse& use, const FitTask& task, double copies_of_inputs);
// Where targets are missing, the sums of all patterns that the machine keeps: in a quarter of the memory budget.
void add_kept_patterns(MemoryUse& use, const FitTask& task);
bool keeps_pattern_sums(const FitTask& task);
// What the errors of rows left out take beside a system of this order, of features (0: of the rows).
void add_left_out(MemoryUse& use, const FitTask& task, double order, double features = 0);
// Of a path of alphas or of folds, beside the one system.
void add_many_alphas(MemoryUse& use, const FitTask& task, double order);

}  // namespace carmina
