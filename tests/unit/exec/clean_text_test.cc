// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/clean_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace assay {
namespace {

TEST(CleanText, ValidTextStays) {
  const std::string text = "plain, caf\u00e9, \u65e5\u672c, \U0001F600";
  EXPECT_EQ(CleanText(text, 100), text);
  EXPECT_EQ(CleanText("", 100), "");
}

TEST(CleanText, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(CleanText("a\xFFz", 100), "a\uFFFDz");
  EXPECT_EQ(CleanText("\xC0\xAF", 100), "\uFFFD\uFFFD");                      // overlong '/'
  EXPECT_EQ(CleanText("\xED\xA0\x80", 100), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(CleanText("\xF4\x90\x80\x80", 100), "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
  EXPECT_EQ(CleanText("\xE2\x82", 100), "\uFFFD\uFFFD");                      // cut off at the end
  EXPECT_EQ(CleanText("\xE2\x82z", 100), "\uFFFD\uFFFDz");
}

TEST(CleanText, ControlsAreDropped) {
  EXPECT_EQ(CleanText("a\033[31m\a\x7F\u0085z", 100), "a[31mz");
  EXPECT_EQ(CleanText(std::string_view("a\0b", 3), 100), "ab");
  EXPECT_EQ(CleanText("a\u202Eb\u2066c", 100), "abc");
  EXPECT_EQ(CleanText("a\tb\nc", 100), "a b c");
  EXPECT_EQ(CleanText("a\tb\nc", 100, Lines::kKeep), "a b\nc");
}

TEST(CleanText, LongTextIsCutAtACharacter) {
  EXPECT_EQ(CleanText("abcdef", 6), "abcdef");
  EXPECT_EQ(CleanText("abcdefg", 6), "abc...");
  EXPECT_EQ(CleanText("ab\u65e5\u672c", 7), "ab...");
  EXPECT_EQ(CleanText("\u65e5\u672c", 3), "...");
}

TEST(CleanText, AnyBytesBecomeTextThatJsonTakes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 2 == 0 ? random() : 0xE0 + random() % 0x20);
    const std::string text = CleanText(bytes, 16);
    EXPECT_LE(text.size(), 16u);
    EXPECT_NO_THROW(nlohmann::json(text).dump());  // strict about UTF-8
    EXPECT_EQ(CleanText(text, 16), text);
  }
}

}  // namespace
}  // namespace assay
