// backends/cpu/vector_math.cpp -- chooses the instruction set once, when first called.
#include "backends/vector_math.hpp"
#include "backends/cpu/vector_math_loops.hpp"

#include <cmath>
#include <concepts>
#include <numbers>

namespace carmina::backend {
namespace {

const VectorMath& chosen_functions() {
  static const VectorMath* const table = [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // The processor is asked first: what makes a table is compiled for its instruction set too.
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
    if (const VectorMath* table = avx512 ? avx512_vector_math() : nullptr) return table;
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (const VectorMath* table = avx2 ? avx2_vector_math() : nullptr) return table;
#endif
    return portable_vector_math();
  }();
  return *table;
}

template <class T>
const VectorFunctions<T>& functions() {
  if constexpr (std::same_as<T, float>) {
    return chosen_functions().of_float;
  } else {
    return chosen_functions().of_double;
  }
}

}  // namespace

template <Real T>
void sincos_scaled(const T* x, T scale, T* cosine, T* sine, Index count) {
  functions<T>().sincos(x, scale, cosine, sine, count);
}

template <Real T>
void exp_scaled(T* x, T factor, Index count) {
  functions<T>().exp(x, factor, count);
}

template <Real T>
void add_product_few(const T* A, Index lda, Index rows, Index columns, const T* B, Index ldb, Index p, T* out,
                     Index ldo) {
  functions<T>().product(A, lda, rows, columns, B, ldb, p, out, ldo);
}

template <Real T>
void add_transposed_few(const T* A, Index lda, Index rows, Index columns, const T* R, Index ldr, Index p, T* out,
                        Index ldo) {
  functions<T>().transposed(A, lda, rows, columns, R, ldr, p, out, ldo);
}

template <Real T>
void matrix_product(const ProductTask<T>& task) {
  functions<T>().matrix_product(task);
}

template <Real T>
Index product_depth() {
  return functions<T>().product_depth;
}
template Index product_depth<float>();
template Index product_depth<double>();

template <Real T>
bool small_cholesky(Index n, T* A, Index lda) {
  return functions<T>().small_cholesky(n, A, lda);
}

template <Real T>
void small_solve(Side side, bool transposed, Index m, Index n, const T* L, Index lda, T* X, Index ldx) {
  functions<T>().small_solve(side, transposed, m, n, L, lda, X, ldx);
}

template <Real T>
void sum_columns(const T* X, Index ldx, Index rows, Index columns, const ColumnSums& out) {
  functions<T>().column_sums(X, ldx, rows, columns, out);
}

template <Real T>
RowPanels<T>::RowPanels(const T* rows, Index count, Index dim, double factor) : count_(count), dim_(dim) {
  const Index width = functions<T>().panel_rows, panels = (count + width - 1) / width;
  cells_.setZero(panels * width * dim);
  norms_.setZero(panels * width);
  for (Index i = 0; i < count; ++i) {
    T* const to = cells_.data() + i / width * width * dim + i % width;
    for (Index k = 0; k < dim; ++k) {
      const T cell = static_cast<T>(factor * static_cast<double>(rows[i * dim + k]));
      to[k * width] = cell;
      norms_[i] += cell * cell;
    }
  }
  largest_ = 1.001 * std::sqrt(static_cast<double>(norms_.maxCoeff()));
}

template <Real T>
RowPanels<T> RowPanels<T>::quarter_turns(const T* rows, Index count, Index dim) {
  return RowPanels(rows, count, dim, 2 * std::numbers::inv_pi);
}

template <Real T>
RowPanels<T> RowPanels<T>::half_turns(const T* rows, const T* starts, Index count, Index dim) {
  RowPanels panels(rows, count, dim, std::numbers::inv_pi);
  panels.starts_.setZero(panels.norms_.size());
  for (Index i = 0; i < count; ++i) {
    panels.starts_[i] = static_cast<T>(std::numbers::inv_pi * static_cast<double>(starts[i]));
  }
  return panels;
}

template <Real T>
void RowPanels<T>::sincos_of_products(const T* X, Index ldx, Index rows, Index first, Index count, T scale, T* out,
                                      Index part_offset, Index ldo, bool past_caches) const {
  functions<T>().sincos_products(X, ldx, rows, dim_, cells_.data(), largest_, first, count, scale, out, part_offset,
                                 ldo, past_caches);
}

template <Real T>
void RowPanels<T>::cosines_of_products(const T* X, Index ldx, Index rows, Index first, Index count, T scale, T* out,
                                       Index ldo, bool past_caches) const {
  functions<T>().cosine_products(X, ldx, rows, dim_, cells_.data(), starts_.data(), largest_, first, count, scale, out,
                                 ldo, past_caches);
}

template <Real T>
void RowPanels<T>::squared_distances(const T* X, Index ldx, const T* norms, Index rows, Index first, Index count,
                                     T* out, Index ldo) const {
  functions<T>().distances(X, ldx, rows, dim_, norms, cells_.data(), norms_.data(), first, count, out, ldo);
}

template <Real T>
double multiply_adds(Index rounds, volatile T& sink) {
  return functions<T>().multiply_adds(rounds, sink);
}

template void matrix_product(const ProductTask<float>&);
template void matrix_product(const ProductTask<double>&);
template bool small_cholesky(Index, float*, Index);
template bool small_cholesky(Index, double*, Index);
template void small_solve(Side, bool, Index, Index, const float*, Index, float*, Index);
template void small_solve(Side, bool, Index, Index, const double*, Index, double*, Index);
template void sum_columns(const float*, Index, Index, Index, const ColumnSums&);
template void sum_columns(const double*, Index, Index, Index, const ColumnSums&);
template double multiply_adds(Index, volatile float&);
template double multiply_adds(Index, volatile double&);
template void sincos_scaled(const float*, float, float*, float*, Index);
template void exp_scaled(float*, float, Index);
template void add_product_few(const float*, Index, Index, Index, const float*, Index, Index, float*, Index);
template void add_transposed_few(const float*, Index, Index, Index, const float*, Index, Index, float*, Index);
template class RowPanels<float>;
template void sincos_scaled(const double*, double, double*, double*, Index);
template void exp_scaled(double*, double, Index);
template void add_product_few(const double*, Index, Index, Index, const double*, Index, Index, double*, Index);
template void add_transposed_few(const double*, Index, Index, Index, const double*, Index, Index, double*, Index);
template class RowPanels<double>;

const char* vector_instruction_set() { return chosen_functions().name; }

}  // namespace carmina::backend
