// SPDX-License-Identifier: Apache-2.0
// Every relation holds for a correct implementation (golden values rounded once) and breaks for one that violates it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "ops/relation.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using Values = std::vector<double>;
using Inputs = std::span<const Tensor>;
// Changes a correct output (two values per complex element).
using Fault = std::function<void(const Problem&, Inputs, Values&)>;

Tensor Implement(const Problem& problem, Inputs inputs, const Fault& fault) {
  const Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  Tensor y(problem.outputs[0].dtype, problem.outputs[0].shape);
  y.SetDoubles(golden.value);
  if (!fault) return y;
  Values values = y.ToDoubles();
  fault(problem, inputs, values);
  y.SetDoubles(values);
  return y;
}

bool Holds(const OtherExecution& other, const Values& expected, const Values& got) {
  if (got.size() != expected.size()) return false;
  for (size_t i = 0; i < got.size(); ++i) {
    const double tolerance = other.tolerance.empty() ? 0 : other.tolerance[i];
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    if (!same && !(std::abs(got[i] - expected[i]) <= tolerance) && !std::isinf(tolerance)) return false;
  }
  return true;
}

struct Found {
  std::set<std::string> holding, broken;
};

// The relations that apply to the case under the contract, by what the implementation makes of them.
Found Try(const std::string& id, const char* contract_text, const Fault& fault = nullptr) {
  const Problem problem = Bind(id);
  const Operator& op = Op(problem.spec.op);
  const Contract contract = Declared(contract_text);
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const BoundModel bound = op.Bound(problem, 0, golden, contract);
  const Tensor output = Implement(problem, inputs, fault);
  Found found;
  for (const Relation& relation : op.Relations(problem, 0)) {
    const auto other = relation.make({op, problem, 0, inputs, golden, bound, contract, output});
    if (!other) continue;
    const Problem& changed = relation.problem ? *relation.problem : problem;
    for (size_t i = 0; i < other->inputs.size(); ++i) {
      EXPECT_EQ(other->inputs[i].shape(), changed.inputs[i].shape) << id << " " << relation.name;
    }
    const Values expected =
        other->first.empty() ? other->expected : Implement(problem, other->first, fault).ToDoubles();
    const Values got = other->inputs.empty() ? other->values : Implement(changed, other->inputs, fault).ToDoubles();
    EXPECT_TRUE((Holds(*other, expected, got) ? found.holding : found.broken).insert(relation.name).second)
        << "two relations are called " << relation.name;
  }
  return found;
}

// Faults that more than one operator can have. `row` values belong together.
Fault OddRowsUp(size_t row) {
  return [row](const Problem&, Inputs, Values& y) {
    for (size_t i = 0; i < y.size(); ++i) {
      if (i / row % 2 == 1) y[i] = std::nextafter(static_cast<float>(y[i]), HUGE_VALF);
    }
  };
}
void RoundsUp(const Problem&, Inputs, Values& y) {
  for (double& v : y) v = std::nextafter(static_cast<float>(v), HUGE_VALF);
}
void HiddenEpsilon(const Problem&, Inputs, Values& y) {
  for (double& v : y) v += 1e-4;
}
// Sums in another order when there are more than a few rows: here, one ulp.
Fault AnotherWayForMany(const char* key, int64_t few = 1) {
  return [key, few](const Problem& problem, Inputs inputs, Values& y) {
    const bool many = (key == std::string("shape") ? problem.inputs[0].shape[0] : problem.Int(key)) > few;
    if (many) RoundsUp(problem, inputs, y);
  };
}

constexpr const char* kContract = "f32acc;det=yes;batchinv=yes";
const std::string kMatmul = "matmul/f32/m=9,n=6,k=20,batch=3,bias=1,beta=0.5/fill=normal/seed=0";

