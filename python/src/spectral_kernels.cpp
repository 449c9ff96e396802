// spectral_kernels.cpp -- kernels made of Python functions: a sampler and a factor, or a signature.
#include <carmina/kernels/spectrum.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interpreter_lock.hpp"
#include "kernel_values.hpp"

namespace carmina::python {
namespace {

// A Python object that C++ may let go of on any thread.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const Locked locked;
    object_.reset();
  }
  const nb::object& operator*() const { return object_; }

 private:
  nb::object object_;
};

void require_callable(nb::handle function, const char* name) {
  if (PyCallable_Check(function.ptr()) == 0) {
    fail("{} must be a function, found {}", name, nb::cast<std::string>(nb::repr(function)));
  }
}

nb::object vector_of(const Matrix<double>& W, Index row) { return nb::cast(to_numpy(Vector<double>(W.row(row)))); }

// `values` as a matrix of that many rows; a vector is one column, a number one entry.
Matrix<double> columns_of(nb::handle values, const char* name) {
  nb::object array = as_array<double>(values);
  if (nb::cast<int>(array.attr("ndim")) < 2) array = array.attr("reshape")(-1, 1);
  return to_matrix(array, name);
}

class PythonSpectrum : public Spectrum {
 public:
  PythonSpectrum(nb::object sampler, nb::object factor, Index outputs)
      : sampler_(std::move(sampler)), factor_(std::move(factor)), outputs_(outputs) {}

  Index dim_out() const override { return outputs_; }
  const nb::object& sampler() const { return *sampler_; }
  const nb::object& factor() const { return *factor_; }

  Matrix<double> sample(Index count, Index dim_in, const Random& random) const override {
    const Locked locked;
    // A generator for each stream of the seed: of each term of a sum.
    nb::list entropy;
    for (std::uint64_t i = 0; i < 2; ++i) entropy.append(random.bits(i));
    return columns_of((*sampler_)(count, dim_in, numpy().attr("random").attr("default_rng")(entropy)),
                      "Spectral: what the sampler gave");
  }

  Matrix<double> factors(const Matrix<double>& W) const override {
    const Locked locked;
    Matrix<double> all;
    for (Index i = 0; i < W.rows(); ++i) {
      const Matrix<double> B = columns_of((*factor_)(vector_of(W, i)), "Spectral: what factor gave");
      if (i == 0) all.resize(W.rows() * outputs_, B.cols());
      require(B.rows() == outputs_ && B.cols() == all.cols(),
              "Spectral: factor gave {} x {} numbers for one frequency, expected {} x {}", B.rows(), B.cols(), outputs_,
              all.cols());
      all.middleRows(i * outputs_, outputs_) = B;
    }
    return all;
  }

 private:
  Held sampler_, factor_;
  Index outputs_;
};

Signature call(const std::shared_ptr<const Held>& K0) {
  return [K0](const Matrix<double>& deltas) {
    const Locked locked;
    const nb::object values = as_array<double>((**K0)(to_numpy(Matrix<double>(deltas))));
    const auto shape = nb::cast<std::vector<Index>>(values.attr("shape"));
    const bool matrices = shape.size() == 3 && shape[1] == shape[2];
    if ((!matrices && shape.size() != 1) || shape[0] != deltas.rows()) {
      fail("FromSignature: K0 gave an array of shape {} for {} rows, expected (n, p, p), or (n,) for one output",
           nb::cast<std::string>(nb::repr(values.attr("shape"))), deltas.rows());
    }
    return to_matrix(values.attr("reshape")(deltas.rows(), -1), "FromSignature: K0");
  };
}

class PythonSignature : public SignatureSpectrum {
 public:
  PythonSignature(std::shared_ptr<const Held> K0, Index dim_in, const nb::object& extent,
                  std::optional<Index> grid_size)
      : SignatureSpectrum(call(K0), dim_in, {given(extent), grid_size.value_or(0)}),
        K0_(std::move(K0)),
        given_extent_(extent.is_none() ? std::vector<double>{} : given(extent)),
        given_size_(grid_size),
        dim_in_(dim_in) {}

