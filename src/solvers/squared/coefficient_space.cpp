// solvers/squared/coefficient_space.cpp -- coefficients of separable and of operator-valued maps behind one interface.
#include "backends/tiled.hpp"
#include "solvers/losses/convex_loss.hpp"

#include <memory>

namespace carmina {

CoefficientSpace::CoefficientSpace(OutputFactor outputs, Index features, Index dim_out)
    : outputs_(std::move(outputs)),
      features_(features),
      dim_out_(dim_out),
      rank_(outputs_.rank(dim_out)),
      dim_(features * rank_) {
  if (!outputs_.identity()) root_ = outputs_.root();
}

CoefficientSpace::CoefficientSpace(const Expansion& expansion, Index features)
    : expansion_(&expansion),
      features_(features),
      dim_out_(expansion.dim_out()),
      rank_(dim_out_),
      dim_(expansion.dim_coef()) {}

Matrix<double> CoefficientSpace::expand(const Vector<double>& theta) const {
  if (expansion_) return expansion_->expand(Matrix<double>(theta));
  const auto Theta = Eigen::Map<const Matrix<double>>(theta.data(), features_, rank_);
  return outputs_.identity() ? Matrix<double>(Theta) : Matrix<double>(Theta * root_.transpose());
}

Vector<double> CoefficientSpace::contract(const Matrix<double>& R) const {
  if (expansion_) return expansion_->contract(R);
  const Matrix<double> turned = outputs_.identity() ? R : Matrix<double>(R * root_);
  return Eigen::Map<const Vector<double>>(turned.data(), dim_);
}

Matrix<double> CoefficientSpace::model_coefficients(const Vector<double>& theta) const {
  if (expansion_) return expansion_->expand(Matrix<double>(theta));
  return Eigen::Map<const Matrix<double>>(theta.data(), features_, rank_);
}

// Separable: G = Q diag(s) Qᵀ and BᵀB = diag(delta), so the inverse is Q (Qᵀ R ./ (c s_k delta_a + alpha)).
CoefficientSpace::Inverse CoefficientSpace::inverse(Matrix<double> G, double alpha, const Execution& execution) const {
  if (expansion_) G = expansion_->gram(G, execution.thread_count());
  auto values = std::make_shared<Vector<double>>(G.rows());
  backend::symmetric_eigen(G.rows(), G.data(), G.outerStride(), values->data(),
                           execution);  // row k of G: k-th eigenvector
  const auto vectors = std::make_shared<const Matrix<double>>(std::move(G));
  *values = values->cwiseMax(0.0);
  const Index columns = expansion_ ? 1 : rank_;
  Vector<double> delta = Vector<double>::Ones(columns);
  if (!expansion_ && !outputs_.identity()) delta = outputs_.delta;
  return [values, vectors, delta, columns, alpha, execution](double c, const Vector<double>& r) -> Vector<double> {
    using backend::Transpose;
    const Index order = vectors->rows();
    const Matrix<double> R = Eigen::Map<const Matrix<double>>(r.data(), order, columns);
    Matrix<double> turned = backend::product(Transpose::no, *vectors, R, execution);
    for (Index k = 0; k < order; ++k) {
      for (Index a = 0; a < columns; ++a) turned(k, a) /= c * (*values)[k] * delta[a] + alpha;
    }
    const Matrix<double> back = backend::product(Transpose::yes, *vectors, turned, execution);
    return Eigen::Map<const Vector<double>>(back.data(), back.size());
  };
}

// Separable: the coefficients of feature k are neighbours, and a pair of features has G_kl times BᵀD B.
void CoefficientSpace::add_gram(const Matrix<double>& G, const std::vector<Index>& outputs, Matrix<double>& H,
                                const Execution& execution) const {
  if (expansion_) {
    H += expansion_->gram(G, execution.thread_count(), &outputs);
    return;
  }
  Matrix<double> BDB = Matrix<double>::Zero(rank_, rank_);
  for (const Index j : outputs) {
    for (Index a = 0; a < rank_; ++a) {
      for (Index c = 0; c < rank_; ++c) BDB(a, c) += root(j, a) * root(j, c);
    }
  }
  parallel_for(features_, execution.thread_count(), [&](Index k, int) {
    for (Index l = 0; l <= k; ++l) H.block(k * rank_, l * rank_, rank_, rank_) += G(k, l) * BDB;
  });
}

bool by_rows(const CoefficientSpace& space, const Loss& loss) {
  const bool entrywise = std::visit([]<class L>(const L&) { return EntrywiseLoss<L>; }, loss);
  return space.separate() && space.rank() == space.dim_out() && (space.dim_out() == 1 || entrywise);
}

}  // namespace carmina
