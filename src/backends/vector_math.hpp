// backends/vector_math.hpp -- sine, cosine and exponential of many numbers at once, for the machine it runs on.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina::backend {

// cosine[i] = scale cos(x[i]), sine[i] = scale sin(x[i]). Arrays may not overlap, except cosine == x or sine == x.
template <Real T>
void sincos_scaled(const T* x, T scale, T* cosine, T* sine, Index count);

// x[i] = exp(factor x[i])
template <Real T>
void exp_scaled(T* x, T factor, Index count);

// Products with few columns, where a general matrix product spends its time on copies. A (rows, columns), row stride
// lda. out (rows, p) += A Bᵀ, B (p, columns)
template <Real T>
void add_product_few(const T* A, Index lda, Index rows, Index columns, const T* B, Index ldb, Index p, T* out,
                     Index ldo);
// out (p, columns) += Rᵀ A, R (rows, p)
template <Real T>
void add_transposed_few(const T* A, Index lda, Index rows, Index columns, const T* R, Index ldr, Index p, T* out,
                        Index ldo);

// Of each column of X (rows >= 1, columns), row stride ldx, in double and in the order of the rows: its first cell, the
// sums of what the others exceed it by and of the squares of that, the smallest and the largest cell. Every number is
// finite only if all cells are.
struct ColumnSums {
  double *first, *sum, *square, *low, *high;
};
template <Real T>
void sum_columns(const T* X, Index ldx, Index rows, Index columns, const ColumnSums& out);

// A product of matrices (backends/cpu/product_loops.hpp); a factor and triangular systems of an order that is not
// halved (backends/cpu/triangle_loops.hpp).
template <class T>
struct ProductTask;
enum class Side : bool;
template <Real T>
void matrix_product(const ProductTask<T>& task);
// Products cut their sums at multiples of it: a sum goes on where another product begins there.
template <Real T>
Index product_depth();
template <Real T>
bool small_cholesky(Index n, T* A, Index lda);
template <Real T>
void small_solve(Side side, bool transposed, Index m, Index n, const T* L, Index lda, T* X, Index ldx);

// A copy of a matrix (count, dim) in panels that fit the registers, for functions of products with short rows: the
// product of a tile is finished in registers, where a general matrix product would copy, store and load it again.
template <Real T>
class RowPanels {
 public:
  RowPanels() = default;
  // For squared_distances.
  RowPanels(const T* rows, Index count, Index dim) : RowPanels(rows, count, dim, 1) {}
  // For waves: rows times 2 / pi or 1 / pi, so that products are quarter or half turns. `starts`, phases that are added
  // to the products, are radians.
  static RowPanels quarter_turns(const T* rows, Index count, Index dim);
  static RowPanels half_turns(const T* rows, const T* starts, Index count, Index dim);
  // Up to here as fast as a general matrix product alone, or faster (measured to 784).
  static constexpr Index longest = 1024;
  bool empty() const { return count_ == 0; }

  // For rows x of X and rows w of [first, first + count) in quarter turns: scale cos<x, w> to out (rows, count), row
  // stride ldo, and scale sin<x, w> to out + part_offset. `past_caches` is for results that are not read soon; it takes
  // effect where out, part_offset and ldo are multiples of 64 bytes.
  void sincos_of_products(const T* X, Index ldx, Index rows, Index first, Index count, T scale, T* out,
                          Index part_offset, Index ldo, bool past_caches = false) const;
  // For those in half turns: scale cos(<x, w> + start) to out.
  void cosines_of_products(const T* X, Index ldx, Index rows, Index first, Index count, T scale, T* out, Index ldo,
                           bool past_caches = false) const;
  // max(0, |x|^2 + |w|^2 - 2<x, w>) to out (rows, count); `norms` are |x|^2
  void squared_distances(const T* X, Index ldx, const T* norms, Index rows, Index first, Index count, T* out,
                         Index ldo) const;

 private:
  RowPanels(const T* rows, Index count, Index dim, double factor);

  Index count_ = 0, dim_ = 0;
  double largest_ = 0;                // length of a row, or a little more
  Vector<T> cells_, norms_, starts_;  // padded with zeros to whole panels
};

// "avx512", "avx2" or "portable": what all of these run on.
const char* vector_instruction_set();

// Products and sums in registers that do not wait for one another, and how many operations these were: the most that
// the instruction set gives.
template <Real T>
double multiply_adds(Index rounds, volatile T& sink);

}  // namespace carmina::backend