  nb::dict parameters() const {
    nb::dict out;
    out["K0"] = **K0_;
    out["dim_in"] = dim_in_;
    out["extent"] = given_extent_.empty()       ? nb::none()
                    : given_extent_.size() == 1 ? nb::cast(given_extent_[0])
                                                : nb::cast(given_extent_);
    out["grid_size"] = given_size_ ? nb::cast(*given_size_) : nb::none();
    return out;
  }

 private:
  static std::vector<double> given(const nb::object& extent) {
    if (extent.is_none()) return {};
    const nb::object array = numpy().attr("atleast_1d")(as_array<double>(extent));
    require(nb::cast<int>(array.attr("ndim")) == 1, "FromSignature: extent must be a number or one for each input");
    return nb::cast<std::vector<double>>(array.attr("tolist")());
  }

  std::shared_ptr<const Held> K0_;
  std::vector<double> given_extent_;
  std::optional<Index> given_size_;
  Index dim_in_;
};

const Spectrum& spectrum_of(const Kernel& kernel) { return *std::get<UserSpectrum>(kernel.terms()[0].coupling); }

// The classes that Python sees; which one a spectrum is of, its own type says.
struct SpectralValue : Kernel {
  explicit SpectralValue(UserSpectrum spectrum) : Kernel(Spectral(std::move(spectrum))) {}
  const PythonSpectrum& spectrum() const { return dynamic_cast<const PythonSpectrum&>(spectrum_of(*this)); }
};
struct SignatureValue : Kernel {
  explicit SignatureValue(UserSpectrum spectrum) : Kernel(Spectral(std::move(spectrum))) {}
  const PythonSignature& spectrum() const { return dynamic_cast<const PythonSignature&>(spectrum_of(*this)); }
};

// A copy would be the same value: functions are not copied.
template <class Class>
void def_copies(Class& type) {
  type.def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, nb::arg("memo"));
}

}  // namespace

nb::object to_python(const UserSpectrum& spectrum) {
  if (dynamic_cast<const PythonSpectrum*>(&*spectrum) != nullptr) return nb::cast(SpectralValue(spectrum));
  return nb::cast(SignatureValue(spectrum));
}

