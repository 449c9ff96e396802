// features/expansion.cpp -- the factors B_j of a sum of kernels among the features of its terms.
#include "features/expansion.hpp"
#include "backends/blas.hpp"
#include "backends/tiled.hpp"

#include <carmina/core/execution.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace carmina {

Random stream_of_term(std::uint64_t seed, Index i) {
  const Random random(seed, Stream::frequencies);
  return i == 0 ? random : random.child(static_cast<std::uint32_t>(i));
}

namespace {

// Frequencies of bounded features have the density |L w|^2 / d times the Gaussian one (mathematics.md 1b, with L =
// diag(l)), so their factors are those of the Gaussian one times sqrt(d) / |L w|.
Vector<double> stretches(const LengthScale& width, const Matrix<double>& W) {
  Vector<double> out(W.rows());
  for (Index i = 0; i < W.rows(); ++i) {
    double square = 0;
    for (Index j = 0; j < W.cols(); ++j) square += width[j] * W(i, j) * width[j] * W(i, j);
    out[i] = square > 0 ? std::sqrt(static_cast<double>(W.cols()) / square) : 0;
  }
  return out;
}

}  // namespace

Expansion::Expansion(const Kernel& kernel, const Matrix<double>& W, Index dim_out)
    : units_(W.rows()), dim_out_(dim_out) {
  const std::vector<Index> counts = term_units_of(kernel.terms(), W.cols(), W.rows());
  Index first = 0;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    const Term& term = kernel.terms()[t];
    const Index count = counts[t];
    Matrix<double> frequencies = W.middleRows(first, count);
    if (is_differential(term.coupling) && !place_of(term).columns.all()) {
      frequencies = Matrix<double>(frequencies(Eigen::all, place_columns(term, W.cols())));
    }
    OutputFactors factors(term.coupling, dim_out, frequencies);
    const Index width = factors.columns();
    Vector<double> scale = Vector<double>::Constant(
        count, std::sqrt(full_weight(term, W.cols()) * static_cast<double>(units_) / static_cast<double>(count)));
    if (has_bounded_features(term.coupling)) {
      scale.array() *= stretches(length_scale(place_of(term).kernel), frequencies).array();
    }
    segments_.push_back({std::move(factors), std::move(frequencies), first, count, width, dim_coef_, std::move(scale)});
    dim_coef_ += 2 * count * width;
    first += count;
  }
}

Matrix<double> Expansion::expand(const Matrix<double>& theta) const {
  Matrix<double> out(2 * units(), dim_out_);
  for (const Segment& s : segments_) {
    for (Index part = 0; part < 2; ++part) {
      const double* y = theta.data() + s.offset + part * s.count * s.width;
      for (Index j = 0; j < s.count; ++j) {
        auto row = out.row(part * units() + s.first + j);
        s.factors.multiply(j, s.W.row(j).data(), y + j * s.width, row.data());
        row *= s.scale[j];
      }
    }
  }
  return out;
}

Matrix<double> Expansion::contract(const Matrix<double>& R) const {
  Matrix<double> theta(dim_coef_, 1);
  for (const Segment& s : segments_) {
    for (Index part = 0; part < 2; ++part) {
      double* y = theta.data() + s.offset + part * s.count * s.width;
      for (Index j = 0; j < s.count; ++j) {
        const double* z = R.row(part * units() + s.first + j).data();
        s.factors.multiply_transposed(j, s.W.row(j).data(), z, y + j * s.width);
        Eigen::Map<Vector<double>>(y + j * s.width, s.width) *= s.scale[j];
      }
    }
  }
  return theta;
}

Matrix<double> Expansion::columns(const Segment& s) const {
  Matrix<double> out(s.count * s.width, dim_out_);
  for (Index j = 0; j < s.count; ++j) {
    out.middleRows(j * s.width, s.width) = s.scale[j] * s.factors.factor(j, s.W.row(j).data()).transpose();
  }
  return out;
}

Matrix<double> Expansion::gram(Eigen::Ref<const Matrix<double>, 0, Eigen::OuterStride<>> G, int threads,
                               const std::vector<Index>* outputs) const {
  Matrix<double> out(dim_coef_, dim_coef_);
  std::vector<Matrix<double>> all;
  for (const Segment& s : segments_) {
    all.push_back(columns(s));
    if (outputs) all.back() = Matrix<double>(all.back()(Eigen::all, *outputs));
  }
  const Index summed = all[0].cols();
  const auto entry = [&](Index i, Index j) { return i >= j ? G(i, j) : G(j, i); };
  for (std::size_t si = 0; si < segments_.size(); ++si) {
    for (std::size_t ti = 0; ti <= si; ++ti) {
      const Segment &s = segments_[si], &t = segments_[ti];
      const Index height = s.count * s.width, breadth = t.count * t.width;
      // out[(part, j, b), (part', k, b')] = G[(part, j), (part', k)] <B_j e_b, B_k e_b'>; a strip of frequencies a
      // task.
      constexpr Index strip = 16;
      parallel_for((s.count + strip - 1) / strip, threads, [&](Index task, int) {
        const Index j0 = task * strip, j1 = std::min(s.count, j0 + strip), rows = (j1 - j0) * s.width;
        Matrix<double> products(rows, breadth);
        backend::gemm<double>(backend::Transpose::no, backend::Transpose::yes, rows, breadth, summed, 1.0,
                              all[si].row(j0 * s.width).data(), summed, all[ti].data(), summed, 0.0, products.data(),
                              breadth);
        for (Index part = 0; part < 2; ++part) {
          for (Index other = 0; other < 2; ++other) {
            if (si == ti && other > part) continue;
            for (Index j = j0; j < j1; ++j) {
              for (Index b = 0; b < s.width; ++b) {
                const double* product = products.row((j - j0) * s.width + b).data();
                double* row = out.row(s.offset + part * height + j * s.width + b).data() + t.offset + other * breadth;
                for (Index k = 0; k < t.count; ++k) {
                  const double g = entry(part * units() + s.first + j, other * units() + t.first + k);
                  for (Index c = 0; c < t.width; ++c) row[k * t.width + c] = g * product[k * t.width + c];
                }
              }
            }
          }
        }
      });
    }
  }
  return out;
}

