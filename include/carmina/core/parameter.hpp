// core/parameter.hpp -- the numbers of a kernel or a loss by name, as files, programs and help texts have them.
#pragma once
#include <string>

namespace carmina {

// One of them, as its owner lists it: `static constexpr auto parameters()` is a tuple of these, in the order of the
// constructor.
template <class Member>
struct Parameter {
  const char* name;
  Member member;
  const char* help;  // in a few words, with the owner and the default
};

struct ParameterHelp {
  std::string name, help;
  bool list;  // several numbers, else one
};

}  // namespace carmina
