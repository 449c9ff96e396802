// tests/data/limits_test.cpp -- files that say more than they hold, or hold more than the memory, and files that change
// while they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <carmina/data/read_ahead.hpp>
#include <carmina/data/table.hpp>

#include <filesystem>
#include <fstream>
#include <functional>

#include "support/message_of.hpp"
#include "support/temp_dir.hpp"

namespace carmina::limits_test {
namespace {

using carmina::testing::message_of;
using carmina::testing::TempDir;
using ::testing::HasSubstr;

constexpr std::size_t budget = 20'000'000;

// What the process holds more, at its peak, while a table is opened and its first rows are read.
struct Outcome {
  std::string message;
  long grown;  // bytes
};
Outcome open_and_read(const std::string& path) {
  const auto peak = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stol(line.substr(6)) * 1024;
    }
    return 0L;
  };
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const long before = peak();
  Outcome outcome;
  outcome.message = message_of([&] {
    auto reader = open_table(path, 0, budget);
    TableRows<double> rows(std::move(reader), {{0}, {1}}, true);
    rows.next(1 << 16);
  });
  outcome.grown = peak() - before;
  return outcome;
}

void expect_refused(const std::string& path, const std::string& message) {
  SCOPED_TRACE(std::filesystem::path(path).filename());
  const Outcome outcome = open_and_read(path);
  EXPECT_THAT(outcome.message, HasSubstr(message));
  EXPECT_LT(outcome.grown, static_cast<long>(budget));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

constexpr const char* too_much = "and the memory budget of 20 MB leaves 5 MB for that";

TEST(ReadLimits, LibsvmIndices) {
  TempDir dir;
  expect_refused(dir.file("a.libsvm", "1 1:1 9999998:2\n2 1:3\n"), too_much);
  expect_refused(dir.gzipped("a.libsvm.gz", "1 1:1 9999998:2\n2 1:3\n"), too_much);
  expect_refused(dir.file("b.libsvm", "1 1:1 99999999999:2\n"), "more than the 10000000 that a table may have");
}

TEST(ReadLimits, IdxDimensions) {
  TempDir dir;
  const auto idx = [](std::uint32_t rows, std::uint32_t columns, std::size_t bytes) {
    std::string text("\0\0\x08\x02", 4);
    for (const std::uint32_t size : {rows, columns}) {
      for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift & 0xFF);
    }
    return text + std::string(bytes, 'x');
  };
  // Less than it says, and more than the memory holds.
  expect_refused(dir.gzipped("a.idx.gz", idx(2, 4'000'000, 20)), "2 rows were expected, the data end in row 1");
  expect_refused(dir.gzipped("b.idx.gz", idx(2, 9'999'999, 2 * 9'999'999)), too_much);
  expect_refused(dir.gzipped("c.idx.gz", idx(2, 1'000'000, 2'000'000)), too_much);
  expect_refused(dir.file("d.idx", idx(2, 9'999'999, 20)), "the file is truncated");
}

TEST(ReadLimits, NpyShapes) {
  TempDir dir;
  const auto npy = [](const std::string& shape, std::size_t bytes) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n' + std::string(bytes, '\0');
  };
  expect_refused(dir.gzipped("a.npy.gz", npy("(3, 500000)", 64)), "the data end in row 1");
  expect_refused(dir.gzipped("b.npy.gz", npy("(3, 9000000)", 64)), too_much);
  expect_refused(dir.gzipped("c.npy.gz", npy("(1, 600000)", 4'800'000)), too_much);
  expect_refused(dir.file("d.npy", npy("(1, 600000)", 4'800'000)), too_much);
}