TEST(Relations, AllHoldForACorrectImplementation) {
  const std::map<std::string, std::vector<std::string>> cases = {
      {kMatmul,
       {"position", "negation", "one_hot", "scale", "batch1", "batch_part", "batch7", "columns", "outer_position",
        "outer_batch1", "outer_batch_part", "term_order", "batch64", "batch129", "outer_batch64"}},
      {"matmul/bf16/m=20,n=5,k=7,transa=1,transb=1/fill=normal/seed=1",
       {"position", "batch17", "one_hot", "scale", "term_order"}},
      {"matmul/i8-i8-i32/m=4,n=5,k=7/fill=normal/seed=1", {"position", "negation", "one_hot", "term_order"}},
      {"reduce/f32/shape=9x4x5,axes=1/fill=normal/seed=0",
       {"position", "batch1", "batch_part", "batch7", "negation", "one_hot", "scale", "term_order"}},
      {"reduce/f32/shape=4x9,axes=0,kind=mean,keepdims=1/fill=normal/seed=0", {"position", "negation", "scale"}},
      {"reduce/f32/shape=4x9,axes=1,kind=l2/fill=normal/seed=0", {"negation", "scale", "term_order"}},
      {"reduce/f32/shape=4x9,axes=1,kind=max/fill=normal/seed=0", {"position", "scale"}},
      {"reduce/f32-i64/shape=4x9,axes=1,kind=argmax/fill=normal/seed=0", {"position", "batch1"}},
      {"softmax/f32/shape=5x9/fill=normal/seed=0", {"position", "batch1", "batch_part", "shift"}},
      {"softmax/bf16/shape=5x9,axis=0,log=1/fill=normal/seed=0", {"position", "batch1", "batch7", "shift"}},
      {"conv/f32/n=3,c=4,o=6,i=7x6,k=3x2,stride=2x1,pad=1,groups=2,bias=1/fill=normal/seed=0",
       {"position", "negation", "one_hot", "scale", "batch1", "batch_part"}},
      {"conv/f32/n=1,c=4,o=6,i=9,k=3/fill=normal/seed=0", {"negation", "one_hot", "scale", "columns"}},
      {"attention/f32/b=3,h=4,hkv=2,l=6,s=9,d=8,dv=5,causal=1/fill=normal/seed=0",
       {"position", "masked", "masked_keys", "masked_nan", "negation", "batch1", "batch_part", "equal_values"}},
      {"attention/f32/b=1,h=2,l=9,d=8,mask=bool/fill=normal/seed=0", {"masked", "negation", "equal_values"}},
      {"attention/f32/b=1,h=2,l=9,s=12,d=8/fill=normal/seed=0", {"position", "batch1", "batch7", "term_order"}},
      {"fft/c64/kind=c2c,n=6x10,batch=3/fill=normal/seed=0",
       {"position", "negation", "parseval", "roll", "impulse", "inverse", "scale", "batch1", "batch_part"}},
      {"fft/c64/kind=c2c,n=20,dir=inv,norm=backward/fill=normal/seed=0", {"parseval", "roll", "inverse"}},
      {"fft/c128/kind=c2c,n=20,norm=ortho/fill=normal/seed=0", {"parseval", "roll", "inverse"}},
      {"fft/f32-c64/kind=r2c,n=15,batch=2/fill=normal/seed=0", {"roll", "impulse", "negation", "inverse"}},
      {"fft/f64-c128/kind=r2c,n=16,batch=2,dir=inv,norm=backward/fill=normal/seed=0", {"inverse"}},
      {"fft/c64-f32/kind=c2r,n=16,batch=2/fill=normal/seed=0", {"impulse", "negation", "position", "inverse"}},
      {"fft/c64-f32/kind=c2r,n=15,dir=inv,norm=ortho/fill=normal/seed=0", {"inverse"}},
      {"rms_norm/f32/rows=3,n=9/fill=normal/seed=0", {"position", "batch1", "negation", "scale"}},
      {"cumsum/bf16/rows=3,n=9/fill=lognormal/seed=0", {"position", "negation", "scale"}},
      {"selective_scan/f32/b=2,c=3,s=2,l=7/fill=normal/seed=0", {"position", "negation", "scale"}},
  };
  for (const auto& [id, names] : cases) {
    const char* contract = id.starts_with("fft/c128") || id.starts_with("fft/f64") ? "f64;alg=fft;det=yes"
                           : id.starts_with("fft")                                 ? "f32;alg=fft"
                           : id.starts_with("matmul/i8")                           ? "acc=i32"
                                                                                   : kContract;
    const Found found = Try(id, contract);
    EXPECT_THAT(found.broken, testing::IsEmpty()) << id;
    EXPECT_THAT(found.holding, IsSupersetOf(names)) << id;
  }
}

