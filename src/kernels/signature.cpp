// kernels/signature.cpp -- K_0 on a grid: how far it reaches, how fine it is, and whether K_0 is a kernel.
#include <carmina/core/error.hpp>
#include <carmina/kernels/spectrum.hpp>
#include <carmina/kernels/stationary.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

constexpr double decayed = 1e-6;                   // where the chosen grid ends, relative to K_0(0)
constexpr double largest_edge = 1e-3;              // where a given grid may end
constexpr double wanted_error = 1e-4;              // between points of a chosen grid
constexpr double largest_error = 0.02;             // of any grid
constexpr Index most_numbers = 1 << 23;            // of K_0 on the grid
constexpr Index most_points[] = {2049, 513, 129};  // along an input, for 1, 2 and 3 of them
constexpr double turn = 2 * std::numbers::pi;

std::string text_of(const Vector<double>& x) {
  std::string text;
  for (const double value : x) text += format_text("{}{:.4g}", text.empty() ? "" : ", ", value);
  return "(" + text + ")";
}

using ConstMap = Eigen::Map<const Matrix<double>>;

}  // namespace

SignatureSpectrum::SignatureSpectrum(Signature signature, Index dim_in, SignatureGrid grid)
    : signature_(std::move(signature)), d_(dim_in) {
  require(dim_in >= 1 && dim_in <= 3, "FromSignature: dim_in must be 1, 2 or 3, since K0 is put on a grid; found {}",
          dim_in);
  const Matrix<double> centre = signature_(Matrix<double>::Zero(1, d_));
  p_ = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(centre.size()))));
  require(centre.rows() == 1 && p_ > 0 && p_ * p_ == centre.cols(),
          "FromSignature: K0 gave {} numbers for one delta, expected a p x p matrix", centre.size());
  entries_ = p_ * (p_ + 1) / 2;
  scale_ = centre.norm();
  require(std::isfinite(scale_) && scale_ > 0, "FromSignature: K0(0) must be finite and not zero, found a norm of {}",
          scale_);
  if (grid.extent.empty()) {
    choose_extent();
  } else {
    const LengthScale extents(grid.extent);
    extents.check("FromSignature: extent");
    require(extents.isotropic() || static_cast<Index>(grid.extent.size()) == d_,
            "FromSignature: {} extents given for {} inputs", grid.extent.size(), d_);
    extent_ = Vector<double>::NullaryExpr(d_, [&](Index j) { return extents[j]; });
  }
  require(grid.size == 0 || grid.size >= 5, "FromSignature: grid_size must be at least 5, found {}", grid.size);
  const auto fits = [&](Index size) {
    return size <= most_points[d_ - 1] &&
           std::pow(static_cast<double>(size), d_) * static_cast<double>(p_ * p_) <= most_numbers;
  };
  Index size = grid.size > 0 ? grid.size | 1 : 17;
  require(fits(size), "FromSignature: a grid of {} points along each of {} inputs does not fit", size, d_);
  for (build(size); grid.size == 0 && error_ > wanted_error && fits(2 * size - 1); build(size)) {
    size = 2 * size - 1;
  }
  require(error_ <= largest_error,
          "FromSignature: the grid is too coarse: between its points K0 is off by {:.2g} of K0(0); {}", error_,
          grid.size > 0 ? "take a larger grid_size or a smaller extent" : "give a smaller extent");
}

void SignatureSpectrum::check_inputs(Index dim_in) const {
  require(dim_in == d_, "FromSignature: K0 was given for {} inputs, found {}", d_, dim_in);
}

// Along each input the distance from which on K_0 stays small, within a few percent; then all of them grow together
// until the faces of the box are small too.
void SignatureSpectrum::choose_extent() {
  constexpr Index probes = 16;
  const auto small_from = [&](Index j, double r) {
    Matrix<double> deltas = Matrix<double>::Zero(2 * probes, d_);
    for (Index i = 0; i < probes; ++i) {
      deltas(2 * i, j) = r * (1 + static_cast<double>(i) / probes);
      deltas(2 * i + 1, j) = -deltas(2 * i, j);
    }
    return signature_(deltas).rowwise().norm().maxCoeff() <= decayed * scale_;
  };
  extent_.resize(d_);
  for (Index j = 0; j < d_; ++j) {
    double large = 1;
    while (!small_from(j, large)) {
      large *= 2;
      require(large < 1e12, "FromSignature: K0 does not decay along input {}; give an extent if it does further out",
              j + 1);
    }
    while (large > 1e-12 && small_from(j, large / 2)) large /= 2;
    double small = large / 2;
    for (int i = 0; i < 5; ++i) {
      const double middle = (small + large) / 2;
      (small_from(j, middle) ? large : small) = middle;
    }
    extent_[j] = large;
  }
  constexpr Index points = 512;
  const Random random(0, Stream::rows);
  for (int attempt = 0; attempt < 16; ++attempt) {
    const Matrix<double> faces = Matrix<double>::NullaryExpr(points, d_, [&](Index i, Index j) {
      const double u = 2 * random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)) - 1;
      return extent_[j] * (j == i % d_ ? (u < 0 ? -1 : 1) : u);
    });
    if (signature_(faces).rowwise().norm().maxCoeff() <= 10 * decayed * scale_) return;
    extent_ *= 1.25;
  }
  fail("FromSignature: K0 does not decay in every direction; give an extent if it does further out");
}

