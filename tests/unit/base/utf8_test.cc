// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

constexpr size_t kText = std::string_view::npos;

TEST(Utf8, FindsTheFirstByteThatNoTextHolds) {
  const struct {
    std::string bytes;
    size_t at;
  } table[] = {
      {"", kText},
      {"m=1\tn=2\r\n", kText},
      {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", kText},
      {std::string("ab\0c", 4), 2},
      {"a\x1b[31m", 1},
      {"abc\x7f", 3},
      {"caf\xE9", 3},           // Latin-1
      {"a\xC3", 1},             // cut short
      {"\xC0\xAF", 0},          // overlong
      {"\xED\xA0\x80", 0},      // a surrogate
      {"\xF4\x90\x80\x80", 0},  // above U+10FFFF
      {"x\xC2\x9Bm", 1},        // a C1 control
  };
  for (const auto& row : table) EXPECT_EQ(FindNonText(row.bytes), row.at) << row.bytes;
}

TEST(Utf8, DecodesOneCharacter) {
  EXPECT_EQ(DecodeUtf8("a").code, 'a');
  EXPECT_EQ(DecodeUtf8("\xE2\x82\xAC!").code, 0x20ACu);
  EXPECT_EQ(DecodeUtf8("\xE2\x82\xAC!").bytes, 3u);
  EXPECT_EQ(DecodeUtf8("\x80").bytes, 0u);
}

}  // namespace
}  // namespace assay
