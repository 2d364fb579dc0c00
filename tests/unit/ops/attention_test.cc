// SPDX-License-Identifier: Apache-2.0
// attention: which keys a query sees, golden values against MPFR, twins and faults. Bounds: attention_bound_test.cc.
#include "ops/attention/attention.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "tests/support/mpfr.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/attention.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

std::vector<int64_t> Seen(const char* attrs) {
  const AttentionArgs op(Bind(fmt::format("attention/f32/b=1,h=1,{}/fill=normal/seed=0", attrs)));
  std::vector<int64_t> seen;
  for (int64_t i = 0; i < op.l; ++i) {
    const auto range = op.KeysOf(i);
    seen.push_back(range.first * 100 + range.last);
  }
  return seen;
}

TEST(AttentionBind, QueriesSeeTheirKeys) {
  using testing::ElementsAre;
  EXPECT_THAT(Seen("l=2,s=5,d=4"), ElementsAre(5, 5));
  EXPECT_THAT(Seen("l=2,s=5,d=4,causal=1"), ElementsAre(4, 5));
  EXPECT_THAT(Seen("l=2,s=5,d=4,causal=1,align=tl"), ElementsAre(1, 2));
  EXPECT_THAT(Seen("l=4,s=2,d=4,causal=1"), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(Seen("l=4,d=4,causal=1,window=2"), ElementsAre(1, 2, 103, 204));
  EXPECT_THAT(Seen("l=4,d=4,window=2"), ElementsAre(2, 3, 104, 204));
  EXPECT_THAT(Seen("l=3,s=1,d=4,align=tl,window=1"), ElementsAre(1, 101, 101));
  EXPECT_THAT(Seen("l=3,s=5,d=4,window=9223372036854775807"), ElementsAre(5, 5, 5));
  EXPECT_THAT(Seen("l=5,s=3,d=4,causal=1,window=9223372036854775807"), ElementsAre(0, 0, 1, 2, 3));
}

TEST(AttentionBind, WorkIsThatOfTheKeysThatAreSeen) {
  for (int64_t l : {1, 3, 6}) {
    for (int64_t s : {1, 4, 9}) {
      for (int64_t window : {0, 1, 2, 5, 100}) {
        for (const char* rest : {"", ",causal=1", ",align=tl", ",causal=1,align=tl"}) {
          const std::string attrs = fmt::format("b=2,h=3,l={},s={},d=4,dv=5,window={}{}", l, s, window, rest);
          const Problem problem = Bind("attention/f32/" + attrs + "/fill=normal/seed=0");
          const AttentionArgs op(problem);
          double pairs = 0;
          for (int64_t i = 0; i < op.Rows(); ++i) pairs += static_cast<double>(op.KeysOf(i).last - op.KeysOf(i).first);
          EXPECT_EQ(problem.flops, 2 * pairs * 9) << attrs;
        }
      }
    }
  }
}

TEST(AttentionBind, WhatAMaskHidesNeedNotBeComputed) {
  const auto fewest = [](const char* attrs) {
    const Problem problem = Bind(std::string("attention/f32/b=1,h=1,l=4,s=4,d=4") + attrs + "/fill=normal/seed=0");
    return OperatorRegistry::Global().Find("attention")->TraitsOf(problem, 0).fewest_flops / problem.flops;
  };
  EXPECT_EQ(fewest(""), 1);
  EXPECT_EQ(fewest(",causal=1"), 1);  // of what is counted
  EXPECT_EQ(fewest(",mask=bool"), 0);
}

TEST(AttentionBind, ScaleHeadsAndMasks) {
  const Problem problem = Bind("attention/bf16/b=2,h=6,hkv=2,l=3,s=5,d=16,dv=8,mask=bool/fill=normal/seed=0");
  EXPECT_EQ(problem.Float("scale"), 0.25);
  ASSERT_EQ(problem.inputs.size(), 4u);
  EXPECT_EQ(problem.inputs[3].dtype, DType::kI8);
  EXPECT_THAT(problem.inputs[3].shape, testing::ElementsAre(3, 5));
  EXPECT_THAT(problem.outputs[0].shape, testing::ElementsAre(2, 6, 3, 8));
  const AttentionArgs op(problem);
  EXPECT_EQ(op.KeyHead(0), 0);
  EXPECT_EQ(op.KeyHead(3 * 3), 1);  // head 3 of batch 0
  EXPECT_EQ(op.KeyHead(6 * 3), 2);  // head 0 of batch 1
  EXPECT_FALSE(TryBind("attention/f32/b=1,h=3,hkv=2,l=1,d=4/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind("attention/f32/b=1,h=1,l=1,d=4,scale=0/fill=normal/seed=0"));
  EXPECT_EQ(Bind("attention/f32/b=1,h=1,l=1,d=4,scale=-1/fill=normal/seed=0").Float("scale"), -1);
  EXPECT_FALSE(TryBind("attention/i8/b=1,h=1,l=1,d=4/fill=normal/seed=0"));
  EXPECT_EQ(Bind("attention/f32/b=1,h=1,l=1,d=4,scale=0.7/fill=normal/seed=0").Float("scale"), 0.7);
}

// One query's result with many bits.
class Exact {
 public:
  Exact(const Problem& problem, std::span<const Tensor> inputs) : op_(problem), inputs_(inputs) {}

  // |o - (hi + lo)|, rounded up.
  double Distance(int64_t row, int64_t c, double hi, double lo) {
    const std::vector<int64_t> keys = ComputeRow(op_, AttentionData(op_, inputs_), row).keys;
    for (size_t i = 0; i < keys.size(); ++i) {
      Score(row, keys[i]);
      if (i == 0 || mpfr_cmp(s_.x, max_.x) > 0) mpfr_set(max_.x, s_.x, MPFR_RNDN);
    }
    mpfr_set_d(total_.x, 0, MPFR_RNDN);
    mpfr_set_d(sum_.x, 0, MPFR_RNDN);
    for (int64_t key : keys) {
      Score(row, key);
      mpfr_sub(e_.x, s_.x, max_.x, MPFR_RNDN);
      mpfr_exp(e_.x, e_.x, MPFR_RNDN);
      mpfr_add(total_.x, total_.x, e_.x, MPFR_RNDN);
      mpfr_mul_d(e_.x, e_.x, ValueAt(inputs_[2], (op_.KeyHead(row) * op_.s + key) * op_.dv + c), MPFR_RNDN);
      mpfr_add(sum_.x, sum_.x, e_.x, MPFR_RNDN);
    }
    mpfr_div(sum_.x, sum_.x, total_.x, MPFR_RNDN);
    return sum_.DistanceFrom(hi, lo);
  }

 private:
  void Score(int64_t row, int64_t key) {
    mpfr_set_d(s_.x, 0, MPFR_RNDN);
    for (int64_t c = 0; c < op_.d; ++c) {
      mpfr_set_d(e_.x, ValueAt(inputs_[0], row * op_.d + c), MPFR_RNDN);
      mpfr_mul_d(e_.x, e_.x, ValueAt(inputs_[1], (op_.KeyHead(row) * op_.s + key) * op_.d + c), MPFR_RNDN);
      mpfr_add(s_.x, s_.x, e_.x, MPFR_RNDN);
    }
    mpfr_mul_d(s_.x, s_.x, op_.scale, MPFR_RNDN);
    if (op_.softcap > 0) {
      mpfr_div_d(s_.x, s_.x, op_.softcap, MPFR_RNDN);
      mpfr_tanh(s_.x, s_.x, MPFR_RNDN);
      mpfr_mul_d(s_.x, s_.x, op_.softcap, MPFR_RNDN);
    }
    if (op_.mask == MaskKind::kAdd) mpfr_add_d(s_.x, s_.x, ValueAt(inputs_[3], op_.MaskOffset(row) + key), MPFR_RNDN);
  }

  const AttentionArgs op_;
  std::span<const Tensor> inputs_;
  Mpfr s_, max_, total_, sum_, e_;
};

constexpr const char* kMpfrShapes[] = {"b=2,h=4,hkv=2,l=5,s=9,d=8,dv=3,causal=1",
                                       "b=1,h=2,l=7,d=6,mask=bool,window=4",
                                       "b=1,h=2,l=6,s=40,d=16,mask=add,mask_per_head=1",
                                       "b=1,h=1,l=4,s=33,d=8,softcap=5,causal=1,align=tl",
                                       "b=1,h=1,l=1,s=1,d=1",
                                       "b=1,h=2,l=3,s=21,d=8,scale=-0.7"};

TEST(AttentionGolden, MatchesMpfr) {
  uint64_t seed = 0;
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const char* fill : {"normal", "uniform", "lognormal", "outlier", "subnormal", "special"}) {
      for (const char* shape : kMpfrShapes) {
        for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
          const Problem problem = Bind(fmt::format("attention/{}/{}/fill={}/seed={}", dtype, shape, fill, ++seed));
          SCOPED_TRACE(problem.spec.Id() + std::string(Name(tier)));
          const std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
          const Golden golden = Op("attention").ComputeGolden(problem, 0, inputs, tier);
          Exact exact(problem, inputs);
          for (int64_t i = 0; i < golden.size(); i += 1 + golden.size() / 24) {
            const double y = golden.value[i];
            if (!std::isfinite(y) || golden.error[i] == kInf || golden.Extra("rows") == nullptr) continue;
            const AttentionArgs op(problem);
            if ((*golden.Extra("rows"))[i / op.dv * kRowFacts + kMasked] > 0) continue;
            // Skips golden values of the formula without its infinities of little weight.
            if (const Plane* special = golden.Extra("may_be_nan"); special != nullptr && (*special)[i] > 1) continue;
            const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
            ASSERT_LE(exact.Distance(i / op.dv, i % op.dv, y, lo), golden.error[i]) << i << " value " << y;
          }
        }
      }
    }
  }
}

