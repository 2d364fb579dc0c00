// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/plan/test_catalog.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<Expectation> Rules(const std::string& text) {
  auto file = ParseExpectations(text, "f", TestCatalog());
  EXPECT_TRUE(file) << file.error().message;
  return file ? std::move(file->rules) : std::vector<Expectation>();
}

std::string RefusalOf(const std::string& text) {
  const auto file = ParseExpectations(text, "f", TestCatalog());
  return file ? "no error" : file.error().message;
}

Record Judged(const std::string& case_id, const std::string& verdict) {
  Record r;
  r.case_id = case_id;
  const CaseSpec spec = ParseId(case_id).value();
  r.op = spec.op, r.dtype = DTypeListText(spec.dtypes), r.fill = spec.fill;
  r.backend = "lib", r.implementation = "fast", r.library_version = "Library 2.6.3",
  r.driver = "driver 22.3.6 (LLVM 15)";
  r.device = "host", r.contract = "acc=f32; nan=any", r.required_contract = "acc=i32;nan=propagate";
  r.verdict = r.outcome = verdict;
  return r;
}

constexpr const char* kSums = "matmul/i8-i8-i32/m=1,n=8,k=2048/fill=ramp/seed=0";
constexpr const char* kMax = "reduce/f32/shape=64x100,axes=1,kind=max/fill=special/seed=0";

// A rule about kSums with one line more.
std::string Rule(const std::string& line) {
  return "known_failure name\n  backend lib\n  fails mismatch, below_contract\n  reason it is known\n  " + line + "\n";
}

bool Applies(const std::string& line, const Record& record) {
  const std::vector<Expectation> rules = Rules(Rule(line));
  return FindExpectation(rules, record) != nullptr;
}

TEST(Expectations, EveryConditionOfARuleCounts) {
  const Record sums = Judged(kSums, "below_contract"), max = Judged(kMax, "below_contract");
  for (const char* line :
       {"case op=matmul", "case op=reduce|matmul dtype=i8-*", "case fill=ramp|special",
        "case op=matmul k>=2048 m=1 k%2=0 n!=9", "declares acc=f32 nan=any", "requires acc=i32",
        "backend library=2.6.3 library>=2 library<3.4", "backend driver>22.3", "backend impl=f* device=ho?t"}) {
    EXPECT_TRUE(Applies(line, sums)) << line;
  }
  for (const char* line : {"case op=reduce", "case dtype=f32", "case fill=special", "case op=matmul k<2048",
                           "case op=matmul m%2=0", "declares acc=f16", "requires acc=f32", "backend library<2.6.3",
                           "backend library=2.6.2", "backend driver>=23", "backend impl=ref*", "backend device=gpu*"}) {
    EXPECT_FALSE(Applies(line, sums)) << line;
  }
  EXPECT_TRUE(Applies("case op=reduce kind=max|min shape.1>99 shape>=64", max));
  EXPECT_FALSE(Applies("case op=reduce shape.0>64", max));
  EXPECT_FALSE(Applies("case op=reduce shape>64", max));      // every entry
  EXPECT_TRUE(Applies("case op=reduce nan=propagate", max));  // a default counts
}

TEST(Expectations, ParametersOfAFieldMayBeLeftOut) {
  Record record = Judged(kSums, "below_contract");
  record.contract = "acc=tc<24,8>";
  EXPECT_TRUE(Applies("declares acc=tc", record));
  EXPECT_TRUE(Applies("declares acc=tc<24,8>", record));
  EXPECT_FALSE(Applies("declares acc=tc<25,8>", record));
  record.contract = "";  // no implementation
  EXPECT_FALSE(Applies("declares acc=tc", record));
}

TEST(Expectations, AMismatchIsCoveredWhereItShowsWhatTheRuleSays) {
  const std::vector<Expectation> rules = Rules(Rule("shows channel=exceptional golden=nan got=finite|inf"));
  Record record = Judged(kMax, "mismatch");
  record.exceptional_margin = std::numeric_limits<double>::infinity();
  record.bound_margin = 0.5;
  record.worst_elements = "3:0:nan:nan;7:inf:nan:nan;8:1:1:0.1";
  record.violations = 0;
  EXPECT_TRUE(Covers(rules[0], record));

  Record other = record;
  other.worst_elements = "3:0:nan:nan;7:nan:2:0.1";
  EXPECT_FALSE(Covers(rules[0], other)) << "a NaN where there is none is another failure";
  other = record;
  other.worst_elements = "3:-inf:nan:nan";
  EXPECT_FALSE(Covers(rules[0], other));
  other = record;
  other.violations = 2;
  EXPECT_FALSE(Covers(rules[0], other)) << "finite values are wrong as well";
  other = record;
  other.stat_margin = 1.5;
  EXPECT_FALSE(Covers(rules[0], other)) << "another channel fails as well";
  other = record;
  other.exceptional_margin = 0;
  EXPECT_FALSE(Covers(rules[0], other)) << "none of these channels fails";
  other.verdict = "below_contract";
  EXPECT_TRUE(Covers(rules[0], other)) << "it has no wrong values to show";
}

