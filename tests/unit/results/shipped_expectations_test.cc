// SPDX-License-Identifier: Apache-2.0
// The known failures that backends ship are of cases that there are.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/plan/catalog.h"
#include "harness/plan/expectations.h"
#include "harness/results/record_case.h"

namespace assay {
namespace {

std::vector<Record> CasesOfSuites() {
  const OpCatalog ops = Catalog();
  std::vector<Record> cases;
  for (const char* name : {"smoke", "default", "full", "conformance"}) {
    const auto path = FindSuite(name, {ASSAY_SOURCE_SUITES});
    if (!path) continue;
    const auto suite = LoadSuite(*path, ops).value();
    for (const PlannedCase& planned : suite) SetCase(cases.emplace_back(), planned.spec);
  }
  return cases;
}

TEST(ShippedExpectations, EveryRuleIsAboutACaseOfTheSuites) {
  const std::vector<Record> cases = CasesOfSuites();
  ASSERT_GT(cases.size(), 1000U);
  size_t rules = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ASSAY_SOURCE_BACKENDS)) {
    if (entry.path().extension() != ".expect") continue;
    const auto file = LoadExpectations(entry.path().string(), Catalog());
    ASSERT_TRUE(file) << file.error().message;
    for (const Expectation& rule : file->rules) {
      ++rules;
      EXPECT_TRUE(std::ranges::any_of(cases, [&](const Record& r) { return IsAboutCase(rule, r); })) << rule.where;
      EXPECT_FALSE(rule.name.empty()) << rule.where << " names no defect";
      EXPECT_EQ(rule.implementation_glob, "*") << rule.where << " goes by the name of a kernel";
    }
  }
  EXPECT_GT(rules, 5U);
}

}  // namespace
}  // namespace assay
