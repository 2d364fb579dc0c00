// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/special_values.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Verdict, NamesParseBack) {
  for (int k = 0; k < kVerdictCount; ++k) {
    const auto verdict = static_cast<Verdict>(k);
    EXPECT_EQ(ParseVerdict(Name(verdict)).value(), verdict);
  }
  EXPECT_EQ(Name(Verdict::kBelowContract), "below_contract");
  EXPECT_EQ(Name(ResultClass::kBitExact), "bit_exact");
  EXPECT_EQ(Name(ResultClass::kWithinLowerClass), "within_lower_class");
  EXPECT_EQ(Name(ResultClass::kNone), "none");
  EXPECT_THAT(ParseVerdict("passed").error().message, AllOf(HasSubstr("'passed'"), HasSubstr("below_contract")));
}

struct ExitCase {
  std::vector<Verdict> verdicts;
  ExitFlags flags;
  int code;
};

TEST(Verdict, ExitCodes) {
  using enum Verdict;
  const ExitCase cases[] = {
      {{kPass}, {}, 0},
      {{kPass, kUnsupported, kUnavailable}, {}, 0},
      {{}, {}, 4},
      {{kUnsupported}, {}, 4},
      {{kUnavailable, kUnsupported}, {}, 4},
      {{kBelowContract}, {}, 1},
      {{kMismatch}, {}, 1},
      {{kNondeterministic, kPass}, {}, 1},
      {{kInconclusive}, {}, 0},
      {{kInconclusive}, {.strict = true}, 1},
      {{kPass}, {.strict = true}, 0},
      {{kPass}, {.suspects = true}, 0},
      {{kPass}, {.strict = true, .suspects = true}, 1},
      {{kPass}, {.unexpected_pass = true}, 1},
      {{kCrash}, {}, 3},
      {{kTimeout}, {}, 3},
      {{kError}, {}, 3},
      {{kMissing}, {}, 3},
      {{kMismatch, kCrash}, {}, 3},
      {{kPass}, {.required_backend_absent = true}, 5},
      {{kMismatch}, {.required_backend_absent = true}, 5},
      {{kCrash}, {.required_backend_absent = true}, 3},
      {{kUnavailable}, {.required_backend_absent = true}, 5},
      {{kCrash}, {.usage_error = true}, 2},
      {{}, {.usage_error = true}, 2},
      {{kCrash}, {.interrupted = true, .usage_error = true}, 130},
  };
  for (size_t k = 0; k < std::size(cases); ++k) {
    EXPECT_EQ(ExitCode(cases[k].verdicts, cases[k].flags), cases[k].code) << "case " << k;
  }
}

JudgeInputs GoodEvidence() {
  JudgeInputs e;
  e.shape = {4, 8};
  e.runs.resize(2);
  for (ErrorMetrics& m : e.runs) m.elements = m.finite = 32, m.bound_margin = 0.25;
  e.declared = e.required = ParseDeclaration("f32").value();
  e.power = MutationPower{.power = 1};
  return e;
}

PropertyFinding Broken(bool claimed) {
  return {
      .name = "position", .claimed = claimed, .broken = 1, .margin = kInf, .where = "element [0,1] is 2, expected 1"};
}

void AddViolation(ErrorMetrics& m) {
  m.violations = 1;
  m.bound_margin = 4;
  m.worst = {{.index = 13, .got = 1.5, .golden = 1, .error = 0.5, .tolerance = 0.125}};
  m.where = "1 of 32 elements, [1,5]";
}

// Unlike the implementation's other results, which fails nothing.
void MakeSuspect(ErrorMetrics& m) {
  m.statistic.applicable = true;
  m.statistic.self_margin = 1.5;
  m.statistic.self_reason = "element [0,1] is 15 times as far off as the others";
}

TEST(WorstOf, SeveralOutputsIsTheHeavierVerdictThenTheWeakerClassThenTheLargerMargin) {
  const auto with = [](Verdict verdict, ResultClass result_class, double margin) {
    return Decision{.verdict = verdict, .result_class = result_class, .reason = "", .bound_margin = margin};
  };
  using enum Verdict;
  using RC = ResultClass;
  const Decision exact = with(kPass, RC::kBitExact, 0.9), within = with(kPass, RC::kWithinClass, 0.1);
  const Decision far = with(kPass, RC::kWithinClass, 0.2), blind = with(kInconclusive, RC::kWithinClass, 0);
  const Decision wrong = with(kMismatch, RC::kNone, 3), weak = with(kBelowContract, RC::kWithinLowerClass, 9);
  Decision memory = with(kMismatch, RC::kNone, 0);
  memory.memory_fault = true;
  const auto worst = [](std::vector<Decision> outputs) { return WorstOf(outputs); };
  EXPECT_EQ(worst({exact}), 0U);
  EXPECT_EQ(worst({within, within}), 0U);
  EXPECT_EQ(worst({exact, within}), 1U);
  EXPECT_EQ(worst({within, exact, far}), 2U);
  EXPECT_EQ(worst({far, blind}), 1U);
  EXPECT_EQ(worst({weak, wrong, blind}), 1U);
  EXPECT_EQ(worst({wrong, memory}), 1U);
}

