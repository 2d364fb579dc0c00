// SPDX-License-Identifier: Apache-2.0
// A twin shows its window in the operand by which the most missing terms are seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/definition_file.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

constexpr const char* kFile = R"json({"assay_definitions": 1, "operators": [
  {"op": "behind_another", "doc": "dy - exp(y) sum(dy)", "types": ["bf16", "f16", "f32"],
   "axes": [{"name": "rows"}, {"name": "n"}],
   "inputs": [{"name": "y", "axes": ["rows", "n"]}, {"name": "dy", "axes": ["rows", "n"]}],
   "nodes": [{"name": "p", "f": "exp", "of": ["y"]}, {"name": "all", "f": "sum", "of": ["dy"], "axes": ["n"]},
             {"name": "part", "f": "multiply", "of": ["p", "all"]}, {"name": "z", "f": "subtract", "of": ["dy", "part"]}],
   "outputs": [{"name": "dx", "is": "z", "axes": ["rows", "n"]}]}]})json";

// exp(y) of a window in y, the first operand, hides what lacks in the sum.
TEST(TwinOperands, TheOneThatShowsTheMostIsTaken) {
  const auto added = AddDefinitions(kFile, "twins.json");
  ASSERT_TRUE(added) << added.error().message;
  TwinReport twins;
  const auto& op = dynamic_cast<const FormulaOperator&>(*OperatorRegistry::Global().Find("behind_another"));
  EXPECT_THAT(CheckTwins(op, twins).problems, ::testing::IsEmpty());
  EXPECT_EQ(twins.size(), 3) << "one output of three types";
}

}  // namespace
}  // namespace assay::test
