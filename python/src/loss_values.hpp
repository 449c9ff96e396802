// loss_values.hpp -- the classes that Python knows losses by: each holds a Loss, whose alternative decides the class.
#pragma once
#include <carmina/losses/loss.hpp>
#include <utility>

#include "bindings.hpp"

namespace carmina::python {

struct LossValue {
  Loss loss;
  explicit LossValue(Loss which) : loss(std::move(which)) {}
  bool operator==(const LossValue&) const = default;
};

template <class L>
struct LossOf : LossValue {
  explicit LossOf(L which) : LossValue(std::move(which)) {}
  const L& value() const { return std::get<L>(loss); }
};

// The loss as an object of its class.
nb::object to_python(const Loss& loss);

}  // namespace carmina::python
