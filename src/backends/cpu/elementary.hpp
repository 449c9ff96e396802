// backends/cpu/elementary.hpp -- sine, cosine and exponential of a register, inline, for arguments that are not huge.
//
// Cody and Waite's reduction with fused multiply-adds, then minimax polynomials (errors relative to the value: 2^-28 in
// float, 2^-58 in double, below rounding). V gives the register's operations, see vector_math_loops.hpp.
// Always inline: a call would put every register of the caller into memory.
#pragma once
#include <concepts>
#include <iterator>

namespace carmina::backend {

template <class T>
struct Elementary;

template <>
struct Elementary<float> {
  // x + magic ends in the bits of the whole number nearest to x, for |x| < 2^22.
  static constexpr float magic = 0x1.8p23F;
  static constexpr float largest_phase = 2e6F;
  static constexpr float largest_turns = 0x1p21F;                                           // quarter or half ones
  static constexpr float half_pi[] = {0x1.921fb6p+0F, -0x1.777a5cp-25F, -0x1.ee59dap-50F};  // their sum
  static constexpr float log_two[] = {0x1.62e43p-1F, -0x1.05c61p-29F};
  // sin r = r + r^3 S(r^2), cos r = 1 - r^2 / 2 + r^4 C(r^2) for |r| <= pi / 4, highest power first
  static constexpr float sine[] = {-0.00019516977475537927F, 0.0083321758463981946F, -0.16666654908633999F};
  static constexpr float cosine[] = {2.4438090935032159e-5F, -0.0013887364485267425F, 0.041666646807185425F};
  // sin(f pi / 2) = f S(f^2), cos(f pi / 2) = Q(f^2), cos(f pi) = H(f^2) for |f| <= 1 / 2
  static constexpr float quarter_sine[] = {-0.00460165786F, 0.079680033F, -0.64596349F, 1.57079637F};
  static constexpr float quarter_cosine[] = {0.000903766486F, -0.0208601654F, 0.253669232F, -1.23370051F, 1};
  static constexpr float half_cosine[] = {-0.0244206935F, 0.234953925F, -1.33521605F, 4.05870962F, -4.93480206F, 1};
  // e^r = 1 + r + r^2 E(r) for |r| <= log(2) / 2
  static constexpr float exponential[] = {0.0013950541331705779F, 0.0083689178552441395F, 0.041666205050789798F,
                                          0.16666518602750992F, 0.50000000954178256F};
};

template <>
struct Elementary<double> {
  static constexpr double magic = 0x1.8p52;
  static constexpr double largest_phase = 1e9;
  static constexpr double largest_turns = 0x1p50;
  static constexpr double half_pi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
  static constexpr double log_two[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  static constexpr double sine[] = {1.5896666502915293696e-10,  -2.5050755961367843341e-8, 2.7557313678665676902e-6,
                                    -0.00019841269829771166226, 0.0083333333333223699737,  -0.1666666666666663186};
  static constexpr double cosine[] = {-1.1359559332718746024e-11, 2.0875721623665048381e-9,  -2.7557314340658035144e-7,
                                      0.000024801587289443471292, -0.0013888888888874064859, 0.041666666666666599153};
  static constexpr double quarter_sine[] = {5.6337211415500234e-08, -3.598641755396525e-06, 0.00016044115029191099,
                                            -0.0046817541322824513, 0.079692626246039566,   -0.64596409750624428,
                                            1.5707963267948966};
  static constexpr double quarter_cosine[] = {
      -6.3212021451502805e-09, 4.7106096701141361e-07, -2.520203678831896e-05, 0.00091926027419107271,
      -0.02086348076331257,    0.25366950790104681,    -1.2337005501361697,    1};
  static constexpr double half_cosine[] = {4.1507493522379436e-06, -0.00010456780645019928, 0.0019295568174846334,
                                           -0.025806888862582745,  0.23533063014597425,     -1.3352627688446634,
                                           4.0587121264165447,     -4.9348022005446772,     1};
  static constexpr double exponential[] = {2.5117903840061201162e-8, 2.7631339598659790676e-7, 2.7557216164712064366e-6,
                                           0.000024801489786091795,  0.00019841269917537707,   0.0013888888947155915629,
                                           0.0083333333333071326333, 0.041666666666514931778,  0.16666666666666699181,
                                           0.50000000000000127928};
};

// Horner's rule
template <class V, class T, int N>
[[gnu::always_inline]] inline typename V::Register polynomial(typename V::Register x, const T (&coefficients)[N]) {
  auto value = V::broadcast(coefficients[0]);
  for (int i = 1; i < N; ++i) value = V::multiply_add(value, x, V::broadcast(coefficients[i]));
  return value;
}

// x = q pi / 2 + r with q whole, |r| <= pi / 4: the sine and cosine of r, exchanged and negated as q tells. |x| must be
// at most largest_phase.
template <class V>
[[gnu::always_inline]] inline void sincos_near(typename V::Register x, typename V::Register& sine,
                                               typename V::Register& cosine) {
  using T = typename V::Scalar;
  using E = Elementary<T>;
  constexpr T turns = static_cast<T>(0.63661977236758134308L);  // 2 / pi
  const auto shifted = V::multiply_add(x, V::broadcast(turns), V::broadcast(E::magic));
  const auto q = V::subtract(shifted, V::broadcast(E::magic));
  auto r = x;
  for (const T part : E::half_pi) r = V::multiply_add(q, V::broadcast(-part), r);
  const auto square = V::multiply(r, r);
  const auto s = V::multiply_add(V::multiply(square, r), polynomial<V>(square, E::sine), r);
  const auto tail = V::multiply_add(square, polynomial<V>(square, E::cosine), V::broadcast(T(-0.5)));
  const auto c = V::multiply_add(square, tail, V::broadcast(T(1)));
  V::turn(shifted, s, c, sine, cosine);
}

// A polynomial times a factor, so that the result need not be multiplied with it.
template <class T, int N>
struct Scaled {
  T at[N];
  Scaled(const T (&coefficients)[N], T factor) {
    for (int i = 0; i < N; ++i) at[i] = factor * coefficients[i];
  }
};

// A factor times waves of arguments in quarter turns, t = q + f with q whole and |f| <= 1 / 2: both are exact, so that
// nothing is lost or paid for the reduction. |t| must be at most largest_turns.
template <class V>
class QuarterWaves {
 public:
  using Register = typename V::Register;
  explicit QuarterWaves(typename V::Scalar factor)
      : sine_(E::quarter_sine, factor), cosine_(E::quarter_cosine, factor) {}
  [[gnu::always_inline]] void operator()(Register t, Register& sine, Register& cosine) const {
    const auto shifted = V::add(t, V::broadcast(E::magic));
    const auto f = V::subtract(t, V::subtract(shifted, V::broadcast(E::magic)));
    const auto square = V::multiply(f, f);
    V::turn(shifted, V::multiply(f, polynomial<V>(square, sine_.at)), polynomial<V>(square, cosine_.at), sine, cosine);
  }

