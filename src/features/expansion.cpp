// features/expansion.cpp -- the factors B_j of each kind of term, applied without being stored.
#include <carmina/backends/blas.hpp>
#include <carmina/core/execution.hpp>
#include <carmina/features/expansion.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

// SPEC 1b: B = |w| H[:, 2:d] with the Householder reflection H = I - 2 v vᵀ / vᵀv, v = w + sign(w_1) |w| e_1, which
// takes w to a multiple of e_1. B Bᵀ = |w|^2 I - w wᵀ.
struct Reflection {
  const double* w;
  Index d;
  double norm, first, scale;  // |w|; v_1; 2 / vᵀv

  Reflection(const double* frequency, Index dimension) : w(frequency), d(dimension) {
    double square = 0;
    for (Index j = 0; j < d; ++j) square += w[j] * w[j];
    norm = std::sqrt(square);
    first = w[0] + (w[0] >= 0 ? norm : -norm);
    const double vv = square - w[0] * w[0] + first * first;
    scale = vv > 0 ? 2 / vv : 0;
  }
  // out = |w| H (head, tail)
  void apply(double head, const double* tail, double* out) const {
    double dot = first * head;
    for (Index j = 1; j < d; ++j) dot += w[j] * tail[j - 1];
    out[0] = norm * (head - scale * dot * first);
    for (Index j = 1; j < d; ++j) out[j] = norm * (tail[j - 1] - scale * dot * w[j]);
  }
  // out (d - 1) = |w| (H z)[2:d]; H is symmetric, so this is Bᵀ z.
  void apply_without_first(const double* z, double* out) const {
    double dot = first * z[0];
    for (Index j = 1; j < d; ++j) dot += w[j] * z[j];
    for (Index j = 1; j < d; ++j) out[j - 1] = norm * (z[j] - scale * dot * w[j]);
  }
};

Random stream_of_term(std::uint64_t seed, Index i) {
  const Random random(seed, Stream::frequencies);
  return i == 0 ? random : random.child(static_cast<std::uint32_t>(i));
}

// Frequencies of bounded features have the density |L w|^2 / d times the Gaussian one (SPEC 1b, with L = diag(l)), so
// their factors are those of the Gaussian one times sqrt(d) / |L w|.
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

Expansion::Expansion(const Kernel& kernel, const Matrix<double>& W, Index dim_out) : W_(W), dim_out_(dim_out) {
  const auto terms = static_cast<Index>(kernel.terms().size());
  require(W.rows() % terms == 0, "expansion: {} frequencies for {} terms", W.rows(), terms);
  const Index count = W.rows() / terms;
  for (const Term& term : kernel.terms()) {
    Segment segment;
    segment.first = static_cast<Index>(segments_.size()) * count;
    segment.count = count;
    segment.width = dim_out;
    segment.offset = dim_coef_;
    segment.factor = std::sqrt(term.weight * static_cast<double>(terms));
    segment.kind = Segment::identity;
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
      segment.kind = Segment::constant;
      segment.root = factor_output_matrix(matrix->A()).root();
      segment.width = segment.root.cols();
    } else if (const auto* kind = std::get_if<Differential>(&term.coupling)) {
      const bool curl = *kind == Differential::curl_free;
      segment.kind = curl ? Segment::curl_free : Segment::divergence_free;
      segment.width = curl ? 1 : W.cols() - 1;
      if (term.bounded) segment.stretch = stretches(length_scale(term.scalar), W.middleRows(segment.first, count));
    } else if (const auto* spectrum = std::get_if<OwnSpectrum>(&term.coupling)) {
      segment.kind = Segment::own;
      segment.root = checked_factors(**spectrum, W.middleRows(segment.first, count));
      segment.width = segment.root.cols();
    }
    dim_coef_ += 2 * count * segment.width;
    segments_.push_back(std::move(segment));
  }
}

