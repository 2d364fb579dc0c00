// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/model/contract.h"
#include "harness/plan/find_suite.h"
#include "tests/unit/plan/test_catalog.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<PlannedCase> Cases(std::string_view text) {
  auto cases = ParseSuite(text, "s.suite", TestCatalog());
  EXPECT_TRUE(cases) << cases.error().message;
  return cases ? *std::move(cases) : std::vector<PlannedCase>();
}

std::vector<std::string> Ids(std::string_view text) {
  std::vector<std::string> ids;
  for (const PlannedCase& planned : Cases(text)) ids.push_back(planned.spec.Id());
  return ids;
}

std::string ErrorOf(std::string_view text) {
  const auto cases = ParseSuite(text, "s.suite", TestCatalog());
  return cases ? "no error" : cases.error().message;
}

TEST(Suite, AByteOrderMarkIsNoPartOfTheFirstWord) {
  const std::string line = "matmul dtypes=f32 m=2 n=2 k=2\n";
  EXPECT_EQ(Ids("\xEF\xBB\xBF" + line), Ids(line));
}

TEST(Suite, AlternativesMakeACrossProductWithTheRightmostFastest) {
  EXPECT_THAT(Ids("matmul dtypes=f32|bf16 m=1|2 n=3 k=4 seed=0|1"),
              ElementsAre("matmul/f32/m=1,n=3,k=4/fill=normal/seed=0", "matmul/f32/m=1,n=3,k=4/fill=normal/seed=1",
                          "matmul/f32/m=2,n=3,k=4/fill=normal/seed=0", "matmul/f32/m=2,n=3,k=4/fill=normal/seed=1",
                          "matmul/bf16/m=1,n=3,k=4/fill=normal/seed=0", "matmul/bf16/m=1,n=3,k=4/fill=normal/seed=1",
                          "matmul/bf16/m=2,n=3,k=4/fill=normal/seed=0", "matmul/bf16/m=2,n=3,k=4/fill=normal/seed=1"));
}

TEST(Suite, ALineMayBeginWithSeveralOperators) {
  const std::string line = " dtypes=f32 m=2 n=2 k=2\n";
  EXPECT_THAT(Ids("matmul|matmul" + line), ElementsAre("matmul/f32/m=2,n=2,k=2/fill=normal/seed=0"));
  EXPECT_THAT(ErrorOf("matmul|matmull" + line), StartsWith("s.suite:1:8: 'matmull' is neither an operator"));
}

TEST(Suite, GroupsVaryTogether) {
  EXPECT_THAT(Ids("matmul dtypes=f32 {m,n,k}={1,2,3}|{4,5,6} fill=outlier"),
              ElementsAre("matmul/f32/m=1,n=2,k=3/fill=outlier/seed=0", "matmul/f32/m=4,n=5,k=6/fill=outlier/seed=0"));
  EXPECT_THAT(
      Ids("matmul {dtypes,fill}={f32,normal}|{i8-i8-i32,ramp} m=1 n=1 k=1"),
      ElementsAre("matmul/f32/m=1,n=1,k=1/fill=normal/seed=0", "matmul/i8-i8-i32/m=1,n=1,k=1/fill=ramp/seed=0"));
}

TEST(Suite, CommentsBlankLinesAndCarriageReturnsAreSkipped) {
  EXPECT_THAT(Ids("# head\n\n  \t\nmatmul dtypes=f32 m=1 n=1 k=1   # tail m=2\r\n#matmul\r\n"),
              ElementsAre("matmul/f32/m=1,n=1,k=1/fill=normal/seed=0"));
}

TEST(Suite, RequirementHoldsUntilTheNextOne) {
  const auto cases = Cases(
      "matmul dtypes=f32 m=1 n=1 k=1\n"
      "require contract=in=exact; acc=f32;det=yes  # strict\n"
      "matmul dtypes=f32 m=2 n=1 k=1\n"
      "matmul dtypes=f32 m=3 n=1 k=1\n"
      "require contract=none\n"
      "matmul dtypes=f32 m=4 n=1 k=1\n");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].requirement, "");
  EXPECT_EQ(cases[1].requirement, "in=exact; acc=f32;det=yes");
  EXPECT_EQ(cases[2].requirement, cases[1].requirement);
  EXPECT_EQ(cases[3].requirement, "");
  EXPECT_EQ(cases[2].where, "s.suite:4");
}

