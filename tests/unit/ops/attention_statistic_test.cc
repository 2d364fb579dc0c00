// SPDX-License-Identifier: Apache-2.0
// Correct attention stays below half of what the statistic permits: materialised and by blocks, in any order, with
// functions as bad as declared, biased or not. Small errors that keys have in common exceed it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/statistic/outliers.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/attention.h"

namespace assay::test {
namespace {

// A case with what judges it.
struct StatisticCase {
  Problem problem;
  Contract contract;
  std::vector<Tensor> inputs;
  Golden golden;
  DeclaredBound bound;

  StatisticCase(const std::string& id, const char* declaration, Tier tier = Tier::kFast)
      : StatisticCase(id, declaration, Op("attention").MakeInputs(Bind(id)), tier) {}
  StatisticCase(const std::string& id, const char* declaration, std::vector<Tensor> data, Tier tier)
      : problem(Bind(id)),
        contract(Declared(declaration)),
        inputs(std::move(data)),
        golden(Op("attention").ComputeGolden(problem, 0, inputs, tier)),
        bound(BoundOf(problem, golden, contract)) {}

  // The largest deviation of a form over all rows, in the threshold of one element.
  double Margin(const AttentionForm& form, const AttentionFault& fault = {}) const {
    const AttentionArgs op(problem);
    const ElementJudge judge = JudgeBy(bound, golden);
    double largest = 0;
    for (int64_t row = 0; row < op.Rows(); ++row) {
      const std::vector<double> got = RunAttentionRow(problem, inputs, row, contract, form, fault);
      for (int64_t c = 0; c < op.dv; ++c) {
        const int64_t i = row * op.dv + c;
        largest = std::max(largest, judge.Deviation(i, judge.Judge(i, got[c])));
      }
    }
    return largest / kElementThreshold;
  }
};

constexpr const char* kStatisticShapes[] = {
    "b=1,h=2,hkv=1,l=3,s=137,d=16,dv=5,causal=1", "b=1,h=1,l=3,s=80,d=64,dv=4,mask=bool",
    "b=1,h=1,l=3,s=40,d=7,dv=3,mask=add",         "b=1,h=1,l=2,s=97,d=8,dv=6,softcap=3",
    "b=1,h=1,l=4,s=9,d=64,dv=8,window=3,scale=1", "b=1,h=1,l=3,s=2,d=16,dv=3"};

TEST(AttentionStatistic, LegalFormsStayBelowHalfOfIt) {
  struct TypeCase {
    const char *dtype, *declaration;
  };
  double largest = 0;
  uint64_t seed = 0;
  int64_t ran = 0;
  for (const TypeCase& type : {TypeCase{"f32", "acc=f32;math=1"}, TypeCase{"f32", "acc=f32;math=4"},
                               TypeCase{"f32", "acc=f32;mid=bf16;math=2"}, TypeCase{"f16", "acc=f32;math=2;mid=f16"},
                               TypeCase{"bf16", "acc=f32;math=2"}, TypeCase{"f16", "acc=f16;math=1"}}) {
    for (const char* fill : {"normal", "uniform", "lognormal", "outlier"}) {
      for (const char* shape : kStatisticShapes) {
        const std::string id = fmt::format("attention/{}/{}/fill={}/seed={}", type.dtype, shape, fill, seed++);
        SCOPED_TRACE(id + " " + type.declaration);
        const StatisticCase tested(id, type.declaration, seed % 2 == 0 ? Tier::kFast : Tier::kReproducible);
        if (!tested.bound.statistic.applicable || tested.bound.statistic.stagnates) continue;
        const std::vector<AttentionForm> forms = AllAttentionForms(seed);
        for (size_t at = seed % 2; at < forms.size(); at += 2) {
          const AttentionForm& form = forms[at];
          const double margin = tested.Margin(form);
          EXPECT_LE(margin, 0.5) << "block " << form.block << " bias " << static_cast<int>(form.bias);
          largest = std::max(largest, margin), ++ran;
        }
      }
    }
  }
  EXPECT_GT(ran, 2000);
  EXPECT_GT(largest, 0.02);
  RecordProperty("largest", fmt::format("{:.3f}", largest));
  fmt::print("attention: {} tensors, largest deviation {:.3f} of the threshold\n", ran, largest);
}

// A subnormal element of a query beside one of nearly the largest number of a key: whoever flushes it loses a part of
// the score, and declares that.
TEST(AttentionStatistic, AFlushedOperandMayTakeAwayAScore) {
  const std::string id = "attention/f32/b=1,h=1,l=4,s=24,d=8,dv=8/fill=normal/seed=5";
  std::vector<Tensor> data = Op("attention").MakeInputs(Bind(id)), flushed = Op("attention").MakeInputs(Bind(id));
  for (std::vector<Tensor>* inputs : {&data, &flushed}) {
    for (int64_t row = 0; row < 4; ++row) (*inputs)[0].As<float>()[row * 8 + 3] = 0;
    (*inputs)[1].As<float>()[7 * 8 + 3] = 3.3e38F;
  }
  data[0].As<float>()[2 * 8 + 3] = 1e-38F;
  const auto margin = [&](const char* declaration) {
    std::vector<Tensor> own;
    for (const Tensor& operand : data) own.push_back(operand.Clone());
    StatisticCase tested(id, declaration, std::move(own), Tier::kFast);
    tested.inputs[0] = flushed[0].Clone();
    return tested.Margin({.block = 8});
  };
  EXPECT_GT(margin("acc=f32;math=2"), 100);
  EXPECT_LE(margin("acc=f32;math=2;ftz=all"), 0.5);
}

// A scale that is right in its first five digits.
TEST(AttentionStatistic, SeesAScaleOfFiveDigits) {
  const StatisticCase tested("attention/f32/b=1,h=2,l=48,s=96,d=16,dv=16/fill=normal/seed=1", "acc=f32;math=2");
  EXPECT_LE(tested.Margin({.block = 16}), 0.5);
  EXPECT_GT(tested.Margin({.block = 16}, {.scale = 1 + 2e-5}), 1);
}

}  // namespace
}  // namespace assay::test
