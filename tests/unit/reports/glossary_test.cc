// SPDX-License-Identifier: Apache-2.0
#include "reports/glossary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "reports/assets.h"

namespace assay {
namespace {

TEST(Glossary, ReadsRowsOfATableAsPlainText) {
  const auto terms = ReadGlossary(
      "\n| term | meaning |\n|---|---|\n| one | A `word`; *plain* | more. |\n| two words | See [it](a/b.md#c), there. "
      "|");
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[0].name, "one");
  EXPECT_EQ(terms[0].definition, "A word; plain | more.");
  EXPECT_EQ(terms[1].name, "two words");
  EXPECT_EQ(terms[1].definition, "See it, there.");
  EXPECT_TRUE(ReadGlossary("").empty());
}

TEST(Glossary, DefinesEachTermOnce) {
  std::set<std::string> names;
  for (const GlossaryTerm& term : Glossary()) {
    EXPECT_TRUE(names.insert(term.name).second) << term.name;
    EXPECT_FALSE(term.definition.empty()) << term.name;
  }
  EXPECT_GT(names.size(), 20U);
  EXPECT_EQ(DefinitionOf("no such term"), "");
}

TEST(Glossary, HasWhatTheScriptsOfTheReportAskFor) {
  const std::string script(html::kScript);
  const std::regex asked("term\\('([a-z ]+)'");
  size_t found = 0;
  for (auto at = std::sregex_iterator(script.begin(), script.end(), asked); at != std::sregex_iterator();
       ++at, ++found) {
    EXPECT_NE(DefinitionOf((*at)[1].str()), "") << (*at)[1];
  }
  EXPECT_GT(found, 5U);
}

TEST(Glossary, HasTheChannelsAndTheClasses) {
  for (const char* channel : {"exact", "bound", "statistic", "exceptional", "metamorphic"}) {
    EXPECT_NE(DefinitionOf(channel), "") << channel;
  }
  std::vector<std::string> classes;
  for (const GlossaryTerm& term : ClassGlossary()) classes.push_back(term.name);
  EXPECT_THAT(classes, testing::ElementsAre("bit_exact", "within_class", "within_lower_class", "suspect"));
}

}  // namespace
}  // namespace assay
