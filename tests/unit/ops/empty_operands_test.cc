// SPDX-License-Identifier: Apache-2.0
// Extents of 0: each is refused with a reason, or has golden values that a result without terms, and no other, meets.
#include "ops/empty_operands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/judge/mutation_power.h"
#include "ops/bound_case.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

constexpr const char* kWrittenByHand[] = {
    "matmul/f32/m=3,n=4,k=5,batch=2,bias=1,beta=0.5/fill=normal/seed=0",
    "matmul/i8-i8-i32/m=3,n=4,k=5,transa=1/fill=normal/seed=0",
    "matmul/f16/m=3,n=4,k=5,epilogue=rounded,beta=2/fill=special/seed=0",
    "reduce/f32/shape=3x4x2,axes=1+2,kind=mean/fill=normal/seed=0",
    "reduce/bf16/shape=3x4x2,axes=0,kind=prod,keepdims=1/fill=edges/seed=0",
    "reduce/f64/shape=3x4x2,axes=2,kind=logsumexp/fill=masked/seed=0",
    "reduce/i8-i32/shape=3x4x2,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=3x4x2,axes=1,kind=argmin/fill=normal/seed=0",
    "softmax/f32/shape=3x4x2,axis=1,log=1/fill=special/seed=0",
    "conv/f32/n=2,c=4,o=2,i=7x6,k=3x2,pad=1,groups=2,bias=1/fill=normal/seed=0",
    "conv/i8-i8-i32/n=2,c=4,o=2,i=7,k=3/fill=normal/seed=0",
    "attention/f32/b=2,h=4,hkv=2,l=5,s=7,d=8,mask=add,mask_per_head=1,causal=1/fill=special/seed=0",
    "attention/bf16/b=2,h=4,l=5,s=7,d=8,mask=bool,masked_rows=nan/fill=normal/seed=0",
    "fft/c64/kind=c2c,n=4x6,batch=2/fill=normal/seed=0",
    "fft/c64-f32/kind=c2r,n=6,batch=2/fill=normal/seed=0",
};

std::vector<CaseSpec> AllCases() {
  std::vector<CaseSpec> cases;
  for (const char* id : kWrittenByHand) cases.push_back(ParseId(id).value());
  for (const Operator* op : OperatorRegistry::Global().All()) {
    for (const CaseSpec& spec : op->FewCases()) cases.push_back(spec);
  }
  return cases;
}

// The case with each of its extents, by itself, at 0.
std::vector<CaseSpec> WithAnExtentOf0(const CaseSpec& spec) {
  std::vector<CaseSpec> cases;
  const OpSchema& schema = Op(spec.op).schema();
  for (size_t i = 0; i < spec.attrs.size(); ++i) {
    const AttrDef* def = schema.Find(spec.attrs[i].first);
    std::string text = spec.attrs[i].second;
    if (def->type == AttrType::kInt && (def->default_value.empty() || def->key == "batch")) text = "0";
    const size_t places = def->type == AttrType::kDims ? 1 + static_cast<size_t>(std::ranges::count(text, 'x')) : 1;
    for (size_t place = 0; place < places; ++place) {
      std::string changed = text;
      if (def->type == AttrType::kDims) {
        size_t at = 0;
        for (size_t k = 0; k < place; ++k) at = changed.find('x', at) + 1;
        changed.replace(at, std::min(changed.find('x', at), changed.size()) - at, "0");
      }
      if (changed == spec.attrs[i].second) continue;
      cases.push_back(spec);
      cases.back().attrs[i].second = changed;
    }
  }
  return cases;
}

// Whether the same contract accepts a value in the whole output.
bool HoldsEverywhere(const ElementJudge& judge, double value) {
  for (int64_t i = 0; i < judge.golden().size(); ++i) {
    if (!judge.Judge(i, value).accepted) return false;
  }
  return true;
}

