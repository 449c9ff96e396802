// backends/cuda/coefficients.hpp -- coefficients of a product as the passes read them.
#pragma once
#include "backends/cuda/passes.hpp"
#include "backends/cuda/rows.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace carmina::cuda {

// C (2 units, q) by groups of columns: (padded units, 2, P) of each, or, of 16 or 64 columns, parts of 11 bits at
// many_place(); starts: where each group begins.
template <class T>
std::vector<T> arranged_coefficients(const std::vector<Columns>& groups, int64_t units, int64_t padded_units, int64_t q,
                                     const double* C, std::vector<size_t>& starts) {
  std::vector<T> all;
  starts.clear();
  for (const Columns& group : groups) {
    const bool parts = group.width >= many_columns;
    const size_t begin = all.size();
    starts.push_back(begin);
    all.resize(begin + static_cast<size_t>(2 * padded_units * group.width) * (parts ? 2 : 1), T(0));
    for (int64_t i = 0; i < 2 * units; ++i) {
      const int64_t unit = i % units;
      const auto part = static_cast<int>(i / units);
      for (int c = 0; c < group.count; ++c) {
        const T value = static_cast<T>(C[i * q + group.first + c]);
        if (!parts) {
          all[begin + static_cast<size_t>((2 * unit + part) * group.width + c)] = value;
          continue;
        }
        const auto narrow = static_cast<float>(value);
        uint32_t bits = 0;
        std::memcpy(&bits, &narrow, sizeof bits);
        bits &= 0xffffe000U;
        float high = 0;
        std::memcpy(&high, &bits, sizeof bits);
        T* const at = all.data() + begin + many_place(unit, part, c, group.width);
        at[0] = high, at[2] = narrow - high;
      }
    }
  }
  return all;
}

}  // namespace carmina::cuda
