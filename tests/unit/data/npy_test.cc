// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A file of version `version` with this header and these elements.
std::string Npy(std::string header, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  header += '\n';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

std::string Header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

template <class T>
std::string Raw(std::initializer_list<T> values, bool big_endian = false) {
  std::string bytes;
  for (T value : values) {
    std::string one(sizeof value, '\0');
    std::memcpy(one.data(), &value, sizeof value);
    if (big_endian) one = std::string(one.rbegin(), one.rend());
    bytes += one;
  }
  return bytes;
}

std::string ErrorOf(const std::string& bytes, std::optional<DType> bits_as = std::nullopt) {
  const auto tensor = ParseNpy(bytes, bits_as);
  return tensor ? "no error" : tensor.error().message;
}

class NpyFile : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  std::string Bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path path_ = fs::temp_directory_path() / ("assay-" + std::to_string(::getpid()) + ".npy");
};

TEST_F(NpyFile, EveryTypeAndRankRoundTrips) {
  for (int code = 0; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 3}}) {
      Tensor tensor(dtype, shape);
      for (size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(i % 64);
      ASSERT_TRUE(WriteNpy(path_, {"", dtype, shape, tensor.data()}));
      const auto back = ReadNpy(path_, dtype);
      ASSERT_TRUE(back.has_value()) << Name(dtype) << back.error().message;
      EXPECT_EQ(back->dtype(), dtype);
      EXPECT_EQ(back->shape(), shape);
      EXPECT_EQ(std::memcmp(back->data(), tensor.data(), tensor.bytes()), 0);
      EXPECT_EQ((Bytes().size() - tensor.bytes()) % 64, 0U);
    }
  }
}

TEST_F(NpyFile, WrittenBytesAreWhatNumpyWrites) {
  const float values[] = {1, 2, 3};
  ASSERT_TRUE(WriteNpy(path_, {"", DType::kF32, {3}, values}));
  std::string expected = "\x93NUMPY" + std::string("\x01\x00\x76\x00", 4) + Header("<f4", "(3,)");
  expected += std::string(127 - expected.size(), ' ') + "\n" + Raw<float>({1, 2, 3});
  EXPECT_EQ(Bytes(), expected);
}

TEST(Npy, VersionsAndSpellings) {
  for (int version : {1, 2, 3}) {
    const auto tensor = ParseNpy(Npy(Header("<f8", "(2,)"), Raw<double>({1, 2}), version));
    ASSERT_TRUE(tensor.has_value()) << tensor.error().message;
    EXPECT_EQ(tensor->ToDoubles(), (std::vector<double>{1, 2}));
  }
  const std::string other = R"({"shape":(2L,1),"descr":"=f8","fortran_order":False})";
  EXPECT_EQ(ParseNpy(Npy(other, Raw<double>({1, 2})))->shape(), (Shape{2, 1}));
  EXPECT_EQ(ParseNpy(Npy(Header("|b1", "(2,)"), std::string("\x01\x00", 2)))->ToDoubles(), (std::vector<double>{1, 0}));
}

