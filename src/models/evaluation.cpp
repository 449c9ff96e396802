// models/evaluation.cpp -- sums of squared errors and of losses, block by block.
#include "repeated_targets.hpp"

#include <carmina/core/error.hpp>
#include <carmina/losses/row_functions.hpp>
#include <carmina/models/evaluation.hpp>

#include <cmath>
#include <limits>

namespace carmina {

namespace {

// Sums over rows of l(f, y), for each output on its own and for whole rows.
template <class L>
void add_losses(const L& loss, const Matrix<double>& F, const Matrix<double>& Y, Vector<double>& single,
                double& whole) {
  const Index p = Y.cols();
  for (Index i = 0; i < Y.rows(); ++i) {
    const double *f = F.row(i).data(), *y = Y.row(i).data();
    whole += row_value(loss, f, y, p);
    for (Index j = 0; j < p; ++j) {
      if constexpr (RadialLoss<L>) {
        single[j] += loss.value(std::abs(f[j] - y[j]));
      } else {
        single[j] += loss.value(f[j], y[j], j);
      }
    }
  }
}

}  // namespace

std::vector<std::string> output_names(const FitRecord& record, Index dim_out) {
  const auto* pinball = record.joint_quantiles ? std::get_if<Pinball>(&record.loss) : nullptr;
  std::vector<std::string> names = record.target_names;
  if (pinball) {
    const std::string target = names.empty() ? "y" : names[0];
    names.clear();
    for (const double level : pinball->levels) names.push_back(format_text("{}@{}", target, level));
  }
  while (static_cast<Index>(names.size()) < dim_out) names.push_back(format_text("y{}", names.size() + 1));
  return names;
}

template <Real T>
Evaluation evaluate_machine(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution) {
  constexpr Index at_once = 1 << 14;
  const Index p = machine.dim_out();
  if (machine.record().joint_quantiles && rows.dim_out() == 1 && p > 1) {
    RepeatedTargets<T> repeated(rows, p);
    return evaluate_machine<T>(machine, repeated, execution);
  }
  require(rows.dim_out() == p, "evaluate: the data has {} targets, the model {}", rows.dim_out(), p);
  const FitRecord& record = machine.record();
  // Squares about the training mean; the rows' own variance follows from them and the sums.
  Vector<double> error = Vector<double>::Zero(p), square = error, sum = error, loss = error;
  double whole_loss = 0;
  Evaluation result;
  rows.rewind();
  for (auto block = rows.next(at_once); block.rows > 0; block = rows.next(at_once)) {
    const Matrix<double> predicted = machine.predict(block.inputs(), execution).template cast<double>();
    const Matrix<double> Y = block.targets().template cast<double>();
    const Matrix<double> centred = Y.rowwise() - record.target_mean.transpose();
    error += (predicted - Y).colwise().squaredNorm().transpose();
    square += centred.colwise().squaredNorm().transpose();
    sum += centred.colwise().sum().transpose();
    std::visit([&](const auto& l) { add_losses(l, predicted, Y, loss, whole_loss); }, record.loss);
    result.rows += block.rows;
    execution.checkpoint({"evaluating", result.rows, rows.rows().value_or(0)});
  }
  require(result.rows > 0, "evaluate: there are no rows");
  const auto n = static_cast<double>(result.rows);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  result.average.target = "average";
  result.average.loss = whole_loss / n;
  const std::vector<std::string> names = output_names(record, p);
  for (Index j = 0; j < p; ++j) {
    Score score;
    score.target = names[static_cast<std::size_t>(j)];
    const double variance = square[j] - sum[j] * sum[j] / n;
    score.rmse = std::sqrt(error[j] / n);
    score.rrmse = square[j] > 0 ? std::sqrt(error[j] / square[j]) : none;
    score.r2 = variance > 1e-14 * square[j] ? 1 - error[j] / variance : none;
    score.loss = loss[j] / n;
    result.average.rmse += score.rmse / static_cast<double>(p);
    result.average.rrmse += score.rrmse / static_cast<double>(p);
    result.average.r2 += score.r2 / static_cast<double>(p);
    result.targets.push_back(std::move(score));
  }
  return result;
}

template Evaluation evaluate_machine(const KernelMachine<float>&, RowSource<float>&, const Execution&);
template Evaluation evaluate_machine(const KernelMachine<double>&, RowSource<double>&, const Execution&);

}  // namespace carmina
