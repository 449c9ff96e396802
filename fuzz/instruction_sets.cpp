// fuzz/instruction_sets.cpp -- the loops of every instruction set of this machine beside the portable ones.
//
// Bounds are those of the arithmetic: u is the unit roundoff's double (epsilon). A function of one number may differ by
// a few u of what it is scaled by, a sum of n products by n u sum |a b|, a wave of such a sum by that times a quarter
// turn.
#include "backends/cpu/hadamard_loops.hpp"
#include "backends/cpu/vector_math_loops.hpp"
#include "backends/hadamard.hpp"
#include "backends/vector_math.hpp"
#include "fuzz/targets.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

namespace carmina::fuzz {
namespace {

using backend::HadamardTable;
using backend::VectorMath;

std::vector<const VectorMath*> vector_tables() {
  std::vector<const VectorMath*> all;
  const std::string_view best = backend::vector_instruction_set();
  if (best != "portable") all.push_back(backend::avx2_vector_math());
  if (best == "avx512") all.push_back(backend::avx512_vector_math());
  return all;
}
std::vector<const HadamardTable*> hadamard_tables() {
  std::vector<const HadamardTable*> all;
  const std::string_view best = backend::vector_instruction_set();
  if (best != "portable") all.push_back(backend::avx2_hadamard());
  if (best == "avx512") all.push_back(backend::avx512_hadamard());
  return all;
}

// Numbers out of bytes, zeros when these end.
class Numbers {
 public:
  explicit Numbers(Bytes bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (at_ == bytes_.size()) return 0;
    return bytes_[at_++];
  }
  Index below(Index count) { return byte() % count; }
  // Whole numbers times a power of two, which the next of a group share.
  void scale() { power_ = static_cast<int>(byte() % 48) - 24; }
  double next() {
    const int whole = byte() << 8 | byte();
    return std::ldexp(static_cast<double>(whole - 32768), power_ - 15);
  }
  template <class T>
  Matrix<T> matrix(Index rows, Index columns) {
    scale();
    Matrix<T> all(rows, columns);
    for (Index k = 0; k < all.size(); ++k) all.data()[k] = static_cast<T>(next());
    return all;
  }
  template <class T>
  T any() {
    T number{};
    unsigned char raw[sizeof(T)];
    for (unsigned char& one : raw) one = byte();
    std::memcpy(&number, raw, sizeof number);
    return std::isfinite(number) ? number : T(0);
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  int power_ = 0;
};

template <class T>
constexpr double unit = std::numeric_limits<T>::epsilon();

template <class T>
const backend::VectorFunctions<T>& of(const VectorMath* table) {
  if constexpr (std::same_as<T, float>) {
    return table->of_float;
  } else {
    return table->of_double;
  }
}

void expect_near(double a, double b, double bound, const char* what) { expect(std::abs(a - b) <= bound, what); }

template <class T, class Bound>
void expect_close(const Matrix<T>& found, const Matrix<T>& expected, const Bound& bound, const char* what) {
  for (Index i = 0; i < found.rows(); ++i) {
    for (Index j = 0; j < found.cols(); ++j) {
      expect_near(static_cast<double>(found(i, j)), static_cast<double>(expected(i, j)), bound(i, j), what);
    }
  }
}

template <class T>
void compare_elementary(Numbers& in) {
  const Index count = 1 + in.below(40);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& one : x) one = in.any<T>();
  const auto run_on = [&](const VectorMath* table) {
    Matrix<T> out(3, count);
    of<T>(table).sincos(x.data(), T(0.5), out.row(0).data(), out.row(1).data(), count);
    for (Index k = 0; k < count; ++k) out(2, k) = std::min(std::abs(x[static_cast<std::size_t>(k)]), T(1e30));
    of<T>(table).exp(out.row(2).data(), T(-0.75), count);
    return out;
  };
  const Matrix<T> expected = run_on(backend::portable_vector_math());
  const auto bound = [&](Index row, Index k) {
    if (row < 2) return 4 * unit<T>;
    return 16 * unit<T> * static_cast<double>(expected(2, k)) + 2 * static_cast<double>(std::numeric_limits<T>::min());
  };
  for (const VectorMath* table : vector_tables()) expect_close(run_on(table), expected, bound, "sine, cosine or exp");
}

template <class T>
void compare_products(Numbers& in) {
  const Index rows = 1 + in.below(9), columns = 1 + in.below(70), p = 1 + in.below(9);
  const Matrix<T> A = in.matrix<T>(rows, columns), B = in.matrix<T>(p, columns), R = in.matrix<T>(rows, p);
  const Matrix<double> a = A.template cast<double>().cwiseAbs(), b = B.template cast<double>().cwiseAbs(),
                       r = R.template cast<double>().cwiseAbs();
  const Matrix<double> sizes = a * b.transpose(), turned_sizes = r.transpose() * a;
  const auto product = [&](const VectorMath* table) {
    Matrix<T> out = Matrix<T>::Zero(rows, p);
    of<T>(table).product(A.data(), columns, rows, columns, B.data(), columns, p, out.data(), p);
    return out;
  };
  const auto turned = [&](const VectorMath* table) {
    Matrix<T> out = Matrix<T>::Zero(p, columns);
    of<T>(table).transposed(A.data(), columns, rows, columns, R.data(), p, p, out.data(), columns);
    return out;
  };
  const auto* portable = backend::portable_vector_math();
  for (const VectorMath* table : vector_tables()) {
    expect_close(
        product(table), product(portable),
        [&](Index i, Index j) { return static_cast<double>(columns + 4) * unit<T> * sizes(i, j); }, "A Bᵀ");
    expect_close(
        turned(table), turned(portable),
        [&](Index i, Index j) { return static_cast<double>(rows + 4) * unit<T> * turned_sizes(i, j); }, "Rᵀ A");
  }
}

// Rows as RowPanels lays them out for a table.
template <class T>
struct Panels {
  std::vector<T> cells, norms, starts;
  double largest = 0;

