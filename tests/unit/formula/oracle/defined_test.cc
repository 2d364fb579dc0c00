// SPDX-License-Identifier: Apache-2.0
// Properties of operators from a file of definitions, $ASSAY_DEFINITIONS: those that the tests of the registry check of
// operators in C++. The test formula.daily gives it the shipped operators of ops/compositions/daily.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/core/base/whole_file.h"
#include "ops/definition_file.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

void ExpectNothing(const Findings& findings) {
  for (const std::string& problem : findings.problems) ADD_FAILURE() << problem;
  EXPECT_GT(findings.checked, 0);
}

class Defined : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("ASSAY_DEFINITIONS");
    if (path == nullptr) GTEST_SKIP() << "$ASSAY_DEFINITIONS names no file of definitions";
    const auto text = ReadWholeFile(path);
    ASSERT_TRUE(text) << text.error().message;
    const auto names = AddDefinitions(*text, path);
    ASSERT_TRUE(names) << names.error().message;
    for (const std::string& name : *names)
      operators_.push_back(dynamic_cast<const FormulaOperator*>(OperatorRegistry::Global().Find(name)));
  }
  std::vector<const FormulaOperator*> operators_;
};

TEST_F(Defined, GoldenValuesAreWithinTheirErrorOfTheExactOnes) {
  for (const FormulaOperator* op : operators_) {
    SCOPED_TRACE(op->schema().op);
    ExpectNothing(CheckGoldenValues(*op));
  }
}

TEST_F(Defined, CorrectImplementationsAreAccepted) {
  for (const FormulaOperator* op : operators_) {
    SCOPED_TRACE(op->schema().op);
    SlackReport slack;
    ExpectNothing(CheckLegalExecutions(*op, slack));
    for (const auto& [key, worst] : slack) {
      fmt::print("{:60} largest legal error / bound {:.3f}\n",
                 fmt::format("{} {} {}", op->schema().op, key.types, key.output), worst.value_or(0));
    }
  }
}

TEST_F(Defined, CorrectImplementationsAreAcceptedOnHardData) {
  for (const FormulaOperator* op : operators_) {
    SCOPED_TRACE(op->schema().op);
    ExpectNothing(CheckExecutionsOfHardData(*op));
  }
}

// Where something can be forgotten, the twin of that output shows it, in every type. Pages and windows make sums many
// times as long as an axis, or keep them short.
TEST_F(Defined, TwinsShowMissingTerms) {
  for (const FormulaOperator* op : operators_) {
    SCOPED_TRACE(op->schema().op);
    TwinReport twins;
    const Findings findings = CheckTwins(*op, twins, {.long_least = 33, .long_most = 80, .least_terms = 1});
    for (const std::string& problem : findings.problems) ADD_FAILURE() << problem;
    for (const auto& [key, count] : twins) {
      fmt::print("{:60} missing terms seen {} of {}\n", fmt::format("{} {} {}", op->schema().op, key.second, key.first),
                 count.seen, count.all);
    }
  }
}

TEST_F(Defined, NineOfTenElementsAreJudged) {
  for (const FormulaOperator* op : operators_) {
    JudgedReport report;
    CountJudged(*op, report);
    for (const auto& [key, count] : report) {
      const auto& [output, types, fill] = key;
      const double share = static_cast<double>(count.judged) / static_cast<double>(count.all);
      fmt::print("{:60} judged {:.3f}\n", fmt::format("{} {} {} {}", op->schema().op, types, output, fill), share);
      EXPECT_GE(share, 0.9) << op->schema().op << " " << types << " " << output << " " << fill;
    }
  }
}

}  // namespace
}  // namespace assay::test