void JudgeEmptyCase(const BoundCase& bound, std::span<const Tensor> inputs, size_t output) {
  const auto& [op, problem] = bound;
  const bool integers = IsInt(problem.outputs[output].dtype) && IsInt(problem.inputs[0].dtype);
  const Contract contract = Declared(integers ? "acc=i32" : "acc=f64;math=4");
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = op->ComputeGolden(problem, output, inputs, tier);
    EXPECT_EQ(golden.shape, problem.outputs[output].shape);
    const BoundModel model = op->Bound(problem, output, golden, contract);
    const ElementJudge judge(golden, model, contract, problem.outputs[output].dtype);
    EXPECT_EQ(op->TwinVariants(problem, output, contract), 0);
    EXPECT_FALSE(op->MakeTwin(problem, output, contract, 0).has_value());
    EXPECT_TRUE(op->Relations(problem, output).empty());
    if (golden.value.empty()) continue;
    for (int64_t i = 0; i < golden.size(); ++i) EXPECT_TRUE(judge.Judge(i, judge.Rounded(i)).accepted) << i;
    EXPECT_FALSE(HoldsEverywhere(judge, kUnwrittenValue));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(HoldsEverywhere(judge, nan), std::isnan(golden.value[0]));
    const MutationPower power = MeasureMutationPower(*op, problem, output, inputs, golden, model, contract, {});
    EXPECT_EQ(power.power, 1) << power.missed;
  }
}

TEST(EmptyOperands, EachIsRefusedOrJudged) {
  int64_t judged = 0, refused = 0, with_results = 0;
  for (const CaseSpec& whole : AllCases()) {
    for (const CaseSpec& spec : WithAnExtentOf0(whole)) {
      SCOPED_TRACE(spec.Id());
      const auto canonical = Canonicalise(spec, Op(spec.op).schema());
      ASSERT_TRUE(canonical.has_value());
      const auto bound = BindCase(*canonical);
      if (!bound) {
        ++refused;
        EXPECT_EQ(bound.error().code, ErrorCode::kUsage);
        EXPECT_THAT(bound.error().message, testing::StartsWith(spec.op + ": "));
        continue;
      }
      ++judged;
      const Problem& problem = (*bound)->problem;
      const std::vector<Tensor> inputs = (*bound)->op->MakeInputs(problem);
      EXPECT_TRUE((*bound)->op->CheckInputs(problem, inputs).has_value());
      if (!HasEmptyOperand(problem)) continue;  // an extent of no operand
      for (size_t k = 0; k < problem.outputs.size(); ++k) {
        with_results += NumElements(problem.outputs[k].shape) > 0 ? 1 : 0;
        JudgeEmptyCase(**bound, inputs, k);
      }
    }
  }
  EXPECT_GE(judged, 100);
  EXPECT_GE(with_results, 20);
  EXPECT_GE(refused, 10);
}

TEST(EmptyOperands, OthersHaveTheirOwnOperator) {
  const Problem problem = Bind("matmul/f32/m=3,n=4,k=5/fill=normal/seed=0");
  EXPECT_EQ(&OperatorFor(Op("matmul"), problem), &Op("matmul"));
}

// The epilogue of a product of no terms is rounded as usual: half an ulp off is right, and more is not.
TEST(EmptyOperands, AnEpilogueIsAddedToNothing) {
  const auto bound = BindCase(ParseId("matmul/f32/m=2,n=3,k=0,beta=0.3,bias=1/fill=normal/seed=0").value());
  ASSERT_TRUE(bound.has_value());
  const auto& [op, problem] = **bound;
  const std::vector<Tensor> inputs = op->MakeInputs(problem);
  const Golden golden = op->ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const std::vector<double> c = inputs[2].ToDoubles(), bias = inputs[3].ToDoubles();
  const BoundModel model = op->Bound(problem, 0, golden, Declared("acc=f32"));
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double exact = 0.3 * c[i] + bias[i % 3], size = std::fabs(0.3 * c[i]) + std::fabs(bias[i % 3]);
    EXPECT_NEAR(golden.value[i], exact, 1e-15);
    EXPECT_LE(model.At(golden, i), 6.01 * 0x1p-24 * size);  // a rounding each of products and sums
    EXPECT_GT(model.At(golden, i), 0);
  }
}

}  // namespace
}  // namespace assay::test