struct DecideCase {
  const char* name;
  std::function<void(JudgeInputs&)> change;
  Verdict verdict;
  ResultClass result_class;
  std::string reason;
};

const std::vector<DecideCase>& DecideCases() {
  using enum Verdict;
  using RC = ResultClass;
  static const Contract f16acc = ParseDeclaration("f16acc").value();
  static const std::vector<DecideCase> cases = {
      {"Plain", [](JudgeInputs&) {}, kPass, RC::kWithinClass, ""},
      {"BitExact",
       [](JudgeInputs& e) {
         for (auto& m : e.runs) m.bit_exact = true;
       },
       kPass, RC::kBitExact, ""},
      {"OneRunBitExact", [](JudgeInputs& e) { e.runs[0].bit_exact = true; }, kPass, RC::kWithinClass, ""},
      {"Suspect", [](JudgeInputs& e) { MakeSuspect(e.runs[1]); }, kPass, RC::kSuspect, "suspect: element [0,1]"},
      {"BitsDifferUnclaimed", [](JudgeInputs& e) { e.bits_equal = false; }, kPass, RC::kWithinClass, ""},
      {"BitsDifferClaimed", [](JudgeInputs& e) { e.bits_equal = false, e.declared.deterministic = true; },
       kNondeterministic, RC::kWithinClass, "det=yes is declared"},
      {"BelowContract", [](JudgeInputs& e) { e.declared = f16acc; }, kBelowContract, RC::kWithinLowerClass,
       "within its own contract, but the implementation declares acc=f16 and the case requires acc="},
      {"BelowContractThoughBitExact",
       [](JudgeInputs& e) {
         e.declared = f16acc;
         for (auto& m : e.runs) m.bit_exact = true;
       },
       kBelowContract, RC::kWithinLowerClass, "exact here, but the implementation declares acc=f16 and the case "},
      {"Inconclusive", [](JudgeInputs& e) { e.power = MutationPower{.power = 0.98, .missed = "an output of zeros"}; },
       kInconclusive, RC::kWithinClass, "missed: an output of zeros"},
      {"UserConstant",
       [](JudgeInputs& e) {
         e.user_data = true;
         e.power =
             MutationPower{.power = 0, .whole_caught = 2, .whole_total = 3, .missed = "a constant output at the mean"};
       },
       kPass, RC::kWithinClass, ""},
      {"UserZeros",
       [](JudgeInputs& e) {
         e.user_data = true;
         e.power = MutationPower{.power = 0, .missed = "an output of zeros", .blank = "an output of zeros"};
       },
       kInconclusive, RC::kWithinClass, "would accept an output of zeros as well"},
      {"UserMostZeros",
       [](JudgeInputs& e) {
         e.user_data = true;
         MakeSuspect(e.runs[0]);
         e.power = MutationPower{.nonzero = 9, .zeros_accepted = 5};
       },
       kInconclusive, RC::kSuspect, "a zero in place of 5 of 9 results as well"},
      {"PowerEnough", [](JudgeInputs& e) { e.power->power = 0.99; }, kPass, RC::kWithinClass, ""},
      {"PowerUnknown", [](JudgeInputs& e) { e.power.reset(); }, kPass, RC::kWithinClass, ""},
      {"Bound", [](JudgeInputs& e) { AddViolation(e.runs[1]); }, kMismatch, RC::kNone,
       "bound channel in run 2: 1 beyond the bound, worst element [1,5] got 1.5, golden 1, error 0.5, tolerance 0.125; "
       "1 of 32 elements, [1,5]"},
      {"BoundOfComplexParts",
       [](JudgeInputs& e) {
         AddViolation(e.runs[1]);
         e.runs[1].complex = true, e.runs[1].violations = 2;
       },
       kMismatch, RC::kNone,
       "bound channel in run 2: 2 real and imaginary parts beyond the bound, worst element [1,5] got 1.5, golden 1, "
       "error 0.5, tolerance 0.125; 1 of 32 elements, [1,5]"},
      {"NotFinite",
       [](JudgeInputs& e) {
         e.runs[0].nonfinite_mismatch = 1;
         e.runs[0].nonfinite_example = WorstElement{.index = 13, .got = 0, .golden = kInf, .error = -kInf};
         e.runs[0].where = "[1,5]";
       },
       kMismatch, RC::kNone, "1 wrong among non-finite values, first element [1,5] got 0, golden inf; [1,5]"},
      {"FixedByTheContract",
       [](JudgeInputs& e) {
         e.runs[0].nonfinite_mismatch = 1;
         e.runs[0].nonfinite_example = WorstElement{
             .index = 13, .got = NAN, .golden = NAN, .error = NAN, .decided = 0, .decided_by = "masked=zero"};
         e.runs[0].where = "[1,5]";
       },
       kMismatch, RC::kNone,
       "first element [1,5] got nan, where the contract fixes 0 by masked=zero; a kernel that means NaN there declares "
       "masked=nan; [1,5]"},
      {"SecondSet", [](JudgeInputs& e) { e.second_set = "on other data: 3 of 32 elements"; }, kMismatch, RC::kNone,
       "second input set, after passing with the first: on other data: 3 of 32 elements"},
      {"FirstSetBeforeSecond", [](JudgeInputs& e) { AddViolation(e.runs[0]), e.second_set = "on other data"; },
       kMismatch, RC::kNone, "bound channel in run 1"},
      {"RandomSet", [](JudgeInputs& e) { AddViolation(e.random.emplace(e.runs[0])), e.random_id = "other"; }, kMismatch,
       RC::kNone, "on other: bound channel: 1 beyond the bound"},
      {"StatisticOfRandomSet",
       [](JudgeInputs& e) {
         e.random = e.runs[0], e.random_id = "other";
         e.random->statistic.applicable = true, e.random->statistic.margin = 2;
         e.random->statistic.reason = "7 deviations";
       },
       kMismatch, RC::kNone, "on other: statistic channel: 7 deviations"},
      {"OwnDataBeforeRandom",
       [](JudgeInputs& e) {
         e.random = e.runs[0];
         AddViolation(e.runs[0]), AddViolation(*e.random);
       },
       kMismatch, RC::kNone, "bound channel in run 1"},
      {"MismatchBeforeInconclusive", [](JudgeInputs& e) { AddViolation(e.runs[0]), e.power->power = 0; }, kMismatch,
       RC::kNone, "bound channel in run 1"},
      {"MismatchBeforeBelowContract", [](JudgeInputs& e) { AddViolation(e.runs[0]), e.declared = f16acc; }, kMismatch,
       RC::kNone, "bound channel in run 1"},
      {"Exceptional",
       [](JudgeInputs& e) {
         e.runs[0].nonfinite_mismatch = 2;
         e.runs[0].nonfinite_example = WorstElement{.index = 31, .got = kInf, .golden = 1};
       },
       kMismatch, RC::kNone,
       "exceptional channel in run 1: 2 wrong among non-finite values, first element [3,7] got inf"},
      {"Twin",
       [](JudgeInputs& e) {
         e.twins.resize(2);
         e.twins[1] = {.variant = 1, .wrong = 1, .first = 9, .expected = 12, .got = 9, .max_ulp = 3};
       },
       kMismatch, RC::kNone, "exact channel: exact twin 1: 1 wrong, first element [1,1] got 9, expected 12"},
      {"TwinOfAnotherAccumulator",
       [](JudgeInputs& e) {
         e.declared.acc = Accumulator::kI32;
         e.twins = {{.wrong = 1, .first = 9, .expected = 0x1p24 + 1, .got = 0x1p24, .sum_bits = 24}};
       },
       kMismatch, RC::kNone,
       "exact channel: declares acc=i32, but sums beyond 2^24 are not exact, as in f32; exact twin 0: 1 wrong"},
      {"TwinOfTheDeclaredAccumulator",
       [](JudgeInputs& e) {
         e.declared.acc = Accumulator::kF32;
         e.twins = {{.wrong = 1, .first = 9, .expected = 0x1p24 + 1, .got = 0x1p24, .sum_bits = 24}};
       },
       kMismatch, RC::kNone, "exact channel: exact twin 0: 1 wrong"},
      {"TwinHolds", [](JudgeInputs& e) { e.twins.resize(2); }, kPass, RC::kWithinClass, ""},
      {"PropertyClaimed", [](JudgeInputs& e) { e.properties = {Broken(true)}; }, kMismatch, RC::kNone,
       "metamorphic channel: position does not hold, which the contract claims: element [0,1] is 2, expected 1"},
      {"PropertyOfNobody", [](JudgeInputs& e) { e.properties = {Broken(false)}; }, kPass, RC::kWithinClass, ""},
      {"PropertyAfterBound", [](JudgeInputs& e) { AddViolation(e.runs[0]), e.properties = {Broken(true)}; }, kMismatch,
       RC::kNone, "bound channel in run 1"},
      {"Guards", [](JudgeInputs& e) { e.guard_violations = 3, e.guard_where = "before the output"; }, kMismatch,
       RC::kNone, "3 guard bytes outside the output were overwritten; before the output"},
      {"Inputs",
       [](JudgeInputs& e) {
         e.changed_inputs = {"1 of 4 elements of a were changed", "2 of 4 elements of b were changed"};
       },
       kMismatch, RC::kNone, "memory: 1 of 4 elements of a were changed; 2 of 4 elements of b were changed"},
      {"Unwritten",
       [](JudgeInputs& e) { e.unwritten = 8, e.unwritten_where = "8 of 64 elements of y were not written"; }, kMismatch,
       RC::kNone, "memory: 8 of 64 elements of y were not written"},
  };
  return cases;
}

