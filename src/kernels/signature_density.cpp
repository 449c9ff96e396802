// kernels/signature_density.cpp -- the spectral density of a signature on and off the grid, draws from it, and factors.
#include <carmina/core/error.hpp>
#include <carmina/kernels/spectrum.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

constexpr Index numbers_at_once = 1 << 21;  // of products with the grid
using ConstMap = Eigen::Map<const Matrix<double>>;

// cos and sin of sum_j angle_j k_j over k_j = -m .. m for each of the angles, row-major.
struct Phases {
  Vector<double> cosine, sine;

  Phases(const double* angles, Index axes, Index size)
      : cosine(Vector<double>::Ones(1)), sine(Vector<double>::Zero(1)) {
    for (Index j = 0; j < axes; ++j) {
      const Vector<double> c = cosine, s = sine;
      cosine.resize(c.size() * size), sine.resize(c.size() * size);
      const Index half = size / 2;
      for (Index k = 0; k < size; ++k) {
        const double angle = angles[j] * static_cast<double>(k - half), ck = std::cos(angle), sk = std::sin(angle);
        for (Index i = 0; i < c.size(); ++i) {
          cosine[i * size + k] = c[i] * ck - s[i] * sk;
          sine[i * size + k] = s[i] * ck + c[i] * sk;
        }
      }
    }
  }
};

// Values on a grid averaged over cells, as straight lines between neighbours would have it: (1, 6, 1) / 8 each way.
void average_cells(Vector<double>& values, Index size) {
  for (Index stride = 1; stride < values.size(); stride *= size) {
    const Vector<double> before = values;
    for (Index i = 0; i < values.size(); ++i) {
      const Index k = i / stride % size;
      values[i] = (6 * before[i] + (k > 0 ? before[i - stride] : 0) + (k + 1 < size ? before[i + stride] : 0)) / 8;
    }
  }
}

}  // namespace

Index SignatureSpectrum::cells() const {
  Index out = 1;
  for (Index j = 0; j < d_; ++j) out *= size_;
  return out;
}

double SignatureSpectrum::frequency_step(Index j) const {
  return 2 * std::numbers::pi / (static_cast<double>(size_) * step(j));
}

Vector<double> SignatureSpectrum::point(Index index, bool frequency) const {
  Vector<double> out(d_);
  const Index half = size_ / 2;
  for (Index j = d_ - 1; j >= 0; --j, index /= size_) {
    out[j] = static_cast<double>(index % size_ - half) * (frequency ? frequency_step(j) : step(j));
  }
  return out;
}

// One input after the other: exp(-i a) times what is there, by products with matrices of cosines and sines.
Matrix<double> SignatureSpectrum::density_on_grid() const {
  const Index middle = size_ / 2, total = cells();
  const Matrix<double> angles = Matrix<double>::NullaryExpr(size_, size_, [&](Index f, Index k) {
    return 2 * std::numbers::pi * static_cast<double>((f - middle) * (k - middle) % size_) / static_cast<double>(size_);
  });
  const Matrix<double> C = angles.array().cos(), S = angles.array().sin();
  const Matrix<double> re = C.bottomRightCorner(middle + 1, middle + 1) * half_,
                       im = -S.bottomRightCorner(middle + 1, middle + 1) * half_;
  Matrix<double> table(total, entries_);
  const Index across = total / size_;
  for (Index f = 0; f <= middle; ++f) {
    Matrix<double> x = re.row(f), y = im.row(f);
    for (Index axis = 1, outer = 1; axis < d_; ++axis, outer *= size_) {
      const Index inner = x.size() / (outer * size_);
      Matrix<double> u(1, x.size()), v(1, x.size());
      for (Index o = 0; o < outer; ++o) {
        const Index begin = o * size_ * inner;
        const ConstMap xo(x.data() + begin, size_, inner), yo(y.data() + begin, size_, inner);
        Eigen::Map<Matrix<double>>(u.data() + begin, size_, inner).noalias() = C * xo + S * yo;
        Eigen::Map<Matrix<double>>(v.data() + begin, size_, inner).noalias() = C * yo - S * xo;
      }
      x.swap(u), y.swap(v);
    }
    for (Index r = 0; r < across; ++r) {
      const Index row = (middle + f) * across + r;
      table.row(row) = Eigen::Map<const Eigen::RowVectorXd>(x.data() + r * entries_, entries_);
      table.row(total - 1 - row) = table.row(row);
    }
  }
  return table;
}

Matrix<double> SignatureSpectrum::unpacked(const Matrix<double>& lower, Index row) const {
  Matrix<double> out(p_, p_);
  for (Index a = 0, i = 0; a < p_; ++a) {
    for (Index b = 0; b <= a; ++b, ++i) out(a, b) = out(b, a) = lower(row, i);
  }
  return out;
}

// mu: a cell with the mean of tr C over it, a place within the cell at random.
void SignatureSpectrum::fill_probabilities(const Matrix<double>& table) {
  double cell = 1;
  for (Index j = 0; j < d_; ++j) cell *= frequency_step(j);
  Vector<double> trace = Vector<double>::Zero(table.rows());
  for (Index a = 0; a < p_; ++a) trace += table.col(a * (a + 1) / 2 + a);
  trace = (trace.array() > floor_).select(trace, 0.0);
  average_cells(trace, size_);
  summed_.resize(trace.size());
  double sum = 0;
  for (Index i = 0; i < trace.size(); ++i) summed_[i] = sum += trace[i];
  density_ = trace / (sum * cell);
}

