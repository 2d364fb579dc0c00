// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ops/definition_file.h"
#include "tests/unit/plan/test_catalog.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Plan PlanOf(std::string_view suite, const SelectionOptions& options = {}) {
  const auto cases = ParseSuite(suite, "s.suite", TestCatalog());
  return MakePlan("mine", options, Select(cases.value(), options, TestCatalog()).value());
}

constexpr std::string_view kSuite =
    "tag layer source=url\nmatmul dtypes=f32|bf16 m=1|2 n=1 k=1\nrequire contract=f64\nmatmul dtypes=f32 m=3 n=1 k=1\n";

TEST(Plan, ListsTheCasesOfAllShardsWithTheirRequirements) {
  const Plan plan = PlanOf(kSuite, {.shard = {1, 2}});
  ASSERT_EQ(plan.entries.size(), 5u);
  EXPECT_EQ(plan.entries[0].id, "matmul/f32/m=1,n=1,k=1/fill=normal/seed=0");
  EXPECT_EQ(plan.entries[0].requirement, "f32;out=rn;math=256");
  EXPECT_EQ(plan.entries[2].requirement, "f32acc;out=rn;math=256");
  EXPECT_EQ(plan.entries[4].requirement, "f64");
  EXPECT_EQ(plan.shard, (Shard{1, 2}));
}

TEST(Plan, PrintsWhatTheOperatorAsksForAsWell) {
  auto cases = ParseSuite("matmul dtypes=bf16 m=1 n=1 k=1\n", "s.suite", TestCatalog()).value();
  cases[0].asked = "mid=none";
  const Plan plan = MakePlan("mine", {}, Select(cases, {}, TestCatalog()).value());
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_EQ(plan.entries[0].requirement, "f32acc;out=rn;math=256;mid=none");
}

TEST(Plan, HashFollowsIdsAndRequirementsAlone) {
  const std::string hash = PlanOf(kSuite).hash;
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(PlanOf(kSuite, {.shard = {1, 2}}).hash, hash);
  std::vector<PlanEntry> entries = PlanOf(kSuite).entries;
  std::ranges::reverse(entries);
  entries[0].tags.clear();
  EXPECT_EQ(PlanHash(entries), hash);
  entries[0].requirement = "f32";
  EXPECT_NE(PlanHash(entries), hash);
  EXPECT_NE(PlanOf(kSuite, {.filter = "*bf16*"}).hash, hash);
}

TEST(Plan, JsonRoundTrips) {
  Plan plan = PlanOf(kSuite, {.filter = "*:-*\"q*", .shard = {1, 2}});
  plan.devices = {{"gpu", "a \"device\""}, {"gpu", "a \"device\""}, {"absent", ""}};
  const auto parsed = ParsePlanJson(PlanJson(plan));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, plan);
}

TEST(Plan, JsonIsValidEvenForAFilterThatIsNotUtf8) {
  const Plan plan = PlanOf(kSuite, {.filter = "*:-\xff\xfe"});
  EXPECT_TRUE(nlohmann::json::accept(PlanJson(plan)));
}

TEST(Plan, JsonWithACaseTwiceIsRefusedAlsoWhereItsHashIsRight) {
  Plan plan = PlanOf(kSuite);
  plan.entries.push_back(plan.entries[1]);
  plan.entries.back().requirement = "f64";
  plan.hash = PlanHash(plan.entries);
  const auto parsed = ParsePlanJson(PlanJson(plan));
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("has the case " + plan.entries[1].id + " more than once"));
}

TEST(Plan, HasTheDefinitionsOfItsOperatorsAlone) {
  constexpr std::string_view kForm =
      R"({{"assay_definitions": 1, "operators": [{{"op": "{}", "doc": "y = x x", "axes": [{{"name": "n"}}], "inputs":
         [{{"name": "x", "axes": ["n"]}}], "nodes": [{{"name": "t", "f": "multiply", "of": ["x", "x"]}}], "outputs":
         [{{"name": "y", "is": "t", "axes": ["n"]}}]}}]}})";
  for (const char* op : {"square_of_plan_test", "other_of_plan_test"}) {
    ASSERT_TRUE(AddDefinitions(fmt::format(fmt::runtime(kForm), op), "here"));
  }
  Plan plan = PlanOf(kSuite);
  const std::string hash = plan.hash;
  EXPECT_TRUE(plan.definitions.empty());
  EXPECT_THAT(PlanJson(plan), Not(HasSubstr("definitions")));
  plan.entries.push_back({.id = "square_of_plan_test/f32/n=3/fill=normal/seed=0", .requirement = "f32"});
  CompletePlan(plan);
  ASSERT_EQ(plan.definitions.size(), 1u);
  EXPECT_EQ(plan.definitions[0].op, "square_of_plan_test");
  EXPECT_NE(plan.hash, PlanHash(plan.entries));
  const auto parsed = ParsePlanJson(PlanJson(plan));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, plan);

  const std::string text = PlanJson(plan), digest = plan.definitions[0].Digest();
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto read = ParsePlanJson(changed);
    return read ? "no error" : read.error().message;
  };
  EXPECT_THAT(error("\"multiply\"", "\"add\""), HasSubstr("was changed or damaged"));
  EXPECT_THAT(error(digest, "0123456789abcdef"), HasSubstr("was changed or damaged"));
  EXPECT_THAT(error("\"definitions\"", "\"definition_\""), HasSubstr("its cases hash to"));
  EXPECT_THAT(error("\"definitions\": [", "\"definitions\": 7, \"others\": ["), HasSubstr("was changed or damaged"));
}

TEST(Plan, ChangedForeignOrBrokenJsonIsRefused) {
  auto json = nlohmann::json::parse(PlanJson(PlanOf(kSuite)));
  const auto error = [](const nlohmann::json& j) {
    const auto parsed = ParsePlanJson(j.dump());
    return parsed ? "no error" : parsed.error().message;
  };
  EXPECT_EQ(error(json), "no error");
  auto changed = json;
  changed["cases"].erase(0);
  EXPECT_THAT(error(changed), HasSubstr("was changed"));
  auto no_part = json;
  no_part["shard_count"] = 0;
  EXPECT_THAT(error(no_part), HasSubstr("shard_index 0 of shard_count 0 is not valid"));
  no_part["shard_count"] = 1;
  no_part["shard_index"] = 7;
  EXPECT_THAT(error(no_part), HasSubstr("shard_index 7 of shard_count 1"));
  auto newer = json;
  newer["schema_version"] = 3;
  EXPECT_THAT(error(newer), HasSubstr("schema version 3"));
  auto partial = json;
  partial.erase("suite");
  EXPECT_THAT(error(partial), HasSubstr("cannot be read"));
  auto wrong_type = json;
  wrong_type["cases"] = 7;
  EXPECT_NE(error(wrong_type), "no error");
  EXPECT_FALSE(ParsePlanJson("{"));
  EXPECT_FALSE(ParsePlanJson("[]"));
}

}  // namespace
}  // namespace assay
