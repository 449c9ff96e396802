// features/operator_map.cpp -- a row against a run of anchors: distances and slopes first, then what each term makes of
// them.
#include "features/operator_map.hpp"
#include "features/kernel_map.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace carmina {
namespace {

// Per anchor of a run: for a scalar coupling its value; for a user's spectrum the p p values of its K_0, for a
// differential one over a mixture those of K; for one over a stationary kernel what K is made of,
//   K_curl = -g' L^-2 - g'' (L^-2 delta)(L^-2 delta)ᵀ,  K_div = tr(K_curl) I - K_curl  (mathematics.md 1b,
//   per-dimension scales).
struct PairRun {
  std::vector<double> value, first, second;
};

class TermEvaluator {
 public:
  TermEvaluator(const Term& term, Index d, Index p) : d_(d), p_(p), weight_(term.weight) {
    if (const auto* spectrum = std::get_if<UserSpectrum>(&term.coupling)) {
      spectrum_ = &**spectrum;
      if (!spectrum_->has_values()) checked_values(*spectrum_, Matrix<double>::Zero(1, d));  // says why there are none
      return;
    }
    weight_ = full_weight(term, d);
    differential_ = is_differential(term.coupling);
    curl_ = std::holds_alternative<CurlFreeCoupling>(term.coupling);
    columns_ = InputColumns().of(d);
    if (differential_) {
      Product::Factor place = place_of(term);
      columns_ = place.columns.of(d);
      scalar_ = std::move(place.kernel);
      beside_ = beside_place(term);
      if (const auto* mixture = std::get_if<SpectralMixture>(&scalar_)) mixture_ = *mixture;
    } else {
      scalar_ = term.scalar;
    }
    size_ = static_cast<Index>(columns_.size());
    stationary_ = is_stationary(scalar_);
    if (stationary_) {
      const LengthScale& width = length_scale(scalar_);
      inverse_square_ = Vector<double>::NullaryExpr(size_, [&](Index j) { return 1 / (width[j] * width[j]); });
      inverse_ = inverse_square_.cwiseSqrt();
    }
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) A_ = matrix->A();
  }

  // Whether `run` makes what a row needs of its anchors; else `values` does, for several rows.
  bool row_by_row() const { return stationary_ || mixture_; }

  // Values (rows, count) of a kernel that is not stationary, for several rows at once.
  void values(const double* x, Index rows, const Matrix<double>& Z, Index begin, Index count, double* out) const {
    check_inputs(scalar_, x, rows * d_);
    std::visit(
        [&]<class K>(const K& k) {
          if constexpr (Pairwise<K>) k.values(x, rows, Z.row(begin).data(), count, d_, out, count);
        },
        scalar_);
  }

  // `alone`: without the factors that multiply a vector field.
  void run(const double* x, const Matrix<double>& Z, Index begin, Index count, PairRun& pairs,
           bool alone = false) const {
    run_place(x, Z, begin, count, pairs);
    if (!beside_ || alone) return;
    std::vector<double> factors(static_cast<std::size_t>(count));
    pair_values(*beside_, x, 1, Z.row(begin).data(), count, d_, factors.data(), count);
    const std::size_t each = pairs.value.size() / factors.size();
    for (std::size_t i = 0; i < pairs.value.size(); ++i) pairs.value[i] *= factors[i / each];
    if (mixture_) return;
    for (std::size_t i = 0; i < factors.size(); ++i) pairs.first[i] *= factors[i], pairs.second[i] *= factors[i];
  }