Matrix<double> sample_term_frequencies(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                                       Sampling sampling) {
  const std::vector<Term>& terms = kernel.terms();
  Index drawn = frequency_count(n_components);
  if (sampling == Sampling::phases) {
    const bool alone = kernel.separable() && !std::holds_alternative<UserSpectrum>(terms[0].coupling) &&
                       has_spectral_measure(terms[0].scalar);
    require(alone,
            "sampling 'phases' is known for one scalar kernel, alone or decomposable, not for a sum or for "
            "curl-free, divergence-free and Spectral kernels");
    drawn = n_components;
  }
  const std::vector<Index> counts = term_units(terms, dim_in, drawn);
  Matrix<double> W(std::accumulate(counts.begin(), counts.end(), Index{0}), dim_in);
  Index first = 0;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    W.middleRows(first, counts[t]) =
        sample_frequencies(terms[t], dim_in, counts[t], stream_of_term(seed, static_cast<Index>(t)), sampling);
    first += counts[t];
  }
  return W;
}

Matrix<double> sample_place_frequencies(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                                        Sampling sampling) {
  const std::vector<Term>& terms = kernel.terms();
  const auto shared = [&](const Term& term) { return place_is_shared(term, dim_in); };
  if (std::none_of(terms.begin(), terms.end(), shared)) return {};
  Matrix<double> W = sample_term_frequencies(kernel, dim_in, n_components, seed, sampling);
  const std::vector<Index> counts = term_units(terms, dim_in, frequency_count(n_components));
  Index first = 0;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    if (shared(terms[t])) {
      W.middleRows(first, counts[t]) = sample_factor_frequencies(
          terms[t], dim_in, counts[t], stream_of_term(seed, static_cast<Index>(t)), sampling)[0];
    }
    first += counts[t];
  }
  return W;
}

Amplitudes term_amplitudes(const Kernel& kernel, Index dim_in, Index units) {
  std::vector<std::vector<std::vector<Index>>> linear;  // of each term, the columns of its linear factors
  std::size_t most = 0;
  for (const Term& term : kernel.terms()) {
    auto& own = linear.emplace_back();
    for (const Product::Factor& factor : factors_of(term.scalar)) {
      if (std::holds_alternative<Linear>(factor.kernel)) own.push_back(factor.columns.of(dim_in));
    }
    most = std::max(most, own.size());
  }
  if (most == 0) return {};
  const std::vector<Index> counts = term_units_of(kernel.terms(), dim_in, units);
  Amplitudes out{Matrix<Index>::Constant(units, static_cast<Index>(most), -1), Vector<double>::Ones(units)};
  Index first = 0;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    Index products = 1;
    for (const auto& columns : linear[t]) products *= static_cast<Index>(columns.size());
    require(products <= counts[t],
            "kernel: linear factors have {} products of inputs, more than {} frequencies; take more components",
            products, counts[t]);
    for (Index i = 0; i < counts[t]; ++i) {
      // Unit i has product i mod `products`, which share the units as evenly as they can.
      const Index which = i % products, sharing = counts[t] / products + (which < counts[t] % products ? 1 : 0);
      out.factors[first + i] = std::sqrt(static_cast<double>(counts[t]) / static_cast<double>(sharing));
      Index rest = which;
      for (std::size_t k = 0; k < linear[t].size(); ++k) {
        const auto size = static_cast<Index>(linear[t][k].size());
        out.columns(first + i, static_cast<Index>(k)) = linear[t][k][static_cast<std::size_t>(rest % size)];
        rest /= size;
      }
    }
    first += counts[t];
  }
  return out;
}

Vector<double> sample_term_phases(Index n_components, std::uint64_t seed) {
  return sample_phases(FourierMap<double>::parts * frequency_count(n_components), stream_of_term(seed, 0));
}

HadamardFrequencies sample_term_hadamard(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed) {
  const auto terms = static_cast<Index>(kernel.terms().size());
  const Index count = frequency_count(n_components);
  HadamardFrequencies all;
  for (Index i = 0; i < terms; ++i) {
    const HadamardFrequencies one =
        sample_hadamard(kernel.terms()[static_cast<std::size_t>(i)], dim_in, count, stream_of_term(seed, i));
    if (i == 0) {
      all = {dim_in, count, Matrix<double>(terms * one.diagonals.rows(), one.block_size()),
             Vector<double>(terms * count)};
    }
    all.diagonals.middleRows(i * one.diagonals.rows(), one.diagonals.rows()) = one.diagonals;
    all.lengths.segment(i * count, count) = one.lengths;
  }
  return all;
}

}  // namespace carmina
