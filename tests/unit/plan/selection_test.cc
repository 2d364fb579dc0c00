// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/unit/plan/test_catalog.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<PlannedCase> Suite() {
  return ParseSuite(
             "matmul dtypes=f32|bf16|bf16-bf16-f32 m=1 n=1 k=1 fill=normal|cancel-1e6\n"
             "reduce dtypes=f32 shape=4x4 axes=1 kind=sum|max\n",
             "s", TestCatalog())
      .value();
}

size_t CountOf(SelectionOptions options) {
  return Select(Suite(), options, TestCatalog()).value().cases.size();
}

TEST(Filter, GlobsIncludeAndExclude) {
  const struct {
    const char *filter, *id;
    bool matches;
  } table[] = {
      {"*", "matmul/f32", true},
      {"", "matmul/f32", false},
      {"matmul", "matmul/f32", false},
      {"matmul*", "matmul/f32", true},
      {"*/f32", "matmul/f32", true},
      {"m?tmul/f32", "matmul/f32", true},
      {"m?matmul/f32", "matmul/f32", false},
      {"?", "", false},
      {"reduce*:matmul*", "matmul/f32", true},
      {"*:-matmul*", "matmul/f32", false},
      {"*:-matmul*", "reduce/f32", true},
      {"-matmul*", "reduce/f32", true},
      {"-matmul*", "matmul/f32", false},
      {"-a*:-matmul*", "matmul/f32", false},
      {"-a*:matmul*", "matmul/f32", false},
      {"matmul*:-*f32*:*bf16*", "matmul/bf16", false},
      {"matmul*:-*f32*:*bf16*", "matmul/f16", true},
      {"*fill=cancel-1e6*", "x/fill=cancel-1e6/y", true},
      {"*cancel-*", "x/cancel-1e6", true},
      {"*a*b*c", "aXbXbcXc", true},
      {"*a*b*c", "aXcXb", false},
  };
  for (const auto& row : table)
    EXPECT_EQ(MatchesFilter(row.filter, row.id), row.matches) << row.filter << " | " << row.id;
}

// A glob matcher by definition, to compare with.
bool Naive(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') return Naive(glob.substr(1), text) || (!text.empty() && Naive(glob, text.substr(1)));
  return !text.empty() && (glob[0] == '?' || glob[0] == text[0]) && Naive(glob.substr(1), text.substr(1));
}

TEST(FilterProperty, AgreesWithTheDefinition) {
  std::mt19937 random(5);
  int matched = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string glob, text;
    for (size_t n = 1 + random() % 6; glob.size() < n;) glob += "ab*?"[random() % 4];
    for (size_t n = random() % 7; text.size() < n;) text += "ab"[random() % 2];
    ASSERT_EQ(MatchesFilter(glob, text), Naive(glob, text)) << glob << " | " << text;
    matched += Naive(glob, text);
  }
  EXPECT_GT(matched, 5000);
}

TEST(FilterProperty, ManyStarsTakePolynomialTime) {
  std::string glob, text(5000, 'a');
  for (int i = 0; i < 100; ++i) glob += "*a";
  EXPECT_FALSE(MatchesFilter(glob + "b", text));  // exponential backtracking would not return
}

TEST(Select, ByOperatorDTypeAndFilter) {
  EXPECT_EQ(CountOf({}), 8u);
  EXPECT_EQ(CountOf({.ops = {"reduce"}}), 2u);
  EXPECT_EQ(CountOf({.dtypes = {"bf16"}}), 4u);
  EXPECT_EQ(CountOf({.dtypes = {"bf16-bf16-f32"}}), 2u);
  EXPECT_EQ(CountOf({.dtypes = {"f32"}}), 6u);
  EXPECT_EQ(CountOf({.dtypes = {"bf16-bf16-bf16"}}), 4u);  // ids write it as bf16
  EXPECT_EQ(CountOf({.filter = "*cancel*", .dtypes = {"f32"}}), 2u);
}

TEST(Select, UnknownNamesAreErrors) {
  EXPECT_THAT(Select(Suite(), {.ops = {"matmull"}}, TestCatalog()).error().message, HasSubstr("known: matmul, reduce"));
  EXPECT_THAT(Select(Suite(), {.dtypes = {"f31"}}, TestCatalog()).error().message, HasSubstr("--dtype f31"));
}

TEST(Select, EmptinessSaysWhy) {
  const Selection nothing = Select(Suite(), {.filter = "conv*"}, TestCatalog()).value();
  EXPECT_EQ(nothing.empty, EmptyReason::kNoMatch);
  EXPECT_THAT(nothing.empty_message, HasSubstr("none of the 8 cases matches --filter 'conv*'; "));  // no unset option
  const SelectionOptions by_type{.ops = {"reduce"}, .dtypes = {"f16", "f64"}, .origin = "suite s"};
  EXPECT_THAT(Select(Suite(), by_type, TestCatalog()).value().empty_message,
              HasSubstr("none of the 8 cases of suite s matches --op 'reduce' --dtype 'f16,f64'; "));
  EXPECT_THAT(Select({Suite()[0]}, {.filter = "x"}, TestCatalog()).value().empty_message,
              HasSubstr("the only case does not match --filter 'x'; "));
  const Selection none = Select({}, {.filter = "x", .origin = "suite dir/s.suite"}, TestCatalog()).value();
  EXPECT_EQ(none.empty, EmptyReason::kNoMatch);
  EXPECT_THAT(none.empty_message, HasSubstr("there is no case in suite dir/s.suite"));
  int empty_shards = 0;
  std::vector<std::string> all_ids;
  for (const PlannedCase& planned : Suite()) all_ids.push_back(planned.spec.Id());
  for (int i = 0; i < 1000; ++i) {
    const Selection part = Select(Suite(), {.shard = {i, 1000}}, TestCatalog()).value();
    EXPECT_EQ(part.cases.size() + part.others.size(), 8u);
    std::vector<std::string> ids;
    part.ForEach([&](const PlannedCase& planned) { ids.push_back(planned.spec.Id()); });
    EXPECT_EQ(ids, all_ids) << "in suite order, whoever has them";
    EXPECT_EQ(part.empty, part.cases.empty() ? EmptyReason::kShardOnly : EmptyReason::kNone);
    empty_shards += part.cases.empty();
  }
  EXPECT_GE(empty_shards, 992);
  EXPECT_LT(empty_shards, 1000);
}

