// loss_values.hpp -- the classes that Python knows losses by: each holds a Loss, whose alternative decides the class.
#pragma once
#include <carmina/losses/loss.hpp>
#include <utility>

#include "bindings.hpp"

namespace carmina::python {

struct LossValue {
  Loss loss;
  bool automatic = false;  // its number is "auto": a fit takes it from the residuals of left-out rows
  explicit LossValue(Loss which, bool by_fit = false) : loss(std::move(which)), automatic(by_fit) {}
  // The loss where its number must be known.
  const Loss& known() const {
    require(!automatic, "{}: a number that is 'auto' is known after a fit alone; give one", loss_name(loss));
    return loss;
  }
  bool operator==(const LossValue&) const = default;
};

template <class L>
struct LossOf : LossValue {
  explicit LossOf(L which, bool by_fit = false) : LossValue(std::move(which), by_fit) {}
  const L& value() const { return std::get<L>(loss); }
};

// The loss as an object of its class.
nb::object to_python(const Loss& loss);

}  // namespace carmina::python