// Values behind a mask are never read: golden values do not change with them.
TEST(AttentionGolden, IgnoresMaskedKeys) {
  for (const char* attrs : {"l=3,s=6,d=4,causal=1,align=tl", "l=4,s=8,d=4,mask=bool"}) {
    const Problem plain = Bind(fmt::format("attention/f32/b=1,h=2,{}/fill=normal/seed=1", attrs));
    std::vector<Tensor> inputs = Op("attention").MakeInputs(plain);
    const auto compute = [&](Tier tier) { return Op("attention").ComputeGolden(plain, 0, inputs, tier); };
    const Golden before = compute(Tier::kReproducible), fast_before = compute(Tier::kFast);
    PoisonUnseenKeys(AttentionArgs(plain), inputs);
    const std::vector<double> k = inputs[1].ToDoubles();
    EXPECT_TRUE(std::ranges::any_of(k, [](double x) { return std::isnan(x); }));
    EXPECT_EQ(compute(Tier::kReproducible).value, before.value);
    const Golden fast = compute(Tier::kFast);  // sums in another order where operands are not all finite
    for (int64_t i = 0; i < fast.size(); ++i) {
      EXPECT_LE(std::abs(fast.value[i] - fast_before.value[i]), fast.error[i] + fast_before.error[i]) << i;
    }
  }
}

