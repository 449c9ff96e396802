// kernels/pairwise.hpp -- scalar kernels that are functions of two rows, not of their difference: exact fits and
// sketches only.
//
// Such a kernel supplies: name; values, of each of some rows against each of some others; and check_inputs, where not
// every row will do. Rows come one after the other, d numbers each; row i of the result starts at out + i * ldo.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/core/parameter.hpp>
#include <functional>
#include <memory>
#include <tuple>

namespace carmina {

template <class K>
concept Pairwise =
    requires(const K& k, const double* rows, double* out, Index i) { k.values(rows, i, rows, i, i, out, i); };

// (gamma <x, z> + coef0)^degree
struct Polynomial {
  static constexpr const char* name = "polynomial";
  int degree;
  double gamma, coef0;

  // coef0 < 0 would not be positive semi-definite.
  explicit Polynomial(double exponent = 3, double slope = 1.0, double constant = 1.0);
  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"degree", &Polynomial::degree, "Degree of the polynomial kernel (gamma <x, z> + coef0)^degree [3]"},
        Parameter{"gamma", &Polynomial::gamma, "Factor in the polynomial kernel [1 / number of inputs]"},
        Parameter{"coef0", &Polynomial::coef0, "Constant in the polynomial kernel [1]"}};
  }

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;

  bool operator==(const Polynomial&) const = default;
};

// prod_j min(x_j, z_j), inputs at least 0: on [0, 1] the functions with f(0) = 0 and |f|^2 = the integral of f'^2.
struct Sobolev1 {
  static constexpr const char* name = "sobolev1";

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;
  template <Real T>
  void check_inputs(const T* x, Index size) const;

  bool operator==(const Sobolev1&) const = default;
};

// <x, z>: functions that are linear in the inputs. Its features are the inputs themselves.
struct Linear {
  static constexpr const char* name = "linear";

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;

  bool operator==(const Linear&) const = default;
};

// 1: a constant that is penalised, unlike the intercept. Its only feature is 1.
struct Constant {
  static constexpr const char* name = "constant";

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;

  bool operator==(const Constant&) const = default;
};

// Any kernel as a function of two sets of rows; symmetric and positive semi-definite is the caller's word. It is called
// from several threads at once, and always in double.
class Callable {
 public:
  static constexpr const char* name = "callable";
  using Function = std::function<void(ConstView<double> X, ConstView<double> Z, View<double> out)>;  // out (n, m)

  // Kernels are equal when their functions are one: copies of one kernel, or those made with the same `identity`.
  explicit Callable(Function function, const void* identity = nullptr);
  const Function& function() const { return *function_; }

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;

  bool operator==(const Callable& other) const { return identity_ == other.identity_; }

 private:
  std::shared_ptr<const Function> function_;
  const void* identity_;
};

}  // namespace carmina
