// value_manners.hpp -- how small immutable values behave in Python: repr, ==, hash, copy and pickle.
#pragma once
#include <nanobind/stl/string.h>
#include <string>

#include "bindings.hpp"

namespace carmina::python {

// Type(name=value, ...), which can be pasted back.
inline std::string text_of(nb::handle self) {
  std::string text = nb::cast<std::string>(self.type().attr("__name__")) + "(";
  const char* separator = "";
  for (const auto& [name, value] : nb::cast<nb::dict>(self.attr("_parameters"))) {
    text += separator + nb::cast<std::string>(name) + "=" + nb::cast<std::string>(nb::repr(value));
    separator = ", ";
  }
  return text + ")";
}

// All of it from the constructor's arguments: each class below T has a dict of them, plain numbers, lists and values,
// as _parameters.
template <class T>
bool equal_values(nb::handle self, const T& other) {
  return nb::cast<const T&>(self) == other;
}
template <class T>
void as_value(nb::class_<T>& type, bool (*equal)(nb::handle, const T&) = &equal_values<T>) {
  type.def("__repr__", &text_of)
      .def(
          "__eq__", [equal](nb::handle self, const T& other) { return equal(self, other); }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](nb::handle self) { return nb::hash(nb::repr(self)); })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::tuple(self.attr("_parameters").attr("values")()));
      });
}

}  // namespace carmina::python
