// models/fit/learn_kernel.cpp -- a kernel's numbers as coordinates, its features as a function of them, and the ascent.
#include "models/fit/learn_kernel.hpp"
#include "features/expansion.hpp"
#include "models/mixture/produced_evidence.hpp"

#include <carmina/core/error.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

// The first columns of the factor (p, rank) in row j: terms with fewer than `rank` leave zeros behind theirs.
template <class M>
auto factor_at(M& factors, Index j, Index p, Index columns) {
  using Factor = std::conditional_t<std::is_const_v<M>, const Matrix<double>, Matrix<double>>;
  return Eigen::Map<Factor>(factors.row(j).data(), p, factors.cols() / p).leftCols(columns);
}

// Coordinates: per term the logarithms of its widths, if it has any, and of its multiple; then that of the noise.
class KernelFeatures {
 public:
  KernelFeatures(const Kernel& kernel, Index d, Index p, const FitOptions& options) : kernel_(kernel), p_(p) {
    require(options.sampling != Sampling::phases, "evidence: it is not known for sampling 'phases'");
    W_ = sample_term_frequencies(kernel, d, options.components(), options.seed, options.sampling);
    const Index terms = static_cast<Index>(kernel.terms().size()), count = W_.rows() / terms;
    const bool separable = kernel.separable() != nullptr;
    for (Index t = 0; t < terms; ++t) {
      const Term& term = kernel.terms()[static_cast<std::size_t>(t)];
      require(!has_bounded_features(term.coupling),
              "evidence: bounded features do not fit it, their measure is not the kernel's own");
      Part part{term, OutputFactors(term.coupling, p, W_.middleRows(t * count, count)), t * count, count, size_, 0};
      if (!std::holds_alternative<UserSpectrum>(term.coupling)) {
        part.widths = static_cast<Index>(length_scale_values(term.scalar).size());
      }
      size_ += part.widths + 1;
      const auto* matrix = std::get_if<OutputMatrix>(&term.coupling);
      if (separable && matrix) {
        // In the eigenbasis of A each output has a process of its own.
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(matrix->A());
        basis_ = eigen.eigenvectors();
        delta_ = eigen.eigenvalues().cwiseMax(0);
      }
      rank_ = std::max(rank_, part.factors.columns());
      parts_.push_back(std::move(part));
    }
    separate_ = separable;
    if (separate_ && delta_.size() == 0) delta_ = Vector<double>::Ones(p);
    ++size_;
  }

  Index size() const { return size_; }
  // Outputs as the features see them.
  template <Real T>
  Matrix<T> turned(ConstView<T> Y) const {
    if (basis_.size() == 0) return Y;
    return (Y.template cast<double>() * basis_).template cast<T>();
  }
  Vector<double> start(double multiple, double noise) const {
    Vector<double> at(size_);
    const double share = multiple / static_cast<double>(parts_.size());
    for (const Part& part : parts_) {
      const auto widths = length_scale_values(part.term.scalar);
      for (Index k = 0; k < part.widths; ++k) at[part.at + k] = std::log(widths[static_cast<std::size_t>(k)]);
      double size = share;
      if (is_differential(part.term.coupling)) {
        // |w|^2 / p is about the variance of an output of these.
        const double square =
            W_.middleRows(part.first, part.count).squaredNorm() / static_cast<double>(part.count * p_);
        if (square > 0) size /= square;
      }
      at[part.at + part.widths] = std::log(size);
    }
    at[size_ - 1] = std::log(noise);
    return at;
  }

  WeightedFrequencies features(const Vector<double>& at) const {
    WeightedFrequencies out;
    const Index M = W_.rows();
    out.separate = separate_;
    out.W = W_;
    out.real.setZero(M, separate_ ? p_ : p_ * rank_);
    out.noise = Vector<double>::Constant(p_, std::exp(at[size_ - 1]));
    for (const Part& part : parts_) {
      const double size = std::exp(at[part.at + part.widths] / 2) / std::sqrt(static_cast<double>(part.count));
      const Vector<double> stretch = widths_ratio(part, at);
      for (Index j = part.first; j < part.first + part.count; ++j) {
        if (part.widths > 0) out.W.row(j) = W_.row(j).cwiseProduct(stretch.transpose());
        if (separate_) {
          out.real.row(j) = size * delta_.cwiseSqrt().transpose();
        } else {
          factor_at(out.real, j, p_, part.factors.columns()) =
              size * part.factors.factor(j - part.first, out.W.row(j).data());
        }
      }
    }
    return out;
  }