// A weighted mean of the largest number and of small ones, and a score that no double holds but a soft cap brings back.
// Rows without a mask are read by a loop of their own.
TEST(AttentionGolden, AMaskOfZerosChangesNothing) {
  const Operator& op = Op("attention");
  for (const char* keys : {"l=37,s=150", "l=61,causal=1", "l=50,s=70,causal=1,window=9"}) {
    const std::string id = fmt::format("attention/f32/b=2,h=4,hkv=2,{},d=24,scale=-0.3", keys),
                      fill = "/fill=normal/seed=3";
    const Problem plain = Bind(id + fill), masked = Bind(id + ",mask=add" + fill);
    std::vector<Tensor> inputs = op.MakeInputs(masked);
    inputs[3].SetDoubles(std::vector<double>(static_cast<size_t>(inputs[3].size())));
    const Golden expected = op.ComputeGolden(masked, 0, inputs, Tier::kFast);
    const Golden golden = op.ComputeGolden(plain, 0, std::span(inputs).first(3), Tier::kFast);
    EXPECT_EQ(golden.value, expected.value) << id;
    for (const auto& [name, plane] : golden.extra) {
      ASSERT_NE(expected.Extra(name), nullptr);
      EXPECT_TRUE(std::ranges::equal(plane.f32(), expected.Extra(name)->f32())) << id << " " << name;
    }
  }
}