TEST(Shard, PartitionsEveryIdIntoExactlyOneShardAndSpreads) {
  std::map<int, int> sizes;
  for (int i = 0; i < 4000; ++i) {
    int owners = 0;
    for (int s = 0; s < 4; ++s) {
      if (!InShard("case" + std::to_string(i), {s, 4})) continue;
      ++owners;
      ++sizes[s];
    }
    ASSERT_EQ(owners, 1);
  }
  for (const auto& [shard, size] : sizes) EXPECT_NEAR(size, 1000, 150) << shard;
}

TEST(Select, ACaseThatIsPlannedAgainIsThereOnceWithTheTagsOfBoth) {
  std::vector<PlannedCase> twice = Suite();
  const size_t size = twice.size();
  twice.push_back(twice[1]);
  twice[1].tags = {"a"}, twice[size].tags = {"b", "a"};
  const Selection selection = Select(twice, {}, TestCatalog()).value();
  EXPECT_EQ(selection.is_own.size(), size);
  EXPECT_EQ(selection.cases.size(), size);
  EXPECT_THAT(selection.cases[1].tags, ElementsAre("a", "b"));
  twice[size].requirement = "f64";
  EXPECT_THAT(Select(twice, {}, TestCatalog()).error().message, HasSubstr("is planned twice"));
}

// These numbers must never change: a case that moved would be run twice or never by shards of different versions.
TEST(Shard, AssignmentIsFixedForEver) {
  const auto owner = [](std::string_view id) {
    for (int s = 0; s < 1000; ++s) {
      if (InShard(id, {s, 1000})) return s;
    }
    return -1;
  };
  EXPECT_EQ(owner("matmul/f32/m=1,n=1,k=1/fill=normal/seed=0"), 971);
  EXPECT_EQ(owner("reduce/f32/shape=4x4,axes=1,kind=sum/fill=normal/seed=0"), 271);
}

TEST(Shard, TextIsCountedFromZero) {
  EXPECT_EQ(ParseShard("3/4").value(), (Shard{3, 4}));
  for (const char* text : {"4/4", "-1/4", "0/0", "1", "1/", "/4", "a/4", "1/4/2", " 1/4"}) {
    EXPECT_FALSE(ParseShard(text)) << text;
  }
  EXPECT_THAT(ParseShard("4/4").error().message, HasSubstr("the first of four is 0/4, the last 3/4"));
}

struct ShardCase {
  std::string flag;
  std::map<std::string, std::string> env;
  std::string expected;  // "i/n", or a part of the error
};

TEST(Shard, FlagThenAssayThenGoogleTestThenBazel) {
  const ShardCase table[] = {
      {"", {}, "0/1"},
      {"1/3", {{"ASSAY_SHARD", "0/2"}}, "1/3"},
      {"", {{"ASSAY_SHARD", "1/2"}, {"GTEST_SHARD_INDEX", "0"}, {"GTEST_TOTAL_SHARDS", "4"}}, "1/2"},
      {"", {{"GTEST_SHARD_INDEX", "2"}, {"GTEST_TOTAL_SHARDS", "4"}, {"TEST_SHARD_INDEX", "0"}}, "2/4"},
      {"", {{"TEST_SHARD_INDEX", "2"}, {"TEST_TOTAL_SHARDS", "5"}}, "2/5"},
      {"", {{"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_ARRAY_TASK_COUNT", "4"}, {"RANK", "1"}}, "0/1"},
      {"", {{"ASSAY_SHARD", "2/2"}}, "ASSAY_SHARD: shard 2/2"},
      {"", {{"GTEST_SHARD_INDEX", "4"}, {"GTEST_TOTAL_SHARDS", "4"}}, "0 <= i < n"},
      {"", {{"GTEST_SHARD_INDEX", "1"}}, "GTEST_SHARD_INDEX is set without GTEST_TOTAL_SHARDS"},
      {"", {{"TEST_TOTAL_SHARDS", "4"}}, "TEST_TOTAL_SHARDS is set without TEST_SHARD_INDEX"},
  };
  for (const ShardCase& row : table) {
    const auto env = [&](const char* name) -> const char* {
      const auto it = row.env.find(name);
      return it == row.env.end() ? nullptr : it->second.c_str();
    };
    const auto shard = ResolveShard(row.flag, env);
    const std::string got =
        shard ? std::to_string(shard->index) + "/" + std::to_string(shard->count) : shard.error().message;
    EXPECT_THAT(got, HasSubstr(row.expected));
  }
}

TEST(Shard, StatusFilesAreTouched) {
  TemporaryFolder folder;
  const std::string path = folder.Path("status");
  const auto env = [&](const char* name) {
    return std::string_view(name) == "TEST_SHARD_STATUS_FILE" ? path.c_str() : nullptr;
  };
  ASSERT_TRUE(TouchShardStatusFiles(env));
  EXPECT_TRUE(std::filesystem::exists(path));
  const auto bad = [](const char*) { return "/nowhere/status"; };
  EXPECT_EQ(TouchShardStatusFiles(bad).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace assay