TEST(ReadLimits, CsvHeadersAndLines) {
  TempDir dir;
  const std::string wide = repeated("x,", 400'000) + "y\n";
  expect_refused(dir.gzipped("a.csv.gz", wide + wide), too_much);
  expect_refused(dir.file("a.csv", wide + wide), too_much);
  expect_refused(dir.gzipped("b.csv.gz", std::string(30'000'000, '7')), "b.csv.gz:1: a line of more than");
  expect_refused(dir.gzipped("c.csv.gz", "a,b\n\"" + repeated("1\n", 5'000'000)), "a line of more than");
  expect_refused(dir.gzipped("d.csv.gz", "a,b\n\"1\"," + repeated("1,", 1'000'000) + "\n"),
                 "expected 2 cells, found 1000002");
}

TEST(ReadLimits, ArffAttributesAndCategories) {
  TempDir dir;
  std::string attributes = "@relation r\n", categories = "@relation r\n@attribute a {";
  for (int i = 0; i < 60'000; ++i) attributes += "@attribute a" + std::to_string(i) + " numeric\n";
  for (int i = 0; i < 60'000; ++i) categories += "c" + std::to_string(i) + ",";
  expect_refused(dir.gzipped("a.arff.gz", attributes + "@data\n1\n"), too_much);
  expect_refused(dir.gzipped("b.arff.gz", categories + "c}\n@data\nc\n"), too_much);
}

// Wide, but within the budget: it is read.
TEST(ReadLimits, WhatFitsIsRead) {
  TempDir dir;
  std::string row = "1";
  for (int i = 0; i < 9'999; ++i) row += ",2";
  const Outcome outcome = open_and_read(dir.gzipped("wide.csv.gz", row + '\n' + row + '\n'));
  EXPECT_EQ(outcome.message, "");
  EXPECT_LT(outcome.grown, static_cast<long>(budget));
}

// Each of these would go on with half of one file and half of another, or end the process.
TEST(ChangingFiles, AreErrors) {
  TempDir dir;
  std::string text = "a,b\n", header = "{'descr': '<f8', 'fortran_order': False, 'shape': (40000, 2), }";
  for (int i = 0; i < 200'000; ++i) text += "1,2\n";
  header.resize(117, ' ');
  const std::string npy = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n' + std::string(640'000, '\0');
  std::string fortran = npy;
  fortran.replace(fortran.find("False"), 5, "True ");
  for (const auto& [name, content] :
       {std::pair<const char*, const std::string&>{"t.csv", text}, {"c.npy", npy}, {"f.npy", fortran}}) {
    const std::string path = dir.file(name, content), changed = path + ": the file changed while it was read";
    const auto expect = [&](const std::function<void()>& change) {
      auto reader = open_table(path);
      Matrix<double> block(1000, 2);
      ASSERT_EQ(reader->read(block), 1000);
      ::usleep(20'000);  // times of files have some milliseconds' grain
      change();
      EXPECT_EQ(message_of([&] {
                  while (reader->read(block) > 0) continue;
                }),
                changed);
      std::ofstream(path, std::ios::binary) << content;
    };
    expect([&] { std::filesystem::resize_file(path, content.size() / 2); });
    expect([&] { std::ofstream(path, std::ios::app) << "1,2\n"; });
    expect([&] {
      std::fstream file(path, std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(content.size()) - 4);
      file << "9";
    });
    // Between two passes.
    auto reader = open_table(path);
    Matrix<double> block(1000, 2);
    while (reader->read(block) > 0) continue;
    std::filesystem::resize_file(path, content.size() - 16);
    EXPECT_EQ(message_of([&] {
                reader->rewind();
                while (reader->read(block) > 0) continue;
              }),
              changed);
    // Another file of its name is not this one.
    std::ofstream(path, std::ios::binary) << content;
    auto old = open_table(path);
    std::filesystem::rename(dir.file("other", content.substr(0, content.size() / 2)), path);
    Index rows = 0;
    for (Index count = old->read(block); count > 0; count = old->read(block)) rows += count;
    EXPECT_EQ(rows, name == std::string("t.csv") ? 200'000 : 40'000);
  }
}

}  // namespace
}  // namespace carmina::limits_test
