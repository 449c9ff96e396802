// fuzz/mutate_models.cpp -- changes to model files that keep them files: arrays, shapes and JSON change, then offsets,
// length and checksum are made right again.
#include "fuzz/targets.hpp"
#include "models/file/model_layout.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/model_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

extern "C" [[gnu::weak]] std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

namespace carmina::fuzz {
namespace {

using Json = nlohmann::json;

class Choice {
 public:
  explicit Choice(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  bool once_in(std::size_t count) { return below(count) == 0; }
  template <class C>
  auto& of(C& list) {
    return *std::next(std::begin(list), static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

 private:
  std::minstd_rand random_;
};

double number(Choice& choose) {
  static constexpr std::array special = {0.0,
                                         -0.0,
                                         1.0,
                                         -1.0,
                                         0.5,
                                         2.0,
                                         3.0,
                                         1e-300,
                                         -1e-300,
                                         1e17,
                                         1e300,
                                         -1e300,
                                         4294967296.0,
                                         9.3e18,
                                         std::numeric_limits<double>::denorm_min(),
                                         std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN()};
  if (!choose.once_in(3)) return choose.of(special);
  return (static_cast<double>(choose.below(2001)) - 1000) / 100;
}

Json value(Choice& choose) {
  static const std::array words = {"gaussian",
                                   "laplacian",
                                   "matern",
                                   "cauchy",
                                   "rational_quadratic",
                                   "polynomial",
                                   "sobolev1",
                                   "spectral_mixture",
                                   "matrix",
                                   "independent",
                                   "curl-free",
                                   "divergence-free",
                                   "fourier",
                                   "exact",
                                   "inducing",
                                   "sub_sample",
                                   "squared",
                                   "huber",
                                   "pinball",
                                   "logistic",
                                   "hinge",
                                   "hadamard",
                                   "phases",
                                   "laplace",
                                   "factors",
                                   "",
                                   "\xC3\xBC",
                                   "nu",
                                   "degree",
                                   "levels"};
  switch (choose.below(7)) {
    case 0:
      return number(choose);
    case 1:
      return static_cast<std::int64_t>(choose.below(7)) - 2;
    case 2:
      return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(choose.below(2));
    case 3:
      return choose.of(words);
    case 4:
      return choose.once_in(2);
    case 5:
      return choose.once_in(2) ? Json::array() : Json::object();
    default:
      return nullptr;
  }
}

// A node of the tree, each level being left with some probability.
Json& node_of(Json& root, Choice& choose) {
  Json* at = &root;
  while (at->is_structured() && !at->empty() && !choose.once_in(6)) at = &choose.of(*at);
  return *at;
}

void change_json(Json& root, Choice& choose) {
  Json& node = node_of(root, choose);
  if (node.is_structured() && !node.empty() && !choose.once_in(4)) {
    const auto member = std::next(node.begin(), static_cast<std::ptrdiff_t>(choose.below(node.size())));
    if (choose.once_in(2)) {
      node.erase(member);
    } else if (node.is_array()) {
      node.push_back(Json(*member));
    } else {
      node[std::string(value(choose).dump(), 0, 8)] = Json(*member);
    }
  } else if (node.is_number_float() && !choose.once_in(4)) {
    node = number(choose);
  } else {
    node = value(choose);
  }
}

// Changed as JSON if it is that.
std::string changed_text(const std::string& text, Choice& choose) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return text;
  for (std::size_t changes = 1 + choose.below(3); changes > 0; --changes) change_json(json, choose);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void fill(Tensor& tensor, Choice& choose) {
  std::uint64_t bytes = 0;
  if (!layout::byte_size(tensor, bytes) || bytes > (1u << 16)) {
    tensor.shape = {0, 0};
    bytes = 0;
  }
  // What is new repeats what was there, or is zero.
  const std::size_t before = tensor.bytes.size();
  tensor.bytes.resize(bytes);
  for (std::size_t k = before; k < bytes && before > 0 && !choose.once_in(64); ++k) {
    tensor.bytes[k] = tensor.bytes[k - before];
  }
}

void change_shape(Tensor& tensor, Choice& choose) {
  if (tensor.shape.empty() || choose.once_in(8)) {
    tensor.shape.push_back(1);
  } else if (choose.once_in(4)) {
    std::reverse(tensor.shape.begin(), tensor.shape.end());
  } else if (choose.once_in(6)) {
    tensor.shape.pop_back();
  } else {
    Index& extent = choose.of(tensor.shape);
    switch (choose.below(5)) {
      case 0:
        ++extent;
        break;
      case 1:
        extent = std::max<Index>(0, extent - 1);
        break;
      case 2:
        extent = static_cast<Index>(choose.below(8));
        break;
      case 3:
        extent = 0;
        break;
      default:
        extent *= 2;
    }
  }
  fill(tensor, choose);
}

void change_cell(Tensor& tensor, Choice& choose) {
  const std::size_t size = layout::item_size(tensor.dtype);
  if (size == 0 || tensor.bytes.size() < size) return;
  std::byte* cell = tensor.bytes.data() + choose.below(tensor.bytes.size() / size) * size;
  const double changed = number(choose);
  if (tensor.dtype == "F32") {
    const auto narrow = static_cast<float>(std::clamp(changed, -3e38, 3e38));
    std::memcpy(cell, &narrow, sizeof narrow);
  } else if (tensor.dtype == "F64") {
    std::memcpy(cell, &changed, sizeof changed);
  } else {
    *cell = static_cast<std::byte>(choose.below(256));
  }
}

void change_tensors(ModelFile& file, Choice& choose) {
  static const std::array names = {"frequencies",      "anchors",
                                   "phases",           "hadamard_diagonals",
                                   "hadamard_lengths", "input_shift",
                                   "input_factor",     "input_fill",
                                   "input_limit",      "input_metric",
                                   "output_root",      "row_weights",
                                   "left_out",         "row_sums",
                                   "output_pattern",   "pattern_rows",
                                   "output_matrix.0",  "mixture_weights.0",
                                   "precision_root.0", "points.0",
                                   "points.0.real",    "beta.0",
                                   "second_root",      "root"};
  auto& chosen = choose.of(file.tensors);
  switch (choose.below(6)) {
    case 0:
      file.tensors.erase(std::string(chosen.first));
      break;
    case 1:
      file.tensors[choose.of(names)] = Tensor(chosen.second);
      break;
    case 2:
      std::swap(chosen.second, choose.of(file.tensors).second);
      break;
    case 3:
      chosen.second.dtype = choose.once_in(2) ? "F64" : "F32";
      fill(chosen.second, choose);
      break;
    default:
      change_shape(chosen.second, choose);
  }
}

void change(ModelFile& file, Choice& choose) {
  const std::size_t what = choose.below(8);
  if (what < 3 && !file.texts.empty()) {
    auto& [name, text] = choose.of(file.texts);
    if (name == "type") {
      text = choose.once_in(2) ? "kernel_machine" : "spectral_mixture";
    } else if (name == "precision") {
      text = choose.once_in(2) ? "float32" : "float64";
    } else {
      text = changed_text(text, choose);
    }
  } else if (!file.tensors.empty()) {
    if (what < 6) {
      change_cell(choose.of(file.tensors).second, choose);
    } else {
      change_tensors(file, choose);
    }
  }
}

std::size_t put(const void* from, std::size_t size, std::uint8_t* to, std::size_t capacity, std::size_t otherwise) {
  if (size == 0 || size > capacity) return otherwise;
  std::memcpy(to, from, size);
  return size;
}

std::size_t by_the_engine(std::uint8_t* data, std::size_t size, std::size_t capacity) {
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, capacity) : size;
}

// Makes length and checksum right, whatever else the header says.
std::size_t repair(std::uint8_t* data, std::size_t size) {
  if (size <= layout::length_size) return size;
  std::uint64_t length = 0;
  std::memcpy(&length, data, sizeof length);
  if (length > size - layout::length_size) length = size - layout::length_size;
  std::memcpy(data, &length, sizeof length);
  char* const text = reinterpret_cast<char*>(data);
  const std::string key = "\"checksum\":\"";
  char* const end = text + size;
  char* const found =
      std::search(text + layout::length_size, text + layout::length_size + length, key.begin(), key.end());
  if (found + key.size() + layout::blank_checksum.size() > end || found == text + layout::length_size + length)
    return size;
  char* const digits = found + key.size();
  std::copy(layout::blank_checksum.begin(), layout::blank_checksum.end(), digits);
  layout::Checksum checksum;
  checksum.add(data, size);
  const std::string right = checksum.digits();
  std::copy(right.begin(), right.end(), digits);
  return size;
}

}  // namespace

std::size_t mutate_header(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed) {
  Choice choose(seed + 1);
  std::uint64_t length = 0;
  if (size > layout::length_size) std::memcpy(&length, data, sizeof length);
  if (size <= layout::length_size || length > size - layout::length_size || choose.once_in(8)) {
    return repair(data, by_the_engine(data, size, capacity));
  }
  // The header grows or shrinks in a copy, the data stay behind it.
  const std::size_t begin = layout::length_size, rest = size - begin - length;
  std::vector<std::uint8_t> header(capacity);
  std::memcpy(header.data(), data + begin, length);
  std::size_t now = length;
  if (choose.once_in(2)) {
    const std::string text = changed_text(std::string(reinterpret_cast<const char*>(data + begin), length), choose);
    now = put(text.data(), text.size(), header.data(), capacity - begin - rest, length);
  } else {
    now = by_the_engine(header.data(), length, capacity - begin - rest);
  }
  std::memmove(data + begin + now, data + begin + length, rest);
  std::memcpy(data + begin, header.data(), now);
  const std::uint64_t new_length = now;
  std::memcpy(data, &new_length, sizeof new_length);
  return repair(data, begin + now + rest);
}

std::size_t mutate_model(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed) {
  Choice choose(seed + 1);
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  ModelFile file;
  try {
    file = decode_model(bytes, "m");
  } catch (const Error&) {
    return mutate_header(data, size, capacity, seed);
  }
  for (std::size_t changes = 1 + choose.below(3); changes > 0; --changes) change(file, choose);
  try {
    bytes = encode_model(file);
  } catch (const Error&) {
    return mutate_header(data, size, capacity, seed);
  }
  return put(bytes.data(), bytes.size(), data, capacity, size);
}

std::size_t mutate_description(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed) {
  Choice choose(seed + 1);
  if (size < 3) return by_the_engine(data, size, capacity);
  if (choose.once_in(8)) data[choose.below(2)] = static_cast<std::uint8_t>(choose.below(96));
  const std::string before(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string after = changed_text(before, choose);
  if (after == before) return by_the_engine(data, size, capacity);
  return 2 + put(after.data(), after.size(), data + 2, capacity - 2, size - 2);
}

}  // namespace carmina::fuzz