  void run_place(const double* x, const Matrix<double>& Z, Index begin, Index count, PairRun& pairs) const {
    if (spectrum_ != nullptr) {
      const Matrix<double> deltas =
          (-Z.middleRows(begin, count)).rowwise() + Eigen::Map<const Vector<double>>(x, d_).transpose();
      const Matrix<double> K = checked_values(*spectrum_, deltas);
      pairs.value.assign(K.data(), K.data() + K.size());
      return;
    }
    if (mixture_) return run_mixture(x, Z, begin, count, pairs);
    visit_stationary(
        [&](const auto& k) {
          constexpr bool squared = std::remove_cvref_t<decltype(k)>::distance == Distance::squared;
          pairs.value.resize(static_cast<std::size_t>(count));
          for (Index i = 0; i < count; ++i) {
            double sum = 0;
            for (Index j = 0; j < size_; ++j) {
              const double delta = (x[column(j)] - Z(begin + i, column(j))) * inverse_[j];
              sum += squared ? delta * delta : std::abs(delta);
            }
            pairs.value[static_cast<std::size_t>(i)] = sum;
          }
          if (differential_) {
            pairs.first.resize(pairs.value.size());
            pairs.second.resize(pairs.value.size());
            for (std::size_t i = 0; i < pairs.value.size(); ++i) {
              const Slopes slopes = k.slopes(pairs.value[i] / 2);
              pairs.first[i] = slopes.first, pairs.second[i] = slopes.second;
            }
          } else {
            k.of_distances(pairs.value.data(), count);
          }
        },
        scalar_);
  }

  // block (p, p) += K(x, z), from pair i of a run.
  void add_block(const double* x, const double* z, const PairRun& pairs, std::size_t i, double* block) const {
    if (has_blocks()) {
      const double* K = pairs.value.data() + static_cast<Index>(i) * p_ * p_;
      for (Index a = 0; a < p_ * p_; ++a) block[a] += weight_ * K[a];
      return;
    }
    if (!differential_) {
      const double k = weight_ * pairs.value[i];
      for (Index a = 0; a < p_; ++a) {
        if (A_.size() == 0) {
          block[a * p_ + a] += k;
        } else {
          for (Index b = 0; b < p_; ++b) block[a * p_ + b] += k * A_(a, b);
        }
      }
      return;
    }
    const double first = -weight_ * pairs.first[i], second = -weight_ * pairs.second[i];
    const double sign = curl_ ? 1 : -1;
    double trace = 0;
    for (Index a = 0; a < p_; ++a) {
      const double ua = (x[column(a)] - z[column(a)]) * inverse_square_[a];
      for (Index b = 0; b < p_; ++b)
        block[a * p_ + b] += sign * second * ua * (x[column(b)] - z[column(b)]) * inverse_square_[b];
      block[a * p_ + a] += sign * first * inverse_square_[a];
      trace += first * inverse_square_[a] + second * ua * ua;
    }
    for (Index a = 0; !curl_ && a < p_; ++a) block[a * p_ + a] += trace;
  }

  // out (p) += K(x, z) c in O(p) for differential and independent terms.
  void add_product(const double* x, const double* z, const double* c, const PairRun& pairs, std::size_t i,
                   double* out) const {
    if (has_blocks()) {
      const double* K = pairs.value.data() + static_cast<Index>(i) * p_ * p_;
      for (Index a = 0; a < p_; ++a) {
        for (Index b = 0; b < p_; ++b) out[a] += weight_ * K[a * p_ + b] * c[b];
      }
      return;
    }
    if (!differential_) {
      const double k = weight_ * pairs.value[i];
      if (A_.size() == 0) {
        for (Index a = 0; a < p_; ++a) out[a] += k * c[a];
      } else {
        for (Index a = 0; a < p_; ++a) {
          for (Index b = 0; b < p_; ++b) out[a] += k * A_(a, b) * c[b];
        }
      }
      return;
    }
    const double first = -weight_ * pairs.first[i], second = -weight_ * pairs.second[i];
    double dot = 0, trace = 0;
    for (Index a = 0; a < p_; ++a) {
      const double ua = (x[column(a)] - z[column(a)]) * inverse_square_[a];
      dot += ua * c[a];
      trace += first * inverse_square_[a] + second * ua * ua;
    }
    for (Index a = 0; a < p_; ++a) {
      const double curl =
          first * inverse_square_[a] * c[a] + second * dot * (x[column(a)] - z[column(a)]) * inverse_square_[a];
      out[a] += curl_ ? curl : trace * c[a] - curl;
    }
  }

