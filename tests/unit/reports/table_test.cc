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

TEST(Table, MarkdownNamesNobodyAndShowsNoImage) {
  const std::string nothing = "\u200B";
  EXPECT_EQ(MarkdownText("ask @team about #12, me@x"),
            "ask @" + nothing + "team about #" + nothing + "12, me@" + nothing + "x");
  EXPECT_EQ(MarkdownText("a @ b # c, [0] != [1]"), "a @ b # c, [0] != [1]");
  EXPECT_EQ(MarkdownText("![x](http://y/z.png) ![x][y]"), "!\\[x]\\(http://y/z.png) !\\[x]\\[y]");
  EXPECT_EQ(MarkdownText("[y]: http://z"), "[y]\\: http://z");
  EXPECT_EQ(MarkdownText("at [0,1]: 3"), "at [0,1]: 3");
}

TEST(Table, MarkdownThatIsTooLongEndsWithAWholeLineAndAWayToTheRest) {
  std::string text = "# head\n";
  for (int i = 0; i < 100; ++i) text += "- fails\n  ```\n  assay run --case x\n  ```\n";
  EXPECT_EQ(FitMarkdown(text, text.size(), "elsewhere"), text);
  for (size_t most = 100; most < 200; ++most) {
    const std::string fit = FitMarkdown(text, most, "elsewhere");
    EXPECT_LE(fit.size(), most);
    EXPECT_THAT(fit, testing::EndsWith("\n*The rest has no room here: see elsewhere.*\n"));
    size_t fences = 0;
    for (size_t at = 0; (at = fit.find("```", at)) != std::string::npos; at += 3) ++fences;
    EXPECT_EQ(fences % 2, 0U) << fit;
  }
}

TEST(Table, WrapsAtWordsAndBreaksNone) {
  EXPECT_EQ(Wrapped("one two three", 9, 2), "  one two\n  three");
  EXPECT_EQ(Wrapped("a-word-longer-than-the-line b", 8, 0), "a-word-longer-than-the-line\nb");
  EXPECT_EQ(Wrapped("one two", 0, 4), "    one two");
}

}  // namespace
}  // namespace assay
