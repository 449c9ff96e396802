// kernels/product.cpp -- products of kernels, the columns that they are of, and values of any kernel at pairs of rows.
#include <carmina/core/error.hpp>
#include <carmina/core/format.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

#include <algorithm>
#include <numeric>

namespace carmina {
namespace {

// Some columns of rows of d numbers, one after the other.
template <Real T>
std::vector<T> gathered(const T* X, Index rows, Index d, const std::vector<Index>& columns) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(rows) * columns.size());
  for (Index i = 0; i < rows; ++i) {
    for (const Index column : columns) out.push_back(X[i * d + column]);
  }
  return out;
}

void check_columns(const InputColumns& columns) {
  std::vector<Index> numbers = columns.numbers;
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> names = columns.names;
  std::sort(names.begin(), names.end());
  const bool twice = std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end() ||
                     std::adjacent_find(names.begin(), names.end()) != names.end();
  require(!twice, "kernel: a column is chosen twice");
  require(numbers.empty() || numbers.front() >= 0, "kernel: columns are numbered from 0, found {}",
          numbers.empty() ? Index{0} : numbers.front());
}

}  // namespace

std::vector<Index> InputColumns::of(Index d) const {
  require(names.empty(), "kernel: '{}' is the name of an input, but inputs have no names here; take numbers",
          names.empty() ? "" : names.front());
  if (numbers.empty()) {
    std::vector<Index> every(static_cast<std::size_t>(d));
    std::iota(every.begin(), every.end(), Index{0});
    return every;
  }
  for (const Index column : numbers) {
    require(column < d, "kernel: it is of column {}, counted from 0, but there are {} inputs", column, d);
  }
  return numbers;
}

InputColumns InputColumns::found_in(const std::vector<std::string>& input_names,
                                    const std::vector<Index>& firsts) const {
  InputColumns found;
  if (names.empty()) {
    if (firsts.empty()) return *this;
    for (const Index column : numbers) {
      const auto j = static_cast<std::size_t>(column);
      require(j + 1 < firsts.size(), "kernel: it is of column {}, counted from 0, but there are {} inputs", column,
              firsts.size() - 1);
      for (Index k = firsts[j]; k < firsts[j + 1]; ++k) found.numbers.push_back(k);
    }
    return found;
  }
  if (input_names.empty()) return *this;
  for (const std::string& name : names) {
    const std::size_t before = found.numbers.size();
    for (std::size_t j = 0; j < input_names.size(); ++j) {
      // A column of text is several, "colour=red", "colour=green", one that wraps round "hour=cos", "hour=sin".
      if (input_names[j] == name || input_names[j].starts_with(name + "=")) {
        found.numbers.push_back(static_cast<Index>(j));
      }
    }
    require(found.numbers.size() > before, "kernel: there is no input '{}'; there is {}", name,
            join_text(input_names, ", "));
  }
  return found;
}

InputColumns InputColumns::of_table(const std::vector<Index>& firsts) const {
  std::vector<Index> columns;
  for (const Index number : numbers) {
    const Index column = std::upper_bound(firsts.begin(), firsts.end(), number) - firsts.begin() - 1;
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  }
  return columns;
}

Product::Product(std::vector<Factor> factors) {
  require(!factors.empty(), "kernel: a product needs at least one factor");
  std::vector<Factor> flat;
  for (Factor& factor : factors) {
    check_columns(factor.columns);
    const auto* inner = std::get_if<Product>(&factor.kernel);
    if (inner == nullptr) {
      flat.push_back(std::move(factor));
    } else {
      for (const Factor& one : factors_of(on_columns(factor.kernel, factor.columns))) flat.push_back(one);
    }
  }
  factors_ = std::make_shared<const std::vector<Factor>>(std::move(flat));
}

bool Product::operator==(const Product& other) const { return factors() == other.factors(); }

void Product::check_dimension(Index d) const {
  for (const Factor& factor : factors()) {
    carmina::check_dimension(factor.kernel, static_cast<Index>(factor.columns.of(d).size()));
  }
}