 private:
  // K_curl, or K_div = tr(K_curl) I - K_curl.
  void run_mixture(const double* x, const Matrix<double>& Z, Index begin, Index count, PairRun& pairs) const {
    pairs.value.resize(static_cast<std::size_t>(count * p_ * p_));
    Vector<double> delta(size_);
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < size_; ++j) delta[j] = x[column(j)] - Z(begin + i, column(j));
      Eigen::Map<Matrix<double>> K(pairs.value.data() + i * p_ * p_, p_, p_);
      mixture_->negative_hessian(delta.data(), K.data());
      if (curl_) continue;
      const double trace = K.trace();
      K = -K;
      K.diagonal().array() += trace;
    }
  }
  bool has_blocks() const { return spectrum_ != nullptr || mixture_; }

  Index column(Index j) const { return columns_[static_cast<std::size_t>(j)]; }

  Index d_, p_, size_ = 0;
  double weight_ = 1;
  ScalarKernel scalar_ = Gaussian(1.0);  // of a differential term that of the place
  std::vector<Index> columns_;           // which it is of, `size_` in all
  std::optional<ScalarKernel> beside_;   // what multiplies a differential term
  Vector<double> inverse_, inverse_square_;
  bool stationary_ = true, differential_ = false, curl_ = false;
  const Spectrum* spectrum_ = nullptr;      // of the term, whose scalar kernel is then not used
  std::optional<SpectralMixture> mixture_;  // of a differential term
  Matrix<double> A_;
};

std::vector<TermEvaluator> evaluators(const Kernel& kernel, Index d, Index p) {
  std::vector<TermEvaluator> out;
  for (const Term& term : kernel.terms()) out.emplace_back(term, d, p);
  return out;
}

constexpr Index run_length = 256, rows_per_task = 16;

template <Real T>
Matrix<double> transformed(const InputTransform& transform, ConstView<T> X) {
  Matrix<T> out(X.rows(), X.cols());
  transform.apply(X.data(), X.outerStride(), X.rows(), X.cols(), out.data());
  return out.template cast<double>();
}

// visit(row, evaluator, pairs, begin, count) for every row, term and run of the anchors [0, limit(row)); the limit does
// not fall from one row to the next.
template <class Limit, class Visit>
void for_runs(const Matrix<double>& X, const Matrix<double>& Z, const std::vector<TermEvaluator>& terms,
              const Execution& execution, Limit limit, Visit visit) {
  const Index tasks = (X.rows() + rows_per_task - 1) / rows_per_task;
  parallel_for(tasks, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    PairRun pairs;
    std::vector<double> values;
    const Index first = task * rows_per_task, last = std::min(X.rows(), first + rows_per_task);
    for (const TermEvaluator& term : terms) {
      for (Index begin = 0; begin < limit(last - 1); begin += run_length) {
        const Index most = std::min(run_length, limit(last - 1) - begin);
        if (!term.row_by_row()) {
          values.resize(static_cast<std::size_t>(rows_per_task * most));
          term.values(X.row(first).data(), last - first, Z, begin, most, values.data());
        }
        for (Index i = first; i < last; ++i) {
          const Index count = std::min(run_length, limit(i) - begin);
          if (count <= 0) continue;
          if (term.row_by_row()) {
            term.run(X.row(i).data(), Z, begin, count, pairs);
          } else {
            const double* const row = values.data() + (i - first) * most;
            pairs.value.assign(row, row + count);
          }
          visit(i, term, pairs, begin, count);
        }
      }
    }
  });
}

}  // namespace

template <Real T>
OperatorMap<T>::OperatorMap(Kernel kernel, Matrix<T> anchors, Index dim_out, InputTransform transform)
    : kernel_(std::move(kernel)), anchors_(std::move(anchors)), dim_out_(dim_out), transform_(std::move(transform)) {
  require(anchors_.rows() > 0 && anchors_.cols() > 0, "OperatorMap: anchors are empty ({} x {})", anchors_.rows(),
          anchors_.cols());
  kernel_.check_dimensions(anchors_.cols(), dim_out);
  evaluators(kernel_, anchors_.cols(), dim_out);  // Error for a kernel without exact values
  transform_.fill_missing(anchors_);
  points_ = transformed<T>(transform_, anchors_);
  for (const Term& term : kernel_.terms()) check_inputs(term.scalar, points_.data(), points_.size());
}

