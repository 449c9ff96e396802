// models/spectral_parameters.hpp -- what a spectral mixture process learns, and the coordinates it is learnt in.
#pragma once
#include <carmina/kernels/coupling.hpp>
#include <carmina/kernels/mixture.hpp>
#include <carmina/solvers/fourier_evidence.hpp>
#include <string>
#include <vector>

namespace carmina {

// K_0(delta) = sum_q w_q A_q k_q(delta), A_q = B_q B_q* (SPEC 4): each component has its B_q, or each frequency the
// factor of a differential coupling. One output: B_q = 1. Also the shape of a gradient by these parameters.
struct SpectralParameters {
  Mixture mixture;
  Matrix<double> real, imaginary;  // B_q (Q, p rank); imaginary empty: none
  Vector<double> noise;            // variances (p)
  Matrix<double> inducing;         // (m, d); empty unless points are learnt
  OutputCoupling coupling = LearntFactors{};

  Index dim_out() const { return noise.size(); }
  SpectralParameters zeros() const;
};

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
// Adds the derivatives by the parameters, from those by the points; m_q is held fixed (SPEC 3b).
void add_pulled_back(const SpectralParameters& at, const SpectralDraw& draw, const WeightedFrequencies& points,
                     const WeightedFrequencies& gradient, SpectralParameters& out);

// sum_q copies_q KL(q-th component | q-th of the prior), over dimensions (SPEC 3c); adds `factor` times its derivatives
// to out.
double mixture_divergence(const Mixture& at, const Mixture& prior, const std::vector<Index>& copies, double factor,
                          Mixture& out);

// Components in their means and deviations, or in the natural parameters of exponential families, of which the Gaussian
// is one [Jung2019, Example 2]. Both are taken about a start and in units of its widths: eta_1 = (mu - mu_0) sigma_0 /
// sigma^2, eta_2 = -sigma_0^2 / (2 sigma^2), or (mu - mu_0) / sigma_0, log(sigma / sigma_0). That is the same family,
// and steps of one length then suit components of any width.
enum class Parameterization { natural, general };
Parameterization parse_parameterization(const std::string& name);
std::string parameterization_name(Parameterization parameterization);

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
  // The true natural gradient of means and scales, divided by copies_q: (d_mu - 2 mu d_sigma^2, d_sigma^2) (SPEC 3b),
  // as a move of the natural coordinates; zero in the others.
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
