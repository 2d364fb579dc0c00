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

// A rule about kSums with one line more, which is its sixth.
std::string Rule(const std::string& line, const std::string& id = "name") {
  return "[[known_failure]]\nid = '" + id +
         "'\nbackend = 'lib'\nverdicts = ['mismatch', 'below_contract']\nreason = 'it is known'\n" + line + "\n";
}

bool Applies(const std::string& line, const Record& record) {
  const std::vector<Expectation> rules = Rules(Rule(line));
  return FindExpectation(rules, record) != nullptr;
}

TEST(Expectations, EveryConditionOfARuleCounts) {
  const Record sums = Judged(kSums, "below_contract"), max = Judged(kMax, "below_contract");
  for (const char* line :
       {"op = 'matmul'", "op = ['reduce', 'matmul']\ndtype = 'i8-*'", "fill = ['ramp', 'special']",
        "op = 'matmul'\nattributes = ['k>=2048', 'm=1', 'k%2=0', 'n!=9']", "declares = ['acc=f32', 'nan=any']",
        "requires = 'acc=i32'", "library = ['2.6.3', '>=2', '<3.4']", "driver = '>22.3'", "implementation = 'f*'",
        "implementation = ['ref*', 'fast']", "device = 'ho?t'", "case = 'matmul/*'",
        "case = ['reduce/*', 'matmul/*/fill=ramp/*']"}) {
    EXPECT_TRUE(Applies(line, sums)) << line;
  }
  for (const char* line : {"op = 'reduce'", "dtype = 'f32'", "fill = 'special'", "op = 'matmul'\nattributes = 'k<2048'",
                           "op = 'matmul'\nattributes = 'm%2=0'", "declares = 'acc=f16'", "requires = 'acc=f32'",
                           "library = '<2.6.3'", "library = '=2.6.2'", "driver = '>=23'", "implementation = 'ref*'",
                           "implementation = ['ref*', 'slow']", "device = ['gpu*', 'cpu']", "case = 'reduce/*'"}) {
    EXPECT_FALSE(Applies(line, sums)) << line;
  }
  EXPECT_TRUE(Applies("op = 'reduce'\nattributes = ['kind=max|min', 'shape.1>99', 'shape>=64']", max));
  EXPECT_FALSE(Applies("op = 'reduce'\nattributes = 'shape.0>64'", max));
  EXPECT_FALSE(Applies("op = 'reduce'\nattributes = 'shape>64'", max));      // every entry
  EXPECT_TRUE(Applies("op = 'reduce'\nattributes = 'nan=propagate'", max));  // a default counts
}

TEST(Expectations, ParametersOfAFieldMayBeLeftOut) {
  Record record = Judged(kSums, "below_contract");
  record.contract = "acc=tc<24,8>";
  EXPECT_TRUE(Applies("declares = 'acc=tc'", record));
  EXPECT_TRUE(Applies("declares = 'acc=tc<24,8>'", record));
  EXPECT_FALSE(Applies("declares = 'acc=tc<25,8>'", record));
  record.contract = "";  // no implementation
  EXPECT_FALSE(Applies("declares = 'acc=tc'", record));
}

TEST(Expectations, AWeakDeclarationExplainsNothingThatBreaksIt) {
  const std::vector<Expectation> rules = Rules(Rule("declares = 'acc=tc'\nrequires = 'acc=f32'"));
  Record record = Judged(kSums, "below_contract");
  record.contract = "acc=tc<24,8>", record.required_contract = "f32acc";
  EXPECT_TRUE(Covers(rules[0], record));
  record.lower_class_name = "f16 sums";
  EXPECT_FALSE(Covers(rules[0], record)) << "it behaves like something weaker than it declares";
  EXPECT_TRUE(Covers(Rules(Rule("declares = 'acc=tc'"))[0], record)) << "of which a rule may speak";
}