double SignatureSpectrum::interpolation_error(const Matrix<double>& table) const {
  constexpr Index probes = 24;
  const Random random(1, Stream::rows);
  double cell = 1;
  Matrix<double> deltas(probes + d_ + 1, d_);
  for (Index j = 0; j < d_; ++j) {
    cell *= frequency_step(j);
    for (Index i = 0; i < deltas.rows(); ++i) {
      const double u = 2 * random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)) - 1;
      // Near zero, where K_0 is large; half a step from it along each input, and along all.
      deltas(i, j) = i < probes ? extent_[j] * u * std::abs(u) : i == probes + j || i == probes + d_ ? step(j) / 2 : 0;
    }
  }
  const Matrix<double> exact = checked_values(*this, deltas);
  double worst = 0;
  for (Index i = 0; i < deltas.rows(); ++i) {
    Vector<double> angles(d_);
    for (Index j = 0; j < d_; ++j) angles[j] = deltas(i, j) * frequency_step(j);
    const Phases phases(angles.data(), d_, size_);
    const Matrix<double> K = cell * phases.cosine.transpose() * table;
    worst = std::max(worst, (unpacked(K, 0) - ConstMap(exact.row(i).data(), p_, p_)).norm() / scale_);
  }
  return worst;
}

// The Fourier sum at any frequency, so that jitter within a cell does not blur what the kernel is made of.
Matrix<double> SignatureSpectrum::lower_density(const Matrix<double>& W) const {
  Matrix<double> out(W.rows(), entries_);
  const Index block = std::max<Index>(1, numbers_at_once / half_.cols());
  for (Index first = 0; first < W.rows(); first += block) {
    const Index count = std::min(block, W.rows() - first);
    const Matrix<double> angles = Matrix<double>::NullaryExpr(
        count, half_.rows(), [&](Index i, Index k) { return W(first + i, 0) * step(0) * static_cast<double>(k); });
    const Matrix<double> re = angles.array().cos().matrix() * half_, im = angles.array().sin().matrix() * half_;
    for (Index i = 0; i < count; ++i) {
      Vector<double> rest_angles(d_ - 1);
      for (Index j = 1; j < d_; ++j) rest_angles[j - 1] = W(first + i, j) * step(j);
      const Phases phases(rest_angles.data(), d_ - 1, size_);
      out.row(first + i) = phases.cosine.transpose() * ConstMap(re.row(i).data(), rest(), entries_) -
                           phases.sine.transpose() * ConstMap(im.row(i).data(), rest(), entries_);
    }
  }
  return out;
}

Matrix<double> SignatureSpectrum::density(const Matrix<double>& W) const {
  const Matrix<double> lower = lower_density(W);
  Matrix<double> out(W.rows(), p_ * p_);
  for (Index i = 0; i < W.rows(); ++i) {
    out.row(i) = unpacked(lower, i).reshaped<Eigen::RowMajor>().transpose();
  }
  return out;
}

Matrix<double> SignatureSpectrum::sample(Index count, Index dim_in, const Random& random) const {
  check_inputs(dim_in);
  Matrix<double> W(count, d_);
  for (Index i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const double level = random.uniform(index, 0) * summed_[summed_.size() - 1];
    const auto* found = std::upper_bound(summed_.data(), summed_.data() + summed_.size(), level);
    W.row(i) = point(std::min<Index>(found - summed_.data(), summed_.size() - 1), true).transpose();
    for (Index j = 0; j < d_; ++j) {
      W(i, j) += (random.uniform(index, static_cast<std::uint32_t>(1 + j)) - 0.5) * frequency_step(j);
    }
  }
  return W;
}

// A = C / q = B Bᵀ by its eigenvalues above the noise; frequencies outside of mu's cells, which rounding to float may
// make, have B = 0.
Matrix<double> SignatureSpectrum::factors(const Matrix<double>& W) const {
  check_inputs(W.cols());
  const Matrix<double> lower = lower_density(W);
  Matrix<double> B = Matrix<double>::Zero(W.rows() * p_, p_);
  Index width = 1;
  for (Index i = 0; i < W.rows(); ++i) {
    Index cell = 0;
    bool inside = true;
    for (Index j = 0; j < d_; ++j) {
      const Index k = static_cast<Index>(std::floor(W(i, j) / frequency_step(j) + 0.5)) + size_ / 2;
      inside = inside && k >= 0 && k < size_;
      cell = cell * size_ + k;
    }
    const double q = inside ? density_[cell] : 0.0;
    if (!(q > 0)) continue;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(unpacked(lower, i));
    for (Index k = 0; k < p_; ++k) {  // the largest first
      const double value = solver.eigenvalues()[p_ - 1 - k];
      if (value <= floor_) break;
      B.block(i * p_, k, p_, 1) = std::sqrt(value / q) * solver.eigenvectors().col(p_ - 1 - k);
      width = std::max(width, k + 1);
    }
  }
  return B.leftCols(width);
}

}  // namespace carmina
