// SPDX-License-Identifier: Apache-2.0
// Correct implementations have no finding, however many of their results are judged together, whatever the order of
// their sums, and with functions that are as bad as declared, all in one direction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "ops/attention/attention.h"
#include "ops/softmax/softmax.h"
#include "tests/support/full.h"
#include "tests/support/simulate/attention.h"
#include "tests/support/simulate/conv.h"
#include "tests/support/simulate/fft.h"
#include "tests/support/simulate/softmax.h"
#include "tests/support/simulate/sums.h"
#include "tests/unit/judge/pooled/pooled_case.h"

namespace assay::test {
namespace {

const int kSeeds = kIsFull ? 12 : 6;

struct PooledType {
  const char* dtypes;
  const char* contract;
};

std::vector<double> RunSums(const PooledCase& c, const Schedule& schedule) {
  const Arithmetic unit = ArithmeticOf(c.contract);
  if (c.problem.spec.op == "conv") return RunConv(c.problem, c.inputs, schedule, unit, Padding::kSkipped);
  return c.problem.spec.op == "matmul" ? RunMatmul(c.problem, c.inputs, schedule, unit)
                                       : RunReduce(c.problem, c.inputs, schedule, unit);
}

// Each schedule is an implementation, each type a run of all shapes with many seeds.
void RunSumsOf(const std::vector<PooledType>& types, const std::vector<std::string>& forms, int seeds,
               PooledTally& tally) {
  for (const PooledType& type : types) {
    PooledRun run;
    for (const std::string& form : forms) {
      for (int seed = 0; seed < seeds; ++seed) {
        const char* fill = seed % 2 == 0 ? "normal" : "uniform";
        const PooledCase c(fmt::format(fmt::runtime(form + "/fill={}/seed={}"), type.dtypes, fill, seed),
                           type.contract);
        const std::vector<Schedule> schedules = AllSchedules(static_cast<uint64_t>(seed));
        for (size_t k = 0; k < schedules.size(); ++k) run.Add(c, RunSums(c, schedules[k]), fmt::format("{}", k));
      }
    }
    tally.Add(run);
  }
}

TEST(PooledFalseAlarm, Sums) {
  PooledTally matmul, conv, reduce, narrow;
  RunSumsOf({{"f64", "acc=f64"}, {"f32", "acc=f32"}, {"f16", "acc=f32"}, {"bf16", "acc=f32"}, {"f16", "acc=f16"}},
            {"matmul/{}/m=6,n=6,k=9,batch=2", "matmul/{}/m=16,n=20,k=64", "matmul/{}/m=5,n=7,k=1",
             "matmul/{}/m=6,n=5,k=33,alpha=0.3,beta=-1.5,bias=1", "matmul/{}/m=9,n=9,k=130"},
            kSeeds, matmul);
  RunSumsOf({{"f32", "acc=f32"}, {"bf16", "acc=f32"}},
            {"conv/{}/n=1,c=3,o=4,i=9x8,k=3x3,pad=1", "conv/{}/n=2,c=16,o=2,i=5x5,k=1,bias=1"}, 10, conv);
  RunSumsOf({{"f32", "acc=f32;math=1"}, {"f16", "acc=f32;math=1"}},
            {"reduce/{}/shape=20x70,axes=-1", "reduce/{}/shape=3x9x40,axes=0+1,kind=mean",
             "reduce/{}/shape=20x150,axes=-1,kind=l2", "reduce/{}/shape=12x90,axes=-1,kind=logsumexp"},
            kSeeds, reduce);
  // Sums that are narrower than their outputs leave zeros there.
  RunSumsOf({{"f16-f16-f32", "acc=f16"}, {"bf16-bf16-f32", "acc=bf16"}, {"f16-f16-f32", "acc=tc<23,4>"}},
            {"matmul/{}/m=16,n=20,k=64", "matmul/{}/m=6,n=6,k=9,batch=2"}, 4, narrow);
  narrow.Print("narrow sums");
  matmul.Print("matmul"), conv.Print("conv"), reduce.Print("reduce");
  EXPECT_GE(matmul.results + conv.results + reduce.results, kIsFull ? 4000U : 2000U);
}

// The shared error of sums (one bias added to all of them) has another sign and size in each case.
TEST(PooledFalseAlarm, CommonAddends) {
  PooledTally tally;
  PooledRun run;
  for (int seed = 0; seed < 8; ++seed) {
    const PooledCase c(fmt::format("matmul/f32/m=20000,n=1,k=2,beta=1,bias=1/fill=large/seed={}", seed), "acc=f32");
    run.Add(c, RunSums(c, Schedule{}), "right");
  }
  tally.Add(run);
  EXPECT_TRUE(tally.largest.contains("lean"));
}

// exp(0) is 1 in every implementation, which the simulated biases of online forms ignore: those run without.
TEST(PooledFalseAlarm, Attention) {
  constexpr PooledType kTypes[] = {{"f32", "acc=f32;math=1"},
                                   {"f32", "acc=f32;math=4"},
                                   {"f16", "acc=f32;math=2"},
                                   {"bf16", "acc=f32;math=2;mid=bf16"}};
  PooledTally tally;
  for (const PooledType& type : kTypes) {
    PooledRun run;
    for (const char* shape :
         {"b=1,h=2,l=9,s=40,d=8", "b=1,h=1,l=24,d=16,causal=1", "b=1,h=1,l=8,s=33,d=20,softcap=5"}) {
      for (int seed = 0; seed < kSeeds; ++seed) {
        const PooledCase c(fmt::format("attention/{}/{}/fill={}/seed={}", type.dtypes, shape,
                                       seed % 3 == 0 ? "uniform" : "normal", seed),
                           type.contract);
        const auto forms = AllAttentionForms(static_cast<uint64_t>(seed));
        for (size_t at = 0; at < forms.size(); at += 2) {
          if (forms[at].block > 0 && forms[at].bias != Bias::kNone) continue;
          run.Add(c, RunAttention(c.problem, c.inputs, c.contract, forms[at]), fmt::format("form {}", at));
        }
      }
    }
    tally.Add(run);
  }
  tally.Print("attention");
  EXPECT_GE(tally.results, kIsFull ? 1000U : 500U);
}

// Each join of units is an implementation, whose log-sums are rounded beside scores of some hundreds.
TEST(PooledFalseAlarm, AttentionByUnits) {
  constexpr PooledType kTypes[] = {{"f32", "acc=f32;math=1"}, {"f32", "acc=f32;math=4"}};
  PooledTally tally;
  for (const PooledType& type : kTypes) {
    PooledRun run;
    for (const char* shape : {"b=1,h=2,l=9,s=40,d=8", "b=1,h=1,l=6,s=90,d=4,scale=100"}) {
      for (int seed = 0; seed < kSeeds; ++seed) {
        const PooledCase c(fmt::format("attention/{}/{}/fill={}/seed={}", type.dtypes, shape,
                                       seed % 3 == 0 ? "near_one" : "normal", seed),
                           type.contract);
        const auto forms = AllUnitForms(static_cast<uint64_t>(seed), 3);
        for (size_t at = 0; at < forms.size(); at += 2) {
          run.Add(c, RunAttention(c.problem, c.inputs, c.contract, forms[at]), fmt::format("form {}", at));
        }
      }
    }
    tally.Add(run);
  }
  tally.Print("attention by units");
  EXPECT_GE(tally.results, kIsFull ? 500U : 250U);
}

TEST(PooledFalseAlarm, Softmax) {
  constexpr PooledType kTypes[] = {{"f32", "acc=f32;math=1"}, {"f32", "acc=f32;math=4"}, {"bf16", "acc=f32;math=2"}};
  PooledTally tally;
  for (const PooledType& type : kTypes) {
    PooledRun run;
    for (const char* shape : {"shape=4x77", "shape=40x3,axis=0,log=1", "shape=6x130,log=1"}) {
      for (int seed = 0; seed < kSeeds; ++seed) {
        const PooledCase c(fmt::format("softmax/{}/{}/fill={}/seed={}", type.dtypes, shape,
                                       seed % 2 == 0 ? "uniform" : "normal", seed),
                           type.contract);
        const SoftmaxArgs op(c.problem);
        const std::vector<double> inputs = c.inputs[0].ToDoubles();
        const auto forms = AllSoftmaxForms(static_cast<uint64_t>(seed));
        for (size_t at = 0; at < forms.size(); ++at) {
          if (forms[at].block > 0 && forms[at].bias != Bias::kNone) continue;
          std::vector<double> got(static_cast<size_t>(c.golden.size())), x(static_cast<size_t>(op.terms));
          for (int64_t row = 0; row < op.rows; ++row) {
            for (int64_t k = 0; k < op.terms; ++k) x[k] = inputs[op.Offset(row, k)];
            const auto y = RunSoftmaxRow(c.problem, x, c.contract, forms[at]);
            for (int64_t k = 0; k < op.terms; ++k) got[op.Offset(row, k)] = y[k];
          }
          run.Add(c, got, fmt::format("form {}", at));
        }
      }
    }
    tally.Add(run);
  }
  tally.Print("softmax");
  EXPECT_GE(tally.results, kIsFull ? 1000U : 500U);
}

// Forward and unscaled, of one complex axis.
std::vector<double> Transform(const PooledCase& c, int64_t n, const LineTransform& line) {
  const std::vector<double> x = c.inputs[0].ToDoubles();
  std::vector<double> got;
  for (size_t at = 0; at < x.size(); at += static_cast<size_t>(2 * n)) {
    Signal signal;
    for (size_t j = at; j < at + static_cast<size_t>(2 * n); j += 2) {
      signal.push_back({static_cast<float>(x[j]), static_cast<float>(x[j + 1])});
    }
    for (const C32& y : line(signal, RoundedTwiddle)) got.insert(got.end(), {y.re, y.im});
  }
  return got;
}

TEST(PooledFalseAlarm, Transforms) {
  PooledTally tally;
  for (const NamedLine& line : LegalLines()) {
    if (std::string_view(line.name) == "real packed") continue;
    PooledRun run;
    for (const int64_t n : {2, 3, 4, 8, 12, 16, 37, 64, 210}) {
      if (std::string_view(line.name) == "stockham" && !std::has_single_bit(static_cast<uint64_t>(n))) continue;
      for (int seed = 0; seed < kSeeds; ++seed) {
        const PooledCase c(
            fmt::format("fft/c64/kind=c2c,n={},batch=8/fill={}/seed={}", n, seed % 2 == 0 ? "uniform" : "normal", seed),
            fmt::format("f32;alg={}", line.algorithm).c_str());
        run.Add(c, Transform(c, n, line.run), line.name);
      }
    }
    tally.Add(run);
  }
  tally.Print("fft");
  EXPECT_GE(tally.results, kIsFull ? 400U : 200U);
  EXPECT_TRUE(tally.largest.contains("output_bits"));
}

// The magnitude of a formula is that of its results, and the logarithm of a sum may be far smaller than the maximum
// that is added to it: neither excuses zeros that cancellation leaves.
TEST(PooledFalseAlarm, OutputBitsAreAskedWhereTheTermsOfTheLastAdditionAreKnown) {
  const auto is_asked = [](const char* id, const char* contract) {
    const PooledCase c(id, contract);
    const std::vector<PooledTest> asked = c.Gather(c.golden.value);
    return std::ranges::any_of(asked, [](const PooledTest& one) { return one.question == "output_bits"; });
  };
  for (const char* id :
       {"matmul/f32/m=6,n=6,k=9", "conv/f32/n=1,c=3,o=4,i=9x8,k=3x3", "reduce/f32/shape=20x70,axes=-1,kind=l2",
        "softmax/f32/shape=4x77", "attention/f32/b=1,h=1,l=8,d=20"}) {
    EXPECT_TRUE(is_asked((std::string(id) + "/fill=normal/seed=1").c_str(), "acc=f32;math=1")) << id;
  }
  EXPECT_TRUE(is_asked("fft/c64/kind=c2c,n=16,batch=8/fill=normal/seed=1", "acc=f32;alg=fft"));
  for (const char* id : {"layer_norm/f32/rows=7,n=33", "rope/f32/b=1,h=2,l=9,d=16", "softmax_backward/f32/rows=7,n=33",
                         "reduce/f32/shape=20x70,axes=-1,kind=logsumexp"}) {
    EXPECT_FALSE(is_asked((std::string(id) + "/fill=normal/seed=1").c_str(), "acc=f32;math=1")) << id;
  }
  for (const char* contract : {"acc=f16", "acc=bf16", "acc=tc<23,4>"}) {
    EXPECT_FALSE(is_asked("matmul/f16-f16-f32/m=6,n=6,k=9/fill=normal/seed=1", contract)) << contract;
  }
}

}  // namespace
}  // namespace assay::test