TEST(Npy, BigEndianIsSwappedByComponent) {
  EXPECT_EQ(ParseNpy(Npy(Header(">f4", "(2,)"), Raw<float>({1.5F, -2}, true)))->ToDoubles(),
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(ParseNpy(Npy(Header(">c8", "(1,)"), Raw<float>({1, 2}, true)))->ToDoubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(ParseNpy(Npy(Header(">u2", "()"), Raw<uint16_t>({0x3F80}, true)), DType::kBF16)->ToDoubles(),
            (std::vector<double>{1}));
}

TEST(Npy, FortranOrderIsTransposed) {
  const auto matrix = ParseNpy(Npy(Header("<i4", "(2, 3)", true), Raw<int32_t>({0, 10, 1, 11, 2, 12})));
  ASSERT_TRUE(matrix.has_value());
  EXPECT_EQ(matrix->shape(), (Shape{2, 3}));
  EXPECT_EQ(matrix->ToDoubles(), (std::vector<double>{0, 1, 2, 10, 11, 12}));
  const auto cube = ParseNpy(Npy(Header(">i4", "(2, 1, 2)", true), Raw<int32_t>({0, 2, 1, 3}, true)));
  EXPECT_EQ(cube->ToDoubles(), (std::vector<double>{0, 1, 2, 3}));
}

TEST(Npy, BitsNeedAMeaning) {
  const std::string bytes = Npy(Header("<u2", "(1,)"), Raw<uint16_t>({0x3F80}));
  EXPECT_EQ(ParseNpy(bytes, DType::kBF16)->ToDoubles(), (std::vector<double>{1}));
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("bf16"));
  EXPECT_THAT(ErrorOf(bytes, DType::kE4M3), HasSubstr("cannot hold e4m3"));
  const std::string byte = Npy(Header("|u1", "(2,)"), "\x38\xff");
  EXPECT_EQ(ParseNpy(byte)->ToDoubles(), (std::vector<double>{56, 255}));
  EXPECT_EQ(ParseNpy(byte)->dtype(), DType::kU8);
  EXPECT_EQ(ParseNpy(byte, DType::kE4M3)->ToDoubles()[0], 1);
  EXPECT_EQ(ParseNpy(byte, DType::kI8)->ToDoubles(), (std::vector<double>{56, -1}));
  EXPECT_THAT(ErrorOf(byte, DType::kBF16), HasSubstr("cannot hold bf16, only e4m3, e5m2, u8 or i8"));
  EXPECT_THAT(ErrorOf(Npy(Header("|V1", "(1,)"), "\x38")), HasSubstr("no meaning of their own"));
  EXPECT_EQ(ParseNpy(Npy(Header("|V1", "(1,)"), "\x38"), DType::kE4M3)->dtype(), DType::kE4M3);
}

TEST(Npy, ErrorsSayWhatIsWrong) {
  const std::string good = Raw<float>({1});
  EXPECT_THAT(ErrorOf("PK"), HasSubstr("does not begin"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "(1,)"), good, 9)), HasSubstr("version 9"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "(2,)"), good)), HasSubstr("2 elements"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "(1,)"), good + good)), HasSubstr("more than one array"));
  EXPECT_THAT(ErrorOf(Npy(Header("<O", "(1,)"), good)), HasSubstr("'<O'"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "1"), good)), HasSubstr("tuple"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "(-1,)"), good)), HasSubstr("extent"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "(4611686018427387904, 4, 0)"), "")), HasSubstr("2^63"));
  EXPECT_THAT(ErrorOf(Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", good)),
              HasSubstr("structured"));
  EXPECT_THAT(ErrorOf(Npy("{'descr': '<f4', 'shape': (1,)}", good)), HasSubstr("needs"));
  EXPECT_THAT(ErrorOf(Npy(Header("<f4", "(1,)") + std::string(70000, ' '), good, 2)), HasSubstr("at most"));
}

// No input makes the reader crash, hang or allocate out of proportion; whatever it accepts has as many elements as the
// bytes hold.
TEST(Npy, SurvivesEveryTruncationAndRandomDamage) {
  const std::string good = Npy(Header("<f4", "(2, 3)", true), Raw<float>({1, 2, 3, 4, 5, 6}), 2);
  for (size_t length = 0; length < good.size(); ++length) EXPECT_NE(ErrorOf(good.substr(0, length)), "no error");
  const RandomStream random(7, 0);
  for (uint64_t trial = 0; trial < 20000; ++trial) {
    std::string bytes = good;
    for (uint64_t flip = 0; flip <= trial % 3; ++flip) {
      bytes[random.Below(6 * trial + flip, bytes.size())] = static_cast<char>(random.Below(6 * trial + 3 + flip, 256));
    }
    const auto tensor = ParseNpy(bytes, DType::kBF16);
    EXPECT_LE(tensor ? tensor->bytes() : 0, good.size());
  }
}

}  // namespace
}  // namespace assay
