// features/hadamard_frequencies.hpp -- frequencies that are products of Hadamard and sign matrices: a row is projected
// on D of them by O(D log d) additions, and O(D) numbers are kept of them.
//
// [Yu2016, Sec. 4], after [Le2013]: a block of n frequencies, n >= d a power of two, is the first d columns of
//   W = n^(-3/2) S H D3 H D2 H D1 L^-1,
// H the Hadamard matrix of ones and minus ones, D1, D2, D3 random signs, S the lengths of the rows, L the kernel's
// widths. n^(-1/2) H and the D are orthogonal, so n^(-3/2) H D3 H D2 H D1 has orthonormal rows. A kernel of |x - z| is
// the same function when x and z are filled up with zeros to n columns, so lengths are drawn from its radial law in n
// dimensions; were directions uniform on the sphere, each frequency alone would have the spectral measure exactly. They
// are nearly so: a row's entries are sums of many signs. Differs: [Yu2016] takes all lengths alike, sqrt(d) of a
// Gaussian; here they are random, as `orthogonal` has them, which any radial kernel needs.
#pragma once
#include <carmina/kernels/scalar_kernel.hpp>

namespace carmina {

// Above this, a float phase has lost digits that its sine still needs: phases are made in double, then reduced.
constexpr double largest_float_frequency = 256;

// Terms of a kernel one after the other, `per_term` frequencies each: whole blocks but for each term's last.
struct HadamardFrequencies {
  Index dim_in = 0, per_term = 0;
  Matrix<double> diagonals;  // (3 blocks, n): of each block the signs over the widths (zero from column d on), D2, D3
  Vector<double> lengths;    // (units)

  Index units() const { return lengths.size(); }
  Index block_size() const { return diagonals.cols(); }

  // Part of a block that a range of units [first, first + count) begins with.
  struct Piece {
    Index block, at, count;  // its `count` units from `at` on
  };
  Piece piece(Index first, Index count) const;

  Matrix<double> matrix() const;  // W (units, d)
  void check() const;             // Error where sizes do not go together
};

// In fewer columns than this the directions of a block would be few.
constexpr Index smallest_block = 64;

// The first `count` frequencies that the stream holds for a kernel of |x - z|: a larger number begins with a smaller
// one's.
HadamardFrequencies sample_hadamard(const ScalarKernel& kernel, Index dim_in, Index count, const Random& random);

}  // namespace carmina
