// fuzz/targets.hpp -- what is fuzzed: functions of bytes that nobody vouches for. Whatever these are, carmina::Error is
// the worst that may happen; anything else, an answer that is not finite among them, is a finding.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace carmina::fuzz {

using Bytes = std::span<const std::uint8_t>;

// Changes the first `size` of `capacity` bytes in their place, by a way that `seed` chooses; the new size.
using Mutate = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed);

struct Target {
  std::string_view name;
  void (*run)(Bytes);
  Mutate mutate = nullptr;                   // libFuzzer's own, where there is none
  std::size_t (*unpacked)(Bytes) = nullptr;  // bytes of an input whose contents are packed
};

std::span<const Target> targets();
const Target& target(std::string_view name);  // std::out_of_range for another name

struct Finding : std::logic_error {
  using std::logic_error::logic_error;
};
inline void expect(bool condition, const char* what) {
  if (!condition) throw Finding(what);
}
// A message is one line of UTF-8.
void expect_readable(std::string_view message);

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The targets: readers of tables by the ending of the file's name, and any of them behind gzip.
void run_csv(Bytes bytes);
void run_arff(Bytes bytes);
void run_npy(Bytes bytes);
void run_libsvm(Bytes bytes);
void run_idx(Bytes bytes);
void run_gzip(Bytes bytes);
// A model file with a right checksum, its header's text, and the JSON in it: loaded, asked for predictions, saved
// again.
void run_model(Bytes bytes);
void run_header(Bytes bytes);
void run_description(Bytes bytes);
// Words of a command line, one a line.
void run_command_line(Bytes bytes);
// Every instruction set of this machine gives the same numbers, to rounding.
void run_instruction_sets(Bytes bytes);

std::size_t mutate_model(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed);
std::size_t mutate_header(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed);
std::size_t mutate_description(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed);

std::size_t unpacked_gzip(Bytes bytes);

}  // namespace carmina::fuzz