struct Violation {
  const char* name;
  std::string id;
  Fault fault;
};

// Attention that reads what the mask hides, a little.
void ReadsHidden(const Problem&, Inputs inputs, Values& y) {
  double sum = 0;
  for (const double v : inputs[2].ToDoubles()) sum += v;
  for (double& v : y) v += 1e-3 * sum;
}
void ReadsHiddenKeys(const Problem&, Inputs inputs, Values& y) {
  double sum = 0;
  for (const double k : inputs[1].ToDoubles()) sum += k;
  for (double& v : y) v += 1e-3 * sum;
}
// The maximum is taken before the mask: another last bit, within the bound.
void LastBitFollowsKeys(const Problem& problem, Inputs inputs, Values& y) {
  double sum = 0;
  for (const double k : inputs[1].ToDoubles()) sum += k;
  if (std::fmod(std::abs(sum), 1e-3) < 5e-4) RoundsUp(problem, inputs, y);
}
// Scores are used as they are, not relative to the largest: exp loses bits.
void ForgetsTheMaximum(const Problem&, Inputs inputs, Values& y) {
  for (double& v : y) v *= 1 + 1e-6 * inputs[0].ToDoubles()[0];
}
void WrongGain(const Problem&, Inputs, Values& y) {
  for (double& v : y) v *= 1.001;
}
void WrongTwiddle(const Problem&, Inputs, Values& y) {
  std::swap(y[2], y[4]), std::swap(y[3], y[5]);
}

TEST(Relations, EachBreaksForAnImplementationThatViolatesIt) {
  const std::string attention = "attention/f32/b=3,h=2,l=6,d=8,causal=1/fill=normal/seed=0";
  const std::string fft = "fft/c64/kind=c2c,n=20,batch=3/fill=normal/seed=0";
  const std::string conv = "conv/f32/n=3,c=4,o=6,i=7,k=3/fill=normal/seed=0";
  const std::string softmax = "softmax/f32/shape=5x9/fill=normal/seed=0",
                    sum = "reduce/f32/shape=5x9,axes=1/fill=normal/seed=0";
  const Violation violations[] = {
      {"position", kMatmul, OddRowsUp(6)},
      {"outer_position", kMatmul, OddRowsUp(54)},
      {"columns", kMatmul, OddRowsUp(1)},
      {"negation", kMatmul, RoundsUp},
      {"scale", kMatmul, HiddenEpsilon},
      {"one_hot", kMatmul, HiddenEpsilon},
      {"batch1", kMatmul, AnotherWayForMany("m")},
      {"batch64", kMatmul, AnotherWayForMany("m", 32)},
      {"batch129", kMatmul, AnotherWayForMany("m", 128)},
      {"batch129", softmax, AnotherWayForMany("shape", 64)},
      {"batch64", conv, AnotherWayForMany("n", 32)},
      {"outer_batch1", kMatmul, AnotherWayForMany("batch")},
      {"position", sum, OddRowsUp(1)},
      {"batch1", sum, AnotherWayForMany("shape")},
      {"negation", sum, RoundsUp},
      {"scale", sum, HiddenEpsilon},
      {"one_hot", sum, HiddenEpsilon},
      {"position", softmax, OddRowsUp(9)},
      {"batch1", softmax, AnotherWayForMany("shape")},
      {"shift", softmax, ForgetsTheMaximum},
      {"position", conv, OddRowsUp(30)},
      {"columns", conv, OddRowsUp(5)},
      {"batch1", conv, AnotherWayForMany("n")},
      {"negation", conv, RoundsUp},
      {"scale", conv, HiddenEpsilon},
      {"one_hot", conv, HiddenEpsilon},
      {"position", attention, OddRowsUp(96)},
      {"batch1", attention, AnotherWayForMany("b")},
      {"negation", attention, RoundsUp},
      {"masked", attention, ReadsHidden},
      {"masked_nan", attention, ReadsHidden},
      {"masked_keys", attention, ReadsHiddenKeys},
      {"equal_values", attention, WrongGain},
      {"position", fft, OddRowsUp(40)},
      {"batch1", fft, AnotherWayForMany("batch")},
      {"negation", fft, RoundsUp},
      {"scale", fft, HiddenEpsilon},
      {"parseval", fft, WrongGain},
      {"inverse", fft, WrongGain},
      {"impulse", fft, WrongGain},
      {"roll", fft, WrongTwiddle},
      {"scale", "rms_norm/f32/rows=3,n=9/fill=normal/seed=0", HiddenEpsilon},
      {"scale", "selective_scan/f32/b=2,c=3,s=2,l=7/fill=normal/seed=0", HiddenEpsilon},
      {"scale", "softmax_backward/f32/rows=3,n=9/fill=normal/seed=0", HiddenEpsilon},
      {"term_order", kMatmul, WrongGain},
      {"term_order", sum, WrongGain},
      {"term_order", "attention/f32/b=1,h=2,l=9,s=12,d=8/fill=normal/seed=0", WrongGain},
      {"inverse", "fft/f32-c64/kind=r2c,n=16/fill=normal/seed=0", WrongGain},
      {"inverse", "fft/c64-f32/kind=c2r,n=15/fill=normal/seed=0", WrongGain},
  };
  for (const Violation& v : violations) {
    const Found found = Try(v.id, v.id.starts_with("fft") ? "f32;alg=fft" : kContract, v.fault);
    EXPECT_THAT(found.broken, Contains(v.name)) << v.id;
  }
}

