// models/file/model_layout.cpp -- making and checking the header of a model file.
#include "models/file/model_layout.hpp"
#include "core/crc32.hpp"

#include <carmina/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace carmina::layout {

using Json = nlohmann::json;

std::size_t item_size(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32") return 4;
  return dtype == "U8" ? 1 : 0;
}

bool byte_size(const Tensor& tensor, std::uint64_t& bytes) {
  bytes = item_size(tensor.dtype);
  return std::all_of(tensor.shape.begin(), tensor.shape.end(), [&](Index extent) {
    return extent >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes);
  });
}

std::string shape_text(const Tensor& tensor) {
  std::string text = "[";
  for (const Index extent : tensor.shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

void Checksum::add(const void* data, std::size_t size) { value_ = crc32(value_, data, size); }

std::string Checksum::digits() const { return format_text("{:08x}", value_); }

namespace {

const std::string metadata_key = "__metadata__";
const std::set<std::string> own_texts = {"format", "version", "checksum"};

// Inside a text or a name a quote stands escaped, so this can only be the key itself.
std::size_t checksum_position(const std::string& header, std::string_view digits) {
  const std::string before = "\"checksum\":\"";
  const std::size_t at = header.find(before + std::string(digits) + '"');
  return at == std::string::npos ? at : at + before.size();
}

}  // namespace

void set_checksum(std::string& head, const std::string& digits) {
  head.replace(checksum_position(head, blank_checksum), digits.size(), digits);
}

Head make_head(const ModelFile& file, bool bytes_apart) {
  Json metadata = {{"format", "carmina"}, {"version", std::to_string(version)}, {"checksum", blank_checksum}};
  for (const auto& [name, text] : file.texts) {
    require(!own_texts.contains(name), "model file: the text name '{}' is the format's own", name);
    metadata[name] = text;
  }

  // Large items first, then by name: every array stands at a multiple of its item size.
  std::vector<std::pair<const std::string*, const Tensor*>> sorted;
  for (const auto& [name, tensor] : file.tensors) sorted.emplace_back(&name, &tensor);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return item_size(a.second->dtype) > item_size(b.second->dtype);
  });

  Head head;
  Json header = {{metadata_key, metadata}};
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : sorted) {
    std::uint64_t size = 0;
    require(*name != metadata_key, "model file: the array name '{}' is the format's own", *name);
    require(item_size(tensor->dtype) > 0, "model file: array '{}' has the unknown type '{}'", *name, tensor->dtype);
    require(byte_size(*tensor, size) && (bytes_apart || size == tensor->bytes.size()),
            "model file: array '{}' of {} with shape {} holds {} bytes", *name, tensor->dtype, shape_text(*tensor),
            tensor->bytes.size());
    header[*name] = {{"dtype", tensor->dtype}, {"shape", tensor->shape}, {"data_offsets", {offset, offset + size}}};
    head.order.push_back(tensor);
    offset += size;
  }

  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    fail("model file: a text or a name is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  require(text.size() <= longest_header, "model file: the header needs {} bytes, at most {} are allowed", text.size(),
          longest_header);
  for (std::size_t byte = 0; byte < length_size; ++byte) {
    head.bytes.push_back(static_cast<char>(text.size() >> (8 * byte) & 0xff));
  }
  head.bytes += text;
  return head;
}

void write(const Sink& sink, const ModelFile& file, const BytesOf& bytes_of) {
  Head head = make_head(file, static_cast<bool>(bytes_of));
  const auto for_tensors = [&](const auto& body) {
    for (const Tensor* tensor : head.order) {
      std::uint64_t size = 0;
      byte_size(*tensor, size);
      body(bytes_of ? bytes_of(*tensor) : tensor->bytes.data(), size);
    }
  };
  Checksum checksum;
  checksum.add(head.bytes.data(), head.bytes.size());
  for_tensors([&](const void* data, std::size_t size) { checksum.add(data, size); });
  set_checksum(head.bytes, checksum.digits());
  sink(head.bytes.data(), head.bytes.size());
  for_tensors(sink);
}

