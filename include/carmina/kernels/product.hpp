// kernels/product.hpp -- products of scalar kernels, each of all inputs or of some of them.
#pragma once
#include <carmina/core/matrix.hpp>
#include <memory>
#include <string>
#include <vector>

namespace carmina {

// The inputs that a kernel is of: all of them, some by number, or some by name, which a fit looks up.
struct InputColumns {
  std::vector<Index> numbers;
  std::vector<std::string> names;

  InputColumns() = default;
  InputColumns(std::vector<Index> columns) : numbers(std::move(columns)) {}      // NOLINT: numbers are columns
  InputColumns(std::vector<std::string> columns) : names(std::move(columns)) {}  // NOLINT: so are names

  Index count() const { return static_cast<Index>(numbers.size() + names.size()); }
  bool all() const { return numbers.empty() && names.empty(); }
  // The numbers, of d inputs. Error for a number that is not below d, for names that nobody has looked up.
  std::vector<Index> of(Index d) const;
  // By number: names are those of the inputs in their order. Error, with what there is, for a name that is not there.
  // Column j of a table whose columns an encoder makes several numbers of is the numbers from firsts[j] to
  // firsts[j + 1]; empty: it is number j.
  InputColumns found_in(const std::vector<std::string>& input_names, const std::vector<Index>& firsts = {}) const;
  // The other way: columns of the table by the numbers that are made of them.
  InputColumns of_table(const std::vector<Index>& firsts) const;
  bool operator==(const InputColumns&) const = default;
};

// prod_f k_f(x_f, z_f), x_f the columns of x that factor f is of. Where all factors are functions of x - z the product
// has as its spectral measure that of the sum of independent frequencies, one of each factor: for different columns
// side by side, for the same ones added.
class Product {
 public:
  static constexpr const char* name = "product";
  struct Factor;

  // One factor at least; a factor that is a product itself is several.
  explicit Product(std::vector<Factor> factors);
  const std::vector<Factor>& factors() const { return *factors_; }

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;
  void check_dimension(Index d) const;  // Error where the columns or a factor do not fit d inputs

  bool operator==(const Product& other) const;

 private:
  std::shared_ptr<const std::vector<Factor>> factors_;
};

}  // namespace carmina
