// core/format.cpp -- the one place where {fmt} puts values into messages.
#include <fmt/args.h>
#include <fmt/format.h>
#include <carmina/core/error.hpp>
#include <carmina/core/format.hpp>

namespace carmina {

namespace formatting {

namespace {

fmt::dynamic_format_arg_store<fmt::format_context> arguments(std::span<const Value> values) {
  fmt::dynamic_format_arg_store<fmt::format_context> all;
  for (const Value& value : values) std::visit([&](const auto& v) { all.push_back(v); }, value);
  return all;
}

}  // namespace

std::string format(std::string_view text, std::span<const Value> values) {
  return fmt::vformat(text, arguments(values));
}

void print(std::FILE* file, std::string_view text, std::span<const Value> values) {
  fmt::vprint(file, text, arguments(values));
}

}  // namespace formatting

std::string join_text(std::span<const std::string> parts, std::string_view separator) {
  std::string all;
  for (const std::string& part : parts) {
    if (&part != parts.data()) all += separator;
    all += part;
  }
  return all;
}

// A message is one line, whatever a file has where it is quoted.
void throw_error(std::string_view text, std::span<const formatting::Value> values) {
  std::string message = formatting::format(text, values);
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  throw Error(message);
}

}  // namespace carmina
