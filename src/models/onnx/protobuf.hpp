// models/onnx/protobuf.hpp -- the few kinds of fields that an ONNX file has, as protocol buffers write them.
// https://protobuf.dev/programming-guides/encoding
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace carmina::onnx {

// A message is the bytes of its fields, each with its number and kind in front.
class Message {
 public:
  const std::string& bytes() const { return bytes_; }

  void put_integer(int field, std::uint64_t value) {
    put_varint(static_cast<std::uint64_t>(field) << 3);
    put_varint(value);
  }
  void put_text(int field, std::string_view text) {
    put_varint(static_cast<std::uint64_t>(field) << 3 | 2);
    put_varint(text.size());
    bytes_ += text;
  }
  void put_message(int field, const Message& message) { put_text(field, message.bytes_); }
  void put_float(int field, float value) {
    put_varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    bytes_.append(bytes, 4);
  }

 private:
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace carmina::onnx