template <Real T>
void Product::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  std::vector<T> one(static_cast<std::size_t>(rows * count));
  bool first = true;
  for (const Factor& factor : factors()) {
    const std::vector<Index> columns = factor.columns.of(d);
    const auto own = static_cast<Index>(columns.size());
    const bool whole = factor.columns.all();
    const std::vector<T> x = whole ? std::vector<T>() : gathered(X, rows, d, columns),
                         z = whole ? std::vector<T>() : gathered(Z, count, d, columns);
    pair_values(factor.kernel, whole ? X : x.data(), rows, whole ? Z : z.data(), count, own, one.data(), count);
    for (Index i = 0; i < rows; ++i) {
      const T* const values = one.data() + i * count;
      T* const row = out + i * ldo;
      for (Index j = 0; j < count; ++j) row[j] = first ? values[j] : row[j] * values[j];
    }
    first = false;
  }
}

std::vector<Product::Factor> factors_of(const ScalarKernel& kernel) {
  if (const auto* product = std::get_if<Product>(&kernel)) return product->factors();
  return {{kernel, {}}};
}

ScalarKernel on_columns(const ScalarKernel& kernel, const InputColumns& columns) {
  if (columns.all()) return kernel;
  std::vector<Product::Factor> factors = factors_of(kernel);
  for (Product::Factor& factor : factors) {
    require(factor.columns.all(), "kernel: on() is for a kernel of all inputs, this one is of some columns already");
    factor.columns = columns;
  }
  return Product(std::move(factors));
}

ScalarKernel product(const ScalarKernel& a, const ScalarKernel& b) {
  std::vector<Product::Factor> factors = factors_of(a);
  for (Product::Factor& factor : factors_of(b)) factors.push_back(std::move(factor));
  return Product(std::move(factors));
}

ScalarKernel with_columns_found(const ScalarKernel& kernel, const std::vector<std::string>& input_names,
                                const std::vector<Index>& firsts) {
  if (!std::holds_alternative<Product>(kernel)) return kernel;
  std::vector<Product::Factor> factors = factors_of(kernel);
  for (Product::Factor& factor : factors) factor.columns = factor.columns.found_in(input_names, firsts);
  return Product(std::move(factors));
}

template <Real T>
void pair_values(const ScalarKernel& kernel, const T* X, Index rows, const T* Z, Index count, Index d, T* out,
                 Index ldo) {
  std::visit(
      [&]<class K>(const K& k) {
        if constexpr (Pairwise<K>) {
          check_inputs(kernel, X, rows * d);
          check_inputs(kernel, Z, count * d);
          k.values(X, rows, Z, count, d, out, ldo);
        } else {
          Vector<T> inverse(d);
          for (Index l = 0; l < d; ++l) inverse[l] = static_cast<T>(1 / k.length_scale[l]);
          Matrix<T> columns(d, count);  // an input after the other
          for (Index j = 0; j < count; ++j) {
            for (Index l = 0; l < d; ++l) columns(l, j) = Z[j * d + l];
          }
          for (Index i = 0; i < rows; ++i) {
            T* const row = out + i * ldo;
            std::fill_n(row, count, T(0));
            for (Index l = 0; l < d; ++l) {
              const T x = X[i * d + l], factor = inverse[l];
              const T* const z = columns.row(l).data();
              for (Index j = 0; j < count; ++j) {
                const T gap = (x - z[j]) * factor;
                row[j] += K::distance == Distance::squared ? gap * gap : std::abs(gap);
              }
            }
            k.of_distances(row, count);
          }
        }
      },
      kernel);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define CARMINA_INSTANTIATE(T)                                                             \
  template void Product::values(const T*, Index, const T*, Index, Index, T*, Index) const; \
  template void pair_values(const ScalarKernel&, const T*, Index, const T*, Index, Index, T*, Index);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace carmina
