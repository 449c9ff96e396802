// kernels/spectrum.cpp -- a spectrum from two functions, and what comes out of a user's functions checked.
#include <carmina/core/error.hpp>
#include <carmina/kernels/spectrum.hpp>

namespace carmina {
namespace {

class FunctionSpectrum : public Spectrum {
 public:
  FunctionSpectrum(FrequencySampler sampler, FrequencyFactor factor, Index dim_out)
      : sampler_(std::move(sampler)), factor_(std::move(factor)), dim_out_(dim_out) {}

  Index dim_out() const override { return dim_out_; }

  Matrix<double> sample(Index count, Index dim_in, const Random& random) const override {
    Matrix<double> W(count, dim_in);
    for (Index i = 0; i < count; ++i) {
      const Vector<double> w = sampler_(random, i, dim_in);
      require(w.size() == dim_in, "Spectral: the sampler gave a frequency of {} numbers for inputs of {} columns",
              w.size(), dim_in);
      W.row(i) = w.transpose();
    }
    return W;
  }

  Matrix<double> factors(const Matrix<double>& W) const override {
    Matrix<double> all;
    for (Index i = 0; i < W.rows(); ++i) {
      const Matrix<double> B = factor_(W.row(i).transpose());
      if (i == 0) all.resize(W.rows() * dim_out_, B.cols());
      require(B.rows() == dim_out_ && B.cols() == all.cols(),
              "Spectral: factor gave {} x {} for one frequency, expected {} x {}", B.rows(), B.cols(), dim_out_,
              all.cols());
      all.middleRows(i * dim_out_, dim_out_) = B;
    }
    return all;
  }

 private:
  FrequencySampler sampler_;
  FrequencyFactor factor_;
  Index dim_out_;
};

}  // namespace

void Spectrum::check_inputs(Index) const {}

Matrix<double> Spectrum::values(const Matrix<double>&) const {
  fail(
      "kernel: a Spectral kernel has no exact values, it is known by its frequencies and factors alone; "
      "FourierFeatures.approximate_kernel estimates them, and fits take approximation 'fourier'");
}

Matrix<double> checked_frequencies(const Spectrum& spectrum, Index count, Index dim_in, const Random& random) {
  Matrix<double> W = spectrum.sample(count, dim_in, random);
  require(W.rows() == count && W.cols() == dim_in, "Spectral: the sampler gave {} x {} numbers, expected {} x {}",
          W.rows(), W.cols(), count, dim_in);
  require(W.allFinite(), "Spectral: the sampler gave a frequency that is NaN or infinite");
  return W;
}

Matrix<double> checked_factors(const Spectrum& spectrum, const Matrix<double>& W) {
  Matrix<double> B = spectrum.factors(W);
  require(B.rows() == W.rows() * spectrum.dim_out() && B.cols() > 0,
          "Spectral: factors are {} x {}, expected {} rows for {} frequencies and {} outputs", B.rows(), B.cols(),
          W.rows() * spectrum.dim_out(), W.rows(), spectrum.dim_out());
  require(B.allFinite(), "Spectral: factor gave a value that is NaN or infinite");
  return B;
}

Matrix<double> checked_values(const Spectrum& spectrum, const Matrix<double>& deltas) {
  Matrix<double> K = spectrum.values(deltas);
  const Index p = spectrum.dim_out();
  require(K.rows() == deltas.rows() && K.cols() == p * p, "kernel: K0 gave {} x {} numbers, expected {} x {}", K.rows(),
          K.cols(), deltas.rows(), p * p);
  return K;
}

UserSpectrum::UserSpectrum(std::shared_ptr<const Spectrum> spectrum) : spectrum_(std::move(spectrum)) {
  require(spectrum_ != nullptr, "Spectral: there is no spectrum");
  require(spectrum_->dim_out() > 0, "Spectral: the number of outputs must be at least 1, found {}",
          spectrum_->dim_out());
}

std::shared_ptr<const Spectrum> make_spectrum(FrequencySampler sampler, FrequencyFactor factor, Index dim_out) {
  require(sampler && factor, "Spectral: a sampler and a factor are needed");
  return std::make_shared<FunctionSpectrum>(std::move(sampler), std::move(factor), dim_out);
}

}  // namespace carmina
