// SPDX-License-Identifier: Apache-2.0
// Every bug changes the exact result wherever the corpus offers it; those that depend on values, on data that has them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

constexpr std::string_view kEffect = ".effect";

// Bugs that only some values show, each with a case that has them.
struct OfValues {
  const char* fault;
  const char* case_id;
};
constexpr OfValues kOfValues[] = {
    {"fault.infinity-saturated", "matmul/f32/m=9,n=20,k=16/fill=special/seed=0"},
    {"fault.nan-replaced-by-zero", "matmul/f32/m=9,n=20,k=64/fill=special/seed=0"},
    {"fault.zero-operand-skips-infinity", "matmul/f32/m=200,n=200,k=16/fill=special/seed=0"},
    {"fault.infinity-for-large-finite", "matmul/f32/m=40,n=40,k=16/fill=special/seed=0"},
    {"fault.subnormal-operands-flushed", "matmul/f32/m=200,n=20,k=1/fill=special/seed=0"},
    {"fault.subnormal-f16-operands-flushed", "matmul/f16/m=9,n=20,k=64/fill=subnormal/seed=0"},
    {"fault.i8-sums-saturate-in-i16", "matmul/i8-i8-i32/m=9,n=20,k=256/fill=uniform/seed=0"},
    {"fault.subnormal-operands-flushed", "reduce/f32/shape=9x64,axes=1,kind=sum/fill=subnormal/seed=0"},
    {"fault.extreme-starts-at-zero", "reduce/f32/shape=64x3,axes=1,kind=max/fill=normal/seed=0"},
    {"fault.extreme-loses-nan-by-position", "reduce/f32/shape=33x300,axes=1,kind=max/fill=special/seed=0"},
    {"fault.arg-takes-last-of-ties", "reduce/bf16-i64/shape=33x300,axes=1,kind=argmax/fill=ramp/seed=0"},
    {"fault.logsumexp-without-shift", "reduce/f32/shape=33x300,axes=1,kind=logsumexp/fill=outlier/seed=0"},
};

bool DependsOnValues(const std::string& fault) {
  return std::ranges::any_of(kOfValues, [&](const OfValues& one) { return fault == one.fault; });
}

// The case with a double output, which the bugs in exact arithmetic write.
cli::CaseData PrepareEffect(const std::string& case_id) {
  cli::CaseData data = Corpus::Prepare(case_id);
  data.problem.output.dtype = DType::kF64;
  return data;
}

// Elements in which an effect differs from the golden value by more than the rounding of either.
int64_t Changed(const Golden& golden, const Tensor& effect) {
  const auto values = effect.As<double>();
  int64_t changed = 0;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[i], got = values[i];
    const double magnitude = golden.magnitude.empty() ? std::abs(y) : golden.magnitude[i];
    const bool both_finite = std::isfinite(y) && std::isfinite(got);
    if (both_finite ? std::abs(got - y) > 1e-13 * magnitude : !(got == y || (std::isnan(got) && std::isnan(y)))) {
      ++changed;
    }
  }
  return changed;
}

std::string FaultOf(const std::string& implementation) {
  return implementation.substr(0, implementation.size() - kEffect.size());
}

class Effects : public testing::TestWithParam<const char*> {};

TEST_P(Effects, EveryBugChangesTheExactResult) {
  Corpus corpus;
  const cli::CaseData data = PrepareEffect(GetParam());
  int faults = 0;
  for (const ImplementationInfo& info : corpus.Offered(data.problem, "fault.")) {
    if (!info.name.ends_with(kEffect) || DependsOnValues(FaultOf(info.name))) continue;
    ++faults;
    const Tensor effect = corpus.Run(data.problem, data.inputs, info.name);
    const int64_t changed = Changed(data.golden, effect);
    EXPECT_GT(changed, 0) << info.name << " changes nothing of " << GetParam();
    if (info.name.find("-in-one-element") != std::string::npos) {
      EXPECT_EQ(changed, 1) << info.name;
    }
  }
  EXPECT_GT(faults, 5);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Effects,
                         testing::Values("matmul/f32/m=33,n=40,k=300/fill=normal/seed=0",
                                         "matmul/e4m3-e4m3-f32/m=33,n=40,k=64/fill=normal/seed=0",
                                         "matmul/f16-f16-f32/m=33,n=40,k=64/fill=normal/seed=0",
                                         "matmul/bf16/m=9,n=20,k=77,alpha=1.25,beta=0.5,bias=1/fill=normal/seed=0",
                                         "matmul/f64/m=9,n=20,k=77,batch=3,transa=1,transb=1/fill=normal/seed=0",
                                         "matmul/i8-i8-i32/m=9,n=20,k=77/fill=uniform/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=sum/fill=normal/seed=0",
                                         "reduce/f16/shape=300x33,axes=0,kind=mean/fill=normal/seed=0",
                                         "reduce/bf16-f32/shape=33x300,axes=1,kind=l2/fill=normal/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=prod/fill=near_one/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=logsumexp/fill=normal/seed=0",
                                         "reduce/f64/shape=7x5x33,axes=2,kind=sum/fill=normal/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=max/fill=normal/seed=0",
                                         "reduce/f32-i64/shape=33x300,axes=1,kind=argmax/fill=normal/seed=0"));

TEST(Corpus, BugsOfValuesChangeTheExactResultWhereTheyAre) {
  Corpus corpus;
  for (const OfValues& one : kOfValues) {
    const cli::CaseData data = PrepareEffect(one.case_id);
    const Tensor effect = corpus.Run(data.problem, data.inputs, one.fault + std::string(kEffect));
    EXPECT_GT(Changed(data.golden, effect), 0) << one.fault << " changes nothing of " << one.case_id;
  }
}

// What the measure above compares with: a correct schedule in the same arithmetic changes nothing.
TEST(Corpus, DoubleSumsOfNarrowOperandsAreNotChanged) {
  Corpus corpus;
  const cli::CaseData data = PrepareEffect("matmul/f16-f16-f32/m=33,n=40,k=64/fill=normal/seed=0");
  EXPECT_EQ(Changed(data.golden, corpus.Run(data.problem, data.inputs, "legal.sequential")), 0);
}

// A race must show in some run of a plan, whatever the data.
TEST(Corpus, RacesAreCaught) {
  Corpus corpus;
  for (const char* id : {"matmul/f32/m=33,n=40,k=300/fill=normal/seed=0",
                         "reduce/f32/shape=33x300,axes=1,kind=sum/fill=normal/seed=0"}) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.race-");
    ASSERT_EQ(judged.size(), 1u) << id;
    EXPECT_NE(judged[0].verdict, Verdict::kPass) << id;
  }
}

// The output of a plan's first call must not pass for that of later ones, with a twin or without.
TEST(Corpus, StaleOutputsAreCaught) {
  Corpus corpus;
  for (const char* id :
       {"matmul/f32/m=33,n=40,k=300/fill=normal/seed=0", "reduce/f32/shape=33x300,axes=1,kind=max/fill=normal/seed=0",
        "reduce/f32-i64/shape=33x300,axes=1,kind=argmax/fill=normal/seed=0",
        "reduce/f32-i64/shape=33x300,axes=1,kind=argmin,tie=any/fill=ramp/seed=0"}) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.stale-output-of-first-call");
    ASSERT_FALSE(judged.empty()) << id;
    EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << id << ": " << judged[0].reason;
  }
}

}  // namespace
}  // namespace assay