namespace {

// Three levels are the deepest a header goes (root, array, its shape); a name given twice would hide the
// first.
Json parse_strictly(const std::string& header, const std::string& source) {
  std::vector<std::set<std::string>> names;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    require(depth <= 3, "{}: not a Carmina model: its header is nested too deeply", source);
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key) {
      require(names.back().insert(value.get<std::string>()).second, "{}: altered: its header names '{}' twice", source,
              value.get<std::string>());
    }
    return true;
  };
  try {
    return Json::parse(header, check);
  } catch (const Json::exception&) {
    fail("{}: not a Carmina model, or altered: its header is not JSON", source);
  }
}

void check_format(const Json& header, const std::string& source) {
  const bool ours = header.is_object() && header.contains(metadata_key) && header[metadata_key].is_object() &&
                    header[metadata_key].value("format", Json()) == "carmina";
  require(ours, "{}: not a Carmina model", source);
  const Json& metadata = header[metadata_key];
  for (const auto& [name, text] : metadata.items()) {
    require(text.is_string(), "{}: altered: '{}' in its header is not a text", source, name);
  }
  const std::string found = metadata.value("version", "");
  int number = 0;
  const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), number);
  require(error == std::errc() && end == found.data() + found.size() && number >= 1,
          "{}: altered: '{}' is not a version", source, found);
  require(number <= version, "{}: written by a newer version ({}; this program reads up to {})", source, number,
          version);
}

struct Extent {
  std::uint64_t begin = 0, end = 0;
  Tensor* tensor = nullptr;
};

Extent parse_tensor(const std::string& name, const Json& entry, Tensor& tensor, const std::string& source) {
  const auto whole = [](const Json& value) { return value.is_number_unsigned(); };
  const auto list = [&](const char* key) {
    return entry.contains(key) && entry[key].is_array() && std::all_of(entry[key].begin(), entry[key].end(), whole);
  };
  require(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry["dtype"].is_string() &&
              list("shape") && list("data_offsets") && entry["data_offsets"].size() == 2,
          "{}: altered: array '{}' is not described by a type, a shape and two offsets", source, name);
  tensor.dtype = entry["dtype"].get<std::string>();
  require(item_size(tensor.dtype) > 0, "{}: altered: array '{}' has the unknown type '{}'", source, name, tensor.dtype);
  for (const Json& extent : entry["shape"]) {
    tensor.shape.push_back(static_cast<Index>(extent.get<std::uint64_t>()));
  }
  const Extent extent{entry["data_offsets"][0].get<std::uint64_t>(), entry["data_offsets"][1].get<std::uint64_t>(),
                      &tensor};
  std::uint64_t size = 0;
  require(byte_size(tensor, size) && extent.begin <= extent.end && size == extent.end - extent.begin,
          "{}: altered: array '{}' of {} with shape {} has offsets {} to {}", source, name, tensor.dtype,
          shape_text(tensor), extent.begin, extent.end);
  return extent;
}

}  // namespace

Contents parse_header(std::string& header, std::uint64_t data_size, const std::string& source) {
  require(header.starts_with('{'), "{}: not a Carmina model", source);
  const Json json = parse_strictly(header, source);
  check_format(json, source);

  Contents contents;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : json.items()) {
    if (name == metadata_key) continue;
    extents.push_back(parse_tensor(name, entry, contents.file.tensors[name], source));
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::uint64_t promised = 0;
  for (const Extent& extent : extents) {
    require(extent.begin == promised, "{}: altered: its arrays overlap or leave a hole at byte {}", source, promised);
    promised = extent.end;
    contents.order.emplace_back(extent.tensor, extent.end - extent.begin);
  }
  require(promised <= data_size, "{}: truncated: the header promises {} bytes of data, the file has {}", source,
          promised, data_size);
  require(promised == data_size, "{}: altered: {} bytes follow its last array", source, data_size - promised);

  for (const auto& [name, text] : json[metadata_key].items()) {
    if (!own_texts.contains(name)) contents.file.texts[name] = text.get<std::string>();
  }
  contents.checksum = json[metadata_key].value("checksum", "");
  const std::size_t at = checksum_position(header, contents.checksum);
  require(contents.checksum.size() == blank_checksum.size() && at != std::string::npos,
          "{}: altered: its checksum cannot be read", source);
  header.replace(at, blank_checksum.size(), blank_checksum);
  return contents;
}

}  // namespace carmina::layout