TEST(Expectations, TheShortFormNamesCasesAndImplementationsByGlobs) {
  const auto rules = Rules(
      "matmul/* | x:* | known_failure | of the default\n"
      "matmul/* | lib:f* | known_failure below_contract | one\n"
      "*kind=max*/fill=special/* | lib:* | known_flake crash, flaky | two | and a bar\n");
  EXPECT_THAT(rules[0].verdicts, ElementsAre("mismatch", "below_contract", "nondeterministic"));
  EXPECT_THAT(rules[1].verdicts, ElementsAre("below_contract"));
  EXPECT_THAT(rules[2].verdicts, ElementsAre("crash", "flaky"));
  EXPECT_EQ((std::vector<bool>{rules[0].flake, rules[1].flake, rules[2].flake}),
            (std::vector<bool>{false, false, true}));
  EXPECT_EQ(rules[2].reason, "two | and a bar");
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "mismatch")), &rules[1]);
  EXPECT_EQ(FindExpectation(rules, Judged(kMax, "crash")), &rules[2]);
}

TEST(Expectations, TheFirstThatCoversTheVerdictDecides) {
  const auto rules =
      Rules("matmul/* | lib:* | known_failure crash | first\nmatmul/* | lib:* | known_failure | second\n");
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "mismatch"))->reason, "second");
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "crash"))->reason, "first");
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "pass"))->reason, "first");
  EXPECT_EQ(FindExpectation(rules, Judged(kMax, "crash")), nullptr);
}

TEST(Expectations, LinesOfARuleAndOfTheFile) {
  const auto file = ParseExpectations(
      "# a comment\nestablished x86-64-avx2, x86-64-amx\n\nknown_flake a\n  backend lib\n\tfails crash\n  # in "
      "between\n"
      "  reason one\n  reason two\n  fault driver\n  read https://example.org\n"
      "known_failure b\n  backend lib\n  fails mismatch\n  reason three\n",
      "f", TestCatalog());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->established, ElementsAre("x86-64-avx2", "x86-64-amx"));
  ASSERT_EQ(file->rules.size(), 2U);
  const Expectation& rule = file->rules[0];
  EXPECT_EQ(rule.reason, "one two");
  EXPECT_EQ(rule.where, "f:4");
  EXPECT_EQ(rule.fault + " " + rule.read_on, "driver https://example.org");
  EXPECT_EQ(file->rules[1].fault, "library");
}