TEST(Relations, HiddenKeysMayDecideTheLastBit) {
  for (int seed = 0; seed < 20; ++seed) {
    const Found found = Try("attention/f32/b=3,h=2,l=6,d=8,causal=1/fill=normal/seed=" + std::to_string(seed),
                            kContract, LastBitFollowsKeys);
    EXPECT_THAT(found.holding, IsSupersetOf({"masked", "masked_keys"})) << seed;
  }
}

// -128 has no negative in 8 bits.
TEST(Relations, NegationLeavesOutIntegersWithoutANegative) {
  for (const char* id : {"matmul/i8-i8-i32/m=64,n=64,k=64/fill=special/seed=0",
                         "conv/i8-i8-i32/n=2,c=8,o=8,i=8x8,k=3x3/fill=special/seed=0"}) {
    const Found found = Try(id, "acc=i32;det=yes");
    EXPECT_THAT(found.broken, testing::IsEmpty()) << id;
    EXPECT_THAT(found.holding, Contains("position")) << id;
  }
}

// An intermediate that underflows is another number after scaling; the other elements are compared all the same.
TEST(Relations, ScalingOfAFormulaLeavesOutWhatUnderflowsOnTheWay) {
  const Problem problem = Bind("rms_norm/f32/rows=2,n=4/fill=normal/seed=0");
  const Operator& op = Op("rms_norm");
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  const std::span<float> x = inputs[0].As<float>(), gamma = inputs[1].As<float>();
  x[2] = x[6] = 0x1p-140F, gamma[2] = 0x1p+100F;  // x / root is subnormal, y is not
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
  const Contract contract = Declared(kContract);
  const BoundModel bound = op.Bound(problem, 0, golden, contract);
  const Tensor output = Implement(problem, inputs, nullptr);
  for (const Relation& relation : op.Relations(problem, 0)) {
    if (relation.name != "scale") continue;
    const auto other = relation.make({op, problem, 0, inputs, golden, bound, contract, output});
    ASSERT_TRUE(other.has_value());
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(other->tolerance[i], i % 4 == 2 ? HUGE_VAL : 0) << i;
    return;
  }
  FAIL() << "there is no relation scale";
}

// The product 130816 is beyond f16, though half of it is not: a factor decides whether it is rounded to infinity.
TEST(Relations, ScalingLeavesOutProductsThatAreRoundedFirst) {
  constexpr const char* kCase = "matmul/f16/m=4,n=4,k=64,alpha=0.5{}/fill=normal/seed=0";
  EXPECT_THAT(Try(fmt::format(fmt::runtime(kCase), ",epilogue=rounded"), kContract).holding, Not(Contains("scale")));
  EXPECT_THAT(Try(fmt::format(fmt::runtime(kCase), ""), kContract).holding, Contains("scale"));
}

