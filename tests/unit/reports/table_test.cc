// SPDX-License-Identifier: Apache-2.0
// Tables as text and as Markdown.
#include "reports/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Table, TextPadsByCharactersNotBytes) {
  Table t{{"a", "n"}, {Align::kLeft, Align::kRight}, {{"é", "1"}, {"xy", "10"}}};
  EXPECT_EQ(AsText(t), "a    n\né    1\nxy  10\n");
}

TEST(Table, MarkdownEscapesBarsAndLinks) {
  Table t{{"a"}, {}, {{"x|y\nz [0] [fix](http://x)"}}};
  EXPECT_THAT(AsMarkdown(t), HasSubstr("x\\|y z [0] [fix]\\(http://x)"));
}

TEST(Table, WrapsAtWordsAndBreaksNone) {
  EXPECT_EQ(Wrapped("one two three", 9, 2), "  one two\n  three");
  EXPECT_EQ(Wrapped("a-word-longer-than-the-line b", 8, 0), "a-word-longer-than-the-line\nb");
  EXPECT_EQ(Wrapped("one two", 0, 4), "    one two");
}

}  // namespace
}  // namespace assay