  Panels(const VectorMath* table, const Matrix<T>& W, const Vector<T>& begin) {
    const Index width = of<T>(table).panel_rows, panels = (W.rows() + width - 1) / width;
    cells.assign(static_cast<std::size_t>(panels * width * W.cols()), T(0));
    norms.assign(static_cast<std::size_t>(panels * width), T(0));
    starts = norms;
    for (Index i = 0; i < W.rows(); ++i) {
      for (Index k = 0; k < W.cols(); ++k) {
        cells[static_cast<std::size_t>(i / width * width * W.cols() + i % width + k * width)] = W(i, k);
        norms[static_cast<std::size_t>(i)] += W(i, k) * W(i, k);
      }
      starts[static_cast<std::size_t>(i)] = begin[i];
      largest = std::max(largest, 1.001 * std::sqrt(static_cast<double>(norms[static_cast<std::size_t>(i)])));
    }
  }
};

template <class T>
void compare_panels(Numbers& in) {
  const Index rows = 1 + in.below(9), dim = 1 + in.below(12), count = 1 + in.below(70), first = in.below(count);
  const Index width = count - first;
  const Matrix<T> X = in.matrix<T>(rows, dim), W = in.matrix<T>(count, dim);
  const Vector<T> starts = in.matrix<T>(count, 1);
  const Matrix<double> sizes = X.template cast<double>().cwiseAbs() * W.template cast<double>().cwiseAbs().transpose();
  const Vector<T> norms = X.rowwise().squaredNorm();
  const T scale = T(0.5);
  const auto run_on = [&](const VectorMath* table) {
    const Panels<T> panels(table, W, starts);
    Matrix<T> out(rows, 4 * width);
    const auto& functions = of<T>(table);
    functions.sincos_products(X.data(), dim, rows, dim, panels.cells.data(), panels.largest, first, width, scale,
                              out.data(), width, 4 * width, false);
    functions.cosine_products(X.data(), dim, rows, dim, panels.cells.data(), panels.starts.data(), panels.largest,
                              first, width, scale, out.data() + 2 * width, 4 * width, false);
    functions.distances(X.data(), dim, rows, dim, norms.data(), panels.cells.data(), panels.norms.data(), first, width,
                        out.data() + 3 * width, 4 * width);
    return out;
  };
  const Matrix<T> expected = run_on(backend::portable_vector_math());
  const double terms = static_cast<double>(dim + 4) * unit<T>;
  const auto bound = [&](Index i, Index column) {
    const Index part = column / width, j = first + column % width;
    if (part == 3) {
      const double square = static_cast<double>(norms[i]) + W.row(j).template cast<double>().squaredNorm();
      return 2 * terms * square + static_cast<double>(std::numeric_limits<T>::min());
    }
    const double start = part == 2 ? std::abs(static_cast<double>(starts[j])) : 0.0;
    return 0.5 * (std::numbers::pi * terms * (sizes(i, j) + start) + 8 * unit<T>);
  };
  for (const VectorMath* table : vector_tables()) expect_close(run_on(table), expected, bound, "a panel");
}

template <class T>
void compare_hadamard(Numbers& in) {
  const Index n = Index{16} << in.below(6), d = 1 + in.below(n < 255 ? n : 255), rows = 1 + in.below(3);
  const Matrix<T> X = in.matrix<T>(rows, d), D = in.matrix<T>(3, n), lengths = in.matrix<T>(n, 1);
  const auto run_on = [&](const HadamardTable* table) {
    Matrix<T> out(rows, n);
    Vector<T> room(n);
    const auto call = [&](auto function) {
      function(X.data(), d, rows, d, D.data(), lengths.data(), n, out.data(), n, room.data());
    };
    if constexpr (std::same_as<T, float>) {
      call(table->of_float);
    } else {
      call(table->of_double);
    }
    return out;
  };
  const Matrix<T> expected = run_on(backend::portable_hadamard());
  for (const HadamardTable* table : hadamard_tables()) {
    const Matrix<T> found = run_on(table);
    for (Index k = 0; k < found.size(); ++k) {
      const bool equal = found.data()[k] == expected.data()[k];
      expect(equal || (std::isnan(found.data()[k]) && std::isnan(expected.data()[k])),
             "a Hadamard product has other bits");
    }
  }
}

template <class T>
void compare(Index what, Numbers& in) {
  switch (what) {
    case 0:
      return compare_elementary<T>(in);
    case 1:
      return compare_products<T>(in);
    case 2:
      return compare_panels<T>(in);
    default:
      return compare_hadamard<T>(in);
  }
}

}  // namespace

void run_instruction_sets(Bytes bytes) {
  Numbers in(bytes);
  const Index what = in.below(8);
  what < 4 ? compare<float>(what, in) : compare<double>(what - 4, in);
}

}  // namespace carmina::fuzz
