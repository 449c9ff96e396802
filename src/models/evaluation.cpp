// models/evaluation.cpp -- sums of squared errors and of losses, block by block.
#include "repeated_targets.hpp"

#include <carmina/core/error.hpp>
#include <carmina/losses/row_functions.hpp>
#include <carmina/models/evaluation.hpp>

#include <cmath>
#include <limits>

namespace carmina {

namespace {

// Sums over the rows whose targets are there.
struct ErrorSums {
  Vector<double> weight, error, square, sum, loss;  // squares and sums of y about the training mean
  double whole_rows = 0, whole_loss = 0;

  explicit ErrorSums(Index p)
      : weight(Vector<double>::Zero(p)), error(weight), square(weight), sum(weight), loss(weight) {}

  template <class L>
  void add(const L& own, const Matrix<double>& F, const Matrix<double>& Y, const Vector<double>& mean) {
    const Index p = Y.cols();
    for (Index i = 0; i < Y.rows(); ++i) {
      const double *f = F.row(i).data(), *y = Y.row(i).data();
      bool whole = true;
      for (Index j = 0; j < p; ++j) {
        if (std::isnan(y[j])) {
          whole = false;
          continue;
        }
        const double from_mean = y[j] - mean[j];
        weight[j] += 1;
        error[j] += (f[j] - y[j]) * (f[j] - y[j]);
        square[j] += from_mean * from_mean;
        sum[j] += from_mean;
        if constexpr (RadialLoss<L>) {
          loss[j] += own.value(std::abs(f[j] - y[j]));
        } else {
          loss[j] += own.value(f[j], y[j], j);
        }
      }
      if (!whole) continue;
      whole_rows += 1;
      whole_loss += row_value(own, f, y, p);
    }
  }
};

}  // namespace

std::vector<std::string> output_names(const FitRecord& record, Index dim_out) {
  const auto* pinball = record.joint_quantiles ? std::get_if<Pinball>(&record.loss) : nullptr;
  std::vector<std::string> names = record.target_names;
  if (pinball) {
    const std::string target = names.empty() ? "y" : names[0];
    names.clear();
    for (const double level : pinball->levels) names.push_back(fmt::format("{}@{}", target, level));
  }
  while (static_cast<Index>(names.size()) < dim_out) names.push_back(fmt::format("y{}", names.size() + 1));
  return names;
}

template <Real T>
Evaluation evaluate_predictions(const BlockPredictions<T>& predict, const FitRecord& record, Index dim_out,
                                RowSource<T>& rows, const Execution& execution) {
  constexpr Index at_once = 1 << 14;
  const Index p = dim_out;
  if (record.joint_quantiles && rows.dim_out() == 1 && p > 1) {
    RepeatedTargets<T> repeated(rows, p);
    return evaluate_predictions<T>(predict, record, dim_out, repeated, execution);
  }
  require(rows.dim_out() == p, "evaluate: the data has {} targets, the model {}", rows.dim_out(), p);
  ErrorSums sums(p);
  Evaluation result;
  rows.rewind();
  for (auto block = rows.next(at_once); block.rows > 0; block = rows.next(at_once)) {
    const Matrix<double> predicted = predict(block.inputs()), Y = block.targets().template cast<double>();
    std::visit([&](const auto& loss) { sums.add(loss, predicted, Y, record.target_mean); }, record.loss);
    result.rows += block.rows;
    execution.checkpoint({"evaluating", result.rows, rows.rows().value_or(0)});
  }
  require(result.rows > 0, "evaluate: there are no rows");
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  result.average.target = "average";
  result.average.loss = sums.whole_rows > 0 ? sums.whole_loss / sums.whole_rows : none;
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
    result.average.rmse += score.rmse / static_cast<double>(p);
    result.average.rrmse += score.rrmse / static_cast<double>(p);
    result.average.r2 += score.r2 / static_cast<double>(p);
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
Evaluation evaluate_machine(const Predictor& model, RowSource<T>& rows, const Execution& execution) {
  const auto predict = [&](ConstView<T> X) -> Matrix<double> {
    return model.predict(X, execution).template cast<double>();
  };
  return evaluate_predictions<T>(predict, model.record(), model.dim_out(), rows, execution);
}

#define CARMINA_INSTANTIATE(T)                                                                                 \
  template Evaluation evaluate_predictions(const BlockPredictions<T>&, const FitRecord&, Index, RowSource<T>&, \
                                           const Execution&);                                                  \
  template Evaluation evaluate_machine(const KernelMachine<T>&, RowSource<T>&, const Execution&);              \
  template Evaluation evaluate_machine(const Predictor&, RowSource<T>&, const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