TEST(Decide, Table) {
  for (const DecideCase& c : DecideCases()) {
    JudgeInputs observed = GoodEvidence();
    c.change(observed);
    const Decision decision = Decide(observed);
    EXPECT_EQ(decision.verdict, c.verdict) << c.name << " " << Name(decision.verdict);
    EXPECT_EQ(decision.result_class, c.result_class) << c.name << " " << Name(decision.result_class);
    if (c.reason.empty()) {
      EXPECT_EQ(decision.reason, "") << c.name;
    } else {
      EXPECT_THAT(decision.reason, HasSubstr(c.reason)) << c.name;
    }
  }
}

TEST(Decide, NamesWhatDecidedWhereNoMarginDoes) {
  JudgeInputs observed = GoodEvidence();
  EXPECT_EQ(Decide(observed).decided_by, "");
  observed.second_set = "on other data";
  EXPECT_EQ(Decide(observed).decided_by, "second input set");
  AddViolation(observed.runs[0]);
  EXPECT_EQ(Decide(observed).decided_by, "");
  observed.changed_inputs = {"a was changed"};
  EXPECT_EQ(Decide(observed).decided_by, "memory");
}

TEST(Decide, Margins) {
  JudgeInputs observed = GoodEvidence();
  observed.runs[1].bound_margin = 0.5;
  Decision decision = Decide(observed);
  EXPECT_EQ(decision.bound_margin, 0.5);
  EXPECT_EQ(decision.exceptional_margin, 0);
  EXPECT_FALSE(decision.exact_margin);
  observed.properties = {Broken(false)};
  EXPECT_FALSE(Decide(observed).metamorphic_margin);
  observed.properties.push_back({.name = "roll", .claimed = true, .margin = 0.25});
  EXPECT_EQ(Decide(observed).metamorphic_margin, 0.25);
  observed.twins.resize(1);
  EXPECT_EQ(Decide(observed).exact_margin, 0);
  observed.twins[0].margin = 0.75;
  observed.runs[0].nonfinite_mismatch = 1;
  decision = Decide(observed);
  EXPECT_EQ(decision.exact_margin, 0.75);
  EXPECT_EQ(decision.exceptional_margin, kInf);
}

TEST(Decide, MarginsAreTheLargerOnesOfOwnAndRandomData) {
  const auto with = [](double bound, double statistic) {
    ErrorMetrics m = GoodEvidence().runs[0];
    m.bound_margin = bound, m.statistic.applicable = true, m.statistic.margin = statistic;
    if (statistic > 1) m.statistic.reason = "beyond 8 standard deviations";
    return m;
  };
  JudgeInputs observed = GoodEvidence();
  observed.runs.assign(2, with(0.5, 3)), observed.random = with(0.125, 0.02), observed.random_id = "other";
  Decision decision = Decide(observed);
  EXPECT_EQ(decision.verdict, Verdict::kMismatch);
  EXPECT_EQ(decision.stat_margin, 3);
  EXPECT_EQ(decision.bound_margin, 0.5);
  observed.runs.assign(2, with(0.125, 0.02)), observed.random = with(0.5, 3);
  decision = Decide(observed);
  EXPECT_EQ(decision.stat_margin, 3);
  EXPECT_EQ(decision.bound_margin, 0.5);
  observed.runs[0].statistic.applicable = observed.runs[1].statistic.applicable = false;
  EXPECT_EQ(Decide(observed).stat_margin, 3);
}

}  // namespace
}  // namespace assay
