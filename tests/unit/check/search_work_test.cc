// SPDX-License-Identifier: Apache-2.0
// A search for causes ends by the work that it has done: the time that this takes on a busy machine is nothing to it.
#include "harness/tools/explain/search_work.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/tools/explain/cause.h"
#include "ops/formula/faults.h"
#include "ops/formula_operator/formula_operator.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

// Softmax whose results are changed.
class WrongSoftmax {
 public:
  explicit WrongSoftmax(const std::function<double(int64_t, double)>& change) {
    std::vector<double> values = golden_.value;
    for (size_t i = 0; i < values.size(); ++i) values[i] = change(static_cast<int64_t>(i), values[i]);
    got_.emplace_back(DType::kF32, problem_.outputs[0].shape).SetDoubles(values);
  }
  std::vector<Cause> Search(SearchWork& work) const {
    return FindCauses({.op = op_,
                       .problem = problem_,
                       .inputs = inputs_,
                       .got = got_,
                       .contract = contract_,
                       .golden = golden_,
                       .tier = Tier::kFast,
                       .elements = {3, 70}},
                      work);
  }

 private:
  const Problem problem_ = Bind("softmax/f32/shape=8x64/fill=normal/seed=0");
  const Operator& op_ = Op("softmax");
  const Contract contract_ = Declared("f32acc");
  const std::vector<Tensor> inputs_ = op_.MakeInputs(problem_);
  const Golden golden_ = op_.ComputeGolden(problem_, 0, inputs_, Tier::kFast);
  std::vector<Tensor> got_;
};

const WrongSoftmax kUnexplained([](int64_t i, double y) { return i % 7 < 3 ? 1.37 * y + 0.001 * double(i % 5) : y; });

TEST(SearchWork, IsTheSameForTheSameData) {
  SearchWork first(1e9), second(1e9);
  EXPECT_TRUE(kUnexplained.Search(first).empty());
  EXPECT_TRUE(kUnexplained.Search(second).empty());
  EXPECT_GT(first.spent(), 0);
  EXPECT_EQ(first.spent(), second.spent());
}

TEST(SearchWork, EndsASearch) {
  SearchWork all(1e9), little(0.001);
  static_cast<void>(kUnexplained.Search(all)), static_cast<void>(kUnexplained.Search(little));
  EXPECT_TRUE(little.IsOver());
  EXPECT_LT(little.spent(), 0.002);
  EXPECT_GT(all.spent(), 2 * little.spent());
}

TEST(SearchWork, LeavesACauseWhereItIsEnough) {
  const WrongSoftmax logarithms([](int64_t, double y) { return std::log(y); });
  SearchWork enough(2), none(0);
  EXPECT_FALSE(logarithms.Search(enough).empty());
  EXPECT_FALSE(enough.IsOver());
  none.Spend(1e-9);
  EXPECT_TRUE(logarithms.Search(none).empty());
}

// A formula in doubles, and what trying it is counted as.
double CountWorkOf(const std::string& id) {
  const Problem problem = Bind(id);
  const auto& op = dynamic_cast<const FormulaOperator&>(Op(problem.spec.op));
  const formula::Definition definition = op.DefinitionOf(problem, 0);
  const std::vector<std::vector<double>> inputs = ReadElements(op.MakeInputs(problem));
  const formula::LaneEvaluator evaluator(definition.graph(), definition.graph().outputs[0], inputs);
  return EstimateSecondsOfGraph(evaluator) + EstimateSecondsOfLane(evaluator);
}

TEST(SearchWork, CountsTheNodesOfALongFormula) {
  const double one = CountWorkOf("gated_delta_rule/f32/b=1,h=1,l=1,d=4,dv=4/fill=normal/seed=0");
  EXPECT_GT(CountWorkOf("gated_delta_rule/f32/b=1,h=1,l=16,d=4,dv=4/fill=normal/seed=0"), 4 * one);
  EXPECT_GT(CountWorkOf("gated_delta_rule/f32/b=1,h=1,l=1,d=256,dv=4/fill=normal/seed=0"), one);
}

}  // namespace
}  // namespace assay::test
