// tests/fuzz/replay_test.cpp -- the targets of fuzz/ without an engine: what was found before, and some inputs more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/small_models.hpp"
#include "fuzz/targets.hpp"

namespace carmina::fuzz {
namespace {

using Content = std::vector<std::uint8_t>;

Content content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Content bytes_of(const ModelFile& file) {
  Content bytes;
  for (const std::byte one : encode_model(file)) bytes.push_back(static_cast<std::uint8_t>(one));
  return bytes;
}

// Files in a folder that is no target's would never be tried.
TEST(Fuzz, WhatWasFoundBeforeIsNoFindingAgain) {
  for (const auto& folder : std::filesystem::directory_iterator(CARMINA_FINDS)) {
    const Target& one = target(folder.path().filename().string());
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(file.path());
      EXPECT_NO_THROW(one.run(content_of(file)));
    }
  }
}

TEST(Fuzz, SmallModelsAreGood) {
  for (const auto& [name, file] : small_models()) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(run_model(bytes_of(file)));
  }
}

// A mutation of a model is a file with a right checksum: it is refused for what it holds. CARMINA_MUTATIONS: how many
// of each model are tried.
TEST(Fuzz, MutatedModelsAreErrorsAtWorst) {
  const char* given = std::getenv("CARMINA_MUTATIONS");
  const unsigned count = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 60;
  for (const auto& [name, file] : small_models()) {
    const Content original = bytes_of(file);
    for (unsigned seed = 0; seed < count; ++seed) {
      SCOPED_TRACE(name + " by " + std::to_string(seed));
      Content bytes = original;
      for (unsigned step = 0; step <= seed % 4; ++step) {
        const std::size_t size = bytes.size();
        bytes.resize(2 * original.size());
        bytes.resize(mutate_model(bytes.data(), size, bytes.size(), 4 * seed + step));
      }
      EXPECT_NO_THROW(run_model(bytes));
    }
  }
}

TEST(Fuzz, InstructionSetsAgreeOnRandomNumbers) {
  std::mt19937 random(3);
  Content bytes(2000);
  for (int round = 0; round < 1000; ++round) {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    bytes[0] = static_cast<std::uint8_t>(round);
    ASSERT_NO_THROW(run_instruction_sets(bytes)) << round;
  }
}

}  // namespace
}  // namespace carmina::fuzz
