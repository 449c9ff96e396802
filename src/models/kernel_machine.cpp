// models/kernel_machine.cpp -- prediction: the map's product, the output root, the intercept.
#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <algorithm>

namespace carmina {

template <Real T>
KernelMachine<T>::KernelMachine(Kernel kernel, Map map, Matrix<T> coefficients, Matrix<T> output_root,
                                Vector<T> intercept, FitRecord record)
    : kernel_(std::move(kernel)),
      map_(std::move(map)),
      coefficients_(std::move(coefficients)),
      output_root_(std::move(output_root)),
      intercept_(std::move(intercept)),
      record_(std::move(record)) {
  const Index features = std::visit([](const auto& m) { return m.n_features(); }, map_);
  require(coefficients_.rows() == features, "model: {} rows of coefficients for {} features", coefficients_.rows(),
          features);
  if (output_root_.size() == 0) {
    require(coefficients_.cols() == dim_out(), "model: {} columns of coefficients for {} outputs", coefficients_.cols(),
            dim_out());
  } else {
    require(output_root_.rows() == dim_out() && output_root_.cols() == coefficients_.cols(),
            "model: the output root is {} x {}, expected {} x {}", output_root_.rows(), output_root_.cols(), dim_out(),
            coefficients_.cols());
  }
}

template <Real T>
Index KernelMachine<T>::dim_in() const {
  return std::visit([](const auto& m) { return m.dim_in(); }, map_);
}

template <Real T>
Matrix<T> KernelMachine<T>::predict(ConstView<T> X, const Execution& execution) const {
  Matrix<T> out(X.rows(), dim_out());
  predict(X, out, execution);
  return out;
}

template <Real T>
void KernelMachine<T>::predict(ConstView<T> X, View<T> out, const Execution& execution) const {
  require(X.cols() == dim_in(), "predict: X has {} columns, the model was fitted with {}", X.cols(), dim_in());
  require(out.rows() == X.rows() && out.cols() == dim_out(), "predict: the result is {} x {}, expected {} x {}",
          out.rows(), out.cols(), X.rows(), dim_out());
  const auto product = [&](View<T> result) {
    std::visit([&](const auto& map) { apply(map, X, coefficients_, result, execution); }, map_);
  };
  if (output_root_.size() == 0) {
    product(out);
  } else {
    Matrix<T> turned(X.rows(), coefficients_.cols());
    product(turned);
    BlasThreads threads(execution.thread_count());
    backend::gemm<T>(backend::Transpose::no, backend::Transpose::yes, X.rows(), dim_out(), turned.cols(), T(1),
                     turned.data(), turned.cols(), output_root_.data(), output_root_.cols(), T(0), out.data(),
                     out.outerStride());
  }
  out.rowwise() += intercept_.transpose();
}

template class KernelMachine<float>;
template class KernelMachine<double>;

}  // namespace carmina