TEST(AttentionGolden, NumbersNearTheLargestStayFinite) {
  const Problem problem = Bind("attention/f64/b=1,h=1,l=1,s=2,d=1,dv=2,softcap=50/fill=normal/seed=1");
  const double largest = FormatOf(DType::kF64).max_finite;
  std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector{1e300});
  inputs[1].SetDoubles(std::vector{1e300, 0.0});
  inputs[2].SetDoubles(std::vector{largest, 1.0, largest, 3.0});
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = Op("attention").ComputeGolden(problem, 0, inputs, tier);
    EXPECT_NEAR(golden.value[0] / largest, 1, 1e-12);
    EXPECT_NEAR(golden.value[1], 1 + 2 * std::exp(-50.0), 1e-12);
  }
}

TEST(AttentionGolden, QueriesThatSeeNothing) {
  for (const char* policy : {"", ",masked_rows=nan"}) {
    const Problem problem =
        Bind(fmt::format("attention/f32/b=1,h=1,l=4,s=2,d=4,causal=1{}/fill=normal/seed=1", policy));
    const std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
    const Golden golden = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast);
    const bool nan = policy[0] != 0;
    for (int64_t i = 0; i < 8; ++i) EXPECT_TRUE(nan ? std::isnan(golden.value[i]) : golden.value[i] == 0);
    EXPECT_TRUE(std::isfinite(golden.value[8]));
    const DeclaredBound any = BoundOf(problem, golden, "acc=f32;math=1;masked=any");
    EXPECT_EQ(any.At(golden, 0), kInf);
  }
}

// A score that overflows the unit to +inf is NaN once -inf is added to it.
TEST(AttentionBound, LeavesNanOpenWhereAHiddenScoreOverflows) {
  const Problem problem = Bind("attention/f16/b=1,h=1,l=2,s=2,d=2,mask=add/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{300, 300, 1, 1});
  inputs[1].SetDoubles(std::vector<double>{300, 300, 1, 1});
  const double hidden = -kInf;
  inputs[3].SetDoubles(std::vector<double>{hidden, 0, hidden, 0});
  const Golden golden = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound narrow = BoundOf(problem, golden, "acc=f32;mid=f16;math=1");
  const DeclaredBound wide = BoundOf(problem, golden, "acc=f32;math=1");
  EXPECT_TRUE(Accepts(narrow, golden, 0, kNaN));
  EXPECT_TRUE(Accepts(narrow, golden, 0, golden.value[0]));
  EXPECT_FALSE(Accepts(narrow, golden, 0, 1e3));
  EXPECT_LT(narrow.At(golden, 2), 1);
  EXPECT_FALSE(Accepts(narrow, golden, 2, kNaN));
  EXPECT_LT(wide.At(golden, 0), 1);
  EXPECT_FALSE(Accepts(wide, golden, 0, kNaN));

  inputs[3].SetDoubles(std::vector<double>{hidden, hidden, hidden, hidden});
  const Golden masked = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, masked, "acc=f32;mid=f16;math=1");
  for (const double right : {0.0, kNaN}) EXPECT_TRUE(Accepts(bound, masked, 0, right)) << right;
  EXPECT_FALSE(Accepts(bound, masked, 0, 1));
  EXPECT_EQ(bound.At(masked, 2), 0);
}

