// playground/compiler/first.hpp -- what Debian's emscripten lacks of C++20; the compiler reads it before every source.
#pragma once
#include <algorithm>
#include <carmina/core/parameter.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace carmina {
// clang 14 deduces no arguments of aggregates by itself.
template <class Member>
Parameter(const char*, Member, const char*) -> Parameter<Member>;
}  // namespace carmina

namespace std {
template <class To, class From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
namespace ranges {
template <class Range, class Test>
bool all_of(const Range& range, Test test) {
  return std::all_of(std::begin(range), std::end(range), test);
}
template <class Range, class Test>
bool any_of(const Range& range, Test test) {
  return std::any_of(std::begin(range), std::end(range), test);
}
}  // namespace ranges
// The playground takes Matern's kernel where it has a closed form.
inline double cyl_bessel_k(double, double) { abort(); }
}  // namespace std
