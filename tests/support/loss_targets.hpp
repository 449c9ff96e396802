// tests/support/loss_targets.hpp -- targets of any size as those that a loss takes.
#pragma once
#include <carmina/losses/loss.hpp>

namespace carmina::testing {

// Signs about `middle` for the hinge loss and for the logistic one of one output; of several, 1 where the largest is.
template <class T>
Matrix<T> targets_for(const Loss& loss, Matrix<T> Y, double middle = 0) {
  const bool logistic = std::holds_alternative<Logistic>(loss);
  if (logistic && Y.cols() > 1) {
    for (Index i = 0; i < Y.rows(); ++i) {
      Index largest = 0;
      Y.row(i).maxCoeff(&largest);
      Y.row(i).setZero();
      Y(i, largest) = 1;
    }
  } else if (logistic || std::holds_alternative<Hinge>(loss)) {
    Y = Y.unaryExpr([middle](T y) { return static_cast<double>(y) > middle ? T(1) : T(-1); });
  }
  return Y;
}

}  // namespace carmina::testing