// Infinite values of v leave rows whose finite values are all zero, under weights of which nothing is known.
TEST(AttentionBound, InfiniteResultsAreRight) {
  int infinite = 0;
  for (int seed = 0; seed < 6; ++seed) {
    const Problem problem =
        Bind(fmt::format("attention/f16/b=1,h=4,hkv=2,l=40,d=32,causal=1/fill=special/seed={}", seed));
    const std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
    const Golden golden = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast);
    for (const char* contract : {"acc=f32;mid=bf16;math=1", "acc=f16;math=1", "acc=bf16;math=1"}) {
      const DeclaredBound bound = BoundOf(problem, golden, contract);
      for (int64_t i = 0; i < golden.size(); ++i) {
        EXPECT_FALSE(std::isnan(bound.At(golden, i))) << contract << " seed " << seed << " at " << i;
        if (!std::isinf(golden.value[i])) continue;
        ++infinite;
        EXPECT_TRUE(Accepts(bound, golden, i, golden.value[i])) << contract << " seed " << seed << " at " << i;
      }
    }
  }
  EXPECT_GT(infinite, 0);
}

bool TwinHolds(const Twin& twin, DType out, int64_t first, const std::vector<double>& got) {
  for (size_t c = 0; c < got.size(); ++c) {
    if (!Accepts(twin, out, first + static_cast<int64_t>(c), got[c])) return false;
  }
  return true;
}

struct TwinCase {
  const char* dtype;
  const char* declaration;
};
constexpr TwinCase kTwins[] = {{"f64", "acc=f64;math=1"},           {"f32", "acc=f32"},
                               {"f32", "acc=f32;math=3"},           {"f16", "acc=f32;math=1;mid=f16"},
                               {"bf16", "acc=f32;math=2;mid=bf16"}, {"bf16", "acc=f32;math=1;ftz=all"}};

TEST(AttentionTwin, LegalFormsPassAndFaultsFail) {
  for (const TwinCase& t : kTwins) {
    const Problem problem =
        Bind(fmt::format("attention/{}/b=1,h=4,hkv=2,l=40,d=16,causal=1/fill=normal/seed=0", t.dtype));
    SCOPED_TRACE(problem.spec.Id() + " " + t.declaration);
    const Contract contract = Declared(t.declaration);
    const AttentionArgs op(problem);
    const std::vector<AttentionFault> faults = {
        {.drop_first = true}, {.drop_last = true}, {.leak_next = true}, {.next_kv_head = true}};
    std::vector<Twin> twins;
    for (int variant : {0, 1}) twins.push_back(*Op("attention").MakeTwin(problem, 0, contract, variant));
    for (int64_t row = 0; row < op.Rows(); row += 3) {
      for (const Twin& twin : twins) {
        for (const AttentionForm& form : AllAttentionForms(5)) {
          const auto got = RunAttentionRow(problem, twin.inputs, row, contract, form);
          ASSERT_TRUE(TwinHolds(twin, problem.outputs[0].dtype, row * op.dv, got))
              << "row " << row << " block " << form.block;
        }
      }
      for (const AttentionFault& fault : faults) {
        if (fault.leak_next && row % op.l == op.l - 1) continue;  // no later key
        bool seen = false;
        for (const Twin& twin : twins) {
          const auto got = RunAttentionRow(problem, twin.inputs, row, contract, {}, fault);
          seen = seen || !TwinHolds(twin, problem.outputs[0].dtype, row * op.dv, got);
        }
        ASSERT_TRUE(seen) << "row " << row << " fault " << &fault - faults.data();
      }
    }
  }
}

