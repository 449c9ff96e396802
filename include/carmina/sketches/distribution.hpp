// sketches/distribution.hpp -- any distribution of sketches, and its name and numbers for files and the command line.
#pragma once
#include <carmina/sketches/adaptive.hpp>
#include <carmina/sketches/dense.hpp>
#include <carmina/sketches/sparse.hpp>
#include <carmina/sketches/sub_sample.hpp>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace carmina::sketches {

// The registry of sketches. Each but PivotedCholesky has E[Sᵀ S] = I.
using Distribution = std::variant<SubSample, Gaussian, SparseRademacher, SparseGaussian, Accumulation, CountSketch,
                                  Hadamard, LeverageScores, PivotedCholesky>;

// What a sketch has besides n_components, by name: density, m, alpha, weights.
using Parameters = std::map<std::string, std::vector<double>>;

// By name in snake case; parameters that are not given take their defaults. Error, with what there is, for an unknown
// sketch or parameter.
Distribution make_sketch(const std::string& name, Index n_components, const Parameters& parameters = {});
std::vector<std::string> sketch_names();
std::string sketch_name(const Distribution& distribution);
Index n_components(const Distribution& distribution);
Parameters sketch_parameters(const Distribution& distribution);  // those that are set: make_sketch takes them back
bool needs_data(const Distribution& distribution);

// A sketch over the rows of X (n, d), which only those that need data look at.
template <Real T>
Sketch sample(const Distribution& distribution, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
              const InputTransform& transform = {}, const Execution& execution = {});
// The same without data; Error for those that need it.
Sketch sample(const Distribution& distribution, Index n, std::uint64_t seed, const Execution& execution = {});

}  // namespace carmina::sketches
