// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Safetensors : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  void Write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  // A file with this header and that many bytes of data.
  void WriteRaw(const std::string& header, size_t data) const {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(uint64_t{header.size()} >> (8 * i));
    Write(bytes + header + std::string(data, 'd'));
  }
  std::string Bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void WriteGood() const {
    const double a[] = {1, 2, 3, 4};
    const uint16_t b[] = {0x3F80};
    ASSERT_TRUE(WriteSafetensors(path_,
                                 {{"a", DType::kF64, {2, 2}, a},
                                  {"b", DType::kBF16, {}, b},
                                  {"none", DType::kI8, {0, 7}, nullptr},
                                  {"z", DType::kC128, {2}, a}},
                                 {{"case", "x=1"}, {"note", "line\n\"quoted\""}})
                    .has_value());
  }

  fs::path path_ = fs::temp_directory_path() / ("assay-" + std::to_string(::getpid()) + ".safetensors");
};

TEST_F(Safetensors, RoundTrip) {
  WriteGood();
  const auto file = ReadSafetensors(path_);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->tensors.size(), 4U);
  EXPECT_EQ(file->metadata.at("note"), "line\n\"quoted\"");
  ASSERT_NE(file->Find("a"), nullptr);
  EXPECT_EQ(file->Find("a")->ToDoubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(file->Find("a")->shape(), (Shape{2, 2}));
  EXPECT_EQ(file->Find("b")->dtype(), DType::kBF16);
  EXPECT_EQ(file->Find("b")->shape(), Shape{});
  EXPECT_EQ(file->Find("none")->size(), 0);
  EXPECT_EQ(file->Find("z")->dtype(), DType::kF64);  // complex: a last axis of two components
  EXPECT_EQ(file->Find("z")->shape(), (Shape{2, 2}));
  EXPECT_EQ(file->Find("missing"), nullptr);
}

TEST_F(Safetensors, EveryTruncationIsAnError) {
  WriteGood();
  const std::string good = Bytes();
  EXPECT_EQ(good.size() % 2, 0U);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseSafetensors(good.substr(0, size)).has_value()) << size;
  }
}

// A damaged file is an error that says so, or its tensors are still all of its data.
TEST_F(Safetensors, RandomDamageIsAnErrorOrLeavesTheTensorsTheFilesData) {
  WriteGood();
  const std::string good = Bytes();
  RandomStream random(1, 0);
  uint64_t draw = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    const uint64_t flips = 1 + random.Below(draw++, 4);
    for (uint64_t f = 0; f < flips; ++f) {
      bad[random.Below(draw, bad.size())] ^= static_cast<char>(1 << random.Below(draw + 1, 8));
      draw += 2;
    }
    const auto file = ParseSafetensors(bad);
    if (!file) {
      ++refused;
      ASSERT_FALSE(file.error().message.empty());
      continue;
    }
    uint64_t header = 0, held = 0;
    std::memcpy(&header, bad.data(), sizeof header);
    for (const NamedTensor& named : file->tensors) held += named.tensor.bytes();
    if (file->unsupported.empty()) {
      ASSERT_EQ(held, bad.size() - sizeof header - header) << bad;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 20000) << "data bytes may be anything";
}

TEST_F(Safetensors, HostileHeadersAreErrors) {
  const char* headers[] = {
      "",
      "[]",
      "nonsense",
      R"({"a":1})",
      R"({"a":{"dtype":"F32","shape":[2]}})",
      R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,16]}})",
      R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":["0","8"]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,9223372036854775807],"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,8]}})",
      R"({"__metadata__":{"k":"1","k":"2"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"__metadata__":[1]})",
      R"({"__metadata__":{"k":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
  };
  for (const char* header : headers) {
    WriteRaw(header, 8);
    const auto file = ReadSafetensors(path_);
    ASSERT_FALSE(file.has_value()) << header;
    EXPECT_NE(file.error().message.find(path_.string()), std::string::npos);
    EXPECT_TRUE(file.error().message.ends_with("copy or write it again")) << file.error().message;
  }
  WriteRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  EXPECT_TRUE(ReadSafetensors(path_).has_value());
  Write(std::string(8, '\xff') + "{}");
  EXPECT_FALSE(ReadSafetensors(path_).has_value());
  WriteRaw(std::string(200000, '['), 0);
  EXPECT_FALSE(ReadSafetensors(path_).has_value());
}

TEST_F(Safetensors, UnsignedBytesKeepTheirType) {
  const uint8_t bytes[] = {0, 127, 128, 255};
  ASSERT_TRUE(WriteSafetensors(path_, {{"q", DType::kU8, {4}, bytes}}, {}).has_value());
  EXPECT_NE(Bytes().find("\"U8\""), std::string::npos);
  const auto file = ReadSafetensors(path_);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->Find("q")->dtype(), DType::kU8);
  EXPECT_EQ(file->Find("q")->ToDoubles(), (std::vector<double>{0, 127, 128, 255}));
}

TEST_F(Safetensors, OneTensorOfAnotherTypeDoesNotHideTheRest) {
  WriteRaw(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"m":{"dtype":"BOOL","shape":[2],"data_offsets":[4,6]},)"
      R"("u":{"dtype":"U16","shape":[1],"data_offsets":[6,8]}})",
      8);
  const auto file = ReadSafetensors(path_);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_NE(file->Find("a"), nullptr);
  ASSERT_NE(file->Find("m"), nullptr);
  EXPECT_EQ(file->Find("m")->dtype(), DType::kBool);
  EXPECT_EQ(file->Find("u"), nullptr);
  EXPECT_EQ(file->unsupported.at("u"), "U16");
}

TEST_F(Safetensors, MissingFileAndFolder) {
  EXPECT_FALSE(ReadSafetensors(path_.string() + ".none").has_value());
  EXPECT_FALSE(ReadSafetensors(fs::temp_directory_path()).has_value());
  EXPECT_FALSE(WriteSafetensors("/proc/no/such/file", {}, {}).has_value());
}

}  // namespace
}  // namespace assay
