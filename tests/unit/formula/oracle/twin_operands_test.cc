// SPDX-License-Identifier: Apache-2.0
// A twin has the data by which the most missing terms are seen: a window in one operand, or signs in all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/definition_file.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

constexpr const char* kFile = R"json({"assay_definitions": 1, "operators": [
  {"op": "behind_another", "doc": "dy - exp(y) sum(dy)", "types": ["bf16", "f16", "f32"],
   "axes": [{"name": "rows"}, {"name": "n"}],
   "inputs": [{"name": "y", "axes": ["rows", "n"]}, {"name": "dy", "axes": ["rows", "n"]}],
   "nodes": [{"name": "p", "f": "exp", "of": ["y"]}, {"name": "all", "f": "sum", "of": ["dy"], "axes": ["n"]},
             {"name": "part", "f": "multiply", "of": ["p", "all"]}, {"name": "z", "f": "subtract", "of": ["dy", "part"]}],
   "outputs": [{"name": "dx", "is": "z", "axes": ["rows", "n"]}]},
  {"op": "weighed_by_scores", "doc": "softmax(k q) v", "types": ["f32"],
   "axes": [{"name": "n", "extent": 40}, {"name": "d", "extent": 8}, {"name": "e"}],
   "inputs": [{"name": "q", "axes": ["d"]}, {"name": "k", "axes": ["n", "d"]}, {"name": "v", "axes": ["n", "e"]}],
   "nodes": [{"name": "score", "f": "contraction", "of": ["k", "q"], "axes": ["d"]},
             {"name": "small", "f": "multiply", "of": ["score", "0.125"]}, {"name": "p", "f": "exp", "of": ["small"]},
             {"name": "all", "f": "sum", "of": ["p"], "axes": ["n"]},
             {"name": "some", "f": "contraction", "of": ["p", "v"], "axes": ["n"]},
             {"name": "z", "f": "divide", "of": ["some", "all"]}],
   "outputs": [{"name": "y", "is": "z", "axes": ["e"]}]},
  {"op": "variance_of_two", "doc": "mean((x - mean(x))^2)", "types": ["f32"],
   "axes": [{"name": "rows"}, {"name": "two", "extent": 2}],
   "inputs": [{"name": "x", "axes": ["rows", "two"]}],
   "nodes": [{"name": "middle", "f": "mean", "of": ["x"], "axes": ["two"]},
             {"name": "off", "f": "subtract", "of": ["x", "middle"]},
             {"name": "square", "f": "multiply", "of": ["off", "off"]},
             {"name": "z", "f": "mean", "of": ["square"], "axes": ["two"]}],
   "outputs": [{"name": "y", "is": "z", "axes": ["rows"]}]}]})json";

class TwinOperands : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto added = AddDefinitions(kFile, "twins.json");
    ASSERT_TRUE(added) << added.error().message;
  }
  static size_t CountShown(const char* name, const TwinLengths& lengths = {}) {
    TwinReport twins;
    const auto& op = dynamic_cast<const FormulaOperator&>(*OperatorRegistry::Global().Find(name));
    EXPECT_THAT(CheckTwins(op, twins, lengths).problems, ::testing::IsEmpty());
    return twins.size();
  }
};

// exp(y) of a window in y, the first operand, hides what lacks in the sum.
TEST_F(TwinOperands, TheOneThatShowsTheMostIsTaken) {
  EXPECT_EQ(CountShown("behind_another"), kIsFull ? 3U : 2U) << "one output of three types";
}

// With equal keys a missing term of a score changes all scores alike, and with equal values no score counts.
TEST_F(TwinOperands, HaveSignsWhereSeveralHaveToVary) {
  EXPECT_EQ(CountShown("weighed_by_scores", {.long_least = 33, .long_most = 80, .least_terms = 1}), 1U);
}

// Two equal terms have no deviation from their mean, so that no window of two shows anything.
TEST_F(TwinOperands, AWindowInASumOfTwoTermsHasOne) {
  const Problem problem = Bind("variance_of_two/f32/rows=5/fill=normal/seed=0");
  const std::optional<Twin> twin = Op("variance_of_two").MakeTwin(problem, 0, Declared("f32acc;math=2"), 0);
  ASSERT_TRUE(twin);
  EXPECT_GT(twin->expected[0], 0);
}

}  // namespace
}  // namespace assay::test
