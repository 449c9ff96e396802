// kernels/kernel.hpp -- kernels as users combine them: a sum of terms, each a scalar kernel and a coupling of the
// outputs.
#pragma once
#include <carmina/kernels/coupling.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <carmina/kernels/spectrum.hpp>
#include <concepts>
#include <optional>
#include <vector>

namespace carmina {

struct Term {
  double weight;
  ScalarKernel scalar;
  OutputCoupling coupling;
  bool operator==(const Term&) const = default;
};

// With the weight that is the kernel's own.
inline Term own_term(ScalarKernel scalar, OutputCoupling coupling) {
  const double weight = own_weight(scalar);
  return {weight, std::move(scalar), std::move(coupling)};
}

// What a curl-free or divergence-free kernel is made of: the first factor of a product, else the term's scalar kernel.
// The other factors multiply it: K = K_place(x, z) prod_f k_f(x, z).
Product::Factor place_of(const Term& term);
// Its columns, of d inputs: as many as outputs.
std::vector<Index> place_columns(const Term& term, Index dim_in);
// The other factors, one product of them; nothing where there is none.
std::optional<ScalarKernel> beside_place(const Term& term);
// Whether some other factor is of the same columns, so that frequencies of the place are not those of the whole.
bool place_is_shared(const Term& term, Index dim_in);
// Its weight, and of a normalized one p / tr K(0) besides.
double full_weight(const Term& term, Index dim_in);

// Units of a Fourier map, a cosine and a sine each, that each term gets where those that are drawn at random get
// `drawn`: Linear, Constant and products of these get as many as they have features.
std::vector<Index> term_units(const std::vector<Term>& terms, Index dim_in, Index drawn);
// The same where the map has so many in all. Error where they do not go together.
std::vector<Index> term_units_of(const std::vector<Term>& terms, Index dim_in, Index all);

// weight A of a term K = weight k A for p outputs, by its eigenvalues; for terms without or with an output matrix.
OutputFactor output_factor(const Term& term, Index p);

class Kernel {
 public:
  template <class K>
    requires std::constructible_from<ScalarKernel, K>
  Kernel(K scalar) : Kernel(own_term(std::move(scalar), Independent{})) {}  // NOLINT: a scalar kernel is one
  Kernel(Term term) : Kernel(std::vector<Term>{std::move(term)}) {}         // NOLINT: so is a term
  explicit Kernel(std::vector<Term> terms);

  const std::vector<Term>& terms() const { return terms_; }
  // The one term of a kernel that is no sum, when its outputs are separable, in the eigenbasis of A; else null.
  const Term* separable() const;
  bool has_differential() const;
  // Whether inputs may be scaled by one common factor only: differential terms, and spectra, which may be such.
  bool keeps_directions() const;
  bool has_user_spectrum() const;
  // Outputs that the kernel is for: nothing when it takes any number (independent ones); inputs for differential ones.
  std::optional<Index> n_outputs(Index dim_in) const;
  // Error when inputs or outputs do not fit.
  void check_dimensions(Index dim_in, Index dim_out) const;

  // The kernel of some of the inputs: by number, or by name, which a fit looks up.
  Kernel on(const InputColumns& columns) const;
  // With columns by number.
  Kernel with_columns_found(const std::vector<std::string>& input_names, const std::vector<Index>& firsts = {}) const;

  friend Kernel operator+(const Kernel& a, const Kernel& b);
  // Term by term; Error where both couple the outputs.
  friend Kernel operator*(const Kernel& a, const Kernel& b);
  friend Kernel operator*(double factor, const Kernel& kernel);
  bool operator==(const Kernel&) const = default;

 private:
  std::vector<Term> terms_;
};

// A vector field over one scalar kernel, of all inputs or of some: Error for a product of several, which would leave
// open which of them the field is made of.
Term field_term(ScalarKernel scalar, OutputCoupling coupling);

// The mean variance of an output of its functions where factors beside are 1: tr K(0) / p, of a user's spectrum its
// weight.
double kernel_size(const Kernel& kernel, Index dim_in);

// The operator-valued kernels by their names; each is a Kernel of one term.
class Decomposable : public Kernel {
 public:
  Decomposable(ScalarKernel scalar, Matrix<double> A)
      : Kernel(own_term(std::move(scalar), OutputMatrix(std::move(A)))) {}
};
class CurlFree : public Kernel {
 public:
  explicit CurlFree(ScalarKernel scalar, bool bounded = false, bool normalized = false)
      : Kernel(field_term(std::move(scalar), CurlFreeCoupling{bounded, normalized})) {}
};
class DivergenceFree : public Kernel {
 public:
  explicit DivergenceFree(ScalarKernel scalar, bool bounded = false, bool normalized = false)
      : Kernel(field_term(std::move(scalar), DivergenceFreeCoupling{bounded, normalized})) {}
};
// K = E[cos<w, x - z> B(w) B(w)ᵀ] by a sampler of w and a factor B(w) (spectrum.hpp); no exact values.
class Spectral : public Kernel {
 public:
  explicit Spectral(UserSpectrum spectrum) : Kernel(Term{1, Gaussian(1.0), std::move(spectrum)}) {}
  Spectral(FrequencySampler sampler, FrequencyFactor factor, Index dim_out)
      : Spectral(UserSpectrum(make_spectrum(std::move(sampler), std::move(factor), dim_out))) {}
};
// K(x, z) = K_0(x - z), its spectrum computed from K_0 on a grid (spectrum.hpp).
class FromSignature : public Spectral {
 public:
  FromSignature(Signature signature, Index dim_in, SignatureGrid grid = {})
      : Spectral(
            UserSpectrum(std::make_shared<const SignatureSpectrum>(std::move(signature), dim_in, std::move(grid)))) {}
};

}  // namespace carmina
