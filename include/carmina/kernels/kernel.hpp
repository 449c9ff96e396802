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

  friend Kernel operator+(const Kernel& a, const Kernel& b);
  friend Kernel operator*(double factor, const Kernel& kernel);
  bool operator==(const Kernel&) const = default;

 private:
  std::vector<Term> terms_;
};

// The operator-valued kernels by their names; each is a Kernel of one term.
class Decomposable : public Kernel {
 public:
  Decomposable(ScalarKernel scalar, Matrix<double> A)
      : Kernel(own_term(std::move(scalar), OutputMatrix(std::move(A)))) {}
};
class CurlFree : public Kernel {
 public:
  explicit CurlFree(ScalarKernel scalar, bool bounded = false)
      : Kernel(own_term(std::move(scalar), CurlFreeCoupling{bounded})) {}
};
class DivergenceFree : public Kernel {
 public:
  explicit DivergenceFree(ScalarKernel scalar, bool bounded = false)
      : Kernel(own_term(std::move(scalar), DivergenceFreeCoupling{bounded})) {}
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
