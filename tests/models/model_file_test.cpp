// tests/models/model_file_test.cpp -- a model file comes back as it was, and nothing else is taken for one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <carmina/core/error.hpp>
#include <carmina/models/model_file.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/message_of.hpp"

namespace carmina::model_file_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::message_of;
using Bytes = std::vector<std::byte>;

ModelFile example() {
  ModelFile file;
  file.texts = {{"kernel", R"({"name":"gaussian"})"}, {"note", "α = 1, \"checksum\":\"00000000\"\n"}};
  Matrix<double> wide(2, 3);
  wide << 1, -2, 3.5, std::numeric_limits<double>::infinity(), -0.0, std::numeric_limits<double>::denorm_min();
  file.put<double>("wide", wide);
  file.put<float>("a", Matrix<float>::Constant(3, 1, 0.1F));
  file.tensors["flags"] = {"U8", {3}, {std::byte{1}, std::byte{0}, std::byte{255}}};
  file.tensors["empty"] = {"I64", {0, 5}, {}};
  return file;
}

std::string refusal(const Bytes& bytes) {
  return message_of([&] { decode_model(bytes, "m"); });
}

// A file with this header and this much data, as a stranger might make it.
Bytes with_header(const std::string& header, std::size_t data_size, std::uint64_t length) {
  Bytes bytes(8 + header.size() + data_size);
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}
Bytes with_header(const std::string& header, std::size_t data_size) {
  return with_header(header, data_size, header.size());
}

json valid_header() {
  return {{"__metadata__", {{"format", "carmina"}, {"version", "1"}, {"checksum", "00000000"}}},
          {"x", {{"dtype", "F64"}, {"shape", {2, 1}}, {"data_offsets", {0, 16}}}}};
}

class InFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "carmina-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};
using ModelFileOnDisk = InFolder;

