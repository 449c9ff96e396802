// models/fit/fit_task.hpp -- a fit as the table of ways sees it: what is asked for, and its sizes.
#pragma once
#include "data/data_rows.hpp"

#include <carmina/models/fit_options.hpp>

#include <array>
#include <string>
#include <string_view>

namespace carmina {

enum class Approximation { fourier, exact, sketch };
// Its words, in its order; the words of a sketch are names of sketches.
inline constexpr std::array<std::string_view, 2> approximation_words{"fourier", "exact"};
inline constexpr std::string_view fourier_word = approximation_words[0];
Approximation parse_approximation(const std::string& word);

// A solver by the word of FitOptions for it. The table of ways has them all; those that several of its files name are
// here.
struct Solver {
  std::string_view word;
  bool factors = false;  // its system is in memory: paths of alphas, rows left out and sums to be kept come with that
  bool batches = false;  // it takes some rows after the other: no several processes
  static const Solver automatic, direct, cg;

  bool operator==(const Solver&) const = default;
};
inline constexpr Solver Solver::automatic{"auto"}, Solver::direct{"direct", true}, Solver::cg{"cg"};

Solver parse_solver(const std::string& word);  // Error for one that the table has not

// What a task is besides options and sizes: what a plan with other sizes keeps.
struct TaskKind {
  // Not one fit but a path of alphas, perhaps with rows left out one by one, or the folds of a cross-validation.
  bool path = false, leave_one_out = false;
  double folds = 0;
  bool divided = false;  // among processes, even if there is one

  // Some rows have targets for some outputs alone (models/fit/summary.hpp): so many of n p are there, in so many
  // patterns, and no coupling joins outputs of different ones, which are then problems of their own.
  bool missing = false;
  double seen_share = 1, patterns = 1, rank = 1;  // the last of A, where the kernel is separable
  bool patterns_apart = true;

  // Systems that are solved one after the other; or targets of one output depend on those of others.
  bool apart() const { return !missing || patterns_apart; }
};

struct FitTask : TaskKind {
  const FitOptions& options;
  Approximation approximation;
  std::optional<sketches::Distribution> sketch;
  Solver solver;
  double alpha;          // given or chosen
  bool squared, smooth;  // the loss

  double n = 0;             // rows
  double d = 0, p = 0;      // inputs, outputs
  double m = 0;             // scalar features of a Fourier map, components of a sketch
  double order = 0;         // coefficients of a Fourier model that is not separable, else m
  bool separable = true;    // the kernel is k A: outputs are separate in the eigenbasis of A
  bool by_eigen = false;    // systems of so many different kinds that they share an eigendecomposition
  double scalar_bytes = 8;  // of the data

  // What is asked for, without sizes.
  explicit FitTask(const FitOptions& options);
  FitTask(const FitOptions& options, Index dim_in, Index dim_out, double rows, std::size_t bytes);

  bool automatic() const { return solver == Solver::automatic; }
  bool takes(const Solver& one) const { return automatic() || solver == one; }
  bool may_factor() const { return automatic() || solver.factors; }  // and not iterate
  bool fourier() const { return approximation == Approximation::fourier; }
  bool exact() const { return approximation == Approximation::exact; }
  bool sketched() const { return approximation == Approximation::sketch; }
  // A sub-sample of the rows, not weighted: its features can be made again of the anchors.
  bool anchors_alone() const {
    const auto* chosen = sketch ? std::get_if<sketches::SubSample>(&*sketch) : nullptr;
    return chosen && chosen->weights.size() == 0 && separable;
  }
  // What deviations of predictions are made of: sums over the rows, or the kernel matrix of an exact machine.
  bool keeps_moments() const { return fourier() || anchors_alone(); }
  bool has_deviations() const { return keeps_moments() || exact(); }
  std::string approximation_name() const;                 // for a record: "fourier", "exact" or a sketch's name
  bool fewer_rows() const { return separable && n < m; }  // than features
  double kernel_order() const { return separable ? n : n * p; }
  // Error where it takes all rows in one process and they are divided.
  void check_divided() const;
  double seen() const { return n * p * seen_share; }  // targets that are there
  RowGrid grid() const;
};

}  // namespace carmina
