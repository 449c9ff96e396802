// tests/support/alternatives.hpp -- the alternatives of a variant as a list of types for typed tests, so that a new one
// is tested by being there.
#pragma once
#include <gtest/gtest.h>
#include <type_traits>
#include <variant>

namespace carmina::testing {

template <class... A>
struct TypeList {
  using Types = ::testing::Types<A...>;
};
template <class... A, class... B>
TypeList<A..., B...> operator+(TypeList<A...>, TypeList<B...>);

template <class>
struct Any : std::true_type {};

template <class Variant, template <class> class Keep>
struct AlternativesOf;
template <class... A, template <class> class Keep>
struct AlternativesOf<std::variant<A...>, Keep> {
  using List = decltype((TypeList<>() + ... + std::conditional_t<Keep<A>::value, TypeList<A>, TypeList<>>()));
};

// All of them, or those for which Keep<A>::value.
template <class Variant, template <class> class Keep = Any>
using Alternatives = typename AlternativesOf<Variant, Keep>::List;

}  // namespace carmina::testing