void SignatureSpectrum::build(Index size) {
  size_ = size;
  const double edge = read_values();
  const Matrix<double> table = density_on_grid();
  check_positive(table, edge);
  fill_probabilities(table);
  error_ = interpolation_error(table);
}

double SignatureSpectrum::read_values() {
  const Index total = cells(), block = 1 << 16;
  Matrix<double> all(total, p_ * p_);
  for (Index first = 0; first < total; first += block) {
    const Index count = std::min(block, total - first);
    Matrix<double> deltas(count, d_);
    for (Index i = 0; i < count; ++i) deltas.row(i) = point(first + i, false).transpose();
    all.middleRows(first, count) = checked_values(*this, deltas);
  }
  require(all.allFinite(), "FromSignature: K0 gave a value that is NaN or infinite");

  double edge = 0;
  Index edge_at = 0;
  for (Index i = 0; i < total; ++i) {
    const ConstMap K(all.row(i).data(), p_, p_), opposite(all.row(total - 1 - i).data(), p_, p_);
    if ((K - opposite.transpose()).norm() > 1e-8 * scale_) {
      fail("FromSignature: K0(-delta) must be the transpose of K0(delta); it is not at delta = {}",
           text_of(point(i, false)));
    }
    if ((K - K.transpose()).norm() > 1e-8 * scale_) {
      fail(
          "FromSignature: K0(delta) must be a symmetric matrix, since its features have real factors; at delta = {} it "
          "is not (outputs that follow each other with a delay have a complex spectrum)",
          text_of(point(i, false)));
    }
    Index rest = i;
    for (Index j = 0; j < d_; ++j, rest /= size_) {
      if ((rest % size_ == 0 || rest % size_ == size_ - 1) && K.norm() > edge) edge = K.norm(), edge_at = i;
    }
  }
  require(
      edge <= largest_edge * scale_,
      "FromSignature: K0 has not decayed at the edge of the grid: at delta = {} it still is {:.2g} of K0(0); give a "
      "larger extent",
      text_of(point(edge_at, false)), edge / scale_);

  // C(w) = (2 pi)^-d h^d sum_k K_0(delta_k) cos<w, delta_k>; K_0 is even, so half of the points do, counted twice.
  double volume = 1;
  for (Index j = 0; j < d_; ++j) volume *= step(j) / turn;
  const Index across = cells() / size_, middle = size_ / 2;
  half_.resize(middle + 1, across * entries_);
  for (Index k = 0; k <= middle; ++k) {
    double* out = half_.row(k).data();
    for (Index r = 0; r < across; ++r) {
      const double* K = all.row((middle + k) * across + r).data();
      for (Index a = 0; a < p_; ++a) {
        for (Index b = 0; b <= a; ++b) *out++ = (k == 0 ? 1 : 2) * volume * (K[a * p_ + b] + K[b * p_ + a]) / 2;
      }
    }
  }
  return edge;
}

// Cutting K_0 off at the edge moves C by at most (2 pi)^-d times what is outside, for which edge times the box stands.
// Aliasing does no harm here: a sum of positive densities is positive.
void SignatureSpectrum::check_positive(const Matrix<double>& table, double edge) {
  double box = 1;
  for (Index j = 0; j < d_; ++j) box *= 2 * extent_[j] / turn;
  const double rounding = 1e-14 * half_.cwiseAbs().sum();
  double least = 0, largest = 0, trace = 0, lost = 0;
  Index at = 0;
  for (Index i = table.rows() / 2; i < table.rows(); ++i) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(unpacked(table, i), Eigen::EigenvaluesOnly);
    for (const double value : solver.eigenvalues()) {
      if (value < least) least = value, at = i;
      largest = std::max(largest, value);
      trace += value;
      if (value < 0) lost -= value;
    }
  }
  require(least >= -(edge * box + rounding) && lost <= 0.01 * trace,
          "FromSignature: K0 is not positive definite: at the frequency {} its spectral density has the eigenvalue "
          "{:.3g}, where the largest of all is {:.3g}",
          text_of(point(at, true)), least, largest);
  floor_ = 2 * std::max(-least, rounding);
}

}  // namespace carmina
