// models/machine/evaluation.cpp -- sums of squared errors and of losses, block by block.
#include "data/data_rows.hpp"
#include "losses/row_functions.hpp"
#include "models/fit/repeated_targets.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {

namespace {

// Weighted sums over the targets that are there, and over the rows that have one.
struct ErrorSums {
  Index rows = 0;
  Vector<double> weight, error, square, sum, loss;  // squares and sums of y about the training mean
  double whole_weight = 0, whole_loss = 0;

  explicit ErrorSums(Index p)
      : weight(Vector<double>::Zero(p)), error(weight), square(weight), sum(weight), loss(weight) {}

  template <class L>
  void add(const L& own, const Matrix<double>& F, const Matrix<double>& expected, const Matrix<double>& Y,
           const Vector<double>& weights, const Vector<double>& mean) {
    const Index p = Y.cols();
    for (Index i = 0; i < Y.rows(); ++i) {
      const double *f = F.row(i).data(), *y = Y.row(i).data();
      const double w = weights[i];
      Index there = 0;
      for (Index j = 0; j < p; ++j) {
        if (std::isnan(y[j])) continue;
        ++there;
        const double from_mean = y[j] - mean[j];
        weight[j] += w;
        const double residual = expected(i, j) - y[j];
        error[j] += w * residual * residual;
        square[j] += w * from_mean * from_mean;
        sum[j] += w * from_mean;
        loss[j] += w * row_part(own, f, y, p, j);
      }
      if (there == 0 || (WholeRowLoss<L> && there < p)) continue;
      ++rows;
      whole_weight += w;
      whole_loss += w * row_value(own, f, y, p);
    }
  }
  void add_others(const Communicator& processes) {
    std::int64_t all = rows;
    processes.sum(&all, 1);
    rows = all;
    for (Vector<double>* one : {&weight, &error, &square, &sum, &loss}) processes.sum(one->data(), one->size());
    processes.sum(&whole_weight, 1);
    processes.sum(&whole_loss, 1);
  }
};

// Of rows whose class is known: -log of its probability, and whether it is the likeliest.
struct ClassSums {
  double weight = 0, log_loss = 0, right = 0;

  // P (n, classes); of one target the classes are -1 and 1.
  void add(const Matrix<double>& P, const Matrix<double>& Y, const Vector<double>& weights) {
    for (Index i = 0; i < Y.rows(); ++i) {
      if (Y.row(i).hasNaN()) continue;
      Index own = 0, likeliest = 0;
      Y.row(i).maxCoeff(&own);
      if (Y.cols() == 1) own = Y(i, 0) > 0 ? 1 : 0;
      P.row(i).maxCoeff(&likeliest);
      weight += weights[i];
      log_loss -= weights[i] * std::log(std::max(P(i, own), std::numeric_limits<double>::min()));
      right += own == likeliest ? weights[i] : 0.0;
    }
  }
  void add_others(const Communicator& processes) {
    for (double* one : {&weight, &log_loss, &right}) processes.sum(one, 1);
  }
};

// The rows of a block that have a weight: those of weight zero are not there, whatever they hold.
template <Real T>
struct WeightedRows {
  Matrix<T> X;
  Matrix<double> Y;
  Vector<double> weights;
};

template <Real T>
WeightedRows<T> weighted_rows(const DataRows<T>& rows, const RowBlock<T>& block) {
  std::vector<Index> kept;
  for (Index i = 0; i < block.rows; ++i) {
    const T w = block.weights[i];
    if (!(w >= 0 && std::isfinite(w))) {
      fail("evaluate: {}: a weight must be finite and not negative, found {}", rows.place(i), w);
    }
    if (w > 0) kept.push_back(i);
  }
  const Eigen::Map<const Vector<T>> weights(block.weights, block.rows);
  return {block.inputs()(kept, Eigen::all), block.targets()(kept, Eigen::all).template cast<double>(),
          weights(kept).template cast<double>()};
}

}  // namespace

