// models/fit/rates.hpp -- how much work the steps of a fit are, by rates that are stored, not measured: what `auto`
// chooses must not depend on the load, the clock or the number of threads.
//
// Nanoseconds of one core. Measured with AVX-512 on an AMD EPYC (Zen 4 and 5: `benchmarks/micro`); the rows of other
// instruction sets scale them by the width of their registers, which is an estimate. Only ratios matter.
#pragma once
#include "backends/reduced_gram.hpp"
#include "backends/vector_math.hpp"

#include <string_view>

namespace carmina {

struct Rates {
  double gram;           // an entry of n m^2: products of features, in the data's precision
  double factor;         // an entry of m^3 / 3, in double
  double reduced;        // an entry of n m^2 of a preconditioner
  double single_factor;  // an entry of m^3 / 3 in float
  double frequency;      // sine and cosine of a phase
  double input;          // a frequency's product with one input
  double output;         // a feature's products with one output, forwards and back

  // Of one row in a pass that multiplies by m features and by their transpose.
  double pass(double m, double d, double p) const { return m / 2 * (frequency + d * input) + m * (0.03 + p * output); }

  static Rates of(bool single_precision) {
    const std::string_view name = backend::vector_instruction_set();
    const double width = name == "avx512" ? 1 : name == "avx2" ? 1.7 : 5;
    Rates rates = single_precision ? Rates{0.0125, 0.029, 0.012, 0.016, 0.27, 0.019, 0.045}
                                   : Rates{0.025, 0.029, 0.012, 0.016, 0.62, 0.045, 0.09};
    for (double* rate : {&rates.gram, &rates.factor, &rates.reduced, &rates.single_factor, &rates.frequency,
                         &rates.input, &rates.output}) {
      *rate *= width;
    }
    if (backend::has_bfloat16()) rates.reduced = backend::has_bfloat16_tiles() ? 0.0022 : 0.0065;
    return rates;
  }
};

}  // namespace carmina
