// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Escaped, EscapesMarkupAndKeepsLineBreaksOfAttributes) {
  EXPECT_EQ(Escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(Escaped("a\nb\tc\r"), "a&#10;b&#9;c&#13;");
}

TEST(Escaped, DropsWhatXmlForbidsAndKeepsTheRest) {
  EXPECT_EQ(Escaped(std::string_view("a\0b\x1b[31mc\x7f", 10)), "ab[31mc");
  EXPECT_EQ(Escaped("\xEF\xBF\xBE\xEF\xBF\xBF"), "");  // U+FFFE, U+FFFF
  EXPECT_EQ(Escaped("µ € \xF0\x9F\x98\x80"), "µ € \xF0\x9F\x98\x80");
}

TEST(ValidUtf8, ReplacesEachInvalidByte) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ValidUtf8("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(ValidUtf8("\xC3"), bad);                                // cut short
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(ValidUtf8("\xF4\x8F\xBF\xBD"), "\xF4\x8F\xBF\xBD");
}

}  // namespace
}  // namespace assay
