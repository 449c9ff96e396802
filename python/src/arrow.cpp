// arrow.cpp -- columns of Arrow tables as numbers, codes of texts, and ticks of clocks.
#include "arrow.hpp"

#include <carmina/core/error.hpp>
#include <cstring>
#include <limits>
#include <optional>

#include <Eigen/Core>

namespace carmina::python {
namespace {

bool is_valid(const ArrowArray& array, std::int64_t at) {
  const auto* bits = array.n_buffers > 0 ? static_cast<const std::uint8_t*>(array.buffers[0]) : nullptr;
  return array.null_count == 0 || bits == nullptr || (bits[at / 8] >> (at % 8) & 1) != 0;
}

template <class T>
T at(const ArrowArray& array, std::int64_t i, int buffer = 1) {
  return static_cast<const T*>(array.buffers[buffer])[i];
}

// Integers and floats by their letter; `i` counts from the beginning of the buffer.
std::optional<double> number_at(char format, const ArrowArray& array, std::int64_t i) {
  switch (format) {
    case 'c':
      return at<std::int8_t>(array, i);
    case 'C':
      return at<std::uint8_t>(array, i);
    case 's':
      return at<std::int16_t>(array, i);
    case 'S':
      return at<std::uint16_t>(array, i);
    case 'i':
      return at<std::int32_t>(array, i);
    case 'I':
      return at<std::uint32_t>(array, i);
    case 'l':
      return static_cast<double>(at<std::int64_t>(array, i));
    case 'L':
      return static_cast<double>(at<std::uint64_t>(array, i));
    case 'e':
      return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(at<std::uint16_t>(array, i)));
    case 'f':
      return at<float>(array, i);
    case 'g':
      return at<double>(array, i);
    default:
      return std::nullopt;
  }
}

bool is_number(std::string_view format) {
  return format.size() == 1 && std::string_view("cCsSiIlLefg").find(format[0]) != std::string_view::npos;
}
bool is_text(std::string_view format) { return format == "u" || format == "U" || format == "vu"; }

std::string_view text_at(std::string_view format, const ArrowArray& array, std::int64_t i) {
  const auto between = [&](auto begin, auto end) {
    return std::string_view(static_cast<const char*>(array.buffers[2]) + begin, static_cast<std::size_t>(end - begin));
  };
  if (format == "u") return between(at<std::int32_t>(array, i), at<std::int32_t>(array, i + 1));
  if (format == "U") return between(at<std::int64_t>(array, i), at<std::int64_t>(array, i + 1));
  // A view: the length, then up to 12 bytes, or 4 of them, the number of a buffer and the place in it.
  const char* const view = static_cast<const char*>(array.buffers[1]) + 16 * i;
  std::int32_t length = 0, buffer = 0, offset = 0;
  std::memcpy(&length, view, 4);
  if (length <= 12) return {view + 4, static_cast<std::size_t>(length)};
  std::memcpy(&buffer, view + 8, 4);
  std::memcpy(&offset, view + 12, 4);
  return {static_cast<const char*>(array.buffers[2 + buffer]) + offset, static_cast<std::size_t>(length)};
}

// Ticks of a second: of days, of milliseconds, or by the unit's letter in "tss:UTC", "tsu:".
std::optional<std::int64_t> ticks_per_second(std::string_view format) {
  if (format == "tdD") return 1;  // days become seconds
  if (format == "tdm") return 1000;
  if (!format.starts_with("ts") || format.size() < 3) return std::nullopt;
  switch (format[2]) {
    case 's':
      return 1;
    case 'm':
      return 1000;
    case 'u':
      return 1'000'000;
    case 'n':
      return 1'000'000'000;
    default:
      return std::nullopt;
  }
}

class Texts {
 public:
  explicit Texts(ArrowText& into) : into_(into) {}
  std::int32_t code(std::string_view text) {
    const auto [at, is_new] = codes_.try_emplace(std::string(text), static_cast<std::int32_t>(into_.levels.size()));
    if (is_new) into_.levels.emplace_back(text);
    return at->second;
  }

 private:
  ArrowText& into_;
  std::unordered_map<std::string, std::int32_t> codes_;
};

// Of a value in a dictionary, or of text itself.
std::string level_text(const ArrowSchema& schema, const ArrowArray& array, std::int64_t i) {
  const std::string_view format = schema.format;
  if (is_text(format)) return std::string(text_at(format, array, array.offset + i));
  if (format == "b")
    return (at<std::uint8_t>(array, (array.offset + i) / 8) >> ((array.offset + i) % 8) & 1) ? "true" : "false";
  const auto value = is_number(format) ? number_at(format[0], array, array.offset + i) : std::nullopt;
  require(value.has_value(), "categories of the type '{}' are not known here", format);
  return format_text("{}", *value);
}

}  // namespace

