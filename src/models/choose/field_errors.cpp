// models/choose/field_errors.cpp -- the kernel matrix over rows and outputs, and errors of groups of its entries.
#include "models/choose/field_errors.hpp"
#include "features/operator_map.hpp"

#include <cmath>
#include <limits>

namespace carmina {

template <Real T>
FieldSystem<T>::FieldSystem(const HeldRows<T>& held, const Kernel& kernel, const FitOptions& options)
    : weights_(Vector<double>::Ones(held.rows())), execution_(options.execution) {
  const Index n = held.rows(), p = held.Y.cols();
  if (held.weights.size() > 0) weights_ = held.weights.template cast<double>();
  std::vector<Index> seen;  // entries, row after row
  for (Index i = 0; i < n * p; ++i) {
    if (std::isnan(held.Y(i / p, i % p))) continue;
    seen.push_back(i);
    row_of_.push_back(i / p);
  }
  const Matrix<double> K = OperatorMap<T>(kernel, held.X, p, *options.transform).gram(execution_);
  const auto count = std::ssize(seen);
  K_ = K(seen, seen);
  Y_.resize(count, 1);
  E_ = Matrix<double>::Zero(count, options.fit_intercept ? p : 0);
  for (Index k = 0; k < count; ++k) {
    const Index i = seen[static_cast<std::size_t>(k)];
    Y_(k, 0) = static_cast<double>(held.Y(i / p, i % p));
    if (options.fit_intercept) E_(k, i % p) = 1;
  }
}

template <Real T>
Vector<double> FieldSystem<T>::squares(double alpha, const std::vector<Index>& groups) const {
  Matrix<double> M = K_;
  std::vector<Index> of_entries;
  for (std::size_t k = 0; k < row_of_.size(); ++k) {
    M(static_cast<Index>(k), static_cast<Index>(k)) += alpha / weights_[row_of_[k]];
    of_entries.push_back(groups[static_cast<std::size_t>(row_of_[k])]);
  }
  const auto found = leave_groups_out(std::move(M), Y_, E_, members_of(of_entries), execution_);
  if (!found) return {};
  Vector<double> sums = Vector<double>::Zero(weights_.size());
  for (std::size_t k = 0; k < row_of_.size(); ++k) {
    sums[row_of_[k]] += std::pow(found->residuals(static_cast<Index>(k), 0), 2);
  }
  return sums;
}

template <Real T>
double FieldSystem<T>::error(double alpha, const std::vector<Index>& groups) const {
  const Vector<double> found = squares(alpha, groups);
  const double error =
      found.size() == 0 ? std::numeric_limits<double>::infinity() : found.dot(weights_) / (2 * weights_.sum());
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

template class FieldSystem<float>;
template class FieldSystem<double>;

}  // namespace carmina
