// models/mixture/spectral_coordinates.hpp -- spectral points of a mixture's parameters, and the coordinates that these
// are learnt in.
#pragma once
#include "kernels/mixture_math.hpp"
#include "solvers/evidence/fourier_evidence.hpp"

#include <carmina/kernels/coupling.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <string>
#include <vector>

namespace carmina {

// Spectral points: how many each component has, and the standard draw behind each.
struct SpectralDraw {
  std::vector<Index> counts;     // m_q
  std::vector<Index> component;  // of each point
  Matrix<double> eps;            // (M, d)
};
// Point i of component q is a function of (random, q, i), so that it stays when counts change.
SpectralDraw draw_points(const Mixture& mixture, const std::vector<Index>& counts, const Random& random);

// s = g(theta, eps) for each point, with factors sqrt(w_q / m_q) B_q.
WeightedFrequencies spectral_points(const SpectralParameters& at, const SpectralDraw& draw);
// Adds the derivatives by the parameters, from those by the points; m_q is held fixed (mathematics.md 3b).
void add_pulled_back(const SpectralParameters& at, const SpectralDraw& draw, const WeightedFrequencies& points,
                     const WeightedFrequencies& gradient, SpectralParameters& out);

// sum_q copies_q KL(q-th component | q-th of the prior), over dimensions (mathematics.md 3c); adds `factor` times its
// derivatives to out.
double mixture_divergence(const Mixture& at, const Mixture& prior, const std::vector<Index>& copies, double factor,
                          Mixture& out);

class SpectralCoordinates {
 public:
  SpectralCoordinates(SpectralParameters start, Parameterization parameterization, bool learn_factors);

  Index size() const { return size_; }
  Vector<double> encode(const SpectralParameters& at) const;
  SpectralParameters decode(const Vector<double>& coordinates) const;
  // Gradient by the coordinates from that by the parameters.
  Vector<double> pull_back(const SpectralParameters& at, const SpectralParameters& gradient) const;
  // Whether these are numbers that the evidence can be had for.
  bool in_range(const SpectralParameters& at) const;
  // Keeps eta_2 negative and noise and weights away from nothing.
  void clamp(Vector<double>& coordinates) const;
  // The true natural gradient of means and scales, divided by copies_q: (d_mu - 2 mu d_sigma^2, d_sigma^2)
  // (mathematics.md 3b), as a move of the natural coordinates; zero in the others.
  Vector<double> natural_move(const SpectralParameters& at, const SpectralParameters& gradient,
                              const std::vector<Index>& copies) const;
  // Those of means and scales.
  bool of_components(Index coordinate) const { return coordinate >= means_at_ && coordinate < noise_at_; }

 private:
  SpectralParameters start_;
  Parameterization parameterization_;
  bool learn_factors_;
  Index means_at_, scales_at_, noise_at_, real_at_, imaginary_at_, inducing_at_, size_;
  Vector<double> inducing_unit_;  // (d)
};

}  // namespace carmina
