// models/file/model_layout.hpp -- the head of a model file: 8 bytes of length, then safetensors' JSON header.
#pragma once
#include <carmina/models/model_file.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carmina::layout {

constexpr int version = 1;
constexpr std::size_t length_size = 8;                 // the header's length, little-endian
constexpr std::uint64_t longest_header = 100'000'000;  // safetensors' own limit
constexpr std::string_view blank_checksum = "00000000";

std::size_t item_size(const std::string& dtype);  // 0 if the type is unknown
// items × size of one; false when it does not fit 64 bits or a size is negative.
bool byte_size(const Tensor& tensor, std::uint64_t& bytes);
std::string shape_text(const Tensor& tensor);  // "[2, 3]"

// Everything before the data, its checksum blank, and the tensors in the order of their data.
struct Head {
  std::string bytes;
  std::vector<const Tensor*> order;
};
Head make_head(const ModelFile& file, bool bytes_apart = false);
// The whole file: sink(data, size) is called with one part after the other. The bytes of tensors may be elsewhere.
using Sink = std::function<void(const void* data, std::size_t size)>;
using BytesOf = std::function<const void*(const Tensor& tensor)>;
void write(const Sink& sink, const ModelFile& file, const BytesOf& bytes_of = {});

// The CRC-32 of the whole file with the checksum's own digits blank, so that no altered byte goes unnoticed.
class Checksum {
 public:
  void add(const void* data, std::size_t size);
  std::string digits() const;

 private:
  std::uint32_t value_ = 0;
};
void set_checksum(std::string& head, const std::string& digits);

// A header read back: texts, tensors with type and shape but no bytes yet, and the order in which these
// follow.
struct Contents {
  ModelFile file;
  std::vector<std::pair<Tensor*, std::uint64_t>> order;  // (tensor in `file`, its bytes)
  std::string checksum;
};
// `header` without its length; `data_size` is what the file holds after it. Blanks the checksum in `header`.
Contents parse_header(std::string& header, std::uint64_t data_size, const std::string& source);

}  // namespace carmina::layout