 private:
  using E = Elementary<typename V::Scalar>;
  Scaled<typename V::Scalar, std::size(E::quarter_sine)> sine_;
  Scaled<typename V::Scalar, std::size(E::quarter_cosine)> cosine_;
};

// The same of half turns, the cosine alone.
template <class V>
class HalfWaves {
 public:
  using Register = typename V::Register;
  explicit HalfWaves(typename V::Scalar factor) : cosine_(E::half_cosine, factor) {}
  [[gnu::always_inline]] Register operator()(Register t) const {
    const auto shifted = V::add(t, V::broadcast(E::magic));
    const auto f = V::subtract(t, V::subtract(shifted, V::broadcast(E::magic)));
    return V::negate_odd(shifted, polynomial<V>(V::multiply(f, f), cosine_.at));
  }

 private:
  using E = Elementary<typename V::Scalar>;
  Scaled<typename V::Scalar, std::size(E::half_cosine)> cosine_;
};

// t less a multiple of 4, exact: for turns of any size.
template <class V>
[[gnu::always_inline]] inline typename V::Register within_four(typename V::Register t) {
  using T = typename V::Scalar;
  return V::multiply_add(V::round(V::multiply(t, V::broadcast(T(0.25)))), V::broadcast(T(-4)), t);
}

// x = n log 2 + r: 2^n e^r. V::scale_by_power clips n to where the result is 0, or infinite, anyway.
template <class V>
[[gnu::always_inline]] inline typename V::Register exp_near(typename V::Register x) {
  using T = typename V::Scalar;
  using E = Elementary<T>;
  constexpr T reciprocal = static_cast<T>(1.44269504088896340736L);  // 1 / log 2
  const auto n = V::round(V::multiply(x, V::broadcast(reciprocal)));
  auto r = x;
  for (const T part : E::log_two) r = V::multiply_add(n, V::broadcast(-part), r);
  const auto tail = V::multiply_add(r, polynomial<V>(r, E::exponential), V::broadcast(T(1)));
  return V::scale_by_power(V::multiply_add(r, tail, V::broadcast(T(1))), n);
}

}  // namespace carmina::backend
