// models/tune/tune_squared.cpp -- cross-validation of squared-loss machines: one decomposition a fold, then every alpha
// for the price of a product.
#include "models/fit/fit_pipeline.hpp"
#include "models/tune/cv_paths.hpp"
#include "models/tune/tune_rows.hpp"

#include <algorithm>

namespace carmina {
namespace {

// Losses of all alphas over the folds, from the problem that a fit of all rows poses.
class FoldLosses {
 public:
  FoldLosses(const TuneRows& rows, const PosedProblem<double>& posed, const OutputFactor& outputs,
             const FitOptions& fit, const std::vector<double>& alphas, const FoldDone& done)
      : rows_(rows), posed_(posed), outputs_(outputs), fit_(fit), alphas_(alphas), done_(done) {}

  Matrix<double> run() { return posed_.primal() ? primal() : dual(posed_.K); }

 private:
  const Execution& execution() const { return fit_.execution; }

  // The sums of the rows of a fold. Those of the others are what all together have more.
  Moments fold_moments(const std::vector<Index>& numbers, const Vector<double>& origin) const {
    const Matrix<double> X = rows_.X(numbers, Eigen::all), Y = rows_.Y(numbers, Eigen::all);
    const Vector<double> w = rows_.weights(numbers);
    MemoryRows<double> source(X, Y, w.data());
    const DataRows<double> data(source);
    const auto features = posed_.features(data);
    Moments moments(features->features(), origin);
    features->moments(moments);
    return moments;
  }

  Matrix<double> primal() {
    const Expansion* expansion = posed_.expansion ? &*posed_.expansion : nullptr;
    const Vector<double> mean = rows_.Y.transpose() * rows_.weights / rows_.weights.sum();
    const Vector<double> origin = fit_.fit_intercept ? mean : Vector<double>(Vector<double>::Zero(mean.size()));
    std::vector<Moments> folds;
    for (const Split& fold : rows_.folds) folds.push_back(fold_moments(fold.test, origin));
    Moments all = folds[0];
    for (std::size_t k = 1; k < folds.size(); ++k) all.sums += folds[k].sums;
    const double smallest = *std::min_element(alphas_.begin(), alphas_.end());
    Matrix<double> losses(alphas(), rows_.fold_count());
    for (Index k = 0; k < losses.cols(); ++k) {
      const Moments& held_out = folds[static_cast<std::size_t>(k)];
      Moments others = all;
      others.sums -= held_out.sums;
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
  const PosedProblem<double>& posed_;
  const OutputFactor& outputs_;
  const FitOptions& fit_;
  const std::vector<double>& alphas_;
  const FoldDone& done_;
};

}  // namespace

Matrix<double> squared_loss_paths(const TuneRows& rows, const Kernel& kernel, const FitOptions& fit,
                                  const std::vector<double>& alphas, const FoldDone& done) {
  FitOptions options = fit;
  options.kernel = kernel;
  MemoryRows<double> source(rows.X, rows.Y, rows.weights.data());
  DataRows<double> data(source);
  FitPipeline<double> pipeline(data, options);
  const auto posed = pipeline.pose_folds(rows.fold_count());
  if (!posed) return {};
  return FoldLosses(rows, *posed, pipeline.outputs, fit, alphas, done).run();
}

}  // namespace carmina
