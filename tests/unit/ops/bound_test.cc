// SPDX-License-Identifier: Apache-2.0
// No correct implementation leaves its hard bound, whatever its order, accumulator and flushing; anything beyond does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/sums.h"

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
  return (bound.AlsoAt(i) & kFar) != 0;
}

void ExpectBeyondIsRejected(const DeclaredBound& bound, const Golden& golden, int64_t i, Tally& tally) {
  const double y = golden.value[i],
               limit = bound.exact ? std::abs(y) * 0x1p-50 + 0x1p-1000 : bound.LargestToleranceAt(golden, i);
  if (AcceptsFarFinite(bound, i) || !std::isfinite(y) || !std::isfinite(limit)) return;
  const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
  for (double side : {-1.0, 1.0}) {
    const double beyond = HeldBeyond(bound.out, y, y + side * 1.01 * limit);
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
      op.ComputeGolden(problem, 0, inputs, problem.spec.seed % 2 == 0 ? Tier::kFast : Tier::kReproducible);
  const DeclaredBound bound = BoundOf(problem, golden, contract);
  const Arithmetic unit = ArithmeticOf(contract);
  ASSERT_EQ(golden.size(), NumElements(problem.outputs[0].shape));
  ++tally.tensors;
  for (const Schedule& schedule : AllSchedules(problem.spec.seed)) {
    const std::vector<double> got = run(problem, inputs, schedule, unit);
    for (int64_t i = 0; i < golden.size(); ++i) {
      EXPECT_TRUE(Accepts(bound, golden, i, got[i]))
          << "order " << static_cast<int>(schedule.order) << " fma " << schedule.fma << " element " << i << ": got "
          << got[i] << " golden " << golden.value[i] << " S " << golden.magnitude[i]
          << (bound.exact ? "" : fmt::format(" bound {}", bound.LargestToleranceAt(golden, i)));
      if (!std::isfinite(got[i]) && std::isfinite(golden.value[i])) ++tally.accepted_nonfinite;
      if (bound.exact || !std::isfinite(golden.value[i]) || !std::isfinite(got[i]) || AcceptsFarFinite(bound, i)) {
        continue;
      }
      const double limit = bound.LargestToleranceAt(golden, i);
      if (limit > 0) tally.closest = std::max(tally.closest, std::abs(got[i] - golden.value[i]) / limit);
    }
    if (testing::Test::HasFailure()) return;
  }
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (contract.ftz == Flush::kNone && !std::isnan(golden.value[i])) {
      EXPECT_TRUE(Accepts(bound, golden, i, PerfectlyRounded(golden, problem.outputs[0].dtype, i))) << "element " << i;
    }
    ExpectBeyondIsRejected(bound, golden, i, tally);
  }
}

constexpr const char* kFills[] = {"uniform", "normal", "lognormal", "outlier", "cancel-1e4",
                                  "ramp",    "coded",  "subnormal", "pow2",    "near_one"};

struct BoundTypeCase {
  const char* dtypes;
  std::vector<const char*> contracts;
};

TEST(MatmulBound, HoldsForEveryScheduleFillAndType) {
  const std::vector<BoundTypeCase> types = {
      {"f64", {"acc=f64", "acc=f64;ftz=all;math=1"}},
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
  for (const BoundTypeCase& type : types) {
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
  for (const BoundTypeCase& type : {BoundTypeCase{"f64", {"acc=f64", "acc=f64;ftz=all"}},
                                    BoundTypeCase{"f32", {"acc=f32", "acc=f32;ftz=all", "acc=f32;ftz=in"}},
                                    BoundTypeCase{"f16", {"acc=f32", "acc=f16", "acc=f16;ftz=all"}},
                                    BoundTypeCase{"bf16", {"acc=f32", "acc=f32;ftz=all"}},
                                    BoundTypeCase{"e5m2-e5m2-f32", {"acc=f32", "acc=f32;ftz=in"}}}) {
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
  const std::vector<BoundTypeCase> types = {{"f64", {"acc=f64;math=1"}},
                                            {"f32", {"acc=f32;math=1", "acc=f32;ftz=all;math=1"}},
                                            {"f16", {"acc=f32;math=1", "acc=f16;math=1", "acc=f16;math=1;ftz=all"}},
                                            {"bf16", {"acc=f32;math=1", "acc=bf16;math=1"}},
                                            {"bf16-f32", {"acc=f32;math=1"}}};
  constexpr const char* kKinds[] = {"sum", "mean", "prod", "l2", "logsumexp"};
  constexpr const char* kShapes[] = {"shape=5x1,axes=1", "shape=3x9x4,axes=0+2", "shape=4x70,axes=-1"};
  Tally tally;
  uint64_t seed = 0;
  for (const BoundTypeCase& type : types) {
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

}  // namespace
}  // namespace assay::test