TEST(Expectations, AWordThatNothingCanMatchIsRefusedWithItsPlace) {
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"case op=matmull", "no operator 'matmull'; known: matmul, reduce"},
           {"case op=matmul kk<3", "matmul has no key 'kk'; it takes m n k"},
           {"case k<3", "has a condition on k and no op="},
           {"case op=reduce kind=maximum", "kind=maximum is not one of sum, mean"},
           {"case op=reduce kind<3", "is a name, which has no order"},
           {"case op=matmul k<three", "'three' is no number"},
           {"case op=matmul k.1=3", "is no list"},
           {"case dtype=f23", "f23"},
           {"case fill=specal", "unknown fill 'specal'"},
           {"case fill=specal*", "no fill matches 'specal*'"},
           {"backend other", "'other' is unknown here"},
           {"backend library=new", "no bound on a version"},
           {"declares ac=f32", "'ac' is not a field of a contract; known: in, acc"},
           {"requires acc=f33", "contract field acc=f33: expected i32|f64|f32"},
           {"fails mismach", "'mismach' is not one of the verdicts mismatch, below_contract"},
           {"shows channel=exeptional", "'exeptional' is not one of exact"},
           {"shows golden=nans", "'nans' is not one of nan"},
           {"fault me", "'me' is not one of library, driver, device"},
           {"verdict crash", "'verdict' is no line of a rule; known: case, backend"}}) {
    const std::string error = RefusalOf(Rule(line));
    EXPECT_THAT(error, StartsWith("f:")) << line;
    EXPECT_THAT(error, HasSubstr(what)) << line;
  }
  EXPECT_THAT(RefusalOf(Rule("case op=matmull")), StartsWith("f:5: "));
  // What the operators know of a condition is asked when the rule ends, since another line may name them.
  EXPECT_THAT(RefusalOf(Rule("case k<3\n  fault driver\n  case op=reduce") + "\n# behind it\n"),
              StartsWith("f:5: reduce has no key 'k'"));
  EXPECT_THAT(RefusalOf(Rule("case k<3\n  fault driver")), StartsWith("f:5: the rule name has a condition on k"));
  EXPECT_THAT(RefusalOf("known_failure a\n  fails crash\n  reason r\n"),
              HasSubstr("f:1: the rule a has no line 'backend'"));
  EXPECT_THAT(RefusalOf("known_failure a\n  backend b\n  reason r\n"), HasSubstr("no line 'fails'"));
  EXPECT_THAT(RefusalOf("known_failure a\n  backend b\n  fails crash"), HasSubstr("no line 'reason'"));
  EXPECT_THAT(RefusalOf("known_falure a\n"), HasSubstr("f:1: 'known_falure' begins no rule"));
  EXPECT_THAT(RefusalOf("known_failure\n"), HasSubstr("is no name of a rule"));
  EXPECT_THAT(RefusalOf(Rule("case op=matmul") + Rule("case op=matmul")), HasSubstr("the name 'name' is that of f:1"));
}

TEST(Expectations, AShortRuleWithATypoIsRefused) {
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"matmull/* | lib:* | known_failure | r", "names no operator; known: matmul, reduce"},
           {"matmul/f23/* | lib:* | known_failure | r", "f23"},
           {"matmul/f32/m=1,kk=* | lib:* | known_failure | r", "has a key 'kk'"},
           {"matmul/*kind=max* | lib:* | known_failure | r", "has a key 'kind'"},
           {"reduce/*/fill=specal* | lib:* | known_failure | r", "no fill matches 'specal*'"},
           {"matmul/f32/m=1,n=8/fill=ramp/seed=0 | lib:* | known_failure | r", "matmul needs k="},
           {"matmul/f32/n=8,m=1,k=2/fill=ramp/seed=0 | lib:* | known_failure | r", "its id is matmul/f32/m=1,n=8,k=2/"},
           {"matmul/* | lib | known_failure | r", "'lib' names no implementation: 'lib:*' means all"},
           {"matmul/* | lib:* | known | r", "'known' is not one of known_failure, known_flake"},
           {"matmul/* | lib:* | known_failure pass | r", "'pass' is not one of the verdicts"},
           {"matmul/* | lib:* | known_failure mismatch, | r", "'' is not one of the verdicts"},
           {"matmul/* | lib:* | known_failure |", "the reason is empty"},
           {"matmul/* | lib:* | known_failure", "a rule has four parts"}}) {
    EXPECT_THAT(RefusalOf("# c\n" + line + "\n"), testing::AllOf(StartsWith("f:2: "), HasSubstr(what))) << line;
  }
  for (const char* glob : {"*", "m*", "matmul/*", "*/f32/*", "reduce/*,kind=max*/fill=special*", "*kind=max*",
                           "*/fill=cancel-*/*", "matmul/*f16*", "matmul/f32/m=?,n=8,k=2/fill=ramp/seed=0"}) {
    EXPECT_EQ(RefusalOf(std::string(glob) + " | lib:* | known_failure | r\n"), "no error") << glob;
  }
}

TEST(VersionBound, ComparesTheFirstNumbersOfAText) {
  const auto holds = [](const char* bound, const char* text) { return Holds(ParseVersionBound(bound).value(), text); };
  EXPECT_THAT(VersionIn("llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"), ElementsAre(22, 3, 6));
  EXPECT_THAT(VersionIn("3.1+debian"), ElementsAre(3, 1));
  EXPECT_TRUE(holds("library=2.6", "lib 2.6.3") && holds("library<3.4", "2.10.1") && holds("library>=2.6", "2.6"));
  EXPECT_TRUE(holds("library>2.6", "2.6.1") && holds("library!=2.6.2", "2.6.3") && holds("library<=2.6.3", "2.6.3"));
  EXPECT_FALSE(holds("library=2.6.3", "2.6") || holds("library<3.4", "3.4.0") || holds("library<9", "no version"));
}

}  // namespace
}  // namespace assay