// Results just below the smallest normal number of f16, such as 1023.64 * 2^-24, are rounded to it in coarser steps
// than 64 times as much, 65513 * 2^-24, to 65504 of them.
TEST(Relations, ScalingAllowsForResultsThatWereRoundedToTheSmallestNormalNumber) {
  constexpr const char* kCase = "conv/f16/n=3,c=2,o=192,i=127,k=5,stride=3,pad=1,bias=1/fill=subnormal/seed=0";
  EXPECT_THAT(Try(kCase, "f32acc;det=yes").holding, Contains("scale"));
}

TEST(Relations, SayNothingWhereDataDecide) {
  // Subnormal products round differently, non-finite ones are the exceptional channel's.
  EXPECT_THAT(Try("matmul/f32/m=3,n=3,k=5/fill=subnormal/seed=0", kContract).holding, Not(Contains("scale")));
  const Found special = Try("matmul/f32/m=32,n=48,k=256/fill=special/seed=0", kContract);
  EXPECT_THAT(special.holding, Not(Contains("one_hot")));
  EXPECT_THAT(special.holding, Contains("position"));
  // Every query sees every key.
  EXPECT_THAT(Try("attention/f32/b=1,h=2,l=9,s=12,d=8/fill=normal/seed=0", kContract).holding, Not(Contains("masked")));
}

// Where one key has almost all of the weight, its gradient is a difference that cancels, and the bound is far above it.
TEST(Relations, SayNothingOfScalesOfWhatUnderflowsWithinALargerBound) {
  const Fault leaves_noise = [](const Problem&, Inputs, Values& y) {
    for (double& v : y) v = std::abs(v) < 1e-30 ? 1.3e-38 : v;
  };
  const char* id = "attention_backward/f32/b=1,h=2,hkv=1,l=9,s=17,d=8,dv=8,causal=1/fill=lognormal/seed=0";
  const Found found = Try(id, kContract, leaves_noise);
  EXPECT_THAT(found.holding, Contains("scale"));
  EXPECT_THAT(found.broken, Not(Contains("scale")));
}

TEST(Claims, FollowFromTheContract) {
  const auto claimed = [](Claim claim, const char* contract, DType in = DType::kF32) {
    return IsClaimed(claim, Declared(contract), in);
  };
  EXPECT_TRUE(claimed(Claim::kBatchInvariant, "f32acc;batchinv=yes"));
  EXPECT_FALSE(claimed(Claim::kBatchInvariant, "f32acc;det=yes"));
  for (const Claim claim : {Claim::kSymmetric, Claim::kScalable}) {
    EXPECT_TRUE(claimed(claim, "f32acc;det=yes"));
    for (const char* weaker : {"f32acc", "f32acc;det=yes;out=rz", "f32acc;det=yes;ftz=out", "acc=tc<24,4>;det=yes",
                               "f32acc;det=yes;mid=bf16"}) {
      EXPECT_FALSE(claimed(claim, weaker)) << weaker;
    }
  }
  EXPECT_TRUE(claimed(Claim::kCopies, "f32acc"));
  EXPECT_FALSE(claimed(Claim::kCopies, "tf32"));
  EXPECT_TRUE(claimed(Claim::kCopies, "tf32", DType::kF16));  // tf32 holds every f16
  EXPECT_FALSE(claimed(Claim::kCopies, "f16acc"));
  EXPECT_TRUE(claimed(Claim::kCopies, "f16acc", DType::kE4M3));
  EXPECT_FALSE(claimed(Claim::kCopies, "f32acc;alg=winograd<2,3>"));
  EXPECT_TRUE(claimed(Claim::kCopies, "acc=i32", DType::kI8));
  EXPECT_TRUE(claimed(Claim::kBound, "bf16acc"));
  EXPECT_FALSE(claimed(Claim::kNone, "f64;det=yes;batchinv=yes"));
}

}  // namespace
}  // namespace assay::test
