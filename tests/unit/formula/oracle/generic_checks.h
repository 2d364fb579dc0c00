// SPDX-License-Identifier: Apache-2.0
// Properties of every operator that is a formula, checked on cases that its schema alone decides
// (ops/formula_operator/cases.h): golden values against exact arithmetic, bounds against correct executions, twins
// against omitted terms, and how tight bounds are. Nothing here knows the name of an operator, an axis or an attribute.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ops/formula_operator/formula_operator.h"
#include "tests/support/full.h"

namespace assay::test {

// `formula` is what kernels compute and what is exact; `judged` has the golden values, bounds and twins that are
// checked. Both are one operator, but where a test shows that a wrong one is found.
struct Subject {
  Subject(const FormulaOperator& op) : formula(op), judged(op) {}  // NOLINT: an operator is its own subject
  Subject(const FormulaOperator& right, const Operator& wrong) : formula(right), judged(wrong) {}
  const FormulaOperator& formula;
  const Operator& judged;
};

struct Findings {
  std::vector<std::string> problems;  // none: all is well
  int64_t checked = 0;                // numbers, executions, or omitted terms
};

// Every list of types has cases, and every value of a choice or flag occurs in some; problems say what the operator
// refused. `checked` counts the cases.
Findings CheckCases(const FormulaOperator& op);

// Both tiers and all schedules, element by element.
Findings CheckGoldenValues(const Subject& subject);

// An output with a schedule and a list of types.
struct SlackKey {
  std::string output;
  Algorithm schedule = Algorithm::kDirect;
  std::string types;
  auto operator<=>(const SlackKey&) const = default;
};
// The largest error of a correct execution over the bound. Nothing where results are exact by their nature.
using SlackReport = std::map<SlackKey, std::optional<double>>;

// Executions for each output, schedule and list of types, spread over its cases.
inline const int64_t kExecutions = (kIsFull ? 1000 : 100) * ASSAY_TEST_SEEDS;
Findings CheckLegalExecutions(const Subject& subject, SlackReport& slack);

// Executions on hard data must be accepted: ends of the range, NaN, infinities and subnormal numbers, also if these are
// flushed and if partial results are stored.
inline const size_t kHardCases = kIsFull ? 60 : 12;
inline const uint64_t kExecutionsOfHardData = kIsFull ? 40 : 4;
Findings CheckExecutionsOfHardData(const Subject& subject);

// Elements of which something is promised, by output, list of types and fill.
struct JudgedCount {
  int64_t judged = 0, all = 0;
};
using JudgedReport = std::map<std::tuple<std::string, std::string, std::string>, JudgedCount>;
void CountJudged(const Subject& subject, JudgedReport& report);

// A bound that no output of any types comes near is of no use. `checked` counts outputs with their schedules.
inline constexpr double kLeastSlack = 0.05;
Findings CheckSlack(const SlackReport& slack);

// Omitted terms that change a result, and how many of them are seen, by output and list of types. A share of kLeastSeen
// must be seen: a step of a recurrence that happens to be like the one before it changes hardly anything.
inline constexpr double kLeastSeen = 0.99;
struct TwinCount {
  int64_t seen = 0, all = 0;
  std::string example = {};  // a case with terms that are not seen
};
using TwinReport = std::map<std::pair<std::string, std::string>, TwinCount>;
// How long axes are in turn. Of sums with fewer than `least_terms` nothing is asked.
inline constexpr int64_t kLongSum = 32;
struct TwinLengths {
  int64_t long_least = 300, long_most = 1100, least_terms = kLongSum;
};
Findings CheckTwins(const Subject& subject, TwinReport& twins, const TwinLengths& lengths = {});

}  // namespace assay::test
