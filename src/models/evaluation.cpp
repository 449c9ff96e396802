// models/evaluation.cpp -- sums of squared errors, block by block.
#include <carmina/core/error.hpp>
#include <carmina/models/evaluation.hpp>

#include <cmath>
#include <limits>

namespace carmina {

template <Real T>
Evaluation evaluate_machine(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution) {
  constexpr Index at_once = 1 << 14;
  const Index p = machine.dim_out();
  require(rows.dim_out() == p, "evaluate: the data has {} targets, the model {}", rows.dim_out(), p);
  const FitRecord& record = machine.record();
  // Squares about the training mean; the rows' own variance follows from them and the sums.
  Vector<double> error = Vector<double>::Zero(p), square = error, sum = error;
  Evaluation result;
  rows.rewind();
  for (auto block = rows.next(at_once); block.rows > 0; block = rows.next(at_once)) {
    const Matrix<T> predicted = machine.predict(block.inputs(), execution);
    const Matrix<double> Y = block.targets().template cast<double>();
    const Matrix<double> centred = Y.rowwise() - record.target_mean.transpose();
    error += (predicted.template cast<double>() - Y).colwise().squaredNorm().transpose();
    square += centred.colwise().squaredNorm().transpose();
    sum += centred.colwise().sum().transpose();
    result.rows += block.rows;
    execution.checkpoint({"evaluating", result.rows, rows.rows().value_or(0)});
  }
  require(result.rows > 0, "evaluate: there are no rows");
  const auto n = static_cast<double>(result.rows);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  result.average.target = "average";
  for (Index j = 0; j < p; ++j) {
    Score score;
    const auto index = static_cast<std::size_t>(j);
    score.target = index < record.target_names.size() ? record.target_names[index] : fmt::format("y{}", j + 1);
    const double variance = square[j] - sum[j] * sum[j] / n;
    score.rmse = std::sqrt(error[j] / n);
    score.rrmse = square[j] > 0 ? std::sqrt(error[j] / square[j]) : none;
    score.r2 = variance > 1e-14 * square[j] ? 1 - error[j] / variance : none;
    score.loss = error[j] / (2 * n);
    result.average.rmse += score.rmse / static_cast<double>(p);
    result.average.rrmse += score.rrmse / static_cast<double>(p);
    result.average.r2 += score.r2 / static_cast<double>(p);
    result.average.loss += score.loss;
    result.targets.push_back(std::move(score));
  }
  return result;
}

template Evaluation evaluate_machine(const KernelMachine<float>&, RowSource<float>&, const Execution&);
template Evaluation evaluate_machine(const KernelMachine<double>&, RowSource<double>&, const Execution&);

}  // namespace carmina