template <Real T>
void OperatorMap<T>::apply(ConstView<T> X, ConstView<T> C, View<T> out, const Execution& execution) const {
  require(X.cols() == dim_in(), "the map takes inputs of {} columns, found {}", dim_in(), X.cols());
  const Matrix<double> points = transformed<T>(transform_, X), coefficients = C.template cast<double>();
  Matrix<double> sums = Matrix<double>::Zero(X.rows(), dim_out_);
  for_runs(
      points, points_, evaluators(kernel_, dim_in(), dim_out_), execution, [&](Index) { return points_.rows(); },
      [&](Index i, const TermEvaluator& term, const PairRun& pairs, Index begin, Index count) {
        for (Index j = 0; j < count; ++j) {
          term.add_product(points.row(i).data(), points_.row(begin + j).data(), coefficients.row(begin + j).data(),
                           pairs, static_cast<std::size_t>(j), sums.row(i).data());
        }
      });
  out = sums.template cast<T>();
}

template <Real T>
Matrix<double> OperatorMap<T>::gram(const Execution& execution) const {
  const Index n = points_.rows(), p = dim_out_;
  Matrix<double> K = Matrix<double>::Zero(n * p, n * p);
  for_runs(
      points_, points_, evaluators(kernel_, dim_in(), p), execution, [](Index i) { return i + 1; },
      [&](Index i, const TermEvaluator& term, const PairRun& pairs, Index begin, Index count) {
        Vector<double> block(p * p);
        for (Index j = 0; j < count; ++j) {
          block.setZero();
          term.add_block(points_.row(i).data(), points_.row(begin + j).data(), pairs, static_cast<std::size_t>(j),
                         block.data());
          for (Index a = 0; a < p; ++a) {
            for (Index b = 0; b < p; ++b) K(i * p + a, (begin + j) * p + b) += block[a * p + b];
          }
        }
      });
  return K;
}

template <Real T>
Vector<double> OperatorMap<T>::diagonal() const {
  const Index n = points_.rows(), p = dim_out_;
  Matrix<double> out = Matrix<double>::Zero(n, p);
  for (const Term& term : kernel_.terms()) {
    const TermEvaluator evaluator(term, dim_in(), p);
    const Vector<double> values = kernel_diagonal<double>(term.scalar, points_);
    PairRun pairs{{1.0}, {}, {}};
    if (evaluator.row_by_row()) evaluator.run(points_.row(0).data(), points_, 0, 1, pairs, true);
    Matrix<double> block = Matrix<double>::Zero(p, p);  // for k(x, x) = 1
    evaluator.add_block(points_.row(0).data(), points_.row(0).data(), pairs, 0, block.data());
    out += values * block.diagonal().transpose();
  }
  return Eigen::Map<const Vector<double>>(out.data(), n * p);
}

template <Real T>
void OperatorMap<T>::blocks(ConstView<T> X, double* out, const Execution& execution) const {
  const Index m = points_.rows(), p = dim_out_;
  const Matrix<double> points = transformed<T>(transform_, X);
  std::fill(out, out + X.rows() * m * p * p, 0.0);
  for_runs(
      points, points_, evaluators(kernel_, dim_in(), p), execution, [&](Index) { return m; },
      [&](Index i, const TermEvaluator& term, const PairRun& pairs, Index begin, Index count) {
        for (Index j = 0; j < count; ++j) {
          term.add_block(points.row(i).data(), points_.row(begin + j).data(), pairs, static_cast<std::size_t>(j),
                         out + ((i * m) + begin + j) * p * p);
        }
      });
}

template class OperatorMap<float>;
template class OperatorMap<double>;

}  // namespace carmina
