// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "harness/judge/statistic/row_lean.h"
#include "ops/formula_operator/formula_operator.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using Sums = std::vector<std::vector<double>>;
constexpr int64_t kRows = 16;

// An operator of which only the sums of an element are known, and which cannot be cut into parts.
class Listed final : public Operator {
 public:
  explicit Listed(std::function<Sums(int64_t)> sums) : sums_(std::move(sums)) {
    problem.outputs = {{"y", DType::kF32, {kRows}}};
  }
  const OpSchema& schema() const override { return schema_; }
  Result<Problem> Bind(const CaseSpec&) const override { return problem; }
  std::vector<Tensor> MakeInputs(const Problem&) const override { return {}; }
  Golden ComputeGolden(const Problem&, size_t /*output*/, std::span<const Tensor>, Tier) const override { return {}; }
  BoundModel Bound(const Problem&, size_t /*output*/, const Golden&, const Contract&) const override { return {}; }
  std::optional<Twin> MakeTwin(const Problem&, size_t /*output*/, const Contract&, int) const override {
    return std::nullopt;
  }
  std::vector<Mutant> OmittedTerms(const Problem&, size_t /*output*/, std::span<const Tensor>, std::span<const double>,
                                   std::span<const int64_t>) const override {
    return {};
  }
  ProblemTraits TraitsOf(const Problem&, size_t /*output*/) const override { return {.sums = adds}; }
  Sums SummedTerms(const Problem&, size_t /*output*/, std::span<const Tensor>, const Contract&,
                   int64_t element) const override {
    most = std::max(most.load(), ++at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --at_once;
    return sums_(element);
  }
  double Measure() const { return MeasureSumLean(*this, problem, 0, {}, Declared("acc=f32"), kRows); }

  Problem problem;
  bool adds = true;
  mutable std::atomic<int> at_once = 0, most = 0;

 private:
  std::function<Sums(int64_t)> sums_;
  OpSchema schema_;
};

const Sums kKnown = {{1, 0.1, 0.3}, {2, 0.7}};

TEST(SumLean, IsKnownWhereAllRowsShowTheirSums) {
  const Listed op([](int64_t) { return kKnown; });
  EXPECT_GT(op.Measure(), 0);
  EXPECT_LT(op.Measure(), 1e-6);
}

TEST(SumLean, OfSumsThatAreNotListedIsNotKnown) {
  for (const Sums& other : {Sums{}, Sums{{1, 2}}, Sums{{1, 2}, {}}, Sums{{1, 2}, {1, 2}, {1, 2}}}) {
    EXPECT_EQ(Listed([&](int64_t row) { return row == 0 ? kKnown : other; }).Measure(), INFINITY) << other.size();
    EXPECT_EQ(Listed([&](int64_t row) { return row == 0 ? other : kKnown; }).Measure(), INFINITY) << other.size();
  }
  EXPECT_EQ(Listed([](int64_t) { return Sums{}; }).Measure(), INFINITY);
}

TEST(SumLean, OfAnOperatorThatAddsNothingIsNone) {
  Listed op([](int64_t) { return Sums{}; });
  op.adds = false;
  EXPECT_EQ(op.Measure(), 0);
}

// Each row may take half a gigabyte where all operands are evaluated for it.
TEST(SumLean, MeasuresRowsThatAreNoPartsOneAfterTheOther) {
  const Listed op([](int64_t) { return kKnown; });
  op.Measure();
  EXPECT_EQ(op.most, 1);
}

// 2^27 products of operands of 2^18 elements.
TEST(SumLean, OfProductsThatAreTooManyToListIsNotKnown) {
  const FormulaOperator op("all_products", [](formula::Definition& d) {
    d.SetDoc("y = sum of x w over k and j");
    const formula::Axis m = d.Axis("m", "rows"), j = d.Axis("j", "columns"), k = d.Axis("k", "products");
    const formula::Expr x = d.In("x", m + k), w = d.In("w", j + k);
    d.Out("y", formula::Sum(x * w, j + k), m);
  });
  const Problem problem = op.Bind(ParseId("all_products/f32/m=512,j=512,k=512/fill=normal/seed=0").value()).value();
  const Sums sums = op.SummedTerms(problem, 0, op.MakeInputs(problem), Declared("acc=f32"), 0);
  EXPECT_EQ(sums, Sums{{}});
}

}  // namespace
}  // namespace assay::test