void Expansion::multiply(const Segment& s, Index unit, const double* y, double* out) const {
  const double* w = W_.row(unit).data();
  switch (s.kind) {
    case Segment::identity:
      std::copy(y, y + dim_out_, out);
      break;
    case Segment::constant:
      Eigen::Map<Vector<double>>(out, dim_out_).noalias() = s.root * Eigen::Map<const Vector<double>>(y, s.width);
      break;
    case Segment::curl_free:
      for (Index a = 0; a < dim_out_; ++a) out[a] = w[a] * y[0];
      break;
    case Segment::divergence_free:
      Reflection(w, dim_out_).apply(0, y, out);
      break;
    case Segment::own:
      Eigen::Map<Vector<double>>(out, dim_out_).noalias() =
          s.root.middleRows((unit - s.first) * dim_out_, dim_out_) * Eigen::Map<const Vector<double>>(y, s.width);
      break;
  }
  const double factor = s.factor_of(unit);
  for (Index a = 0; a < dim_out_; ++a) out[a] *= factor;
}

void Expansion::multiply_transposed(const Segment& s, Index unit, const double* z, double* out) const {
  const double* w = W_.row(unit).data();
  switch (s.kind) {
    case Segment::identity:
      std::copy(z, z + dim_out_, out);
      break;
    case Segment::constant:
      Eigen::Map<Vector<double>>(out, s.width).noalias() =
          s.root.transpose() * Eigen::Map<const Vector<double>>(z, dim_out_);
      break;
    case Segment::curl_free:
      out[0] = Eigen::Map<const Vector<double>>(w, dim_out_).dot(Eigen::Map<const Vector<double>>(z, dim_out_));
      break;
    case Segment::divergence_free:
      Reflection(w, dim_out_).apply_without_first(z, out);
      break;
    case Segment::own:
      Eigen::Map<Vector<double>>(out, s.width).noalias() =
          s.root.middleRows((unit - s.first) * dim_out_, dim_out_).transpose() *
          Eigen::Map<const Vector<double>>(z, dim_out_);
      break;
  }
  const double factor = s.factor_of(unit);
  for (Index b = 0; b < s.width; ++b) out[b] *= factor;
}

Matrix<double> Expansion::expand(const Matrix<double>& theta) const {
  Matrix<double> out(2 * units(), dim_out_);
  for (const Segment& s : segments_) {
    for (Index part = 0; part < 2; ++part) {
      const double* y = theta.data() + s.offset + part * s.count * s.width;
      for (Index j = 0; j < s.count; ++j) {
        multiply(s, s.first + j, y + j * s.width, out.row(part * units() + s.first + j).data());
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
        multiply_transposed(s, s.first + j, R.row(part * units() + s.first + j).data(), y + j * s.width);
      }
    }
  }
  return theta;
}

Matrix<double> Expansion::factors(const Segment& s) const {
  Matrix<double> out(s.count * s.width, dim_out_);
  Vector<double> unit_vector = Vector<double>::Zero(s.width);
  for (Index j = 0; j < s.count; ++j) {
    for (Index b = 0; b < s.width; ++b) {
      unit_vector[b] = 1;
      multiply(s, s.first + j, unit_vector.data(), out.row(j * s.width + b).data());
      unit_vector[b] = 0;
    }
  }
  return out;
}

Matrix<double> Expansion::gram(Eigen::Ref<const Matrix<double>, 0, Eigen::OuterStride<>> G, int threads) const {
  Matrix<double> out(dim_coef_, dim_coef_);
  std::vector<Matrix<double>> all;
  for (const Segment& s : segments_) all.push_back(factors(s));
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
        backend::gemm<double>(backend::Transpose::no, backend::Transpose::yes, rows, breadth, dim_out_, 1.0,
                              all[si].row(j0 * s.width).data(), dim_out_, all[ti].data(), dim_out_, 0.0,
                              products.data(), breadth);
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
  const auto terms = static_cast<Index>(kernel.terms().size());
  Index count = frequency_count(n_components);
  if (sampling == Sampling::phases) {
    const bool alone = kernel.separable() && !std::holds_alternative<OwnSpectrum>(kernel.terms()[0].coupling);
    require(alone,
            "sampling 'phases' is known for one scalar kernel, alone or decomposable, not for a sum or for "
            "curl-free, divergence-free and Spectral kernels");
    count = n_components;
  }
  Matrix<double> W(terms * count, dim_in);
  for (Index i = 0; i < terms; ++i) {
    W.middleRows(i * count, count) = sample_frequencies(kernel.terms()[static_cast<std::size_t>(i)], dim_in, count,
                                                        stream_of_term(seed, i), sampling);
  }
  return W;
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