// The middle row of the second twin has one key of any weight: what is added to its sum of exponentials shows, whatever
// the case's own sums are.
TEST(AttentionTwin, AnEpsilonInTheDenominatorIsSeen) {
  for (const char* attrs :
       {"l=24,s=65,d=16", "l=17,d=64,causal=1", "l=9,s=40,d=8,window=5", "l=5,s=33,d=24,scale=-0.3"}) {
    for (const char* declaration : {"acc=f32", "acc=f32;math=2"}) {
      const Problem problem = Bind(fmt::format("attention/f32/b=1,h=2,{}/fill=normal/seed=0", attrs));
      SCOPED_TRACE(problem.spec.Id() + " " + declaration);
      const Contract contract = Declared(declaration);
      const AttentionArgs op(problem);
      const Twin twin = *Op("attention").MakeTwin(problem, 0, contract, 1);
      int seen = 0;
      for (const int64_t row : {op.l / 2, op.l + op.l / 2}) {
        for (const auto& forms : {AllAttentionForms(3), AllUnitForms(3, 8)}) {
          for (const AttentionForm& form : forms) {
            const auto got = RunAttentionRow(problem, twin.inputs, row, contract, form);
            ASSERT_TRUE(TwinHolds(twin, DType::kF32, row * op.dv, got)) << "row " << row << " block " << form.block;
          }
        }
        for (int64_t i = row * op.dv; i < (row + 1) * op.dv; ++i) {
          const auto wrong = static_cast<float>(twin.expected[i] / (1 + 1e-6));
          if (std::abs(twin.expected[i]) < 0.5) continue;  // another column
          EXPECT_FALSE(Accepts(twin, DType::kF32, i, wrong)) << i;
          ++seen;
        }
      }
      EXPECT_EQ(seen, 2);
    }
  }
}

TEST(AttentionTwin, WrongScaleFails) {
  const Problem problem = Bind("attention/f32/b=1,h=2,l=64,d=64/fill=normal/seed=0");
  const Contract contract = Declared("acc=f32;math=1");
  const auto twin = Op("attention").MakeTwin(problem, 0, contract, 1);
  const AttentionFault fault{.scale = std::sqrt(64.0 / 65)};
  for (int64_t row = 0; row < 128; row += 5) {
    EXPECT_FALSE(
        TwinHolds(*twin, DType::kF32, row * 64, RunAttentionRow(problem, twin->inputs, row, contract, {}, fault)));
  }
}

TEST(AttentionOmitted, MatchesTheRowWithoutTheKey) {
  const Problem problem = Bind("attention/f32/b=1,h=2,l=6,s=12,d=8,causal=1/fill=normal/seed=4");
  const AttentionArgs op(problem);
  const std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  const std::vector<double> values = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast).value;
  std::vector<int64_t> outputs;
  for (int64_t i = 0; i < std::ssize(values); ++i) outputs.push_back(i);
  const auto mutants = Op("attention").OmittedTerms(problem, 0, inputs, values, outputs);
  EXPECT_GT(mutants.size(), 80u);
  const AttentionData data(op, inputs);
  for (const Mutant& mutant : mutants) {
    const int64_t row = mutant.index / op.dv, key = mutant.key % op.s;
    EXPECT_EQ(mutant.key / op.s, row);
    const AttentionRow r = ComputeRow(op, data, row);
    double sum = 0, total = 0;
    for (size_t i = 0; i < r.keys.size(); ++i) {
      if (r.keys[i] == key) continue;
      total += r.p[i];
      sum += r.p[i] * data.v[(op.KeyHead(row) * op.s + r.keys[i]) * op.dv + mutant.index % op.dv];
    }
    EXPECT_NEAR(mutant.value, sum / total, 1e-9);
  }
}

}  // namespace
}  // namespace assay::test
