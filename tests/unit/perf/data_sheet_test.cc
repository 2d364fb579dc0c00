// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/data_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSheet = R"(
[[device]]
name = "NVIDIA H*"
gbytes_per_s = 4800
gflops.f32 = 66900
gflops.tf32 = 494_000
[[device]]
name = "NVIDIA H200"
gflops.f32 = 67000
)";

std::string ErrorOf(const std::string& text) {
  const auto sheet = ParseDataSheet(text, "s.toml");
  return sheet ? "none" : sheet.error().message;
}

TEST(DataSheet, ValuesAreOfTheDevicesThatFit) {
  const DataSheet sheet = ParseDataSheet(kSheet, "s.toml").value();
  const std::vector<std::string> h200 = {"NVIDIA H200"}, h100 = {"other", "NVIDIA H100"}, none = {"host"};
  EXPECT_EQ(sheet.Bandwidth(h200).value, 4800);
  EXPECT_EQ(sheet.Bandwidth(h200).where, "s.toml:2");
  EXPECT_EQ(sheet.Gflops(h200, "f32").value, 67000);  // the last that has one
  EXPECT_EQ(sheet.Gflops(h200, "f32").where, "s.toml:7");
  EXPECT_EQ(sheet.Gflops(h200, "tf32").value, 494000);
  EXPECT_EQ(sheet.Gflops(h100, "f32").value, 66900);
  EXPECT_FALSE(sheet.Gflops(h100, "bf16").value);
  EXPECT_FALSE(sheet.Bandwidth(none).value);
}

TEST(DataSheet, EntriesThatFitNothingAreNamed) {
  const DataSheet sheet = ParseDataSheet(kSheet, "s.toml").value();
  EXPECT_EQ(sheet.FindUnused({"NVIDIA H200"}), "");
  EXPECT_THAT(sheet.FindUnused({"NVIDIA H100", "host"}),
              HasSubstr("unused for 'NVIDIA H200' (s.toml:7); the devices of this run are NVIDIA H100, host"));
}

TEST(DataSheet, ErrorsSayWhereAndWhatToWrite) {
  EXPECT_THAT(ErrorOf("[[device]]\nname = \"a\"\ngflops.f23 = 1"), StartsWith("s.toml:3:8: no key 'f23'; known: f64"));
  EXPECT_THAT(ErrorOf("[[device]]\nname = \"a\"\nbandwidth = 1"), StartsWith("s.toml:3:1: no key 'bandwidth'"));
  EXPECT_THAT(ErrorOf("[[gpu]]\nname = \"a\""), StartsWith("s.toml:1:3: no key 'gpu'; known: [[device]]"));
  EXPECT_THAT(ErrorOf("[[device]]\ngbytes_per_s = 1"), HasSubstr("needs name"));
  EXPECT_THAT(ErrorOf("[[device]]\nname = \"a\""), HasSubstr("has no value"));
  EXPECT_THAT(ErrorOf("[[device]]\nname = \"a\"\ngbytes_per_s = -1"), HasSubstr("takes a number above 0"));
  EXPECT_THAT(ErrorOf("[[device]]\nname = \"a\"\ngflops = 3"), HasSubstr("gflops.f32 = 1000"));
  EXPECT_THAT(ErrorOf("[device]\nname = \"a\""), HasSubstr("write [[device]]"));
  EXPECT_THAT(ErrorOf("gbytes_per_s"), HasSubstr("not TOML"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("there is no [[device]]"));
  EXPECT_THAT(LoadDataSheet("/none/s.toml").error().message, HasSubstr("/none/s.toml"));
}

TEST(DataSheet, TheKeyFollowsWhatMultiplies) {
  EXPECT_EQ(ArithmeticKey(DType::kF32, InputRounding::kExact), "f32");
  EXPECT_EQ(ArithmeticKey(DType::kC64, InputRounding::kExact), "f32");
  EXPECT_EQ(ArithmeticKey(DType::kC128, InputRounding::kExact), "f64");
  EXPECT_EQ(ArithmeticKey(DType::kF32, InputRounding::kTF32RZ), "tf32");
  EXPECT_EQ(ArithmeticKey(DType::kF32, InputRounding::kBF16x3), "bf16");
  EXPECT_EQ(ArithmeticKey(DType::kF32, InputRounding::kFP8), "");
  EXPECT_EQ(ArithmeticKey(DType::kI8, InputRounding::kExact), "i8");
}

}  // namespace
}  // namespace assay