TEST(Suite, WhatIsNotTimedHoldsUntilTheNextOneAndNotForACaseThatIsTimedElsewhere) {
  const auto cases = Cases(
      "matmul dtypes=f32 m=1 n=1 k=1\n"
      "timed no\n"
      "matmul dtypes=f32 m=1|2|3 n=1 k=1\n"
      "timed yes\n"
      "matmul dtypes=f32 m=3|4 n=1 k=1\n");
  ASSERT_EQ(cases.size(), 4u);
  std::vector<bool> timed;
  for (const PlannedCase& planned : cases) timed.push_back(planned.timed);
  EXPECT_THAT(timed, ElementsAre(true, false, true, true));
}

TEST(Suite, AsManyOfEachOperatorAndListOfTypesAreThoroughAsItSays) {
  const auto cases = Cases(
      "matmul dtypes=f32 m=1 n=1 k=1\n"
      "thorough 2\n"
      "matmul dtypes=f32|bf16 m=1|2|3 n=1 k=1\n"
      "reduce dtypes=f32 shape=2x2 axes=1 kind=sum\n"
      "matmul dtypes=bf16 m=4 n=1 k=1\n"
      "thorough all\n"
      "matmul dtypes=f32 m=3 n=1 k=1\n");
  std::vector<std::string> brief;
  for (const PlannedCase& planned : cases) {
    if (!planned.thorough) brief.push_back(planned.spec.Id());
  }
  // The third one in f32 is planned by another line, too.
  EXPECT_THAT(brief,
              ElementsAre("matmul/bf16/m=3,n=1,k=1/fill=normal/seed=0", "matmul/bf16/m=4,n=1,k=1/fill=normal/seed=0"));
}

TEST(Suite, CasesOfWhichASampleIsJudged) {
  const auto cases = Cases(
      "matmul dtypes=f32 m=1 n=1 k=1\n"
      "sample 64\n"
      "matmul dtypes=f32 m=1|2|3 n=1 k=1\n"
      "sample 100\n"
      "matmul dtypes=f32 m=3 n=1 k=1\n"
      "sample all\n"
      "matmul dtypes=f32 m=4 n=1 k=1\n");
  std::vector<int64_t> samples;
  for (const PlannedCase& planned : cases) samples.push_back(planned.sample);
  EXPECT_THAT(samples, ElementsAre(0, 64, 100, 0));  // all of the first, as a line before wants it whole
}

TEST(Suite, TagsHoldUntilTheNextOneAndUrlsMayContainAHash) {
  const auto cases = Cases(
      "tag layer.3.ffn source=https://example.org/paper#table.3  # why\n"
      "matmul dtypes=f32 m=1 n=1 k=1\n"
      "tag layer.4.ffn\n"
      "matmul dtypes=f32 m=2 n=1 k=1\n"
      "tag none\n"
      "matmul dtypes=f32 m=3 n=1 k=1\n");
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_THAT(cases[0].tags, ElementsAre("layer.3.ffn"));
  EXPECT_EQ(cases[0].source, "https://example.org/paper#table.3");
  EXPECT_THAT(cases[1].tags, ElementsAre("layer.4.ffn"));
  EXPECT_EQ(cases[1].source, "");
  EXPECT_THAT(cases[2].tags, IsEmpty());
}

