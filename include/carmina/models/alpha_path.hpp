// models/alpha_path.hpp -- squared-loss machines for many alphas from one pass over the rows, and the best of them.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <memory>
#include <string>
#include <vector>

namespace carmina {

struct LinearSolution;  // coefficients and intercept of one alpha

// 20 half powers of ten, from 1e-6 to about 3000.
std::vector<double> path_alphas();

double score_of(const PathPoint& point, AlphaScore score);
// The first point with the smallest score. Error when none is finite.
std::size_t best_point(const std::vector<PathPoint>& points, AlphaScore score);
// "the best alpha, 100, is the largest tried", or nothing.
std::string end_of_alphas(const std::vector<PathPoint>& points, std::size_t best);

template <Real T>
class MachinePath {
 public:
  // For those who fit.
  MachinePath(KernelMachine<T> first, std::vector<PathPoint> points,
              std::shared_ptr<const std::vector<LinearSolution>> solutions);

  const std::vector<PathPoint>& points() const { return *points_; }  // in the order of the alphas given
  KernelMachine<T> machine(std::size_t i) const;                     // what a fit with points()[i].alpha gives

 private:
  KernelMachine<T> first_;
  std::shared_ptr<const std::vector<PathPoint>> points_;
  std::shared_ptr<const std::vector<LinearSolution>> solutions_;
};

// Everything but alpha is as `options` say: solver 'auto' or 'direct', since all of it comes from one matrix in memory.
// Without leave_one_out the whole path costs little more than one direct fit; with it, eigenvectors and a second pass
// over the rows: three to four fits. In the dual (exact machines, fewer rows than features) scores do not see the
// rounding of kernel values in float, which spoils predictions of an alpha below it: 1e-5 or so.
template <Real T>
MachinePath<T> fit_path(RowSource<T>& rows, const FitOptions& options, const std::vector<double>& alphas,
                        bool leave_one_out = false);
template <Real T>
MachinePath<T> fit_path(ConstView<T> X, ConstView<T> Y, const FitOptions& options, const std::vector<double>& alphas,
                        bool leave_one_out = false, const T* weights = nullptr) {
  MemoryRows<T> rows(X, Y, weights);
  return fit_path(rows, options, alphas, leave_one_out);
}

}  // namespace carmina
