// SPDX-License-Identifier: Apache-2.0
// No correct implementation leaves its hard bound, whatever its order, accumulator and flushing; anything beyond does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/fill.h"
#include "tests/unit/ops/cases.h"
#include "tests/unit/ops/simulate.h"

namespace assay::test {
namespace {

using Runner = std::vector<double> (*)(const Problem&, std::span<const Tensor>, const Schedule&, const Arithmetic&);

struct Tally {
  int tensors = 0, pushed = 0, accepted_nonfinite = 0;
  double closest = 0;  // largest |error| / bound seen
};

// The correctly rounded result; what a perfect implementation gives.
double PerfectlyRounded(const Golden& golden, DType out, int64_t i) {
  return IsInt(out) ? golden.value[i] : RoundTo(FormatOf(out), golden.value[i]);
}

// Whether a finite result beyond the bound may be right.
bool AcceptsFarFinite(const BoundModel& bound, int64_t i) {
  constexpr unsigned kFar = kAnything | kAlsoSignedFinite | kAlsoValue | kAlsoIndex | kAlsoIntegerLimits;
  return (AlsoAt(bound, i) & kFar) != 0;
}

void ExpectBeyondIsRejected(const BoundModel& bound, const Golden& golden, int64_t i, Tally& tally) {
  const double y = golden.value[i],
               limit = bound.exact ? std::abs(y) * 0x1p-50 + 0x1p-1000 : HardBound(bound, golden, i);
  if (AcceptsFarFinite(bound, i) || !std::isfinite(y) || !std::isfinite(limit)) return;
  const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
  for (double side : {-1.0, 1.0}) {
    const double beyond = y + side * 1.01 * limit;
    // f64 bounds can be less than the spacing of doubles.
    if (!(std::abs((beyond - y) - lo) > 1.005 * limit) || !std::isfinite(beyond)) continue;
    EXPECT_FALSE(Accepts(bound, golden, i, beyond)) << "element " << i;
    ++tally.pushed;
  }
}

void CheckCase(const std::string& id, const char* declaration, Runner run, Tally& tally) {
  SCOPED_TRACE(id + " " + declaration);
  const Problem problem = Bind(id);
  const Operator& op = Op(problem.spec.op);
  const Contract contract = Declared(declaration);
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  const Golden golden =
      op.ComputeGolden(problem, inputs, problem.spec.seed % 2 == 0 ? Tier::kFast : Tier::kReproducible);
  const BoundModel bound = op.Bound(problem, golden, contract);
  const Arithmetic unit = ArithmeticOf(contract);
  ASSERT_EQ(golden.size(), NumElements(problem.output.shape));
  ++tally.tensors;
  for (const Schedule& schedule : AllSchedules(problem.spec.seed)) {
    const std::vector<double> got = run(problem, inputs, schedule, unit);
    for (int64_t i = 0; i < golden.size(); ++i) {
      EXPECT_TRUE(Accepts(bound, golden, i, got[i]))
          << "order " << static_cast<int>(schedule.order) << " fma " << schedule.fma << " element " << i << ": got "
          << got[i] << " golden " << golden.value[i] << " S " << golden.magnitude[i]
          << (bound.exact ? "" : fmt::format(" bound {}", HardBound(bound, golden, i)));
      if (!std::isfinite(got[i]) && std::isfinite(golden.value[i])) ++tally.accepted_nonfinite;
      if (bound.exact || !std::isfinite(golden.value[i]) || !std::isfinite(got[i]) || AcceptsFarFinite(bound, i)) {
        continue;
      }
      const double limit = HardBound(bound, golden, i);
      if (limit > 0) tally.closest = std::max(tally.closest, std::abs(got[i] - golden.value[i]) / limit);
    }
    if (testing::Test::HasFailure()) return;
  }
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (contract.ftz == Flush::kNone && !std::isnan(golden.value[i])) {
      EXPECT_TRUE(Accepts(bound, golden, i, PerfectlyRounded(golden, problem.output.dtype, i))) << "element " << i;
    }
    ExpectBeyondIsRejected(bound, golden, i, tally);
  }
}

constexpr const char* kFills[] = {"uniform", "normal", "lognormal", "outlier", "cancel-1e4",
                                  "ramp",    "coded",  "subnormal", "pow2",    "near_one"};

struct TypeCase {
  const char* dtypes;
  std::vector<const char*> contracts;
};

TEST(MatmulBound, HoldsForEveryScheduleFillAndType) {
  const std::vector<TypeCase> types = {{"f64", {"acc=f64", "acc=f64;ftz=all;math=1"}},
                                       {"f32", {"acc=f32", "acc=f32;ftz=all", "acc=f32;ftz=in", "acc=f32;ftz=out"}},
                                       {"f16", {"acc=f32", "acc=f16", "acc=f16;ftz=all", "acc=f32;ftz=all"}},
                                       {"bf16", {"acc=f32", "acc=bf16", "acc=f32;ftz=all"}},
                                       {"f16-f16-f32", {"acc=f32"}},
                                       {"bf16-bf16-f32", {"acc=f32", "acc=f32;ftz=all"}},
                                       {"e4m3-e4m3-bf16", {"acc=f32"}},
                                       {"e5m2-e5m2-f16", {"acc=f32", "acc=f16"}}};
  constexpr const char* kShapes[] = {"m=3,n=2,k=1",
                                     "m=2,n=3,k=7,batch=2,transa=1,transb=1",
                                     "m=2,n=2,k=65,alpha=0.3,beta=-1.5,bias=1",
                                     "m=2,n=2,k=33,alpha=-2.5,beta=0.1,bias=1,epilogue=rounded",
                                     "m=2,n=2,k=130",
                                     "m=2,n=3,k=17,alpha=0.001,bias=1,epilogue=rounded"};
  Tally tally;
  uint64_t seed = 0;
  for (const TypeCase& type : types) {
    for (const char* contract : type.contracts) {
      for (const char* fill : kFills) {
        for (const char* shape : kShapes) {
          CheckCase(fmt::format("matmul/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed++), contract, RunMatmul,
                    tally);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(tally.tensors, 1000);
  EXPECT_GT(tally.pushed, 1000);
  EXPECT_GT(tally.closest, 0.5);  // the output's rounding alone comes close
  fmt::print("matmul: {} tensors, largest error {:.3f} of the bound, {} infinities accepted\n", tally.tensors,
             tally.closest, tally.accepted_nonfinite);
}

TEST(MatmulBound, SpecialValuesFollowIeeeRules) {
  Tally tally;
  for (const TypeCase& type :
       {TypeCase{"f64", {"acc=f64", "acc=f64;ftz=all"}},
        TypeCase{"f32", {"acc=f32", "acc=f32;ftz=all", "acc=f32;ftz=in"}},
        TypeCase{"f16", {"acc=f32", "acc=f16", "acc=f16;ftz=all"}}, TypeCase{"bf16", {"acc=f32", "acc=f32;ftz=all"}},
        TypeCase{"e5m2-e5m2-f32", {"acc=f32", "acc=f32;ftz=in"}}}) {
    for (const char* contract : type.contracts) {
      for (uint64_t seed = 0; seed < 40; ++seed) {
        const char* extra = seed % 3 == 0 ? ",alpha=-0.5,beta=2,bias=1" : "";
        CheckCase(fmt::format("matmul/{}/m=4,n=4,k={}{}/fill=special/seed={}", type.dtypes, 3 + seed, extra, seed),
                  contract, RunMatmul, tally);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(MatmulBound, IntegersAreExact) {
  Tally tally;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CheckCase(fmt::format("matmul/i8-i8-i32/m=3,n=4,k={}/fill=uniform/seed={}", 1 + 37 * seed, seed), "acc=i32",
              RunMatmul, tally);
  }
  EXPECT_GT(tally.pushed, 0);
}

TEST(ReduceBound, HoldsForEveryKindScheduleFillAndType) {
  const std::vector<TypeCase> types = {{"f64", {"acc=f64;math=1"}},
                                       {"f32", {"acc=f32;math=1", "acc=f32;ftz=all;math=1"}},
                                       {"f16", {"acc=f32;math=1", "acc=f16;math=1", "acc=f16;math=1;ftz=all"}},
                                       {"bf16", {"acc=f32;math=1", "acc=bf16;math=1"}},
                                       {"bf16-f32", {"acc=f32;math=1"}}};
  constexpr const char* kKinds[] = {"sum", "mean", "prod", "l2", "logsumexp"};
  constexpr const char* kShapes[] = {"shape=5x1,axes=1", "shape=3x9x4,axes=0+2", "shape=4x70,axes=-1"};
  Tally tally;
  uint64_t seed = 0;
  for (const TypeCase& type : types) {
    for (const char* contract : type.contracts) {
      for (const char* fill : {"uniform", "normal", "lognormal", "outlier", "cancel-1e4", "ramp", "coded", "subnormal",
                               "pow2", "near_one", "special"}) {
        for (const char* kind : kKinds) {
          for (const char* shape : kShapes) {
            const std::string key = std::string_view(kind) == "sum" ? "" : fmt::format(",kind={}", kind);
            CheckCase(fmt::format("reduce/{}/{}{}/fill={}/seed={}", type.dtypes, shape, key, fill, seed++), contract,
                      RunReduce, tally);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GE(tally.tensors, 1000);
  fmt::print("reduce: {} tensors, largest error {:.3f} of the bound, {} infinities accepted\n", tally.tensors,
             tally.closest, tally.accepted_nonfinite);
}

TEST(ReduceBound, SelectionsAreExact) {
  Tally tally;
  uint64_t seed = 0;
  for (const char* type : {"f64", "f32", "f16", "bf16", "i8", "i32"}) {
    const std::string_view name = type;
    const bool integer = name[0] == 'i';
    for (const char* fill : {"normal", "special", "subnormal", "coded", "pow2"}) {
      if (integer && std::string_view(fill) != "normal") continue;
      for (const char* kind : {"max", "min", "argmax", "argmin"}) {
        for (const char* nan : {"", ",nan=ignore"}) {
          const std::string id =
              fmt::format("reduce/{}/shape=6x3x11,axes=0+2,kind={}{}/fill={}/seed={}", type, kind, nan, fill, seed++);
          CheckCase(id, name == "f64" ? "acc=f64" : "acc=f32", RunReduce, tally);
          if (!integer) CheckCase(id, name == "f64" ? "acc=f64;ftz=all" : "acc=f32;ftz=in;nan=any", RunReduce, tally);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// f32's largest numbers become infinite when they are rounded to tf32 or bf16: a correct result need not be finite.
TEST(MatmulBound, OperandsBeyondTheNarrowerFormatMayBecomeInfinite) {
  const Problem problem = Bind("matmul/f32/m=2,n=2,k=3/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("matmul").MakeInputs(problem);
  const auto may_overflow = [&](const char* contract, double operand) {
    inputs[0].SetDoubles(std::vector<double>{1, operand, 2, 3, 4, 5});
    inputs[1].SetDoubles(std::vector<double>{0x1p-20, 0x1p-20, 0x1p-20, 0x1p-20, 1, 2});
    const Golden golden = Op("matmul").ComputeGolden(problem, inputs, Tier::kFast);
    const BoundModel bound = Op("matmul").Bound(problem, golden, Declared(contract));
    EXPECT_FALSE(Accepts(bound, golden, 2, HUGE_VAL)) << "the other row has no such operand";
    EXPECT_FALSE(Accepts(bound, golden, 0, 3e38)) << "finite results stay bounded";
    EXPECT_EQ(Accepts(bound, golden, 0, HUGE_VAL), Accepts(bound, golden, 0, NAN));
    return Accepts(bound, golden, 0, HUGE_VAL);
  };
  EXPECT_TRUE(may_overflow("in=tf32rn;acc=f32", 0x1.FFFFFEp127));
  EXPECT_TRUE(may_overflow("in=tf32rn;acc=f32", -0x1.FFEp127));
  EXPECT_FALSE(may_overflow("in=tf32rn;acc=f32", 0x1.FFDFFEp127));
  EXPECT_TRUE(may_overflow("in=bf16;acc=f32", 0x1.FFp127));
  EXPECT_TRUE(may_overflow("in=bf16x3;acc=f32", 0x1.FFp127));
  EXPECT_FALSE(may_overflow("in=bf16;acc=f32", 0x1.FEp127));
  EXPECT_FALSE(may_overflow("in=tf32rz;acc=f32", 0x1.FFFFFEp127));
  EXPECT_FALSE(may_overflow("acc=f32", 0x1.FFFFFEp127));
}

// The same of conv, whose taps see some operands each; weights of padded taps meet the padding's zeros.
TEST(ConvBound, OperandsBeyondTheNarrowerFormatMayBecomeInfinite) {
  const Problem problem = Bind("conv/f32/n=1,c=1,o=2,i=5,k=3,pad=1/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  const auto bound_of = [&](const std::vector<double>& x, const std::vector<double>& w, const char* contract,
                            Golden& golden) {
    inputs[0].SetDoubles(x);
    inputs[1].SetDoubles(w);
    golden = Op("conv").ComputeGolden(problem, inputs, Tier::kFast);
    return Op("conv").Bound(problem, golden, Declared(contract));
  };
  constexpr double kLargest = 0x1.FFFFFEp127, kSmall = 0x1p-20;
  for (const char* contract : {"in=tf32rn;acc=f32", "in=bf16;acc=f32", "in=bf16x3;acc=f32"}) {
    Golden golden;
    const BoundModel bound =
        bound_of({kLargest, 1, 2, 3, 4}, {kSmall, kSmall, kSmall, 1e-3, 1e-3, 1e-3}, contract, golden);
    for (int64_t i : {0, 1, 5, 6}) {
      EXPECT_TRUE(Accepts(bound, golden, i, HUGE_VAL) && Accepts(bound, golden, i, NAN)) << contract << " " << i;
    }
    for (int64_t i : {2, 3, 4, 7, 8, 9}) EXPECT_FALSE(Accepts(bound, golden, i, HUGE_VAL)) << contract << " " << i;
    EXPECT_FALSE(Accepts(bound, golden, 0, 3e38)) << "finite results stay bounded";
    const BoundModel weights = bound_of({1e-3, 1e-3, 1e-3, 1e-3, 1e-3}, {1, 2, -kLargest, 1, 2, 3}, contract, golden);
    EXPECT_TRUE(Accepts(weights, golden, 2, -HUGE_VAL) && Accepts(weights, golden, 4, NAN)) << contract;
    EXPECT_FALSE(Accepts(weights, golden, 7, -HUGE_VAL) || Accepts(weights, golden, 9, NAN)) << contract;
  }
  for (const char* contract : {"acc=f32", "in=tf32rz;acc=f32"}) {
    Golden golden;
    const BoundModel bound =
        bound_of({kLargest, 1, 2, 3, 4}, {kSmall, kSmall, kSmall, 1e-3, 1e-3, 1e-3}, contract, golden);
    EXPECT_FALSE(Accepts(bound, golden, 0, HUGE_VAL)) << contract;
  }
}

// And of reduce, all kinds that compute.
TEST(ReduceBound, OperandsBeyondTheNarrowerFormatMayBecomeInfinite) {
  for (const char* kind : {"sum", "mean", "l2", "prod", "logsumexp"}) {
    const Problem problem = Bind(fmt::format("reduce/f32/shape=2x4,axes=1,kind={}/fill=normal/seed=0", kind));
    std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
    inputs[0].SetDoubles(std::vector<double>{0x1.FFFFFEp127, 0x1p-100, 1, 0.5, 1, 2, 3, 4});
    const Golden golden = Op("reduce").ComputeGolden(problem, inputs, Tier::kFast);
    for (const char* contract : {"in=tf32rn;acc=f32", "in=bf16;acc=f32", "in=bf16x3;acc=f32"}) {
      const BoundModel bound = Op("reduce").Bound(problem, golden, Declared(contract));
      EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL)) << kind << " " << contract;
      EXPECT_FALSE(Accepts(bound, golden, 1, HUGE_VAL)) << kind << " " << contract;
    }
    EXPECT_FALSE(Accepts(Op("reduce").Bound(problem, golden, Declared("in=tf32rz;acc=f32")), golden, 1, HUGE_VAL));
  }
}

// A product whose partial products overflow in some order, or underflow: the order decides.
TEST(ReduceBound, ProductsBeyondTheRangeKeepTheirSign) {
  const Problem problem = Bind("reduce/f32/shape=2x4,axes=1,kind=prod/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{0x1p100, 0x1p100, 0x1p-100, 0x1p-100, 0x1p60, 0x1p60, 0x1p-60, 3});
  const Golden golden = Op("reduce").ComputeGolden(problem, inputs, Tier::kFast);
  const BoundModel bound = Op("reduce").Bound(problem, golden, Declared("acc=f32"));
  EXPECT_FALSE(IsFree(bound, 0));
  EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
  EXPECT_TRUE(Accepts(bound, golden, 0, 0));
  EXPECT_TRUE(Accepts(bound, golden, 0, 17));
  EXPECT_TRUE(Accepts(bound, golden, 0, NAN)) << "0 times infinity";
  EXPECT_FALSE(Accepts(bound, golden, 0, -HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 0, -17));
  EXPECT_EQ(AlsoAt(bound, 1), 0u);
  EXPECT_TRUE(Accepts(bound, golden, 1, 0x3p60));
  EXPECT_FALSE(Accepts(bound, golden, 1, HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 1, 0));
}

// sqrt of an overflowing or vanishing sum of squares: infinity or zero, where the squares leave the accumulator.
TEST(ReduceBound, NormsMayOverflowOrVanish) {
  const Problem problem = Bind("reduce/f32/shape=3x2,axes=1,kind=l2/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{0x1p70, 1, 0x1p-80, 0x1p-80, 3, 4});
  const Golden golden = Op("reduce").ComputeGolden(problem, inputs, Tier::kReproducible);
  const BoundModel bound = Op("reduce").Bound(problem, golden, Declared("acc=f32"));
  EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
  EXPECT_TRUE(Accepts(bound, golden, 0, 0x1p70));
  EXPECT_FALSE(Accepts(bound, golden, 0, 0));
  EXPECT_TRUE(Accepts(bound, golden, 1, 0));
  EXPECT_FALSE(Accepts(bound, golden, 1, HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 2, HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 2, 0));
  EXPECT_TRUE(Accepts(bound, golden, 2, 5));
}

struct OverflowingSum {
  const char* id;
  std::vector<std::vector<double>> inputs;
  bool up, down;
};

// Sums overflow only to the side that their terms are on; to NaN where there are enough of both.
// A mean may be a running one, whose differences have either sign.
TEST(SumBound, PartialSumsOverflowToTheSideOfTheirTerms) {
  const OverflowingSum kSums[] = {
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{0x1p127, 0x1p127, 1, 0}}, true, false},
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{-0x1p127, -0x1p127, -1, 0}}, false, true},
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{0x1p127, 0x1p127, -0x1p127, 1}}, true, false},
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{0x1p127, 0x1p127, -0x1p127, -0x1p127}}, true, true},
      {"reduce/f32/shape=1x4,axes=1,kind=mean/fill=normal/seed=0", {{0x1p127, 0x1p127, 1, 0}}, true, true},
      {"reduce/f32/shape=1x4,axes=1,kind=mean/fill=normal/seed=0", {{0x1p127, -0x1p127, -0x1p127, 0}}, true, true},
      {"matmul/f16-f16-f32/m=1,n=1,k=2/fill=normal/seed=0", {{0x1p15, 0x1p15}, {2, 1}}, true, false},
      {"matmul/f16-f16-f32/m=1,n=1,k=2/fill=normal/seed=0", {{0x1p15, 0x1p15}, {2, -2}}, true, true},
      {"matmul/f16-f16-f32/m=1,n=1,k=2,alpha=-1/fill=normal/seed=0", {{0x1p15, 0x1p15}, {2, 1}}, false, true},
      {"conv/f16/n=1,c=1,o=1,i=2,k=2/fill=normal/seed=0", {{0x1p15, 0x1p15}, {-2, -1}}, false, true},
  };
  for (const OverflowingSum& sum : kSums) {
    const Problem problem = Bind(sum.id);
    SCOPED_TRACE(sum.id);
    std::vector<Tensor> inputs = Op(problem.spec.op).MakeInputs(problem);
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].SetDoubles(sum.inputs[i]);
    const Contract contract = Declared(problem.spec.op == "reduce" ? "acc=f32" : "acc=f16");
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = Op(problem.spec.op).ComputeGolden(problem, inputs, tier);
      const BoundModel bound = Op(problem.spec.op).Bound(problem, golden, contract);
      EXPECT_EQ(Accepts(bound, golden, 0, HUGE_VAL), sum.up);
      EXPECT_EQ(Accepts(bound, golden, 0, -HUGE_VAL), sum.down);
      EXPECT_EQ(Accepts(bound, golden, 0, std::nan("")), sum.up && sum.down);
      if (sum.up != sum.down) {
        EXPECT_FALSE(Accepts(bound, golden, 0, 1)) << "finite";
      }
    }
  }
}

// Split operands have parts of either sign, transforms as well.
TEST(SumBound, PartialResultsOfOtherAlgorithmsHaveEitherSign) {
  const Problem problem = Bind("conv/f32/n=1,c=2,o=2,i=8x8,k=3x3,pad=1/fill=normal/seed=0");
  const std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  const Golden golden = Op("conv").ComputeGolden(problem, inputs, Tier::kFast);
  const auto signs = [&](const char* contract) {
    return Op("conv").Bound(problem, golden, Declared(contract)).partial_signs;
  };
  EXPECT_EQ(signs("acc=f32"), PartialSigns::kOfTerms);
  EXPECT_EQ(signs("in=bf16;acc=f32"), PartialSigns::kOfTerms);
  EXPECT_EQ(signs("in=bf16x3;acc=f32"), PartialSigns::kEither);
  EXPECT_EQ(signs("acc=f32;alg=winograd<2,3>"), PartialSigns::kEither);
}

// The running mean of {x, -x}, m += (x - m) / n, has -2 x on the way.
TEST(MeanBound, RunningMeansOverflowToEitherSide) {
  const Problem problem = Bind("reduce/f32/shape=1x2,axes=1,kind=mean/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kF32, Shape{1, 2});
  for (const double x : {0x1.Cp127, 1.0}) {
    inputs[0].SetDoubles(std::vector<double>{x, -x});
    const Golden golden = Op("reduce").ComputeGolden(problem, inputs, Tier::kFast);
    const BoundModel bound = Op("reduce").Bound(problem, golden, Declared("acc=f32"));
    EXPECT_TRUE(Accepts(bound, golden, 0, 0));
    EXPECT_EQ(Accepts(bound, golden, 0, -HUGE_VAL), x > 1);
    EXPECT_EQ(Accepts(bound, golden, 0, HUGE_VAL), x > 1);
    EXPECT_FALSE(Accepts(bound, golden, 0, x));
  }
}

// Beyond the range of f32 narrow planes would hold nothing.
TEST(SumBound, SumsBeyondF32AreBounded) {
  for (const char* id : {"matmul/f32/m=1,n=1,k=2/fill=normal/seed=0", "conv/f32/n=1,c=1,o=1,i=2,k=2/fill=normal/seed=0",
                         "conv/bf16/n=1,c=1,o=1,i=2,k=2/fill=normal/seed=0"}) {
    SCOPED_TRACE(id);
    const Problem problem = Bind(id);
    std::vector<Tensor> inputs = Op(problem.spec.op).MakeInputs(problem);
    for (Tensor& input : inputs) input.SetDoubles(std::vector<double>{0x1p70, 0x1p69});
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = Op(problem.spec.op).ComputeGolden(problem, inputs, tier);
      const BoundModel bound = Op(problem.spec.op).Bound(problem, golden, Declared("acc=f32"));
      EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
      EXPECT_FALSE(Accepts(bound, golden, 0, -HUGE_VAL));
      EXPECT_FALSE(Accepts(bound, golden, 0, std::nan("")));
      EXPECT_FALSE(Accepts(bound, golden, 0, 0));
    }
  }
}

}  // namespace
}  // namespace assay::test
