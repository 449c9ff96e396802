// models/evaluation.hpp -- how well a model predicts rows it is shown, in one pass over them.
#pragma once
#include <carmina/models/predictor.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace carmina {

struct Score {
  std::string target;
  double rmse = 0;   // root mean squared error; with the logistic loss that of the target's mean by the probabilities
  double rrmse = 0;  // error relative to predicting the training mean (mathematics.md 2e); NaN when that has no error
  double r2 = 0;     // 1 - squared error / variance of these rows; NaN when they do not vary
  double loss = 0;   // mean of the model's own loss, of this target alone
};

struct Evaluation {
  Index rows = 0;     // with a positive weight and a target
  double weight = 0;  // their sum; the number of rows when there are no weights
  std::vector<Score> targets;
  Score average;  // means over targets; the loss is that of rows, as in the fit's objective
  // Where the model has probabilities: the mean of -log of that of the row's class, and the share of rows whose class
  // has the largest.
  std::optional<double> log_loss, accuracy;
};

// Names of what a machine predicts: its targets', y1, y2, ... where it has none; of joint quantiles target@level.
std::vector<std::string> output_names(const FitRecord& record, Index dim_out);

// Predictions (rows, dim_out) for a block of inputs.
template <Real T>
using BlockPredictions = std::function<Matrix<double>(ConstView<T>)>;

// How well these predictions are, of a model with this record. Rows have the model's targets; those of joint quantiles
// may have the one target that all levels are of. A target that is NaN is missing: its row does not count for that
// target, and the loss of the row is that of its other targets. Scores are weighted means: a row of weight 2 counts as
// two rows, one of weight 0 not at all; means over targets leave out those that no row has. Of several processes each
// has its own rows, and all get the scores of all rows.
template <Real T>
Evaluation evaluate_predictions(const BlockPredictions<T>& predict, const FitRecord& record, Index dim_out,
                                RowSource<T>& rows, const Execution& execution = {},
                                const Communicator* processes = nullptr);

template <Real T>
Evaluation evaluate_machine(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution = {});
template <Real T>
Evaluation evaluate_machine(const Predictor& model, RowSource<T>& rows, const Execution& execution = {},
                            const Communicator* processes = nullptr);

}  // namespace carmina
