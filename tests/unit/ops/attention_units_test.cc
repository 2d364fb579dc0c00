// SPDX-License-Identifier: Apache-2.0
// Keys that are split over units, each with the maximum, the sum and the weighted sum of its own: no correct join
// leaves the hard bound, or half of what the statistic permits. Log-sums are as large as the scores, and so is what
// their rounding costs the weight of a unit.
#include "ops/attention/attention_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/judge/statistic/outliers.h"
#include "ops/binding.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/attention.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

// Inputs whose scores all have `common` in them.
std::vector<Tensor> InputsAround(const Problem& problem, double common) {
  const AttentionArgs op(problem);
  std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  if (common == 0) return inputs;
  // A power of two in q is exact in any type.
  const double of_q = std::exp2(std::round(std::log2(std::abs(common)) / 2)), of_k = common / (of_q * op.scale);
  const auto set_first = [&](Tensor& tensor, double value) {
    std::vector<double> values = tensor.ToDoubles();
    for (size_t i = 0; i < values.size(); i += static_cast<size_t>(op.d)) values[i] = value;
    tensor.SetDoubles(values);
  };
  set_first(inputs[0], of_q), set_first(inputs[1], of_k);
  return inputs;
}

struct UnitsCase {
  UnitsCase(const std::string& id, const char* declaration, double common)
      : problem(Bind(id)),
        contract(Declared(declaration)),
        inputs(InputsAround(problem, common)),
        golden(Op("attention").ComputeGolden(problem, 0, inputs, Tier::kReproducible)),
        bound(BoundOf(problem, golden, contract)) {}
  UnitsCase(const UnitsCase&) = delete;

  Problem problem;
  Contract contract;
  std::vector<Tensor> inputs;
  Golden golden;
  DeclaredBound bound;
};

// By join: the largest error over the hard bound, and the largest deviation over the threshold of an element.
struct UnitsTally {
  std::array<double, 3> error{}, deviation{};
  int64_t results = 0, judged = 0;

  void Add(const UnitsTally& other) {
    for (size_t join = 0; join < error.size(); ++join) {
      error[join] = std::max(error[join], other.error[join]);
      deviation[join] = std::max(deviation[join], other.deviation[join]);
    }
    results += other.results, judged += other.judged;
  }
  void Print(const std::string& what) const {
    fmt::print(
        "{}: {} results, of the bound {:.3f} (sums) {:.3f} (log-sums) {:.3f} (log-sum of all); {} judged, of the "
        "threshold {:.3f} {:.3f} {:.3f}\n",
        what, results, error[0], error[1], error[2], judged, deviation[0], deviation[1], deviation[2]);
  }
};

// Every `step`th form of every row.
UnitsTally RunForms(const UnitsCase& c, uint64_t seed, size_t step) {
  UnitsTally tally;
  const AttentionArgs op(c.problem);
  const std::vector<AttentionForm> forms = AllUnitForms(seed);
  const ElementJudge judge = JudgeBy(c.bound, c.golden);
  const bool has_statistic = c.bound.statistic.applicable && !c.bound.statistic.stagnates;
  for (int64_t row = 0; row < op.Rows(); ++row) {
    const double blocks = std::ceil(op.CountKeys(row) / kSmallestKeyBlock);
    for (size_t at = (seed + static_cast<size_t>(row)) % step; at < forms.size(); at += step) {
      const auto got = RunAttentionRow(c.problem, c.inputs, row, c.contract, forms[at]);
      const auto join = static_cast<size_t>(forms[at].join);
      // The statistic knows no units of less than a block.
      const bool judged = has_statistic && static_cast<double>(forms[at].units) <= blocks;
      for (int64_t k = 0; k < op.dv; ++k) {
        const int64_t i = row * op.dv + k;
        if (c.bound.At(c.golden, i) == kInf) continue;
        const double error = std::abs(got[k] - c.golden.value[i]), limit = c.bound.LargestToleranceAt(c.golden, i);
        EXPECT_TRUE(judge.Judge(i, got[k]).accepted)
            << c.problem.spec.Id() << " form " << at << " join " << join << " units " << forms[at].units << " element "
            << i << ": " << got[k] << " for " << c.golden.value[i] << " within " << limit;
        ++tally.results, tally.judged += judged ? 1 : 0;
        if (limit > 0) tally.error[join] = std::max(tally.error[join], error / limit);
        if (!judged) continue;
        const double deviation = judge.Deviation(i, judge.Judge(i, got[k])) / kElementThreshold;
        tally.deviation[join] = std::max(tally.deviation[join], deviation);
      }
    }
  }
  return tally;
}

