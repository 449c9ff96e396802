// models/fit/summary.cpp -- sums of the first pass, in double and in the order of the rows.
#include "models/fit/summary.hpp"
#include "models/fit/missing_targets.hpp"
#include "models/fit/row_sample.hpp"
#include "models/fit/row_statistics.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/plan/memory_plan.hpp"

#include <carmina/core/error.hpp>
#include <carmina/random/philox.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace carmina {
namespace {

void require_values(bool any, const char* what, Index column, const std::vector<std::string>& names) {
  const auto j = static_cast<std::size_t>(column);
  require(any, "fit: {} column {}{} has no values: every row has NaN there; leave the column out", what, column + 1,
          j < names.size() ? format_text(" ('{}')", names[j]) : "");
}

}  // namespace

template <Real T>
void check_row(const DataRows<T>& rows, const RowBlock<T>& block, Index i, const RowGaps& gaps) {
  const T* x = block.X + i * block.x_stride;
  for (Index j = 0; j < block.dim_in; ++j) {
    if (std::isfinite(x[j])) continue;
    if (std::isinf(x[j])) fail("{}: input column {} is infinite", rows.place(i), j + 1);
    if (!gaps.inputs) fail("{}: input column {} is NaN; {}", rows.place(i), j + 1, gaps.input_advice);
  }
  const T* y = block.Y + i * block.y_stride;
  for (Index j = 0; j < block.dim_out; ++j) {
    if (std::isfinite(y[j]) || (gaps.targets && std::isnan(y[j]))) continue;
    fail("{}: target column {} is {}", rows.place(i), j + 1, gaps.targets ? "infinite" : "NaN or infinite");
  }
  if (block.weights && !(block.weights[i] >= 0 && std::isfinite(block.weights[i]))) {
    fail("{}: a weight must be finite and not negative, found {}", rows.place(i), block.weights[i]);
  }
}
template void check_row(const DataRows<float>&, const RowBlock<float>&, Index, const RowGaps&);
template void check_row(const DataRows<double>&, const RowBlock<double>&, Index, const RowGaps&);

namespace {

// From the counts of this process to those of all, and what its rows follow.
template <Real T>
void count_all(const DataRows<T>& rows, DataSummary& summary) {
  struct Counts {
    double copies;
    Index rows, without_target;
  };
  const Communicator& processes = *rows.processes();
  const std::vector<Counts> all =
      processes.gather(std::vector<Counts>{{summary.copies, summary.rows, summary.without_target}});
  summary.copies = 0;
  summary.rows = summary.without_target = 0;
  for (int k = 0; k < processes.size(); ++k) {
    if (k == processes.rank()) rows.set_before({summary.rows, summary.copies});
    const Counts& own = all[static_cast<std::size_t>(k)];
    summary.copies += own.copies;
    summary.rows += own.rows;
    summary.without_target += own.without_target;
  }
}

}  // namespace

namespace {

// Rows [begin, end) of a block, which a thread adds up; of these [whole_begin, whole_end) are whole runs.
struct RowPiece {
  static constexpr Index most_runs = 32;

  Index begin, end, whole_begin, whole_end;
  RowStatisticsTree statistics;        // of the whole runs
  Index rows = 0, without_target = 0;  // of positive weight
  double copies = 0;
  bool wrong = false;                // a cell or a weight is what none may be
  bool lacking = false;              // a row has some of its targets
  std::vector<Index> to_offer = {};  // rows that a sample may take

