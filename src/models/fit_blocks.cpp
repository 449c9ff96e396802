// models/fit_blocks.cpp -- operator-valued kernels and sums of kernels: sketched with any loss, exact with losses other
// than the squared one.
//
// With anchors a and S (x) I_p for the sketch, H = (S (x) I) K (S (x) I)ᵀ = U diag(mu) Uᵀ gives a row of features for
// each output, Phi(x) = K(x, a) P with P = (S (x) I)ᵀ U / sqrt(mu), and f = K(., a) P theta. The exact machine has
// every row as an anchor and S = I.
#include "fit_path.hpp"

#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {
namespace {

// (S (x) I_p)ᵀ V for V (s p, r): rows a of the anchors, p at a time.
Matrix<double> mix_transposed(const Mixing& mixing, const Matrix<double>& V, Index p) {
  const Index anchors = columns_of(mixing), r = V.cols();
  Matrix<double> out = Matrix<double>::Zero(anchors * p, r);
  const auto add = [&](Index component, Index anchor, double value) {
    out.middleRows(anchor * p, p) += value * V.middleRows(component * p, p);
  };
  if (const auto* sparse = std::get_if<SparseMixing>(&mixing)) {
    for (Index a = 0; a < anchors; ++a) {
      for (SparseMixing::InnerIterator it(*sparse, a); it; ++it) add(it.row(), a, it.value());
    }
  } else {
    const auto& dense = std::get<Matrix<double>>(mixing);
    for (Index a = 0; a < anchors; ++a) {
      for (Index i = 0; i < dense.rows(); ++i) add(i, a, dense(i, a));
    }
  }
  return out;
}

Matrix<double> product(const Matrix<double>& A, const Matrix<double>& B, const Execution& execution) {
  Matrix<double> C(A.rows(), B.cols());
  BlasThreads threads(execution.thread_count());
  backend::gemm<double>(backend::Transpose::no, backend::Transpose::no, A.rows(), B.cols(), A.cols(), 1.0, A.data(),
                        A.cols(), B.data(), B.cols(), 0.0, C.data(), C.cols());
  return C;
}

// U / sqrt(mu) over the eigenvalues of H that are not rounding (SPEC 2b).
Matrix<double> whitening(Matrix<double> H, const Execution& execution) {
  const Index order = H.rows();
  Vector<double> mu(order);
  BlasThreads threads(order < 512 ? 1 : execution.thread_count());
  backend::symmetric_eigen(order, H.data(), H.outerStride(), mu.data());  // row k: the k-th eigenvector
  const double cutoff = mu[order - 1] * std::max(static_cast<double>(order) * 2.2e-16, 1e-12);
  Index rank = 0;
  while (rank < order && mu[order - 1 - rank] > cutoff) ++rank;
  require(rank > 0, "fit: the kernel matrix is zero");
  return (mu.tail(rank).cwiseSqrt().cwiseInverse().asDiagonal() * H.bottomRows(rank)).transpose();
}

}  // namespace

template <Real T>
KernelMachine<T> FitPath<T>::fit_blocks() {
  const Index p = rows_.dim_out();
  follow(plan_.ways.front().solver);
  auto all = gather(rows_, summary_, origin_, at_once_);
  const Index n = all.X.rows();
  Matrix<double> P;  // (anchors p, r)
  Matrix<T> anchors;
  if (sketch_) {
    require(!needs_data(*sketch_), "fit: the {} sketch is for one scalar kernel, with or without an output matrix",
            sketch_name(*sketch_));
    PhaseTimer timer(report_, "sketch");
    const sketches::Sketch sketch = sample(*sketch_, n, options_.seed, execution_);
    anchors = sketch.anchor_rows<T>(all.X);
    const Matrix<double> I = Matrix<double>::Identity(sketch.rows() * p, sketch.rows() * p);
    const Matrix<double> St = mix_transposed(sketch.mixing, I, p);  // (anchors p, s p)
    const Matrix<double> K = OperatorMap<T>(*kernel_, anchors, p, transform_).gram(execution_);
    const Matrix<double> KSt = product(K.template selfadjointView<Eigen::Lower>(), St, execution_);
    P = mix_transposed(sketch.mixing, whitening(St.transpose() * KSt, execution_), p);
  } else {
    anchors = all.X;
    PhaseTimer timer(report_, "kernel");
    P = whitening(OperatorMap<T>(*kernel_, anchors, p, transform_).gram(execution_), execution_);
  }
  OperatorMap<T> map(*kernel_, std::move(anchors), p, transform_);
  const Index columns = map.n_features() * p;
  Matrix<double> phi(n * p, P.cols());
  {
    PhaseTimer timer(report_, "features");
    const Index step = std::max<Index>(1, 4'000'000 / (columns * p));  // rows whose blocks take 32 MB
    std::vector<double> blocks;
    for (Index first = 0; first < n; first += step) {
      const Index count = std::min(step, n - first);
      blocks.resize(static_cast<std::size_t>(count * columns * p));
      map.blocks(all.X.middleRows(first, count), blocks.data(), execution_);
      // (row, anchor, a, b) -> (row a, anchor b)
      Matrix<double> K(count * p, columns);
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < map.n_features(); ++j) {
          K.block(i * p, j * p, p, p) =
              Eigen::Map<const Matrix<double>>(blocks.data() + (i * map.n_features() + j) * p * p, p, p);
        }
      }
      phi.middleRows(first * p, count * p) = product(K, P, execution_);
      execution_.checkpoint({"features", first + count, n});
    }
  }
  const FeatureProducts features = stored_blocks(phi, p, execution_);
  const Matrix<double> Y = all.dual.targets.rowwise() + origin_.transpose();
  check_targets(Y);
  const LinearSolution found =
      minimise_loss(features, CoefficientSpace::of_blocks(P.cols()),
                    {options_.loss, Y, all.dual.weights, options_.alpha, options_.fit_intercept});
  const Matrix<double> c = product(P, found.coefficients, execution_);
  return finish(std::move(map), {Eigen::Map<const Matrix<double>>(c.data(), columns / p, p), found.intercept});
}

template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
