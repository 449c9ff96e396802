// models/file/checkpoint_file.cpp -- reads, checks and writes the states of a fit.
#include "models/file/checkpoint_file.hpp"
#include "core/atomic_file.hpp"
#include "models/file/model_layout.hpp"

#include <carmina/core/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace carmina {
namespace {

const std::string type = "checkpoint", of_fact = "fit ";
constexpr std::size_t longest_fact = 60;          // of a message
constexpr std::uint64_t kept_bytes = 16'000'000;  // of a loop that has ended
constexpr double writing_share = 0.1;             // of the time, at most

Tensor shape_of(const Checkpoint::Value& value) { return {"F64", {value.rows, value.columns}, {}}; }

std::size_t bytes_of(const Checkpoint::Value& value) {
  return static_cast<std::size_t>(value.rows * value.columns) * sizeof(double);
}

}  // namespace

CheckpointFile::CheckpointFile(const CheckpointOptions& options, const Communicator* processes)
    : options_(options), writes_(!processes || processes->rank() == 0 || options.each) {
  require(options.seconds >= 0, "checkpoint: the seconds between two writings must not be negative, found {}",
          options.seconds);
  if (writes_) read();
  if (processes && processes->size() > 1) {
    // All take what the first one that has a state has read.
    const auto has = processes->counts_of(earlier_.texts.empty() ? 0 : 1);
    const auto first = std::find(has.begin(), has.end(), 1) - has.begin();
    std::vector<std::byte> bytes;
    if (first == processes->rank()) bytes = encode_model(earlier_);
    bytes = processes->gather(bytes);
    earlier_ = {};
    if (!bytes.empty()) earlier_ = decode_model(bytes, options.path);
  }
  next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
}

void CheckpointFile::read() {
  if (std::error_code none; std::filesystem::exists(options_.path, none)) {
    try {
      earlier_ = read_model_file(options_.path);
    } catch (const Error& error) {
      fail("checkpoint: {}; remove the file or name another", error.what());
    }
    const auto found = earlier_.texts.find("type");
    require(found != earlier_.texts.end() && found->second == type,
            "checkpoint: '{}' is not the state of a fit; name another file", options_.path);
  }
  AtomicFile writable(options_.path);
}

void CheckpointFile::expect(const std::string& name, const std::string& value) {
  facts_[name] = value;
  const auto saved = earlier_.texts.find(of_fact + name);
  if (saved == earlier_.texts.end() || saved->second == value) return;
  const std::string where = format_text("checkpoint: '{}' is of a fit with ", options_.path),
                    advice = "remove the file or name another";
  if (std::max(saved->second.size(), value.size()) > longest_fact) fail("{}another {}; {}", where, name, advice);
  fail("{}{} {}, this one has {}; {}", where, name, saved->second, value, advice);
}

void CheckpointFile::finish() {
  if (writes_ && !options_.keep) ::unlink(options_.path.c_str());
}

bool CheckpointFile::holds(const std::string& loop) const { return earlier_.tensors.contains(loop + "/ended"); }

const Tensor& CheckpointFile::found(const std::string& name) const {
  const auto found = earlier_.tensors.find(name);
  require(found != earlier_.tensors.end() && found->second.dtype == "F64" && found->second.shape.size() == 2,
          "checkpoint: '{}' has no '{}'; remove the file or name another", options_.path, name);
  return found->second;
}

std::pair<Index, Index> CheckpointFile::shape(const std::string& name) const {
  const Tensor& tensor = found(name);
  return {tensor.shape[0], tensor.shape[1]};
}

void CheckpointFile::take(const std::string& name, double* to) {
  const Tensor& tensor = found(name);
  if (!tensor.bytes.empty()) std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
  earlier_.tensors.erase(name);
}

bool CheckpointFile::due() const { return writes_ && (options_.seconds == 0 || Clock::now() >= next_); }

void CheckpointFile::save(const std::string&, const std::vector<Value>& values) {
  const auto start = Clock::now();
  ModelFile all{earlier_.texts, {}};
  all.texts["type"] = type;
  for (const auto& [name, value] : facts_) all.texts[of_fact + name] = value;
  std::map<const Tensor*, const void*> numbers;
  for (const auto& [name, tensor] : earlier_.tensors) {
    Tensor& same = all.tensors[name];
    same.dtype = tensor.dtype, same.shape = tensor.shape;
    numbers[&same] = tensor.bytes.data();
  }
  for (const Value& value : values) {
    Tensor& tensor = all.tensors[value.name];
    tensor = shape_of(value);
    numbers[&tensor] = value.numbers;
  }
  try {
    AtomicFile out(options_.path);
    layout::write([&](const void* data, std::size_t size) { out.write(data, size); }, all,
                  [&](const Tensor& tensor) { return numbers.at(&tensor); });
    out.commit();
    trouble_.clear();
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  const auto now = Clock::now();
  const std::chrono::duration<double> spent = now - start;
  const double pause = std::max(options_.seconds, spent.count() / writing_share);
  next_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause));
}

void CheckpointFile::keep(const std::string& loop, const std::vector<Value>& values) {
  if (due()) save(loop, values);
  std::uint64_t size = 0;
  for (const Value& value : values) size += bytes_of(value);
  if (size > kept_bytes) return;
  for (const Value& value : values) {
    Tensor tensor = shape_of(value);
    tensor.bytes.resize(bytes_of(value));
    if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), value.numbers, tensor.bytes.size());
    earlier_.tensors[value.name] = std::move(tensor);
  }
}

}  // namespace carmina