template <Real T>
Evaluation evaluate_predictions(const BlockPredictions<T>& predict, const FitRecord& record, Index dim_out,
                                RowSource<T>& rows, const Execution& execution, const Communicator* processes) {
  constexpr Index at_once = 1 << 14;
  const Index p = dim_out;
  if (record.joint_quantiles && rows.dim_out() == 1 && p > 1) {
    RepeatedTargets<T> repeated(rows, p);
    return evaluate_predictions<T>(predict, record, dim_out, repeated, execution, processes);
  }
  require(rows.dim_out() == p, "evaluate: the data has {} targets, the model {}", rows.dim_out(), p);
  ErrorSums sums(p);
  ClassSums classes;
  Evaluation result;
  Index read = 0;
  const auto add = [&](const Matrix<double>& predicted, const Matrix<double>& Y, const Vector<double>& w) {
    Matrix<double> expected = predicted;  // a target's mean
    if (why_no_probabilities(record).empty()) {
      const Matrix<double> P = probabilities_of(record, predicted);
      classes.add(P, Y, w);
      if (has_probabilities(record.loss)) expected = p == 1 ? Matrix<double>(P.col(1) - P.col(0)) : P;
    }
    std::visit([&](const auto& loss) { sums.add(loss, predicted, expected, Y, w, record.target_mean); }, record.loss);
    read += Y.rows();
  };
  DataRows<T> data(rows);
  data.read_at_once(at_once);
  data.for_blocks("evaluating", execution, [&](const RowBlock<T>& block) {
    if (block.weights) {
      const WeightedRows<T> kept = weighted_rows(data, block);
      if (kept.X.rows() > 0) add(predict(kept.X), kept.Y, kept.weights);
    } else {
      add(predict(block.inputs()), block.targets().template cast<double>(), Vector<double>::Ones(block.rows));
    }
  });
  if (processes) {
    sums.add_others(*processes);
    classes.add_others(*processes);
    std::int64_t all = read;
    processes->sum(&all, 1);
    read = all;
  }
  require(read > 0, "evaluate: there are no rows with a positive weight");
  require(sums.rows > 0, "evaluate: no row has a target: all {} rows with a positive weight have NaN for every output",
          read);
  result.rows = sums.rows;
  result.weight = sums.whole_weight;
  const auto with_targets = static_cast<double>((sums.weight.array() > 0).count());
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  result.average.target = "average";
  if (classes.weight > 0) {
    result.log_loss = classes.log_loss / classes.weight;
    result.accuracy = classes.right / classes.weight;
  }
  result.average.loss = sums.whole_weight > 0 ? sums.whole_loss / sums.whole_weight : none;
  const std::vector<std::string> names = output_names(record, p);
  for (Index j = 0; j < p; ++j) {
    Score score;
    score.target = names[static_cast<std::size_t>(j)];
    const double n = sums.weight[j], square = sums.square[j];
    const double variance = n > 0 ? square - sums.sum[j] * sums.sum[j] / n : 0;
    score.rmse = n > 0 ? std::sqrt(sums.error[j] / n) : none;
    score.rrmse = square > 0 ? std::sqrt(sums.error[j] / square) : none;
    score.r2 = variance > 1e-14 * square ? 1 - sums.error[j] / variance : none;
    score.loss = n > 0 ? sums.loss[j] / n : none;
    if (n > 0) {
      result.average.rmse += score.rmse / with_targets;
      result.average.rrmse += score.rrmse / with_targets;
      result.average.r2 += score.r2 / with_targets;
    }
    result.targets.push_back(std::move(score));
  }
  return result;
}

template <Real T>
Evaluation evaluate_machine(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution) {
  const auto predict = [&](ConstView<T> X) -> Matrix<double> {
    return machine.predict(X, execution).template cast<double>();
  };
  return evaluate_predictions<T>(predict, machine.record(), machine.dim_out(), rows, execution);
}

template <Real T>
Evaluation evaluate_machine(const Predictor& model, RowSource<T>& rows, const Execution& execution,
                            const Communicator* processes) {
  const auto predict = [&](ConstView<T> X) -> Matrix<double> {
    return model.predict(X, execution).template cast<double>();
  };
  return evaluate_predictions<T>(predict, model.record(), model.dim_out(), rows, execution, processes);
}

#define CARMINA_INSTANTIATE(T)                                                                                 \
  template Evaluation evaluate_predictions(const BlockPredictions<T>&, const FitRecord&, Index, RowSource<T>&, \
                                           const Execution&, const Communicator*);                             \
  template Evaluation evaluate_machine(const KernelMachine<T>&, RowSource<T>&, const Execution&);              \
  template Evaluation evaluate_machine(const Predictor&, RowSource<T>&, const Execution&, const Communicator*);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
