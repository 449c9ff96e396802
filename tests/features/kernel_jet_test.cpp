// tests/features/kernel_jet_test.cpp -- derivatives of kernels beside differences of the order before.
#include "features/kernel_jet.hpp"

#include <gtest/gtest.h>
#include <carmina/kernels/kernel.hpp>
#include <carmina/kernels/pairwise.hpp>

#include <algorithm>
#include <cmath>

#include "support/random_matrix.hpp"

namespace carmina::kernel_jet_test {
namespace {

using testing::random_matrix;

InputColumns at(std::vector<Index> columns) { return columns; }

SpectralMixture some_mixture(Index d, const char* family) {
  return SpectralMixture(Vector<double>{{0.4, 1.1}}, 0.15 * random_matrix(2, d, 41),
                         0.08 + 0.05 * random_matrix(2, d, 42).array().abs(), family);
}

std::vector<ScalarKernel> smooth_kernels(Index d) {
  std::vector<double> widths(static_cast<std::size_t>(d));
  for (Index j = 0; j < d; ++j) widths[static_cast<std::size_t>(j)] = 0.8 + 0.3 * static_cast<double>(j);
  return {Gaussian(widths),
          Matern(1.1, 4.5),
          Matern(LengthScale(widths), 3.2),
          Cauchy(1.3),
          RationalQuadratic(LengthScale(widths), 1.7),
          Periodic(0.9, 2.3),
          Polynomial(4, 0.4, 0.8),
          Linear{},
          Constant{},
          some_mixture(d, "gaussian"),
          some_mixture(d, "laplace"),
          product(on_columns(Gaussian(1.1), at({0})), product(Matern(1.4, 4.5), Linear{}))};
}

// Each order is the difference of the one before; the fourth of a function of x - z at x = z.
TEST(KernelJet, OrdersAreDifferencesOfEachOther) {
  constexpr double h = 1e-5;
  for (const Index d : {1, 2, 3}) {
    for (const ScalarKernel& kernel : smooth_kernels(d)) {
      const Vector<double> z = random_matrix(1, d, 1).row(0),
                           x = z + 0.6 * Vector<double>(random_matrix(1, d, 2).row(0));
      for (const bool apart : {true, false}) {
        const Vector<double>& here = apart ? x : z;
        const bool fourth = !apart && has_spectral_measure(kernel);
        KernelJet jet, above, below;
        fill_jet(kernel, here.data(), z.data(), d, fourth ? 4 : 3, jet);
        EXPECT_NEAR(
            jet.value(),
            kernel_matrix<double>(kernel, Matrix<double>(here.transpose()), Matrix<double>(z.transpose()))(0, 0),
            1e-12);
        for (Index l = 0; l < d; ++l) {
          Vector<double> up = here, down = here;
          up[l] += h, down[l] -= h;
          fill_jet(kernel, up.data(), z.data(), d, 3, above);
          fill_jet(kernel, down.data(), z.data(), d, 3, below);
          for (std::size_t order = 0; order < (fourth ? 4u : 3u); ++order) {
            for (std::size_t entry = 0; entry < jet.of[order].size(); ++entry) {
              const double difference = (above.of[order][entry] - below.of[order][entry]) / (2 * h);
              const double found = jet.of[order + 1][static_cast<std::size_t>(l) * jet.of[order].size() + entry];
              EXPECT_NEAR(found, difference, 1e-5 * std::max(1.0, std::abs(found)))
                  << kernel_name(kernel) << " order " << order + 1 << " apart " << apart;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace carmina::kernel_jet_test
