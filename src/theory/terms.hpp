// theory/terms.hpp -- one term of a kernel as the formulas of the theory see it.
#pragma once
#include <carmina/kernels/kernel.hpp>
#include <functional>

namespace carmina::theory {

inline bool is_curl_free(const Term& term) { return std::holds_alternative<CurlFreeCoupling>(term.coupling); }
inline bool is_differential(const Term& term) { return carmina::is_differential(term.coupling); }

// p of the kernel; 1 for an independent one, whose error is a scalar times the identity. Checks dimensions, and
// that the kernel has a spectral measure.
Index outputs_of(const Kernel& kernel, Index dim_in);
// weight A of a term that is not differential, (p, p), and its largest eigenvalue.
Matrix<double> constant_matrix(const Term& term, Index dim_out);
double constant_norm(const Term& term);

// k_0(delta), and k_0 at a distance in units of the length scale.
double scalar_value(const ScalarKernel& kernel, const Vector<double>& delta);
double scalar_value(const ScalarKernel& kernel, double scaled_distance);
// The largest scaled distance over |delta| <= diameter.
double scaled_distance(const ScalarKernel& kernel, Index dim_in, double diameter);

// Variances S_j = 1 / l_j^2 of the Gaussian frequencies of a differential term; Error, naming `what` needs them,
// otherwise.
Vector<double> gaussian_spectrum(const Term& term, Index dim_in, const char* what);
inline bool isotropic(const Vector<double>& S) { return S.minCoeff() == S.maxCoeff(); }

// The largest value of f on [0, end]: a grid, then golden sections around its best point.
double maximum(const std::function<double(double)>& f, double end);

// The same functions for one term; those of Kernel are in the public headers.
Matrix<double> term_variance(const Term& term, const Vector<double>& delta, Index dim_out);
double term_supremum(const Term& term, Index dim_in, double diameter);
double term_orlicz(const Term& term, Index dim_in);
double spectral_norm(const Matrix<double>& symmetric);

}  // namespace carmina::theory
