// sketch_values.hpp -- the classes that Python knows distributions of sketches by, and samples in and out of arrays.
#pragma once
#include <carmina/sketches/distribution.hpp>
#include <utility>

#include "bindings.hpp"

namespace carmina::python {

struct SketchValue {
  sketches::Distribution distribution;
  explicit SketchValue(sketches::Distribution which) : distribution(std::move(which)) {}
  bool operator==(const SketchValue&) const = default;
};

template <class D>
struct SketchOf : SketchValue {
  explicit SketchOf(D which) : SketchValue(std::move(which)) {}
  const D& value() const { return std::get<D>(distribution); }
};

// The distribution as an object of its class.
nb::object to_python(const sketches::Distribution& distribution);

// A sample over n rows; X and kernel for those that need data, None for others.
sketches::Sketch draw(const SketchValue& self, Index n, nb::handle random_state, nb::handle X, nb::handle kernel);

void bind_sketch_samples(nb::module_& m);

}  // namespace carmina::python