void expect_equal(const ModelFile& found, const ModelFile& expected) {
  EXPECT_EQ(found.texts, expected.texts);
  ASSERT_EQ(found.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    ASSERT_TRUE(found.tensors.contains(name)) << name;
    EXPECT_EQ(found.tensors.at(name).dtype, tensor.dtype) << name;
    EXPECT_EQ(found.tensors.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(found.tensors.at(name).bytes, tensor.bytes) << name;
  }
}

TEST(ModelFileTest, MatricesComeBackBitEqualIncludingBlocksOfRows) {
  ModelFile file;
  const Matrix<double> values = Matrix<double>::Random(5, 4);
  file.put<double>("block", values.block(1, 1, 3, 2));
  file.put<float>("none", Matrix<float>(0, 7));
  const ModelFile back = decode_model(encode_model(file), "m");
  EXPECT_EQ(back.get<double>("block"), values.block(1, 1, 3, 2));
  EXPECT_EQ(back.get<float>("none").rows(), 0);
  EXPECT_EQ(back.get<float>("none").cols(), 7);
}

TEST(ModelFileTest, AVectorIsOneColumn) {
  ModelFile file;
  const double values[] = {1, 2, 3};
  Tensor tensor{"F64", {3}, Bytes(sizeof values)};
  std::memcpy(tensor.bytes.data(), values, sizeof values);
  file.tensors["v"] = tensor;
  EXPECT_EQ(file.get<double>("v"), (Vector<double>(3) << 1, 2, 3).finished());
}

TEST(ModelFileTest, WrongQuestionsAreErrors) {
  ModelFile file = example();
  file.tensors["cube"] = {"F64", {1, 1, 1}, Bytes(8)};
  EXPECT_EQ(message_of([&] { file.get<double>("b"); }), "model file: the array 'b' is missing");
  EXPECT_EQ(message_of([&] { file.get<double>("a"); }), "model file: array 'a' is F32, expected F64");
  EXPECT_THAT(message_of([&] { file.get<double>("cube"); }), HasSubstr("3 dimensions"));
  EXPECT_EQ(message_of([&] { file.text("b"); }), "model file: the text 'b' is missing");
}

TEST(ModelFileTest, ContentThatTheFormatCannotHoldIsRefusedOnWriting) {
  const auto with_text = [](const std::string& name, const std::string& text) {
    ModelFile file;
    file.texts[name] = text;
    return message_of([&] { encode_model(file); });
  };
  const auto with_tensor = [](const std::string& name, const Tensor& tensor) {
    ModelFile file;
    file.tensors[name] = tensor;
    return message_of([&] { encode_model(file); });
  };
  EXPECT_THAT(with_text("version", "7"), HasSubstr("'version'"));
  EXPECT_THAT(with_text("t", "\xff"), HasSubstr("UTF-8"));
  EXPECT_THAT(with_tensor("__metadata__", {"U8", {0}, {}}), HasSubstr("'__metadata__'"));
  EXPECT_THAT(with_tensor("x", {"F16", {1}, Bytes(2)}), HasSubstr("'F16'"));
  EXPECT_THAT(with_tensor("x", {"F64", {2, 2}, Bytes(31)}), HasSubstr("shape [2, 2] holds 31 bytes"));
  EXPECT_THAT(with_tensor("x", {"F64", {-1, 0}, {}}), HasSubstr("shape [-1, 0]"));
  EXPECT_THAT(with_tensor("x", {"F64", {Index{1} << 61, 1}, {}}), HasSubstr("holds 0 bytes"));
}

TEST(ModelFileTest, BytesAreAFunctionOfTheContent) {
  ModelFile reversed;
  const ModelFile file = example();
  for (auto item = file.tensors.rbegin(); item != file.tensors.rend(); ++item) reversed.tensors.insert(*item);
  reversed.texts = file.texts;
  EXPECT_EQ(encode_model(file), encode_model(reversed));
}

// The layout as safetensors describes it, read by hand.
TEST(ModelFileTest, LayoutIsSafetensors) {
  const Bytes bytes = encode_model(example());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const json header = json::parse(std::string(reinterpret_cast<const char*>(bytes.data()) + 8, length));
  EXPECT_EQ(header["__metadata__"]["format"], "carmina");
  EXPECT_EQ(header["__metadata__"]["version"], "1");
  EXPECT_EQ(header["wide"]["shape"], json({2, 3}));
  const std::size_t begin = header["wide"]["data_offsets"][0];
  EXPECT_EQ(begin % 8, 0U);
  double third = 0;
  std::memcpy(&third, bytes.data() + 8 + length + begin + 2 * sizeof(double), sizeof third);
  EXPECT_EQ(third, 3.5);
}

TEST(ModelFileTest, NoAlteredByteGoesUnnoticed) {
  const Bytes original = encode_model(example());
  ASSERT_EQ(refusal(original), "");
  for (std::size_t at = 0; at < original.size(); ++at) {
    Bytes altered = original;
    for (int change = 1; change < 256; ++change) {
      altered[at] = original[at] ^ static_cast<std::byte>(change);
      ASSERT_NE(refusal(altered), "") << "byte " << at << " changed by " << change;
    }
  }
}

TEST(ModelFileTest, NoTruncatedOrLengthenedFileIsAccepted) {
  const Bytes original = encode_model(example());
  for (std::size_t size = 0; size < original.size(); ++size) {
    const std::string message = refusal(Bytes(original.begin(), original.begin() + static_cast<Index>(size)));
    ASSERT_THAT(message, HasSubstr("truncated")) << size;
  }
  Bytes longer = original;
  longer.push_back(std::byte{0});
  EXPECT_EQ(refusal(longer), "m: altered: 1 bytes follow its last array");
}

TEST(ModelFileTest, MessagesSayWhatIsWrong) {
  ModelFile file;
  file.put<double>("x", Matrix<double>::Zero(16, 8));
  Bytes bytes = encode_model(file);
  EXPECT_EQ(refusal(Bytes(bytes.begin(), bytes.end() - 24)),
            "m: truncated: the header promises 1024 bytes of data, the file has 1000");
  bytes.back() ^= std::byte{1};
  EXPECT_EQ(refusal(bytes), "m: altered: its checksum does not match");

  json header = valid_header();
  header["__metadata__"]["version"] = "2";
  EXPECT_EQ(refusal(with_header(header.dump(), 16)), "m: written by a newer version (2; this program reads up to 1)");
  header["__metadata__"]["format"] = "pt";
  EXPECT_EQ(refusal(with_header(header.dump(), 16)), "m: not a Carmina model");
  header.erase("__metadata__");
  EXPECT_EQ(refusal(with_header(header.dump(), 16)), "m: not a Carmina model");
  EXPECT_EQ(refusal(with_header("x,y\n1,2\n1,2\n", 0, 0x0a322c310a792c78)), "m: not a Carmina model");
  EXPECT_THAT(refusal(with_header("{}", 0, 99'999'999)), HasSubstr("its header takes 99999999 bytes"));
}

TEST(ModelFileTest, HostileHeadersAreRefused) {
  // The unchanged header passes every check of the layout and fails only on its checksum.
  EXPECT_EQ(refusal(with_header(valid_header().dump(), 16)), "m: altered: its checksum does not match");
  const auto with_tensor = [](const json& shape, const json& offsets, const char* dtype = "F64") {
    json header = valid_header();
    header["x"] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", offsets}};
    return refusal(with_header(header.dump(), 16));
  };
  EXPECT_THAT(with_tensor({2, 1}, {0, 16}, "F16"), HasSubstr("unknown type 'F16'"));
  EXPECT_THAT(with_tensor({std::uint64_t{1} << 61, 8}, {0, 0}), HasSubstr("has offsets 0 to 0"));
  EXPECT_THAT(with_tensor({std::numeric_limits<std::uint64_t>::max()}, {0, 16}), HasSubstr("offsets"));
  EXPECT_THAT(with_tensor({2, 1}, {16, 0}), HasSubstr("has offsets 16 to 0"));
  EXPECT_THAT(with_tensor({1, 1}, {8, 16}), HasSubstr("hole at byte 0"));
  EXPECT_THAT(with_tensor({std::uint64_t{1} << 57}, {0, std::uint64_t{1} << 60}), HasSubstr("truncated"));
  EXPECT_THAT(with_tensor({-2, 1}, {0, 16}), HasSubstr("not described"));
  EXPECT_THAT(with_tensor({2.0, 1}, {0, 16}), HasSubstr("not described"));
  EXPECT_THAT(with_tensor("2", {0, 16}), HasSubstr("not described"));
  EXPECT_THAT(with_tensor({2, 1}, {0, 8, 16}), HasSubstr("not described"));

  json overlapping = valid_header();
  overlapping["y"] = {{"dtype", "F64"}, {"shape", {1}}, {"data_offsets", {8, 16}}};
  EXPECT_THAT(refusal(with_header(overlapping.dump(), 16)), HasSubstr("overlap"));
  json numbers = valid_header();
  numbers["__metadata__"]["threads"] = 2;
  EXPECT_THAT(refusal(with_header(numbers.dump(), 16)), HasSubstr("'threads' in its header is not a text"));
  json strange = valid_header();
  strange["__metadata__"]["version"] = "1.5";
  EXPECT_THAT(refusal(with_header(strange.dump(), 16)), HasSubstr("'1.5' is not a version"));
  json unsigned_ = valid_header();
  unsigned_["__metadata__"].erase("checksum");
  EXPECT_THAT(refusal(with_header(unsigned_.dump(), 16)), HasSubstr("checksum cannot be read"));

  EXPECT_THAT(refusal(with_header(R"({"a":{"b":1,"b":2}})", 0)), HasSubstr("names 'b' twice"));
  const std::string deep = R"({"a":)" + std::string(1'000'000, '[');
  EXPECT_THAT(refusal(with_header(deep, 0)), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(with_header(R"({"a":"\ud800"})", 0)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(with_header("[1]", 0)), HasSubstr("not a Carmina model"));
  EXPECT_THAT(refusal(with_header("", 0)), HasSubstr("not a Carmina model"));
}

TEST_F(ModelFileOnDisk, ComesBackAsItWas) {
  write_model_file(path("m.carmina"), example());
  expect_equal(read_model_file(path("m.carmina")), example());
  EXPECT_EQ(std::filesystem::file_size(path("m.carmina")), encode_model(example()).size());
  EXPECT_EQ(files(), 1U);
}

TEST_F(ModelFileOnDisk, IsReadWhereItFitsTheMemoryBudget) {
  ModelFile file;
  file.put<double>("x", Matrix<double>::Ones(1'000'000, 1));
  write_model_file(path("m.carmina"), file);
  EXPECT_THAT(message_of([&] { read_model_file(path("m.carmina"), 10'000'000); }),
              HasSubstr("m.carmina: reading this model takes up to 16 MB, and the memory budget is 10 MB"));
  expect_equal(read_model_file(path("m.carmina"), 20'000'000), file);
}

TEST_F(ModelFileOnDisk, AFailedWriteLeavesWhatWasThere) {
  write_model_file(path("m.carmina"), example());
  ModelFile bad = example();
  bad.tensors["x"] = {"F64", {2}, Bytes(3)};
  EXPECT_THROW(write_model_file(path("m.carmina"), bad), Error);
  expect_equal(read_model_file(path("m.carmina")), example());
  EXPECT_EQ(files(), 1U);
}

TEST_F(ModelFileOnDisk, UnreadablePathsAreErrorsThatNameThem) {
  const auto reading = [&](const std::string& name) { return message_of([&] { read_model_file(path(name)); }); };
  EXPECT_EQ(reading("absent"), "cannot read '" + path("absent") + "': No such file or directory");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(reading("folder"), "cannot read '" + path("folder") + "': it is not a regular file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(reading("pipe"), "cannot read '" + path("pipe") + "': it is not a regular file");
  std::ofstream(path("data.csv")) << "x,y\n1,2\n3,4\n";
  EXPECT_EQ(reading("data.csv"), path("data.csv") + ": not a Carmina model");
}

}  // namespace
}  // namespace carmina::model_file_test