ArrowTable::ArrowTable(ArrowArrayStream& stream) {
  const auto failed = [&](int code) {
    const char* reason = code == 0 ? nullptr : stream.get_last_error(&stream);
    const std::string text = reason ? reason : "no reason given";
    if (code != 0) {
      stream.release(&stream);
      release();
      fail("the Arrow stream failed: {}", text);
    }
  };
  failed(stream.get_schema(&stream, &schema_));
  for (;;) {
    ArrowArray chunk{};
    failed(stream.get_next(&stream, &chunk));
    if (chunk.release == nullptr) break;
    chunks_.push_back(chunk);
  }
  stream.release(&stream);
  if (std::string_view(schema_.format) != "+s") {
    release();
    fail("expected a table, found one column of Arrow's type '{}'", schema_.format ? schema_.format : "");
  }
}

ArrowTable::~ArrowTable() { release(); }

void ArrowTable::release() {
  for (ArrowArray& chunk : chunks_) {
    if (chunk.release) chunk.release(&chunk);
  }
  chunks_.clear();
  if (schema_.release) schema_.release(&schema_);
  schema_.release = nullptr;
}

Index ArrowTable::rows() const {
  Index count = 0;
  for (const ArrowArray& chunk : chunks_) count += chunk.length;
  return count;
}

std::vector<std::string> ArrowTable::names() const {
  std::vector<std::string> all;
  for (std::int64_t j = 0; j < schema_.n_children; ++j) all.emplace_back(schema_.children[j]->name);
  return all;
}

ArrowColumn ArrowTable::column(Index j) const {
  const ArrowSchema& schema = *schema_.children[j];
  const std::string_view format = schema.format;
  // visit(array, i) for each row, `i` from the beginning of the column's buffers
  const auto for_rows = [&](const auto& visit) {
    for (const ArrowArray& chunk : chunks_) {
      const ArrowArray& array = *chunk.children[j];
      const std::int64_t first = chunk.offset + array.offset;
      for (std::int64_t i = first; i < first + chunk.length; ++i) visit(array, i);
    }
  };
  const auto size = static_cast<std::size_t>(rows());
  if (schema.dictionary != nullptr || is_text(format) || format == "b") {
    ArrowText text;
    Texts texts(text);
    text.codes.reserve(size);
    if (format == "b") {
      text.truths = true;
      text.levels = {"false", "true"};
      for_rows([&](const ArrowArray& array, std::int64_t i) {
        const bool is_true = (at<std::uint8_t>(array, i / 8) >> (i % 8) & 1) != 0;
        text.codes.push_back(is_valid(array, i) ? static_cast<std::int32_t>(is_true) : -1);
      });
    } else if (schema.dictionary == nullptr) {
      for_rows([&](const ArrowArray& array, std::int64_t i) {
        text.codes.push_back(is_valid(array, i) ? texts.code(text_at(format, array, i)) : -1);
      });
    } else {
      text.categories = true;
      std::vector<std::int32_t> codes;
      const ArrowArray* dictionary = nullptr;
      for_rows([&](const ArrowArray& array, std::int64_t i) {
        if (array.dictionary != dictionary) {
          dictionary = array.dictionary;
          codes.assign(static_cast<std::size_t>(dictionary->length), -2);  // not known yet
        }
        if (!is_valid(array, i)) {
          text.codes.push_back(-1);
          return;
        }
        const auto index = static_cast<std::int64_t>(number_at(format[0], array, i).value());
        std::int32_t& code = codes.at(static_cast<std::size_t>(index));
        if (code == -2) {
          const bool missing = !is_valid(*dictionary, dictionary->offset + index);
          code = missing ? -1 : texts.code(level_text(*schema.dictionary, *dictionary, index));
        }
        text.codes.push_back(code);
      });
    }
    return text;
  }
  if (is_number(format) || format == "n") {
    ArrowNumbers numbers;
    numbers.single = format == "f";
    numbers.values.reserve(size);
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    for_rows([&](const ArrowArray& array, std::int64_t i) {
      const bool there = format != "n" && is_valid(array, i);
      numbers.values.push_back(there ? number_at(format[0], array, i).value() : missing);
    });
    return numbers;
  }
  const auto per_second = ticks_per_second(format);
  require(per_second.has_value(), "Arrow's type '{}' is neither number, text, truth value nor date", format);
  ArrowDates dates;
  dates.ticks_per_second = *per_second;
  dates.ticks.reserve(size);
  for_rows([&](const ArrowArray& array, std::int64_t i) {
    constexpr std::int64_t missing = std::numeric_limits<std::int64_t>::min(), seconds_per_day = 86400;
    const std::int64_t ticks = !is_valid(array, i) ? missing
                               : format == "tdD"   ? seconds_per_day * at<std::int32_t>(array, i)
                                                   : at<std::int64_t>(array, i);
    dates.ticks.push_back(ticks);
  });
  return dates;
}

}  // namespace carmina::python
