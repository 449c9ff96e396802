// models/file/tensor_table.cpp -- the tables, and shapes solved for their letters.
#include "models/file/tensor_table.hpp"
#include "models/file/model_layout.hpp"

#include <carmina/core/error.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace carmina {
namespace {

constexpr TensorRow of_kernel_machines[] = {
    {"intercept", "T", "p, 1"},
    {"hadamard_diagonals", "F64", "3 b, h"},
    {"hadamard_lengths", "F64", "D, 1"},
    {"phases", "T", "w, 1"},
    {"frequencies", "T", "w, d"},
    {"place_frequencies", "T", "w, d"},
    {"anchors", "T", "n, d"},
    {"coefficients", "T", "m, r"},
    {"output_root", "T", "p, r"},
    {"output_matrix.i", "F64", "p, p"},
    {"mixture_weights.i", "F64", "q_i, 1"},
    {"mixture_means.i", "F64", "q_i, d"},
    {"mixture_scales.i", "F64", "q_i, d"},
    {"target_mean", "F64", "p, 1"},
    {"row_weights", "F64", "n, 1"},
    {"noise", "F64", "p, 1"},
    {"left_out", "F64", "279, p + 1", true},
    {"row_sums", "F64", "packed(s), 1"},
    {"row_sums_origin", "F64", "p, 1"},
    {"output_pattern", "F64", "p, 1"},
    {"pattern_rows", "F64", "n, o"},
    {"row_sums.k", "F64", "packed(s_k), 1"},
    {"row_sums_origin.k", "F64", "p_k, 1"},
    {"input_fill", "F64", "d, 1"},
    {"input_shift", "F64", "d, 1"},
    {"input_factor", "F64", "d, 1"},
    {"input_limit", "F64", "1, 1"},
    {"input_metric", "F64", "d, d"},
};

constexpr TensorRow of_spectral_mixtures[] = {
    {"intercept", "F64", "p, 1"},
    {"weights", "F64", "q, 1"},
    {"means", "F64", "q, d"},
    {"scales", "F64", "q, d"},
    {"noise", "F64", "p, 1"},
    {"target_mean", "F64", "p, 1"},
    {"factors.real", "F64", "q, p r"},
    {"factors.imaginary", "F64", "q, p r"},
    {"points.k", "F64", "M, d"},
    {"points.k.real", "F64", "M, p r"},
    {"points.k.imaginary", "F64", "M, p r"},
    {"beta.k", "F64", "2 M r, 1"},
    {"precision_root.k", "F64", "packed(2 M r), 1"},
    {"anchors", "F64", "a, d"},
    {"coefficients", "F64", "a, p"},
    {"root", "F64", "packed(a), 1"},
    {"second_root", "F64", "packed(a), 1"},
    {"trend", "F64", "3, 1"},
    {"shares", "F64", "s, 1"},
    {"member.k.weights", "F64", "q_k, 1"},
    {"member.k.means", "F64", "q_k, d"},
    {"member.k.scales", "F64", "q_k, d"},
    {"member.k.noise", "F64", "1, 1"},
    {"member.k.coefficients", "F64", "a, p"},
    {"bands", "F64", "b, 2"},
};

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(separator); at != text.npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::optional<Index> number_in(std::string_view text) {
  Index value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_counter(std::string_view part) { return part == "i" || part == "k"; }

// "points.k.real" for 3: "points.3.real"; the same text where nothing is counted.
std::string numbered(std::string_view name, Index number) {
  std::string out;
  for (const std::string_view part : split(name, ".")) {
    out += (out.empty() ? "" : ".") + (is_counter(part) ? std::to_string(number) : std::string(part));
  }
  return out;
}

// One array against its row of the table.
class Shape {
 public:
  Shape(const std::string& name, const TensorRow& row, Index number, TensorSizes& sizes)
      : name_(name), row_(row), number_(number), sizes_(sizes) {}

  void check(const Tensor& tensor) {
    const auto dimensions = split(row_.shape, ", ");
    // A vector may be stored without its second dimension.
    const bool vector = tensor.shape.size() == 1 && dimensions.size() == 2 && dimensions[1] == "1";
    if (!vector && tensor.shape.size() != dimensions.size()) refuse(tensor);
    for (std::size_t k = 0; k < tensor.shape.size(); ++k) {
      if (!solve(dimensions[k], tensor.shape[k])) refuse(tensor);
    }
  }

 private:
  // Whether the dimension can be `size`; a letter that is not known becomes what it must be.
  bool solve(std::string_view dimension, Index size) {
    if (dimension.starts_with("packed(")) {
      dimension = dimension.substr(7, dimension.size() - 8);
      const auto order = static_cast<Index>((std::sqrt(8 * static_cast<double>(size) + 1) - 1) / 2 + 0.5);
      return order < (Index{1} << 31) && order * (order + 1) / 2 == size && solve(dimension, order);
    }
    if (const std::size_t plus = dimension.find(" + "); plus != dimension.npos) {
      size -= *number_in(dimension.substr(plus + 3));
      dimension = dimension.substr(0, plus);
    }
    Index known = 1;
    std::string unknown;
    for (const std::string_view factor : split(dimension, " ")) {
      const std::string letter = letter_of(factor);
      const auto found = sizes_.find(letter);
      if (!number_in(factor) && found == sizes_.end()) {
        require(unknown.empty(), "'{}': neither {} nor {} is known from the arrays before it", name_, unknown, letter);
        unknown = letter;
      } else if (__builtin_mul_overflow(known, number_in(factor) ? *number_in(factor) : found->second, &known)) {
        return false;
      }
    }
    if (unknown.empty()) return known == size;
    if (size < known || size % known != 0) return false;
    sizes_[unknown] = size / known;
    return true;
  }

  // "q_i" with the number in the place of the i.
  std::string letter_of(std::string_view factor) const {
    const std::size_t at = factor.find('_');
    if (at == factor.npos) return std::string(factor);
    return std::string(factor.substr(0, at + 1)) + std::to_string(number_);
  }

  [[noreturn]] void refuse(const Tensor& tensor) const {
    std::string known;
    for (const auto& [letter, size] : sizes_) {
      if (std::string_view(row_.shape).find(letter.substr(0, letter.find('_'))) == std::string_view::npos) continue;
      known += format_text("{}{} = {}", known.empty() ? ", where " : ", ", letter, size);
    }
    fail("the array '{}' has the shape {}, expected [{}]{}", name_, layout::shape_text(tensor), row_.shape, known);
  }

  const std::string& name_;
  const TensorRow& row_;
  Index number_;
  TensorSizes& sizes_;
};

template <class T>
bool all_numbers(const Tensor& tensor, bool may_be_infinite) {
  for (std::size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + at, sizeof(T));
    if (may_be_infinite ? std::isnan(value) : !std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

std::span<const TensorRow> kernel_machine_tensors() { return of_kernel_machines; }
std::span<const TensorRow> spectral_mixture_tensors() { return of_spectral_mixtures; }

TensorSizes check_tensors(const ModelFile& file, std::span<const TensorRow> table, const std::string& type) {
  TensorSizes sizes;
  std::set<std::string> seen;
  for (const TensorRow& row : table) {
    for (Index number = 0;; ++number) {
      const std::string name = numbered(row.name, number);
      const auto found = file.tensors.find(name);
      const bool counted = name != row.name;
      // Terms of a kernel have arrays or none, so a number may be left out; the largest is found by the names.
      if (found != file.tensors.end()) {
        const Tensor& tensor = found->second;
        const std::string expected = row.type == std::string_view("T") ? type : row.type;
        require(tensor.dtype == expected, "the array '{}' is {}, expected {}", name, tensor.dtype, expected);
        Shape(name, row, number, sizes).check(tensor);
        const bool numbers = expected == "F32" ? all_numbers<float>(tensor, row.may_be_infinite)
                                               : all_numbers<double>(tensor, row.may_be_infinite);
        require(numbers, "the array '{}' holds {}", name, row.may_be_infinite ? "NaN" : "a number that is not finite");
        seen.insert(name);
      }
      if (!counted || number >= static_cast<Index>(file.tensors.size())) break;
    }
  }
  for (const auto& [name, tensor] : file.tensors) {
    require(seen.contains(name), "the array '{}' is none that such a model has", name);
  }
  return sizes;
}

}  // namespace carmina
