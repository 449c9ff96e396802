// models/file/model_file.cpp -- reading and writing model files, on disk and in memory.
#include "core/atomic_file.hpp"
#include "core/paths.hpp"
#include "models/file/model_layout.hpp"
#include "models/plan/memory_limit.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/model_file.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>

namespace carmina {

static_assert(std::endian::native == std::endian::little, "model files are written as memory lies");

namespace {

template <Real T>
constexpr const char* dtype_of = sizeof(T) == 4 ? "F32" : "F64";

using Source = std::function<void(void*, std::size_t)>;  // the next bytes, all of them or an Error

// Of a file of `size` bytes, `header` of them JSON: as tensors and, once more, as what is made of them; a JSON value
// takes up to thirty times its text.
void check_room(std::uint64_t size, std::uint64_t header, std::size_t memory_budget, const std::string& source) {
  const Execution execution{.memory_budget = memory_budget};
  const double bytes = 2 * static_cast<double>(size) + 30 * static_cast<double>(header);
  require(bytes <= std::max(memory_limit(execution), 16e6),
          "{}: reading this model takes up to {}, and the memory budget is {}", source, format_bytes(bytes),
          format_bytes(memory_limit(execution)));
}

ModelFile read_from(const Source& read, std::uint64_t size, const std::string& source, std::size_t memory_budget) {
  require(size > layout::length_size, "{}: truncated or not a Carmina model: it has {} bytes", source, size);
  unsigned char length_bytes[layout::length_size];
  read(length_bytes, sizeof length_bytes);
  std::uint64_t length = 0;
  for (std::size_t byte = 0; byte < layout::length_size; ++byte) {
    length |= std::uint64_t{length_bytes[byte]} << (8 * byte);
  }
  require(length <= layout::longest_header, "{}: not a Carmina model", source);
  const std::uint64_t rest = size - layout::length_size;
  require(length <= rest, "{}: truncated or not a Carmina model: its header takes {} bytes, the file has {}", source,
          length, rest);

  check_room(size, length, memory_budget, source);
  std::string header(length, ' ');
  read(header.data(), header.size());
  layout::Contents contents = layout::parse_header(header, rest - length, source);

  layout::Checksum checksum;
  checksum.add(length_bytes, sizeof length_bytes);
  checksum.add(header.data(), header.size());
  for (const auto& [tensor, bytes] : contents.order) {
    tensor->bytes.resize(bytes);
    read(tensor->bytes.data(), bytes);
    checksum.add(tensor->bytes.data(), bytes);
  }
  require(checksum.digits() == contents.checksum, "{}: altered: its checksum does not match", source);
  return std::move(contents.file);
}

}  // namespace

template <Real T>
void ModelFile::put(const std::string& name, ConstView<T> values) {
  Tensor tensor{dtype_of<T>, {values.rows(), values.cols()}, {}};
  const std::size_t row_size = static_cast<std::size_t>(values.cols()) * sizeof(T);
  tensor.bytes.resize(static_cast<std::size_t>(values.rows()) * row_size);
  for (Index row = 0; row < values.rows() && row_size > 0; ++row) {
    std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(row) * row_size, values.row(row).data(), row_size);
  }
  tensors[name] = std::move(tensor);
}

template <Real T>
Matrix<T> ModelFile::get(const std::string& name) const {
  const auto found = tensors.find(name);
  require(found != tensors.end(), "model file: the array '{}' is missing", name);
  const Tensor& tensor = found->second;
  require(tensor.dtype == dtype_of<T>, "model file: array '{}' is {}, expected {}", name, tensor.dtype, dtype_of<T>);
  require(tensor.shape.size() == 1 || tensor.shape.size() == 2, "model file: array '{}' has {} dimensions, not 1 or 2",
          name, tensor.shape.size());
  std::uint64_t size = 0;
  require(layout::byte_size(tensor, size) && size == tensor.bytes.size(),
          "model file: array '{}' with shape {} holds {} bytes", name, layout::shape_text(tensor), tensor.bytes.size());
  Matrix<T> values(tensor.shape[0], tensor.shape.size() == 2 ? tensor.shape[1] : 1);
  if (size > 0) std::memcpy(values.data(), tensor.bytes.data(), size);
  return values;
}

template void ModelFile::put(const std::string&, ConstView<float>);
template void ModelFile::put(const std::string&, ConstView<double>);
template Matrix<float> ModelFile::get(const std::string&) const;
template Matrix<double> ModelFile::get(const std::string&) const;

const std::string& ModelFile::text(const std::string& name) const {
  const auto found = texts.find(name);
  require(found != texts.end(), "model file: the text '{}' is missing", name);
  return found->second;
}

void write_model_file(const std::string& path, const ModelFile& file) {
  AtomicFile out(path);
  layout::write([&](const void* data, std::size_t size) { out.write(data, size); }, file);
  out.commit();
}

ModelFile read_model_file(const std::string& path, std::size_t memory_budget) {
  check_path("read", path);
  const auto fail_with = [&](const std::string& reason) { fail("cannot read '{}': {}", path, reason); };
  const auto system_reason = [] { return std::generic_category().message(errno); };
  // Asked before opening: opening a pipe would wait for someone to write into it.
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) fail_with(system_reason());
  if (!S_ISREG(info.st_mode)) fail_with("it is not a regular file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!stream) fail_with(system_reason());
  const Source read = [&](void* data, std::size_t size) {
    if (size == 0 || std::fread(data, 1, size, stream.get()) == size) return;
    fail_with(std::ferror(stream.get()) ? system_reason() : "it became shorter while it was read");
  };
  return read_from(read, static_cast<std::uint64_t>(info.st_size), path, memory_budget);
}

std::vector<std::byte> encode_model(const ModelFile& file) {
  std::vector<std::byte> bytes;
  const auto append = [&](const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + size);
  };
  layout::write(append, file);
  return bytes;
}

ModelFile decode_model(const std::vector<std::byte>& bytes, const std::string& source) {
  std::size_t position = 0;
  const Source read = [&](void* data, std::size_t size) {
    if (size > 0) std::memcpy(data, bytes.data() + position, size);
    position += size;
  };
  return read_from(read, bytes.size(), source, 0);
}

}  // namespace carmina