TEST(Expectations, AMismatchIsCoveredWhereItShowsWhatTheRuleSays) {
  const std::vector<Expectation> rules =
      Rules(Rule("shows.channel = 'exceptional'\nshows.golden = 'nan'\nshows.got = ['finite', 'inf']"));
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

TEST(Expectations, TheFirstThatCoversTheVerdictDecides) {
  const auto rules = Rules(
      "[[known_flake]]\nid = 'a'\nbackend = 'lib'\ncase = 'matmul/*'\nverdicts = 'crash'\nreason = 'first'\n"
      "[[known_failure]]\nid = 'b'\nbackend = 'lib'\ncase = 'matmul/*'\nverdicts = 'mismatch'\nreason = 'second'\n"
      "[[known_flake]]\nid = 'c'\nbackend = 'lib'\nverdicts = ['crash', 'flaky']\nreason = 'third'\n");
  EXPECT_EQ((std::vector<bool>{rules[0].flake, rules[1].flake, rules[2].flake}),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "mismatch")), &rules[1]);
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "crash")), &rules[0]);
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "pass")), &rules[0]);
  EXPECT_EQ(FindExpectation(rules, Judged(kMax, "crash")), &rules[2]);
}

TEST(Expectations, ARuleThatHasExpiredIsPassedOver) {
  auto rules = Rules(Rule("expires = 2026-01-05"));
  EXPECT_EQ(rules[0].expires, "2026-01-05");
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "mismatch")), &rules[0]);
  rules[0].expired = true;
  EXPECT_EQ(FindExpectation(rules, Judged(kSums, "mismatch")), nullptr);
}

TEST(Expectations, KeysOfARuleAndOfTheFile) {
  const auto file = ParseExpectations(
      "# a comment\nestablished = ['x86-64-avx2', 'x86-64-amx']\n\n[[known_flake]]\nid = 'a'\nbackend = 'lib'\n"
      "verdicts = 'crash'\nreason = \"\"\"\none\n  two\"\"\"\nfault = 'driver'\nread = 'https://example.org'\n"
      "owner = 'kernel team'\n"
      "[[known_failure]]\nid = 'b'\nbackend = 'lib'\nverdicts = 'mismatch'\nreason = 'three'\n",
      "f", TestCatalog());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->established, ElementsAre("x86-64-avx2", "x86-64-amx"));
  ASSERT_EQ(file->rules.size(), 2U);
  const Expectation& rule = file->rules[0];
  EXPECT_EQ(rule.reason, "one two");
  EXPECT_EQ(rule.where, "f:4");
  EXPECT_EQ(rule.owner, "kernel team");
  EXPECT_EQ(rule.fault + " " + rule.read_on, "driver https://example.org");
  EXPECT_EQ(file->rules[1].fault + file->rules[1].expires, "library");
}

