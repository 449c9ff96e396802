// values.hpp -- what makes a bound struct a Python value, all from its constructor's arguments by name.
#pragma once
#include <string>

#include "bindings.hpp"

namespace carmina::python {

// repr that can be pasted back, ==, hash, copy and pickle. parameters(const K&) gives a dict of plain
// numbers, lists and values, in the order in which K's constructor takes them.
template <class K, class Parameters>
void as_value(nb::class_<K>& type, Parameters parameters) {
  type.def_prop_ro("_parameters", parameters)
      .def("__repr__",
           [](nb::handle self) {
             std::string text = nb::cast<std::string>(self.type().attr("__name__")) + "(";
             const char* separator = "";
             for (const auto& [name, value] : nb::cast<nb::dict>(self.attr("_parameters"))) {
               text += separator + nb::cast<std::string>(name) + "=" + nb::cast<std::string>(nb::repr(value));
               separator = ", ";
             }
             return text + ")";
           })
      .def(
          "__eq__", [](const K& self, const K& other) { return self == other; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](nb::handle self) { return nb::hash(nb::repr(self)); })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::tuple(self.attr("_parameters").attr("values")()));
      });
}

}  // namespace carmina::python
