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
    require(term_amplitudes(kernel, d, W_.rows()).empty(),
            "evidence: it is not known for a kernel with 'linear' in it; choose alpha by 'leave_one_out'");
    const std::vector<Index> counts = term_units_of(kernel.terms(), d, W_.rows());
    const bool separable = kernel.separable() != nullptr;
    Index first = 0;
    for (std::size_t t = 0; t < counts.size(); ++t) {
      const Term& term = kernel.terms()[t];
      const Index count = counts[t];
      require(!has_bounded_features(term.coupling),
              "evidence: bounded features do not fit it, their measure is not the kernel's own");
      Part part{term, OutputFactors(term.coupling, p, W_.middleRows(first, count)), first, count, size_, 0, {}, {}};
      if (is_differential(term.coupling)) part.place = place_columns(term, d);
      if (std::holds_alternative<Product>(term.scalar)) {
        const auto stream = stream_of_term(options.seed, static_cast<Index>(t));
        for (Matrix<double>& W : sample_factor_frequencies(term, d, count, stream, options.sampling)) {
          part.pieces.push_back({std::move(W), {}, {}, part.widths});
          const Product::Factor factor = factors_of(term.scalar)[part.pieces.size() - 1];
          add_widths(part, factor.kernel, factor.columns.of(d));
        }
      } else {
        part.pieces.push_back({W_.middleRows(first, count), {}, {}, 0});
        if (!std::holds_alternative<UserSpectrum>(term.coupling)) {
          add_widths(part, term.scalar, InputColumns().of(d));
        }
      }
      first += count;
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
      for (const Piece& piece : part.pieces) {
        for (std::size_t k = 0; k < piece.widths.size(); ++k) {
          at[part.at + piece.at + static_cast<Index>(k)] = std::log(piece.widths[k]);
        }
      }
      double size = share;
      if (is_differential(part.term.coupling)) {
        // |w|^2 / p is about the variance of an output of these.
        const double square = part.pieces[0].W.squaredNorm() / static_cast<double>(part.count * p_);
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
      std::vector<Vector<double>> ratios;
      for (const Piece& piece : part.pieces) ratios.push_back(widths_ratio(part, piece, at));
      for (Index j = part.first; j < part.first + part.count; ++j) {
        const Index own = j - part.first;
        if (part.widths > 0) {
          out.W.row(j).setZero();
          for (std::size_t f = 0; f < ratios.size(); ++f) {
            out.W.row(j) += part.pieces[f].W.row(own).cwiseProduct(ratios[f].transpose());
          }
        }
        if (separate_) {
          out.real.row(j) = size * delta_.cwiseSqrt().transpose();
        } else {
          const Vector<double> w = place_frequency(part, own, ratios[0]);
          factor_at(out.real, j, p_, part.factors.columns()) = size * part.factors.factor(own, w.data());
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
      std::vector<Vector<double>> ratios;
      for (const Piece& piece : part.pieces) ratios.push_back(widths_ratio(part, piece, at));
      for (Index j = part.first; j < part.first + part.count; ++j) {
        const Index own = j - part.first;
        out[part.at + part.widths] += by.real.row(j).dot(points.real.row(j)) / 2;
        if (part.widths == 0) continue;
        for (std::size_t f = 0; f < ratios.size(); ++f) {
          const Piece& piece = part.pieces[f];
          Vector<double> by_frequency = by.W.row(j).transpose();
          if (!separate_ && f == 0) {
            const Matrix<double> by_factor = size * factor_at(by.real, j, p_, part.factors.columns());
            const Vector<double> w = place_frequency(part, own, ratios[0]);
            Vector<double> by_place = Vector<double>::Zero(w.size());
            part.factors.add_gradient(w.data(), by_factor, by_place.data());
            for (Index a = 0; a < w.size(); ++a) by_frequency[part.column(a)] += by_place[a];
          }
          // w = w_0 l_0 / l
          for (std::size_t k = 0; k < piece.columns.size() && !piece.widths.empty(); ++k) {
            const Index column = piece.columns[k];
            out[part.at + piece.at + (piece.widths.size() == 1 ? 0 : static_cast<Index>(k))] -=
                by_frequency[column] * piece.W(own, column) * ratios[f][column];
          }
        }
      }
    }
    return out;
  }

  Kernel kernel(const Vector<double>& at, double scale) const {
    std::vector<Term> terms;
    for (const Part& part : parts_) {
      Term term = part.term;
      Index next = part.at;
      term.scalar = with_widths(std::move(term.scalar), [&](const LengthScale& width) {
        std::vector<double> widths;
        for (std::size_t k = 0; k < width.values().size(); ++k) widths.push_back(std::exp(at[next++]));
        return LengthScale(std::move(widths));
      });
      term.weight = 1;
      term.weight = std::exp(at[part.at + part.widths]) * scale / full_weight(term, W_.cols());
      terms.push_back(std::move(term));
    }
    return Kernel(std::move(terms));
  }

 private:
  // Frequencies of a factor of a product, or of a kernel that is none: columns of others are 0.
  struct Piece {
    Matrix<double> W;            // (count, d), at the widths that learning starts from
    std::vector<double> widths;  // these; none where it has none to learn
    std::vector<Index> columns;  // that it is of
    Index at;                    // its first coordinate, from the part's on
  };
  struct Part {
    Term term;
    OutputFactors factors;
    Index first, count;  // its frequencies
    Index at, widths;    // its coordinates: widths, then the multiple
    std::vector<Piece> pieces;
    std::vector<Index> place;  // the columns that a vector field is of

    Index column(Index a) const { return place.empty() ? a : place[static_cast<std::size_t>(a)]; }
  };

  static void add_widths(Part& part, const ScalarKernel& kernel, std::vector<Index> columns) {
    Piece& piece = part.pieces.back();
    piece.columns = std::move(columns);
    if (is_stationary(kernel)) piece.widths = length_scale_values(kernel);
    part.widths += static_cast<Index>(piece.widths.size());
  }

  Vector<double> widths_ratio(const Part& part, const Piece& piece, const Vector<double>& at) const {
    Vector<double> out = Vector<double>::Ones(W_.cols());
    for (std::size_t k = 0; k < piece.columns.size() && !piece.widths.empty(); ++k) {
      const std::size_t own = piece.widths.size() == 1 ? 0 : k;
      out[piece.columns[k]] = piece.widths[own] / std::exp(at[part.at + piece.at + static_cast<Index>(own)]);
    }
    return out;
  }

  // What the factor of outputs is of: the frequency of the first piece.
  static Vector<double> place_frequency(const Part& part, Index own, const Vector<double>& ratio) {
    const Vector<double> w = part.pieces[0].W.row(own).transpose().cwiseProduct(ratio);
    if (part.place.empty()) return w;
    return w(part.place);
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