  bool in_whole_run(Index i) const { return whole_begin <= i && i < whole_end; }
};

// Those of a block: they end at multiples of their length among all rows.
template <Real T>
std::vector<RowPiece> pieces_of(const RowBlock<T>& block, bool covariance) {
  constexpr Index run = RowStatisticsTree::run, longest = RowPiece::most_runs * run;
  std::vector<RowPiece> pieces;
  for (Index begin = 0, end = 0; begin < block.rows; begin = end) {
    end = std::min(block.rows, begin + longest - (block.first_row + begin) % longest);
    const Index first = (block.first_row + begin + run - 1) / run, last = (block.first_row + end) / run;
    const Index whole_begin = std::min(end, first * run - block.first_row);
    pieces.push_back({begin, end, whole_begin, std::max(whole_begin, last * run - block.first_row),
                      RowStatisticsTree(block.dim_in, block.dim_out, covariance, first * run)});
  }
  return pieces;
}

// Whether all cells are numbers, or NaN where that is allowed; which one is not is for check_row().
template <Real T>
bool plausible_row(const RowBlock<T>& block, Index i, bool fill_missing) {
  const T *x = block.X + i * block.x_stride, *y = block.Y + i * block.y_stride;
  bool good = !block.weights || (block.weights[i] >= 0 && std::isfinite(block.weights[i]));
  for (Index j = 0; j < block.dim_in; ++j) good &= std::isfinite(x[j]) || (fill_missing && std::isnan(x[j]));
  for (Index j = 0; j < block.dim_out; ++j) good &= !std::isinf(y[j]);
  return good;
}

template <Real T>
double weight_of(const RowBlock<T>& block, Index i) {
  return block.weights ? static_cast<double>(block.weights[i]) : 1.0;
}
template <Real T>
Index lacking_of(const RowBlock<T>& block, Index i) {
  return block.targets().row(i).array().isNaN().count();
}
// Of positive weight, with a target.
template <Real T>
bool counts(const RowBlock<T>& block, Index i) {
  return weight_of(block, i) != 0 && (block.dim_out == 0 || lacking_of(block, i) < block.dim_out);
}

// Row i, of positive weight and with a target.
template <Real T>
void count_row(const RowBlock<T>& block, Index i, double w, const RowSample* sample, RowPiece& piece) {
  ++piece.rows;
  piece.copies += weight_copies(w);
  if (sample && !sample->refuses(block.first_row + i, w)) piece.to_offer.push_back(i);
}

// `sample` null: none is wanted.
template <Real T>
void add_up(const RowBlock<T>& block, bool fill_missing, const RowSample* sample, RowPiece& piece) {
  constexpr Index run = RowStatisticsTree::run;
  const auto add_row = [&](Index i) {
    const double w = weight_of(block, i);
    if (w == 0) return;
    if (!counts(block, i)) {
      ++piece.without_target;
      return;
    }
    count_row(block, i, w, sample, piece);
    piece.lacking = piece.lacking || lacking_of(block, i) > 0;
    if (piece.in_whole_run(i)) {
      piece.statistics.add(block.first_row + i, block.inputs().row(i), block.targets().row(i), w);
    }
  };
  for (Index i = piece.begin; i < piece.end; ++i) {
    const Index first = block.first_row + i;
    const bool whole_run = !block.weights && piece.in_whole_run(i) && first % run == 0;
    if (whole_run && piece.statistics.add_run(first, block.X + i * block.x_stride, block.x_stride,
                                              block.Y + i * block.y_stride, block.y_stride)) {
      for (const Index end = i + run; i < end; ++i) count_row(block, i, 1, sample, piece);
      --i;
      continue;
    }
    if (!plausible_row(block, i, fill_missing)) {
      piece.wrong = true;
      return;
    }
    add_row(i);
  }
}

}  // namespace

