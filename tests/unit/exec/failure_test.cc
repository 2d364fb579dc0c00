// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/failure.h"

#include <gmock/gmock.h>

#include <map>
#include <regex>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"

namespace assay {
namespace {

using testing::MatchesRegex;
using testing::StartsWith;

// Words in backticks, in their order.
std::vector<std::string> QuotedWords(const std::string& cell) {
  static const std::regex quoted("`([a-z_]+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator it(cell.begin(), cell.end(), quoted), end; it != end; ++it) words.push_back((*it)[1]);
  return words;
}

std::string_view RetryPattern(Retry retry) {
  switch (retry) {
    case Retry::kNever:
      return "no(;.*)?";
    case Retry::kOnRequest:
      return "with `--retries`";
    case Retry::kAfterReset:
      return "with `--on-device-lost` or `--retries`";
    case Retry::kOnce:
      return "once";
  }
  return "";
}

void ExpectRow(const FailureRule& rule, const std::string& verdict, const std::vector<std::string>& cells) {
  const std::string row = cells[1];
  EXPECT_EQ(verdict, Name(rule.verdict)) << row;
  EXPECT_EQ(cells[3].starts_with("new"), rule.ends_worker) << row;
  EXPECT_THAT(cells[4], MatchesRegex(std::string(RetryPattern(rule.retry)))) << row;
  EXPECT_EQ(cells[5] == "yes", rule.counts) << row;
}

TEST(FailureRules, AreTheGuidesTable) {
  const Result<std::string> page = ReadWholeFile(ASSAY_FAILURE_GUIDE);
  ASSERT_TRUE(page) << page.error().message;
  std::map<std::string, int> rows;  // of each kind
  for (const std::string_view line : Split(*page, '\n')) {
    std::vector<std::string> cells;
    for (const std::string_view cell : Split(line, '|')) cells.emplace_back(Trim(cell));
    if (cells.size() != 9 || !cells[7].starts_with('`')) continue;
    const std::vector<std::string> kinds = QuotedWords(cells[7]), verdicts = QuotedWords(cells[2]);
    for (size_t k = 0; k < kinds.size(); ++k) {
      const auto* const rule = std::ranges::find(kFailureRules, kinds[k], &FailureRule::name);
      ASSERT_NE(rule, std::end(kFailureRules)) << kinds[k];
      ASSERT_LT(k, verdicts.size()) << line;
      ExpectRow(*rule, verdicts[k], cells);
      ++rows[kinds[k]];
    }
  }
  for (const FailureRule& rule : kFailureRules) EXPECT_GT(rows[std::string(rule.name)], 0) << rule.name;
}

}  // namespace
}  // namespace assay