void bind_spectral_kernels(nb::module_& m) {
  // A function knows its module's names, the kernel among them: a ring that Python cannot see through. At the end of
  // the program that is no news.
  nb::set_leak_warnings(false);
  nb::class_<SpectralValue, Kernel> spectral(m, "Spectral",
                                             R"(A kernel by its spectrum: frequencies ω ~ μ, and a factor B(ω).

K(x, z) = E[cos⟨ω, x − z⟩ B(ω) B(ω)ᵀ]. It is fitted by Fourier features with every solver, and may be a term of a sum. Its
exact values are not known: `FourierFeatures.approximate_kernel` estimates them. A model with it can be pickled when the
functions can, but not saved to a model file.

Parameters
----------
sampler : callable
    `sampler(count, dim, rng)` gives frequencies (count, dim), each drawn from μ. `rng` is a `numpy.random.Generator`
    that depends on the seed alone; when frequencies are drawn one after the other, as `rng.normal(size=(count, dim))`
    does, a larger map begins with a smaller one's.
factor : callable
    `factor(omega)` gives B (outputs, p') for a frequency (dim,); p' is the same for all. One column may be a vector.
outputs : int
    p, the number of outputs.

Examples
--------
>>> import numpy as np
>>> from carmina import FourierFeatures
>>> from carmina.kernels import Spectral
>>> K = Spectral(lambda count, dim, rng: rng.normal(size=(count, dim)), lambda omega: omega, outputs=2)
>>> K.n_outputs
2
>>> features = FourierFeatures(K, n_components=20_000, random_state=0).fit(np.zeros((1, 2)))
>>> features.approximate_kernel(np.zeros((1, 2))).round(1) + 0.0
array([[[[1., 0.],
         [0., 1.]]]])
)");
  spectral
      .def(
          "__init__",
          [](SpectralValue* self, nb::object sampler, nb::object factor, Index outputs) {
            require_callable(sampler, "Spectral: sampler");
            require_callable(factor, "Spectral: factor");
            new (self) SpectralValue(
                UserSpectrum(std::make_shared<const PythonSpectrum>(std::move(sampler), std::move(factor), outputs)));
          },
          nb::arg("sampler"), nb::arg("factor"), nb::arg("outputs"),
          nb::sig("def __init__(self, sampler: collections.abc.Callable[[int, int, numpy.random.Generator], "
                  "numpy.typing.ArrayLike], factor: collections.abc.Callable[[numpy.typing.NDArray], "
                  "numpy.typing.ArrayLike], outputs: int) -> None"))
      .def_prop_ro("_parameters", [](const SpectralValue& k) {
        nb::dict parameters;
        parameters["sampler"] = k.spectrum().sampler();
        parameters["factor"] = k.spectrum().factor();
        parameters["outputs"] = k.spectrum().dim_out();
        return parameters;
      });
  def_copies(spectral);

  nb::class_<SignatureValue, Kernel> signature(m, "FromSignature",
                                               R"(A kernel K(x, z) = K₀(x − z), its spectrum computed from K₀.

The spectral density C(ω) of K₀ is found on a grid; frequencies are drawn in proportion to its trace, and B(ω) comes from
an eigendecomposition of C. Exact fits take K₀ itself.

Parameters
----------
K0 : callable
    `K0(delta)` gives (n, p, p), or (n,) for one output, for differences (n, dim_in). A positive definite function:
    K₀(−δ) = K₀(δ)ᵀ, each K₀(δ) symmetric, falling off to zero, and C(ω) without negative eigenvalues; all of it is
    checked.
dim_in : int
    The number of inputs: 1, 2 or 3.
extent : float or sequence of float, default=None
    The grid covers [−extent, extent] along each input; None: as far as ‖K₀‖ is above 1e-6 ‖K₀(0)‖.
grid_size : int, default=None
    Points along each input; None: so many that K₀ between them is known to 1e-4, as far as memory allows.

Examples
--------
>>> import numpy as np
>>> from carmina.kernels import FromSignature
>>> A = np.array([[1.0, 0.5], [0.5, 1.0]])
>>> K = FromSignature(lambda delta: np.exp(-(delta**2).sum(axis=1))[:, None, None] * A, dim_in=2)
>>> K.n_outputs, bool(K.grid_error < 1e-4)
(2, True)
>>> K([[0.0, 0.0]], [[0.5, 0.0]]).round(4)
array([[[[0.7788, 0.3894],
         [0.3894, 0.7788]]]])
)");
  signature
      .def(
          "__init__",
          [](SignatureValue* self, nb::object K0, Index dim_in, nb::object extent, std::optional<Index> grid_size) {
            require_callable(K0, "FromSignature: K0");
            new (self) SignatureValue(UserSpectrum(std::make_shared<const PythonSignature>(
                std::make_shared<const Held>(std::move(K0)), dim_in, std::move(extent), grid_size)));
          },
          nb::arg("K0"), nb::arg("dim_in"), nb::arg("extent") = nb::none(), nb::arg("grid_size") = nb::none(),
          nb::sig("def __init__(self, K0: collections.abc.Callable[[numpy.typing.NDArray], numpy.typing.ArrayLike], "
                  "dim_in: int, extent: float | collections.abc.Sequence[float] | None = None, "
                  "grid_size: int | None = None) -> None"))
      .def_prop_ro(
          "extent",
          [](const SignatureValue& k) {
            const Vector<double>& extent = k.spectrum().extent();
            return std::vector<double>(extent.begin(), extent.end());
          },
          "How far the grid goes along each input.")
      .def_prop_ro(
          "grid_size", [](const SignatureValue& k) { return k.spectrum().size(); },
          "Points of the grid along each input.")
      .def_prop_ro(
          "grid_error", [](const SignatureValue& k) { return k.spectrum().error(); },
          "The largest difference found between K₀ and what the grid makes of it, relative to ‖K₀(0)‖.")
      .def_prop_ro("_parameters", [](const SignatureValue& k) { return k.spectrum().parameters(); });
  def_copies(signature);
}

}  // namespace carmina::python