template <Real T>
DataSummary summarize(const DataRows<T>& rows, bool fill_missing, bool want_covariance, const Execution& execution,
                      bool want_sample, const Loss* loss, const std::vector<std::string>& names) {
  const Index d = rows.dim_in(), p = rows.dim_out();
  require(d > 0, "fit: X has no columns");
  rows.ignore_rows_without_target(false);
  DataSummary summary;
  RowSample sample;
  RowStatisticsTree statistics(d, p, want_covariance, rows.first_row());
  MissingTargets missing(p);
  Vector<double> target_row;
  Index end = rows.first_row();
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    const auto X = block.inputs();
    const auto Y = block.targets();
    end = block.first_row + block.rows;
    std::vector<RowPiece> pieces = pieces_of(block, want_covariance);
    parallel_for(static_cast<Index>(pieces.size()), execution.thread_count(), [&](Index task, int) {
      add_up(block, fill_missing, want_sample ? &sample : nullptr, pieces[static_cast<std::size_t>(task)]);
    });
    // In the order of the rows: the first that is wrong, targets that the loss does not take, those that lack.
    const bool wrong = std::any_of(pieces.begin(), pieces.end(), [](const RowPiece& piece) { return piece.wrong; });
    for (Index i = 0; (wrong || loss) && i < block.rows; ++i) {
      if (wrong) check_row(rows, block, i, {.inputs = fill_missing, .targets = true});
      if (!loss) continue;
      target_row = Y.row(i).transpose().template cast<double>();
      check_targets(*loss, target_row.data(), p, [&] { return "fit: " + rows.place(i); });
    }
    for (RowPiece& piece : pieces) {
      summary.rows += piece.rows;
      summary.without_target += piece.without_target;
      summary.copies += piece.copies;
      const auto add_rows = [&](Index begin, Index end_of_rows) {
        for (Index i = begin; i < end_of_rows; ++i) {
          if (counts(block, i)) statistics.add(block.first_row + i, X.row(i), Y.row(i), weight_of(block, i));
        }
      };
      constexpr Index run = RowStatisticsTree::run;
      add_rows(piece.begin, piece.whole_begin);
      if (piece.whole_end > piece.whole_begin) {
        statistics.append(piece.statistics, (block.first_row + piece.whole_begin) / run,
                          (block.first_row + piece.whole_end) / run);
      }
      add_rows(piece.whole_end, piece.end);
      for (Index i = piece.begin; piece.lacking && i < piece.end; ++i) {
        if (!counts(block, i) || lacking_of(block, i) == 0) continue;
        missing.add(Y.row(i), block.first_row + i, weight_copies(weight_of(block, i)));
      }
      for (const Index i : piece.to_offer) sample.offer(X.row(i), block.first_row + i, weight_of(block, i));
    }
  });
  const Communicator* processes = rows.processes();
  const Index own_rows = summary.rows;
  if (processes) count_all(rows, summary);
  require(summary.rows > 0 || summary.without_target == 0,
          "fit: no row has a target: all {} rows with a positive weight have NaN for every output",
          summary.without_target);
  require(summary.rows > 0, "fit: there are no rows with a positive weight");
  summary.patterns = missing.patterns(summary.rows, summary.copies, own_rows, processes);
  for (const TargetPattern& pattern : summary.patterns) {
    require_values(pattern.rows > 0, "target", pattern.columns[0], names);
  }
  const RowStatistics found = statistics.total(end, processes);
  summary.weight = found.weight;
  check_total_weight(summary.weight);
  rows.ignore_rows_without_target(summary.without_target > 0);
  rows.take_missing_targets(summary.has_missing_targets());
  summary.input_mean = found.inputs.mean;
  summary.input_weight = found.inputs.weight;
  summary.input_deviation = (found.inputs.square / summary.weight).cwiseSqrt();
  summary.target_mean = found.targets.mean;
  summary.target_weight = found.targets.weight;
  summary.target_reach = (found.targets.high - found.targets.low).cwiseMax(0);
  if (want_covariance) {
    require(summary.weight > 1, "fit: the covariance of the targets needs at least 2 rows");
    summary.target_covariance = covariance_of(found.pairs, summary.has_missing_targets());
  }
  if (processes && want_sample) sample.share(d, *processes);
  sample.move_to(summary, d);
  return summary;
}

void check_input_values(const DataSummary& summary, const std::vector<std::string>& names) {
  for (Index j = 0; j < summary.input_weight.size(); ++j) {
    require_values(summary.input_weight[j] > 0, "input", j, names);
  }
}

void check_total_weight(double weight) {
  require(std::isfinite(weight), "fit: the weights of the rows add up to infinity; divide all of them by one number");
}

void count_without_target(Index rows, SolveReport& report) {
  if (rows == 0) return;
  report.message +=
      format_text("{}{} {}", report.message.empty() ? "" : "; ", rows,
                  rows == 1 ? "row has no target and was ignored" : "rows have no target and were ignored");
}

#define CARMINA_INSTANTIATE(T)                                                                        \
  template DataSummary summarize(const DataRows<T>&, bool, bool, const Execution&, bool, const Loss*, \
                                 const std::vector<std::string>&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
