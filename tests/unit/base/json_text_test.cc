// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace assay {
namespace {

std::string Nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonText, DepthIsLimitedForEveryReader) {
  EXPECT_TRUE(IsJson(Nested(kMostNestedJson)));
  EXPECT_FALSE(IsJson(Nested(kMostNestedJson + 1)));
  EXPECT_TRUE(ParseJson(Nested(kMostNestedJson + 1)).is_discarded());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(IsJson(objects + "0" + std::string(100000, '}')));
}

TEST(JsonText, ManyValuesBesideEachOtherAreNotDeep) {
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += i == 0 ? "[1]" : ",{\"a\":[]}";
  EXPECT_EQ(ParseJson(list + "]").size(), 1000u);
}

TEST(JsonText, BracketsInStringsAreText) {
  const std::string text = R"(["\\", "\"[[)" + std::string(200, '[') + R"("])";
  const Json parsed = ParseJson(text);
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[1].get<std::string>().size(), 203u);
}

}  // namespace
}  // namespace assay
