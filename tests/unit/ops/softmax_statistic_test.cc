// SPDX-License-Identifier: Apache-2.0
// An error that all elements of a softmax row share is removed before single elements are judged. Correct kernels, with
// functions as bad as declared, stay within the limit for single elements; a constant of five digits does not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/statistic/shared_rows.h"
#include "ops/softmax/softmax.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/softmax.h"

namespace assay::test {
namespace {

struct SoftmaxJudged {
  Problem problem;
  Contract contract;
  std::vector<Tensor> inputs;
  Golden golden;
  DeclaredBound bound;

  SoftmaxJudged(const std::string& id, const char* declaration)
      : problem(Bind(id)),
        contract(Declared(declaration)),
        inputs(Op("softmax").MakeInputs(problem)),
        golden(Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kFast)),
        bound(BoundOf(problem, golden, contract)) {}

  // x times `factor` is what the exponentials see.
  double Margin(const SoftmaxForm& form, double factor = 1) const {
    const SoftmaxArgs op(problem);
    const std::vector<double> all = inputs[0].ToDoubles();
    std::vector<double> results(all.size());
    for (int64_t row = 0; row < op.rows; ++row) {
      std::vector<double> x;
      for (int64_t k = 0; k < op.terms; ++k) x.push_back(all[op.Offset(row, k)] * factor);
      const std::vector<double> y = RunSoftmaxRow(problem, x, contract, form);
      for (int64_t k = 0; k < op.terms; ++k) results[op.Offset(row, k)] = y[k];
    }
    Tensor got(problem.outputs[0].dtype, problem.outputs[0].shape);
    got.SetDoubles(results);
    return JudgeSharedRows(JudgeBy(bound, golden), got).margin;
  }
};

TEST(SoftmaxStatistic, LegalFormsAreWithinWhatElementsMayBeOff) {
  struct TypeCase {
    const char *dtype, *declaration;
  };
  double largest = 0;
  uint64_t seed = 0;
  for (const TypeCase& type :
       {TypeCase{"f32", "acc=f32"}, TypeCase{"f32", "acc=f32;math=2"}, TypeCase{"f32", "acc=f32;math=4"},
        TypeCase{"bf16", "acc=f32;math=2"}, TypeCase{"f64", "acc=f64;math=1"}}) {
    for (const char* fill : {"normal", "uniform", "lognormal", "outlier"}) {
      for (const char* shape :
           {"shape=3x257", "shape=17x4,axis=0", "shape=2x3", "shape=3x96,log=1", "shape=2x40x3,axis=1"}) {
        const std::string id = fmt::format("softmax/{}/{}/fill={}/seed={}", type.dtype, shape, fill, seed++);
        SCOPED_TRACE(id + " " + type.declaration);
        const SoftmaxJudged judged(id, type.declaration);
        ASSERT_TRUE(judged.bound.statistic.shared_row.has_value());
        for (const SoftmaxForm& form : AllSoftmaxForms(seed)) largest = std::max(largest, judged.Margin(form));
        ASSERT_LE(largest, 0.75);
      }
    }
  }
  EXPECT_GT(largest, 0.1);
  fmt::print("softmax: what is left without the row's own error reaches {:.3f} of what is permitted\n", largest);
}

TEST(SoftmaxStatistic, SeesAConstantOfFiveDigits) {
  const SoftmaxJudged judged("softmax/f32/shape=4x1024/fill=uniform/seed=0", "acc=f32;math=2");
  EXPECT_LE(judged.Margin({}), 0.75);
  EXPECT_GT(judged.Margin({}, 1.4427 / 1.4426950408889634), 1);
}

}  // namespace
}  // namespace assay::test