// Scores of up to 10^4, whose rounded log-sums cost as much in f32 as three digits of the result.
constexpr double kCommon[] = {0, 100, -100, 3000, -3000, 10000};
constexpr const char* kUnitShapes[] = {
    "b=1,h=2,hkv=1,l=2,s=37,d=2,dv=3,causal=1", "b=1,h=1,l=2,s=80,d=8,dv=2,mask=bool",
    "b=1,h=1,l=2,s=40,d=7,dv=3,mask=add",       "b=1,h=1,l=2,s=33,d=8,dv=2,softcap=300",
    "b=1,h=1,l=3,s=130,d=2,dv=2,scale=1",       "b=1,h=1,l=3,s=2,d=4,dv=3"};

struct UnitsType {
  const char *dtype, *declaration;
};
// The last four have results that are rounded to few bits, beside which the arithmetic costs little.
constexpr UnitsType kUnitTypes[] = {{"f32", "acc=f32;math=1"},        {"f32", "acc=f32;math=4"},
                                    {"f64", "acc=f64;math=1"},        {"f16", "acc=f16;math=1"},
                                    {"bf16", "acc=f32;math=2"},       {"bf16", "acc=f32;math=2;mid=bf16"},
                                    {"f16", "acc=f32;math=2;mid=f16"}};

TEST(Norm, IsTheRootOfTheSumOfSquares) {
  EXPECT_EQ(Norm(3.0, 4.0), 5);
  EXPECT_EQ(Norm(2.0, 3.0, 6.0), 7);
  EXPECT_EQ(Norm(0.0, 0.0), 0);
  for (const double size : {0x1p-1060, 0x1p-500, 0x1p1000}) EXPECT_EQ(Norm(3 * size, 4 * size), 5 * size) << size;
  EXPECT_EQ(Norm(1.0, kInf), kInf);
}

TEST(AttentionUnits, StayWithinBoundAndStatistic) {
  uint64_t turn = 0;
  UnitsTally all, exact;
  for (const UnitsType& type : kUnitTypes) {
    for (const double common : kCommon) {
      UnitsTally tally;
      for (const char* fill : {"normal", "uniform", "near_one"}) {
        for (const char* shape : kUnitShapes) {
          const uint64_t seed = turn++;
          if (IsLeftOut(seed, 5)) continue;
          const std::string id = fmt::format("attention/{}/{}/fill={}/seed={}", type.dtype, shape, fill, seed);
          tally.Add(RunForms(UnitsCase(id, type.declaration, common), seed + 1, 5));
        }
      }
      tally.Print(fmt::format("{} {} around {}", type.dtype, type.declaration, common));
      all.Add(tally);
      if (std::string_view(type.dtype) == "f32") exact.Add(tally);
    }
  }
  exact.Print("f32");
  EXPECT_GT(all.results, kIsFull ? 100000 : 20000);
  EXPECT_GT(all.judged, kIsFull ? 20000 : 4000);
  for (size_t join = 0; join < all.error.size(); ++join) {
    EXPECT_LT(all.error[join], 1) << join;
    EXPECT_LE(all.deviation[join], 0.5) << join;
    // Not a silly bound: u is twice that of rounding to nearest, and all of an ulp twice what a rounding costs in the
    // mean.
    EXPECT_GT(exact.error[join], 0.1) << join;
    EXPECT_GT(exact.deviation[join], 0.1) << join;
  }
  EXPECT_GT(exact.error[static_cast<size_t>(UnitJoin::kLogSumOfAll)], 0.3);
}

}  // namespace
}  // namespace assay::test
