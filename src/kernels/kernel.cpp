// kernels/kernel.cpp -- the registry at work: names and output factors.
#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/kernels/kernel.hpp>

#include <algorithm>

namespace carmina {
namespace {

// Calls make(kernel type) for each alternative until one has the name.
template <std::size_t I = 0>
ScalarKernel by_name(const std::string& name, const LengthScale& width) {
  if constexpr (I < std::variant_size_v<ScalarKernel>) {
    using K = std::variant_alternative_t<I, ScalarKernel>;
    return name == K::name ? ScalarKernel(K(width)) : by_name<I + 1>(name, width);
  } else {
    std::string known;
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      ((known += (J ? ", " : "") + std::string(std::variant_alternative_t<J, ScalarKernel>::name)), ...);
    }(std::make_index_sequence<std::variant_size_v<ScalarKernel>>());
    fail("there is no kernel named '{}'; known: {}", name, known);
  }
}

}  // namespace

ScalarKernel make_scalar_kernel(const std::string& name, const LengthScale& width) { return by_name(name, width); }

std::string kernel_name(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) { return std::string(k.name); }, kernel);
}

const LengthScale& length_scale(const ScalarKernel& kernel) {
  return std::visit([](const auto& k) -> const LengthScale& { return k.length_scale; }, kernel);
}

Matrix<double> OutputFactor::root() const { return vectors * delta.cwiseSqrt().asDiagonal(); }

OutputFactor factor_output_matrix(const Matrix<double>& A) {
  require(A.rows() == A.cols() && A.rows() > 0, "output matrix A must be square, found {} x {}", A.rows(), A.cols());
  require(A.allFinite(), "output matrix A holds a value that is missing or infinite");
  const double largest = A.cwiseAbs().maxCoeff();
  require((A - A.transpose()).cwiseAbs().maxCoeff() <= 1e-10 * largest, "output matrix A must be symmetric");
  const Index p = A.rows();
  Matrix<double> U = (A + A.transpose()) / 2;  // rows become eigenvectors
  Vector<double> values(p);
  backend::symmetric_eigen(p, U.data(), p, values.data());
  const double top = values.cwiseAbs().maxCoeff(), tolerance = static_cast<double>(p) * 1e-13 * top;
  require(values[0] >= -std::max(tolerance, 1e-10 * top),
          "output matrix A must be positive semi-definite, its smallest eigenvalue is {:.3g}", values[0]);
  require(top > 0, "output matrix A is zero");
  const Index rank = (values.array() > tolerance).count();
  OutputFactor factor;
  factor.vectors = U.bottomRows(rank).colwise().reverse().transpose();
  factor.delta = values.tail(rank).reverse();
  return factor;
}

ScalarKernel scalar_part(const Kernel& kernel) {
  return std::visit(
      []<class K>(const K& k) -> ScalarKernel {
        if constexpr (std::same_as<K, Decomposable>) {
          return k.scalar;
        } else {
          return k;
        }
      },
      kernel);
}

const Matrix<double>* output_matrix(const Kernel& kernel) {
  const auto* decomposable = std::get_if<Decomposable>(&kernel);
  return decomposable ? &decomposable->A : nullptr;
}

}  // namespace carmina
