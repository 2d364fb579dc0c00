// SPDX-License-Identifier: Apache-2.0
// The known failures that backends ship are of cases that there are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "harness/engine/results/record_case.h"
#include "harness/plan/catalog.h"
#include "harness/plan/expectations.h"
#include "harness/plan/find_suite.h"

namespace assay {
namespace {

std::vector<Record> CasesOf(const std::string& suite) {
  std::vector<Record> cases;
  const OpCatalog ops = Catalog();
  const std::vector<PlannedCase> planned = LoadSuite(FindSuite(suite, {ASSAY_SOURCE_SUITES}).value(), ops).value();
  for (const PlannedCase& one : planned) SetCase(cases.emplace_back(), one.spec);
  return cases;
}

TEST(ShippedExpectations, EveryRuleIsAboutACaseOfTheSuites) {
  std::vector<Expectation> without;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ASSAY_SOURCE_BACKENDS)) {
    if (entry.path().filename() != "known_issues.toml") continue;
    const auto file = LoadExpectations(entry.path().string(), Catalog());
    ASSERT_TRUE(file) << file.error().message;
    for (const Expectation& rule : file->rules) {
      without.push_back(rule);
      // Ways of calling a framework or a vendor's library have names that are the same everywhere, kernels have not.
      if (entry.path().parent_path().filename() == "python" || rule.backend_glob == "cuda") continue;
      EXPECT_TRUE(rule.implementation_globs.empty()) << rule.where << " goes by the name of a kernel";
    }
  }
  EXPECT_GT(without.size(), 5U);
  // The suites that take long to plan last, so that they are not planned where no rule needs them.
  for (const char* suite : {"smoke", "formulas", "default", "conformance", "full"}) {
    if (without.empty()) break;
    const std::vector<Record> cases = CasesOf(suite);
    std::erase_if(without, [&](const Expectation& rule) {
      return std::ranges::any_of(cases, [&](const Record& r) { return IsAboutCase(rule, r); });
    });
  }
  for (const Expectation& rule : without) ADD_FAILURE() << rule.where << " is about no case of the suites";
}

// The reference loops multiply no pixel beside the window: what they got wrong would be new.
TEST(ShippedExpectations, Bf16ConvolutionsAreKnownToFailWhereTheyTakeChannelsInPairs) {
  const auto rules = LoadExpectations(ASSAY_SOURCE_BACKENDS "/onednn/known_issues.toml", Catalog()).value().rules;
  for (const char* channels : {"15", "16"}) {
    Record record;
    SetCase(record, ParseId(fmt::format("conv/bf16/n=1,c={},o=8,i=12x12,k=3x3/fill=special/seed=0", channels)).value());
    record.backend = "onednn", record.library_version = "oneDNN 2.6.3", record.verdict = "mismatch";
    record.exceptional_margin = std::numeric_limits<double>::infinity();
    record.worst_elements = "3:nan:1:0.1";
    record.contract = "f32acc;det=yes;ftz=all";
    const Expectation* rule = FindExpectation(rules, record);
    ASSERT_NE(rule, nullptr) << channels;
    EXPECT_TRUE(rule->flake && Covers(*rule, record)) << rule->where;
    for (const char* reference : {"f32acc;det=yes;ftz=out", "f32acc;det=yes"}) {
      record.contract = reference;
      EXPECT_EQ(FindExpectation(rules, record), nullptr) << reference;
    }
  }
}

}  // namespace
}  // namespace assay