TEST(Suite, ACasePlannedTwiceIsPlannedOnceWithAllItsTags) {
  const auto cases = Cases(
      "tag a source=x\n"
      "matmul dtypes=f32 m=1 n=1 k=1\n"
      "tag b source=y\n"
      "matmul dtypes=f32|bf16 m=01 n=1 k=1 batch=1\n"
      "require contract=f32\n"
      "matmul dtypes=f32 m=1 n=1 k=1\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_THAT(cases[0].tags, ElementsAre("a", "b"));
  EXPECT_EQ(cases[0].source, "x");
  EXPECT_EQ(cases[0].where, "s.suite:2");
  EXPECT_EQ(cases[0].requirement, "f32");  // a stated requirement is never lost to a line without one
  EXPECT_EQ(cases[1].requirement, "");
}

TEST(Suite, CallsOfOneCaseAddUp) {
  const auto cases = Cases(
      "tag q source=x calls=32\n"
      "matmul dtypes=f32 m=1 n=8 k=8\n"
      "tag o calls=8\n"
      "matmul dtypes=f32 m=1 n=8|16 k=8\n"
      "tag calls-2\n"
      "matmul dtypes=f32 m=1 n=16 k=8\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_THAT(cases[0].tags, ElementsAre("q", "calls-40", "o"));
  EXPECT_THAT(cases[1].tags, ElementsAre("o", "calls-10"));
  EXPECT_EQ(cases[0].source, "x");
}

TEST(Suite, ANumberInAFillHasOneSpelling) {
  const auto cases = Cases("matmul dtypes=f32 m=1 n=1 k=1 fill=cancel-1e6|cancel-1000000|cancel-1e3\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].spec.fill, "cancel-1e6");
  EXPECT_EQ(cases[1].spec.fill, "cancel-1e3");
}

// An operator's error points at the value of the key that it names first.
TEST(Suite, WhatNoOperatorCanDoIsRefusedWhereItStands) {
  OpCatalog catalog = TestCatalog();
  std::string message;
  catalog.bind = [&](const CaseSpec& spec) -> Result<SharedCase> {
    if (spec.Id().find("m=7") == std::string::npos) return SharedCase();
    return UsageError(message);
  };
  const struct {
    const char *text, *message, *where;
  } table[] = {
      {"matmul dtypes=f32 m=1|7 n=3 k=1", "m=7 is odd, as n=3 is", "s.suite:1:23: m=7 is odd"},
      {"matmul dtypes=f32 m=1|7 n=3|4 k=1", "n must not be 3, but n=3", "s.suite:1:27: "},
      {"matmul dtypes=f32 {k,m}={1,2}|{3,7} n=1", "matmul: m=7 is odd", "s.suite:1:34: "},
      {"matmul dtypes=f32 m=7 n=1 k=1", "item=2 but k=1", "s.suite:1:29: "},  // not the m= of item=
      {"matmul dtypes=f32 m=7 n=1 k=1", "too much", "s.suite:1:1: too much"},
  };
  for (const auto& row : table) {
    message = row.message;
    const auto cases = ParseSuite(row.text, "s.suite", catalog);
    ASSERT_FALSE(cases) << row.text;
    EXPECT_EQ(cases.error().code, ErrorCode::kUsage);
    EXPECT_THAT(cases.error().message, HasSubstr(row.where));
  }
  EXPECT_TRUE(ParseSuite("matmul dtypes=f32 m=1|2 n=1 k=1", "s.suite", catalog));
}

TEST(Suite, WhatIsNotTextIsRefusedAndNotPrinted) {
  for (const std::string& bytes : {std::string("\0", 1), std::string("\x1b[31m"), std::string("\xff\xfe")}) {
    const auto cases = ParseSuite("matmul dtypes=f32 m=1 n=1 k=1\n# \n" + bytes, "s.suite", TestCatalog());
    ASSERT_FALSE(cases);
    EXPECT_THAT(cases.error().message, HasSubstr("s.suite:3: not a text file"));
    EXPECT_EQ(cases.error().message.find(bytes[0]), std::string::npos);
  }
  EXPECT_TRUE(ParseSuite("# \xC3\xA9\t\r\nmatmul dtypes=f32 m=1 n=1 k=1\r\n", "s.suite", TestCatalog()));
}

TEST(Suite, EveryErrorSaysWhereExactlyAndWhatToWrite) {
  const struct {
    const char *text, *where, *what;
  } table[] = {
      {"\nmatmull dtypes=f32 m=1", "s.suite:2:1: ", "timed; known: matmul, reduce"},
      {"  matmul dtypes=f32 m=1 n=1 q=1 k=1", "s.suite:1:29: ", "no key 'q'; it takes dtypes m n k batch"},
      {"matmul dtypes=f32 m=1 n=x|2 k=1", "s.suite:1:25: ", "n=x is not an integer"},
      {"matmul dtypes=f32 m=1 n=2|x k=1", "s.suite:1:27: ", "n=x is not an integer"},
      {"matmul dtypes=f32 {m,n}={1,2}|{3,y} k=1", "s.suite:1:34: ", "n=y is not an integer"},
      {"matmul dtypes=f32 m=1 n=1 k=1 epilogue=lazy", "s.suite:1:40: ", "fused, rounded"},
      {"matmul dtypes=f32|f99 m=1 n=1 k=1", "s.suite:1:19: ", "f99"},
      {"matmul dtypes=f32-f16 m=1 n=1 k=1", "s.suite:1:15: ", "3 joined by '-' (a-b-y)"},
      {"matmul dtypes=f32 m=1 n=1 k=1 fill=gauss", "s.suite:1:36: ", "gauss"},
      {"matmul dtypes=f32 m=1 n=1 k=1 seed=-1", "s.suite:1:36: ", "[0, 2^64)"},
      {"matmul dtypes=f32 m=1 n=1", "s.suite:1:1: ", "matmul needs k="},
      {"matmul m=1 n=1 k=1", "s.suite:1:1: ", "matmul needs dtypes="},
      {"matmul dtypes=f32 m=1 n=1 k=1 m=2", "s.suite:1:31: ", "given twice; join the values by '|'"},
      {"matmul dtypes=f32 {m,n,m}={1,2,3} k=1", "s.suite:1:24: ", "given twice"},
      {"matmul dtypes=f32 m=1||2 n=1 k=1", "s.suite:1:23: ", "empty value"},
      {"matmul dtypes=f32 m= n=1 k=1", "s.suite:1:21: ", "empty value"},
      {"matmul dtypes=f32 m n=1 k=1", "s.suite:1:19: ", "'m' is not key=value"},
      {"matmul dtypes=f32 {m,n=1", "s.suite:1:19: ", "no closing '}'"},
      {"matmul dtypes=f32 {m, n}={1,2} k=1", "s.suite:1:19: ", "without spaces inside"},
      {"matmul dtypes=f32 {m,n}={1,2}|3 k=1", "s.suite:1:31: ", "one value for 2 keys"},
      {"matmul dtypes=f32 {m,n}={1,2}|{1,2,3} k=1", "s.suite:1:31: ", "3 values for the 2 keys"},
      {"matmul dtypes=f32 m={1,2} n=1 k=1", "s.suite:1:21: ", "joined by '|'"},
      {"require f32", "s.suite:1:9: ", "write: require contract=f32acc"},
      {"require", "s.suite:1:1: ", "write: require contract=f32acc"},
      {"require contract=f31", "s.suite:1:18: ", "'f31' is not a field or shortcut"},
      {"require contract=", "s.suite:1:18: ", "contract=none"},
      {"timed", "s.suite:1:1: ", "write: timed no"},
      {"others gelu", "s.suite:1:8: ", "write: others"},
      {"timed never", "s.suite:1:7: ", "timed takes yes or no"},
      {"thorough", "s.suite:1:1: ", "write: thorough 2"},
      {"sample", "s.suite:1:1: ", "write: sample 4096"},
      {"sample 0", "s.suite:1:8: ", "a number from 1 to 1000000000, or all"},
      {"sample some", "s.suite:1:8: ", "write: sample 4096"},
      {"thorough 0", "s.suite:1:10: ", "a number of at least 1, or all"},
      {"cover pairs matmul", "s.suite:1:1: ", "assay list cases --suite covering --op matmul lists cases"},
      {"tag", "s.suite:1:1: ", "write: tag layer.3.ffn calls=32 source=URL"},
      {"tag a b", "s.suite:1:7: ", "'b' is neither calls=NUMBER nor source=URL"},
      {"tag a calls=0", "s.suite:1:7: ", "'calls=0' is neither"},
      {"tag a calls=2 calls=3", "s.suite:1:15: ", "'calls=3' is neither calls=NUMBER nor source=URL, once"},
      {"scale", "s.suite:1:1: ", "write: scale n k"},
      {"scale q\nmatmul dtypes=f32 m=1 n=1 k=1", "s.suite:2:1: ", "scale q: matmul has no extent of that name"},
      {"tag source=x", "s.suite:1:5: ", "label is missing"},
      {"include", "s.suite:1:1: ", "write: include other.suite"},
      {"include /nowhere/x.suite", "s.suite:1:9: ", "cannot read the suite file /nowhere/x.suite"},
      {"require contract=f32\nmatmul dtypes=f32 m=1 n=1 k=1\nrequire contract=f32acc\nmatmul dtypes=f32 m=1 n=1 k=1",
       "s.suite:4:1: ", "'f32acc' here and 'f32' at s.suite:2"},
  };
  for (const auto& row : table) {
    EXPECT_THAT(ErrorOf(row.text), StartsWith(row.where)) << row.text;
    EXPECT_THAT(ErrorOf(row.text), HasSubstr(row.what)) << row.text;
  }
}

TEST(Suite, AnExplosionIsAnErrorAndNotAnOutOfMemory) {
  std::string line = "matmul dtypes=f32";
  for (const char* key : {"m", "n", "k", "batch"}) {
    line += std::string(" ") + key + "=1";
    for (int i = 2; i <= 40; ++i) line += "|" + std::to_string(i);
  }
  EXPECT_THAT(ErrorOf(line), HasSubstr("more than 100000 cases"));
}

TEST(SuiteFiles, IncludeIsRelativeToTheIncludingFileAndScopesDoNotCross) {
  TemporaryFolder folder;
  folder.Write("main.suite",
               "require contract=f32\ntag outer\ntimed no\ninclude sub/inner.suite\nmatmul dtypes=f32 m=1 n=1 k=1\n");
  folder.Write("sub/inner.suite", "include ../leaf.suite\nmatmul dtypes=f32 m=2 n=1 k=1\nrequire contract=f64\n");
  folder.Write("leaf.suite", "matmul dtypes=f32 m=3 n=1 k=1\n");
  const auto cases = LoadSuite(folder.Path("main.suite"), TestCatalog());
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 3u);
  EXPECT_EQ((*cases)[0].where, folder.Path("leaf.suite") + ":1");
  EXPECT_EQ((*cases)[1].requirement, "");
  EXPECT_TRUE((*cases)[1].timed);
  EXPECT_FALSE((*cases)[2].timed);
  EXPECT_THAT((*cases)[1].tags, IsEmpty());
  EXPECT_EQ((*cases)[2].requirement, "f32");
  EXPECT_THAT((*cases)[2].tags, ElementsAre("outer"));
}

TEST(SuiteFiles, CycleIsAnErrorAndADiamondIsNot) {
  TemporaryFolder folder;
  folder.Write("a.suite", "include b.suite\n");
  folder.Write("b.suite", "\n  include ./a.suite\n");
  const auto cycle = LoadSuite(folder.Path("a.suite"), TestCatalog());
  ASSERT_FALSE(cycle);
  EXPECT_THAT(cycle.error().message, StartsWith(folder.Path("b.suite") + ":2:11: includes form a cycle"));

  folder.Write("top.suite", "include x.suite\ninclude y.suite\n");
  folder.Write("x.suite", "include leaf.suite\n");
  folder.Write("y.suite", "include leaf.suite\n");
  folder.Write("leaf.suite", "matmul dtypes=f32 m=3 n=1 k=1\n");
  const auto diamond = LoadSuite(folder.Path("top.suite"), TestCatalog());
  ASSERT_TRUE(diamond) << diamond.error().message;
  EXPECT_EQ(diamond->size(), 1u);
}

TEST(SuiteFiles, AFileThatIncludesItselfIsACycle) {
  TemporaryFolder folder;
  folder.Write("a.suite", "include a.suite\n");
  EXPECT_THAT(LoadSuite(folder.Path("a.suite"), TestCatalog()).error().message, HasSubstr("cycle"));
}

TEST(SuiteFiles, NamesAreLookedUpInTheDirectoriesInOrder) {
  TemporaryFolder folder;
  folder.Write("one/smoke.suite", "");
  folder.Write("two/smoke.suite", "");
  folder.Write("two/models/llama.suite", "");
  const std::vector<std::string> directories = {folder.Path("one"), folder.Path("two"), folder.Path("absent")};
  EXPECT_EQ(FindSuite("smoke", directories).value_or(""), folder.Path("one/smoke.suite"));
  EXPECT_EQ(FindSuite("models/llama", directories).value_or(""), folder.Path("two/models/llama.suite"));
  EXPECT_EQ(FindSuite(folder.Path("two/smoke.suite"), {}).value_or(""), folder.Path("two/smoke.suite"));
  EXPECT_THAT(ListSuites(directories), ElementsAre("models/llama", "smoke"));

  const auto missing = FindSuite("smoek", directories);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUsage);
  EXPECT_THAT(missing.error().message, HasSubstr("known: models/llama smoke"));
  EXPECT_FALSE(FindSuite("./smoke.suite", directories));
}

TEST(DefaultRequirement, FollowsTheNarrowestFloat) {
  const std::pair<const char*, const char*> table[] = {
      {"f64", "f64;out=rn;math=8"},
      {"f32", "f32;out=rn;math=256"},
      {"bf16", "f32acc;out=rn;math=256"},
      {"f16", "f32acc;out=rn;math=256"},
      {"e4m3-e4m3-f32", "f32acc;out=rn;math=256"},
      {"f64-f64-f32", "f32;out=rn;math=256"},
      {"bf16-bf16-f32", "f32acc;out=rn;math=256"},
      {"f32-i64", "f32;out=rn;math=256"},
      {"i8-i8-i32", "acc=i32"},
      {"i8-i8-f32", "f32;out=rn;math=256"},
      {"c64", "f32;out=rn;math=256"},
      {"c128", "f64;out=rn;math=8"},
  };
  for (const auto& [dtypes, expected] : table) {
    CaseSpec spec{.op = "matmul", .dtypes = ParseDTypeList(dtypes).value()};
    EXPECT_EQ(DefaultRequirement(spec), expected) << dtypes;
  }
}

TEST(RequirementOf, AddsWhatTheOperatorAsksForAndNothingTwice) {
  PlannedCase planned{.spec = {.op = "reduce", .dtypes = {DType::kBF16}}};
  EXPECT_EQ(RequirementOf(planned), "f32acc;out=rn;math=256");
  planned.asked = "mid=none;nan=propagate";
  EXPECT_EQ(RequirementOf(planned), "f32acc;out=rn;math=256;mid=none;nan=propagate");
  planned.requirement = "f32";  // which says mid=none
  EXPECT_EQ(RequirementOf(planned), "f32;nan=propagate");
  planned.requirement = "acc=f32;mid=bf16;nan=any";
  EXPECT_EQ(RequirementOf(planned), planned.requirement) << "the suite has the last word";
}

TEST(DefaultRequirement, DoesNotLetDeclaredSlackPass) {
  const CaseSpec spec{.op = "reduce", .dtypes = {DType::kF32}};
  const Contract required = ParseRequirement(DefaultRequirement(spec)).value();
  EXPECT_TRUE(Meets(ParseDeclaration("f32acc;ftz=all;math=256").value(), required)) << "normal practice";
  for (const char* slack : {"f32;out=any", "f32;math=8192", "f32acc;mid=bf16"}) {
    EXPECT_FALSE(Meets(ParseDeclaration(slack).value(), required)) << slack;
  }
}

}  // namespace
}  // namespace assay