TEST(Expectations, AWordThatNothingCanMatchIsRefusedWithItsPlace) {
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"op = 'matmull'", "no operator 'matmull'; known: matmul, reduce"},
           {"op = 'matmul'\nattributes = 'kk<3'", "matmul has no key 'kk'; it takes m n k"},
           {"attributes = 'k<3'", "has a condition on k and no op"},
           {"op = 'reduce'\nattributes = 'kind=maximum'", "kind=maximum is not one of sum, mean"},
           {"op = 'reduce'\nattributes = 'kind<3'", "is a name; compare it with = only"},
           {"op = 'matmul'\nattributes = 'k<three'", "'three' is not a number"},
           {"op = 'matmul'\nattributes = 'k.1=3'", "is not a list"},
           {"dtype = 'f23'", "f23"},
           {"fill = 'specal'", "unknown fill 'specal'"},
           {"fill = 'specal*'", "no fill matches 'specal*'"},
           {"library = 'new'", "not a version bound"},
           {"declares = 'ac=f32'", "'ac' is not a field of a contract; known: in, acc"},
           {"requires = 'acc=f33'", "contract field acc=f33: expected i32|f64|f32"},
           {"shows.channel = 'exeptional'", "'exeptional' is not one of exact"},
           {"shows.golden = 'nans'", "'nans' is not one of nan"},
           {"shows.gold = 'nan'", "no key 'shows.gold' in a rule"},
           {"shows = 'nan'", "no key 'shows' in a rule"},
           {"fault = 'me'", "'me' is not one of library, driver, device"},
           {"owner = ''", "'owner' is empty"},
           {"owner = 3", "'owner' takes a text in quotes"},
           {"device = 3", "'device' takes texts in quotes"},
           {"dtype = ['f32', 3]", "'dtype' takes texts in quotes"},
           {"dtype = []", "'dtype' is an empty list"},
           {"device = ['a', ' ']", "'device' has an empty text"},
           {"expires = '2026-01-01'", "'expires' takes a date without quotes"},
           {"expires = 2026-02-30", "not TOML"},
           {"verdict = 'crash'", "no key 'verdict' in a rule; known: id, backend"},
           {"case = 'matmull/*'", "names no operator; known: matmul, reduce"},
           {"case = 'matmul/f23/*'", "f23"},
           {"case = 'matmul/f32/m=1,kk=*'", "has a key 'kk'"},
           {"case = 'matmul/*kind=max*'", "has a key 'kind'"},
           {"case = 'reduce/*/fill=specal*'", "no fill matches 'specal*'"},
           {"case = 'matmul/f32/m=1,n=8/fill=ramp/seed=0'", "matmul needs k="},
           {"case = 'matmul/f32/n=8,m=1,k=2/fill=ramp/seed=0'", "its id is matmul/f32/m=1,n=8,k=2/"}}) {
    const std::string error = RefusalOf(Rule(line));
    EXPECT_THAT(error, StartsWith(line.find('\n') == std::string::npos ? "f:6: " : "f:7: ")) << line;
    EXPECT_THAT(error, HasSubstr(what)) << line;
  }
  const std::string head = "[[known_failure]]\nid = 'a'\n";
  EXPECT_THAT(RefusalOf(head + "verdicts = 'crash'\nreason = 'r'"), HasSubstr("f:1: the rule a has no key 'backend'"));
  EXPECT_THAT(RefusalOf(head + "backend = 'b'\nreason = 'r'"), HasSubstr("no key 'verdicts'"));
  EXPECT_THAT(RefusalOf(head + "backend = 'b'\nverdicts = 'crash'"), HasSubstr("no key 'reason'"));
  EXPECT_THAT(RefusalOf(head + "verdicts = ['crash', 'mismach']"), HasSubstr("f:3: 'mismach' is not one of mismatch"));
  EXPECT_THAT(RefusalOf("[[known_failure]]\nid = 'a b'"), HasSubstr("f:2: the id 'a b' is not one word"));
  EXPECT_THAT(RefusalOf("[[known_falure]]\nid = 'a'"), HasSubstr("f:1: no key 'known_falure'; known: established"));
  EXPECT_THAT(RefusalOf("[known_failure]\nid = 'a'"),
              HasSubstr("f:1: 'known_failure' must be a list of tables; write [["));
  EXPECT_THAT(RefusalOf("matmul/* | lib:* | known_failure | r"), StartsWith("f:1: not TOML"));
  EXPECT_THAT(RefusalOf(Rule("op = 'matmul'") + Rule("op = 'matmul'")), HasSubstr("f:7: the id 'name' is that of f:1"));
}

TEST(Expectations, GlobsThatSomeCaseCanMatchAreTaken) {
  for (const char* glob : {"*", "m*", "matmul/*", "*/f32/*", "reduce/*,kind=max*/fill=special*", "*kind=max*",
                           "*/fill=cancel-*/*", "matmul/*f16*", "matmul/f32/m=?,n=8,k=2/fill=ramp/seed=0"}) {
    EXPECT_EQ(RefusalOf(Rule("case = '" + std::string(glob) + "'")), "no error") << glob;
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