  Vector<double> pull_back(const Vector<double>& at, const WeightedFrequencies& points,
                           const WeightedFrequencies& by) const {
    Vector<double> out = Vector<double>::Zero(size_);
    out[size_ - 1] = by.noise.sum() * std::exp(at[size_ - 1]);
    for (const Part& part : parts_) {
      const double size = std::exp(at[part.at + part.widths] / 2) / std::sqrt(static_cast<double>(part.count));
      for (Index j = part.first; j < part.first + part.count; ++j) {
        out[part.at + part.widths] += by.real.row(j).dot(points.real.row(j)) / 2;
        if (part.widths == 0) continue;
        Vector<double> by_frequency = by.W.row(j).transpose();
        if (!separate_) {
          const Matrix<double> by_factor = size * factor_at(by.real, j, p_, part.factors.columns());
          part.factors.add_gradient(points.W.row(j).data(), by_factor, by_frequency.data());
        }
        // w = w_0 l_0 / l
        for (Index k = 0; k < by_frequency.size(); ++k) {
          out[part.at + (part.widths == 1 ? 0 : k)] -= by_frequency[k] * points.W(j, k);
        }
      }
    }
    return out;
  }

  Kernel kernel(const Vector<double>& at, double scale) const {
    std::vector<Term> terms;
    for (const Part& part : parts_) {
      Term term = part.term;
      term.weight = std::exp(at[part.at + part.widths]) * scale;
      if (part.widths > 0) {
        std::vector<double> widths;
        for (Index k = 0; k < part.widths; ++k) widths.push_back(std::exp(at[part.at + k]));
        std::visit(
            [&]<class K>(K& k) {
              if constexpr (Stationary<K>) k.length_scale = LengthScale(widths);
            },
            term.scalar);
      }
      terms.push_back(std::move(term));
    }
    return Kernel(std::move(terms));
  }

 private:
  struct Part {
    Term term;
    OutputFactors factors;
    Index first, count;  // its frequencies
    Index at, widths;    // its coordinates: widths, then the multiple
  };

  Vector<double> widths_ratio(const Part& part, const Vector<double>& at) const {
    Vector<double> out = Vector<double>::Ones(W_.cols());
    const auto widths = part.widths > 0 ? length_scale_values(part.term.scalar) : std::vector<double>{};
    for (Index k = 0; k < out.size() && part.widths > 0; ++k) {
      const Index own = part.widths == 1 ? 0 : k;
      out[k] = widths[static_cast<std::size_t>(own)] / std::exp(at[part.at + own]);
    }
    return out;
  }
  Kernel kernel_;
  Index p_, rank_ = 1, size_ = 0;
  Matrix<double> W_;
  std::vector<Part> parts_;
  bool separate_ = false;
  Matrix<double> basis_;  // eigenvectors of A (p, p); empty: the identity
  Vector<double> delta_;  // eigenvalues of A
};

}  // namespace

template <Real T>
LearntKernel learn_kernel(ConstView<T> X, ConstView<T> Y, const T* weights, const Kernel& start,
                          const FitOptions& options, const AscentOptions& ascent) {
  const KernelFeatures features(start, X.cols(), Y.cols(), options);
  double squares = 0, total = 0;
  for (Index i = 0; i < Y.rows(); ++i) {
    const double w = weights ? static_cast<double>(weights[i]) : 1;
    squares += w * Y.row(i).template cast<double>().squaredNorm();
    total += w * static_cast<double>(Y.cols());
  }
  require(squares > 0, "evidence: the targets do not vary, there is nothing to learn from");
  const double scale = squares / total;
  const Matrix<T> standard = features.turned<T>(Y) / static_cast<T>(std::sqrt(scale));
  const FourierEvidence<T> evidence(X, standard, weights);
  const auto objective = [&](const Vector<double>& at, Vector<double>* gradient) {
    return produced_evidence([&](const WeightedFrequencies& points,
                                 WeightedFrequencies* by) { return evidence(points, by, options.execution); },
                             [&] { return features.features(at); }, gradient != nullptr,
                             [&](const WeightedFrequencies& points, const WeightedFrequencies& by) {
                               *gradient = features.pull_back(at, points, by);
                             });
  };
  const AscentResult result = lbfgs_ascent(objective, features.start(1, 0.1), ascent, [&](Index step, double) {
    options.execution.checkpoint({"evidence", step, ascent.max_iter, "step"});
  });
  return {features.kernel(result.at, scale), std::exp(result.at[features.size() - 1]) * scale,
          result.value - total / 2 * std::log(scale), result.iterations, result.converged};
}
template LearntKernel learn_kernel(ConstView<float>, ConstView<float>, const float*, const Kernel&, const FitOptions&,
                                   const AscentOptions&);
template LearntKernel learn_kernel(ConstView<double>, ConstView<double>, const double*, const Kernel&,
                                   const FitOptions&, const AscentOptions&);

}  // namespace carmina
