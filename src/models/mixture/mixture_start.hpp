// models/mixture/mixture_start.hpp -- targets in units that suit steps, and what the start of a mixture is made of
// beside its spectrum.
#pragma once
#include "kernels/mixture_math.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <vector>

namespace carmina {

// Targets with mean 0 and variance 1 in each output, so that steps and starts suit any units; `common`: of all outputs
// together, where a factor for each would change what the kernel means.
struct StandardTargets {
  Vector<double> mean, scale;
  Matrix<double> Y;

  template <Real T>
  StandardTargets(const Matrix<T>& targets, const Vector<T>& weights, bool centre, bool common)
      : mean(Vector<double>::Zero(targets.cols())),
        scale(Vector<double>::Ones(targets.cols())),
        Y(targets.template cast<double>()) {
    for (Index a = 0; a < Y.cols(); ++a) {
      double sum = 0, total = 0, squares = 0;
      const auto over_rows = [&](const auto& f) {
        for (Index i = 0; i < Y.rows(); ++i) {
          if (!std::isnan(Y(i, a))) f(Y(i, a), weights.size() > 0 ? static_cast<double>(weights[i]) : 1.0);
        }
      };
      over_rows([&](double y, double w) { sum += w * y, total += w; });
      require(total > 0, "fit: output {} has no target in the rows that are learnt from", a + 1);
      if (centre) mean[a] = sum / total;
      over_rows([&](double y, double w) { squares += w * (y - mean[a]) * (y - mean[a]); });
      if (squares > 0) scale[a] = std::sqrt(squares / total);
    }
    require(mean.allFinite() && scale.allFinite(),
            "fit: the targets are too large for their mean and deviation; divide them by one number");
    if (common) scale.setConstant(scale.norm() / std::sqrt(static_cast<double>(scale.size())));
    for (Index a = 0; a < Y.cols(); ++a) Y.col(a) = (Y.col(a).array() - mean[a]) / scale[a];
  }
};

// B with B Bᵀ near the correlations of the targets where two are there together; a little noise tells components apart.
Matrix<double> start_factors(const Matrix<double>& Y, Index components, Index rank, const Random& random);

// What least-squares lines over the times leave of the targets; weights empty: all one.
Matrix<double> without_lines(const Vector<double>& times, const Matrix<double>& Y, const Vector<double>& weights);

// The component that is near a period begins there; where none is, that of least weight gives way.
void start_at_periods(Mixture& mixture, const std::vector<double>& periods, double range);

}  // namespace carmina
