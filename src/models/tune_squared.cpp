// models/tune_squared.cpp -- cross-validation of squared-loss machines: one decomposition a fold, then every alpha
// for the price of a product.
#include "ridge_paths.hpp"
#include "row_matrices.hpp"
#include "solver_choice.hpp"
#include "tune_rows.hpp"

#include <carmina/features/sample_map.hpp>
#include <carmina/features/sketched_map.hpp>

#include <algorithm>

namespace carmina {
namespace {

double square(Index order) { return static_cast<double>(order) * static_cast<double>(order); }

// One path for each way in which a machine may be approximated.
class SquaredLossPaths {
 public:
  SquaredLossPaths(const TuneRows& rows, const Kernel& kernel, const FitOptions& fit, const std::vector<double>& alphas,
                   const FoldDone& done)
      : rows_(rows), kernel_(kernel), fit_(fit), alphas_(alphas), done_(done), term_(kernel.separable()) {
    if (term_) outputs_ = output_factor(*term_, rows.Y.cols());
  }

  Matrix<double> run() {
    const auto sketch = fit_.chosen_sketch();
    if (sketch) return term_ ? sketched(*sketch) : none();
    if (fit_.approximation == "fourier") return fourier();
    return term_ ? exact() : none();
  }

 private:
  static Matrix<double> none() { return {}; }
  const Execution& execution() const { return fit_.execution; }
  bool fits(double numbers) const { return 8 * numbers <= memory_limit(execution()); }
  bool dual_fits() const { return fits(3 * square(rows_.X.rows())); }
  bool primal_fits(Index features) const {
    return fits(static_cast<double>(rows_.fold_count() + 3) * square(features + rows_.Y.cols() + 1));
  }

  Matrix<double> exact() { return dual_fits() ? dual(exact_gram(term_->scalar, rows_.X, {}, execution())) : none(); }

  Matrix<double> fourier() {
    const auto map = sample_term_map<double>(kernel_, rows_.X.cols(), fit_.n_components, fit_.seed, fit_.sampling);
    if (!term_) {
      const Expansion expansion(kernel_, map.unit_frequencies(), rows_.Y.cols());
      const bool room = primal_fits(map.n_features()) && fits(2 * square(expansion.dim_coef()));
      return room ? primal(map, &expansion) : none();
    }
    if (rows_.X.rows() >= map.n_features()) return primal_fits(map.n_features()) ? primal(map, nullptr) : none();
    if (!dual_fits()) return none();
    Matrix<double> phi(rows_.X.rows(), map.n_features());
    evaluate(map, rows_.X, View<double>(phi), execution());
    return dual(dual_gram(phi, execution()));
  }

  Matrix<double> sketched(const sketches::Distribution& distribution) {
    const sketches::Sketch sketch =
        needs_data(distribution) ? sample<double>(distribution, fit_.seed, rows_.X, term_->scalar, {}, execution())
                                 : sketches::sample(distribution, rows_.X.rows(), fit_.seed, execution());
    if (!primal_fits(rows_of(sketch.mixing))) return none();
    const SketchedMap<double> map(term_->scalar, rows_.X(sketch.anchors, Eigen::all), sketch.mixing, {}, execution());
    return primal(map, nullptr);
  }

  // The sums of the rows of a fold. Those of the others are what all together have more.
  template <ScalarMap M>
  Moments fold_moments(const M& map, const std::vector<Index>& numbers, const Vector<double>& origin) const {
    const Matrix<double> X = rows_.X(numbers, Eigen::all), Y = rows_.Y(numbers, Eigen::all);
    const Vector<double> w = rows_.weights(numbers);
    MemoryRows<double> source(X, Y, w.data());
    Moments moments(map.n_features(), origin);
    MomentsBuilder builder(map, moments, execution());
    const auto step = 16 * builder.rows_at_once();
    for (auto block = source.next(step); block.rows > 0; block = source.next(step)) builder.add(block);
    return moments;
  }

  template <ScalarMap M>
  Matrix<double> primal(const M& map, const Expansion* expansion) {
    const Vector<double> mean = rows_.Y.transpose() * rows_.weights / rows_.weights.sum();
    const Vector<double> origin = fit_.fit_intercept ? mean : Vector<double>(Vector<double>::Zero(mean.size()));
    Moments all(map.n_features(), origin);
    std::vector<Moments> folds;
    for (const Split& fold : rows_.folds) {
      folds.push_back(fold_moments(map, fold.test, origin));
      all.sums += folds.back().sums;
    }
    const double smallest = *std::min_element(alphas_.begin(), alphas_.end());
    Matrix<double> losses(alphas(), rows_.fold_count());
    for (Index k = 0; k < losses.cols(); ++k) {
      const Moments& held_out = folds[static_cast<std::size_t>(k)];
      Moments others(map.n_features(), origin);
      others.sums = all.sums - held_out.sums;
      const PrimalPath path(others, outputs_, expansion, fit_.fit_intercept, smallest, execution());
      for (Index i = 0; i < alphas(); ++i)
        losses(i, k) = path.mean_loss(alphas_[static_cast<std::size_t>(i)], held_out);
      done_();
    }
    return losses;
  }

  Matrix<double> dual(Matrix<double> K) {
    K.triangularView<Eigen::StrictlyUpper>() = K.transpose();
    Matrix<double> losses(alphas(), rows_.fold_count());
    for (Index k = 0; k < losses.cols(); ++k) {
      const Split& fold = rows_.folds[static_cast<std::size_t>(k)];
      const DualPath path(K(fold.train, fold.train), K(fold.test, fold.train), rows_.Y(fold.train, Eigen::all),
                          rows_.weights(fold.train), outputs_, fit_.fit_intercept, execution());
      const Matrix<double> Y = rows_.Y(fold.test, Eigen::all);
      const Vector<double> w = rows_.weights(fold.test);
      for (Index i = 0; i < alphas(); ++i) {
        losses(i, k) =
            w.dot((path.predictions(alphas_[static_cast<std::size_t>(i)]) - Y).rowwise().squaredNorm()) / (2 * w.sum());
      }
      done_();
    }
    return losses;
  }

  Index alphas() const { return static_cast<Index>(alphas_.size()); }

  const TuneRows& rows_;
  const Kernel& kernel_;
  const FitOptions& fit_;
  const std::vector<double>& alphas_;
  const FoldDone& done_;
  const Term* term_;
  OutputFactor outputs_;
};

}  // namespace

Matrix<double> squared_loss_paths(const TuneRows& rows, const Kernel& kernel, const FitOptions& fit,
                                  const std::vector<double>& alphas, const FoldDone& done) {
  return SquaredLossPaths(rows, kernel, fit, alphas, done).run();
}

}  // namespace carmina
