// SPDX-License-Identifier: Apache-2.0
// No correct implementation fails the statistic, whatever its order of additions, its accumulator and the data.
#include <fmt/format.h>

#include <cmath>

#include "ops/softmax/softmax.h"
#include "tests/support/full.h"
#include "tests/support/simulate/attention.h"
#include "tests/support/simulate/conv.h"
#include "tests/support/simulate/softmax.h"
#include "tests/support/simulate/sums.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

constexpr const char* kFills[] = {"uniform", "normal", "lognormal", "outlier", "cancel-1e4",
                                  "ramp",    "coded",  "subnormal", "pow2",    "near_one"};

struct TypeCase {
  const char* dtypes;
  const char* contract;
};

void Report(const char* what, const AlarmTally& tally) {
  fmt::print(
      "{}: {} tensors, statistic on {}, largest margin {:.3f}, bias {:.3f}, granularity {:.3f}, largest of its own "
      "{:.3f}, suspect {}\n",
      what, tally.tensors, tally.applicable, tally.largest, tally.largest_bias, tally.largest_granularity,
      tally.largest_self, tally.suspects);
}

TEST(NoFalseAlarm, Matmul) {
  constexpr TypeCase kTypes[] = {{"f64", "acc=f64"},         {"f32", "acc=f32"},          {"f32", "acc=f32;ftz=all"},
                                 {"f16", "acc=f32"},         {"f16", "acc=f16"},          {"bf16", "acc=f32"},
                                 {"f16-f16-f32", "acc=f32"}, {"bf16-bf16-f32", "acc=f32"}};
  constexpr const char* kShapes[] = {"m=5,n=7,k=1",
                                     "m=6,n=6,k=9,batch=2",
                                     "m=16,n=20,k=64",
                                     "m=6,n=5,k=65,alpha=0.3,beta=-1.5,bias=1",
                                     "m=6,n=5,k=33,alpha=-2.5,beta=0.1,bias=1,epilogue=rounded",
                                     "m=18,n=18,k=130",
                                     "m=4,n=4,k=1000"};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    for (const char* fill : kFills) {
      for (const char* shape : kShapes) {
        const uint64_t seed = turn++;
        if (IsLeftOut(seed, 3)) continue;
        const StatisticCase c(fmt::format("matmul/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed),
                              type.contract);
        const std::vector<Schedule> schedules = AllSchedules(seed);
        for (size_t k = seed % 2; k < schedules.size(); k += 2) {
          const auto got = RunMatmul(c.problem, c.inputs, schedules[k], ArithmeticOf(c.contract));
          tally.Add(c, got, fmt::format("order {} fma {}", static_cast<int>(schedules[k].order), schedules[k].fma));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 1000 : 1000 / 3);
  Report("matmul", tally);
}

TEST(NoFalseAlarm, Reduce) {
  constexpr TypeCase kTypes[] = {{"f64", "acc=f64;math=1"},
                                 {"f32", "acc=f32;math=1"},
                                 {"f16", "acc=f32;math=1"},
                                 {"f16", "acc=f16;math=1"},
                                 {"bf16-f32", "acc=f32;math=1"}};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    for (const char* fill : kFills) {
      for (const char* kind : {"sum", "mean", "prod", "l2", "logsumexp"}) {
        for (const char* shape :
             {"shape=20x1,axes=1", "shape=3x9x40,axes=0+1", "shape=20x70,axes=-1", "shape=4x2000,axes=-1"}) {
          const std::string key = std::string_view(kind) == "sum" ? "" : fmt::format(",kind={}", kind);
          const uint64_t seed = turn++;
          if (IsLeftOut(seed, 3)) continue;
          const StatisticCase c(fmt::format("reduce/{}/{}{}/fill={}/seed={}", type.dtypes, shape, key, fill, seed),
                                type.contract);
          const std::vector<Schedule> schedules = AllSchedules(seed);
          for (size_t k = seed / 3 % 3; k < schedules.size(); k += 3) {
            const auto got = RunReduce(c.problem, c.inputs, schedules[k], ArithmeticOf(c.contract));
            tally.Add(c, got, fmt::format("order {} fma {}", static_cast<int>(schedules[k].order), schedules[k].fma));
          }
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 1000 : 1000 / 3);
  Report("reduce", tally);
}

TEST(NoFalseAlarm, Conv) {
  constexpr TypeCase kTypes[] = {{"f64", "acc=f64"}, {"f32", "acc=f32"}, {"f16", "acc=f32"}, {"bf16", "acc=f32"}};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    for (const char* fill : kFills) {
      for (const char* shape : {"n=1,c=3,o=4,i=9x8,k=3x3,pad=1", "n=2,c=16,o=2,i=5x5,k=1,bias=1"}) {
        const uint64_t seed = turn++;
        if (IsLeftOut(seed, 3)) continue;
        const StatisticCase c(fmt::format("conv/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed), type.contract);
        for (const Schedule& schedule : AllSchedules(seed)) {
          tally.Add(c, RunConv(c.problem, c.inputs, schedule, ArithmeticOf(c.contract), Padding::kSkipped),
                    fmt::format("order {}", static_cast<int>(schedule.order)));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 500 : 500 / 3);
  Report("conv", tally);
}

// Small terms on a large one (tosa-2, tosa-3), products that vanish (tosa-0, tosa-4), numbers near the format's
// largest.
TEST(NoFalseAlarm, TosaSets) {
  constexpr TypeCase kTypes[] = {{"f32", "acc=f32"}, {"f16", "acc=f32"}, {"f16", "acc=f16"}, {"bf16", "acc=f32"}};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    ++turn;  // else each type would leave out the same pairs
    for (int set = 0; set < 6; ++set) {
      for (const char* form : {"matmul/{}/m=24,n=40,k=96", "conv/{}/n=1,c=6,o=4,i=9x8,k=3x3,pad=1",
                               "reduce/{}/shape=64x300,axes=1", "reduce/{}/shape=8x70,axes=1,kind=mean"}) {
        const uint64_t seed = turn++;
        if (IsLeftOut(seed, 3)) continue;
        const StatisticCase c(
            fmt::format(fmt::runtime(std::string(form) + "/fill=tosa-{}/seed={}"), type.dtypes, set, seed),
            type.contract);
        const std::vector<Schedule> schedules = AllSchedules(seed);
        for (size_t k = seed % 2; k < schedules.size(); k += 2) {
          const auto run = c.problem.spec.op == "matmul" ? RunMatmul : RunReduce;
          tally.Add(c,
                    c.problem.spec.op == "conv"
                        ? RunConv(c.problem, c.inputs, schedules[k], ArithmeticOf(c.contract), Padding::kSkipped)
                        : run(c.problem, c.inputs, schedules[k], ArithmeticOf(c.contract)),
                    fmt::format("order {}", static_cast<int>(schedules[k].order)));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 500 : 500 / 3);
  Report("TOSA's sets", tally);
}

// exp(0) is 1 in every implementation, which the simulated biases of online forms ignore: those run without.
TEST(NoFalseAlarm, Softmax) {
  constexpr TypeCase kTypes[] = {{"f64", "acc=f64;math=1"},
                                 {"f32", "acc=f32;math=1"},
                                 {"f32", "acc=f32;math=4"},
                                 {"f16", "acc=f32;math=4"},
                                 {"bf16", "acc=f32;math=2"}};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    for (const char* fill : {"uniform", "normal", "lognormal", "outlier", "near_one"}) {
      for (const char* shape : {"shape=4x77", "shape=40x3,axis=0,log=1", "shape=3x400", "shape=6x130,log=1"}) {
        const uint64_t seed = turn++;
        if (IsLeftOut(seed, 3)) continue;
        const StatisticCase c(fmt::format("softmax/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed),
                              type.contract);
        const SoftmaxArgs op(c.problem);
        const std::vector<double> operand = c.inputs[0].ToDoubles();
        for (const SoftmaxForm& form : AllSoftmaxForms(seed)) {
          if (form.block > 0 && form.bias != Bias::kNone) continue;
          std::vector<double> got(static_cast<size_t>(c.golden.size())), x(static_cast<size_t>(op.terms));
          for (int64_t row = 0; row < op.rows; ++row) {
            for (int64_t k = 0; k < op.terms; ++k) x[k] = operand[op.Offset(row, k)];
            const auto y = RunSoftmaxRow(c.problem, x, c.contract, form);
            for (int64_t k = 0; k < op.terms; ++k) got[op.Offset(row, k)] = y[k];
          }
          tally.Add(c, got, fmt::format("block {} bias {}", form.block, static_cast<int>(form.bias)));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 1000 : 1000 / 3);
  Report("softmax", tally);
}

TEST(NoFalseAlarm, Attention) {
  constexpr TypeCase kTypes[] = {{"f32", "acc=f32;math=1"},
                                 {"f16", "acc=f32;math=2"},
                                 {"bf16", "acc=f32;math=2;mid=bf16"},
                                 {"f16", "acc=f32;math=2;mid=f16"},
                                 {"f32", "acc=f32;math=1;mid=bf16"}};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    for (const char* fill : {"uniform", "normal", "lognormal", "outlier", "near_one"}) {
      for (const char* shape : {"b=1,h=2,l=9,s=40,d=8", "b=1,h=1,l=24,d=16,causal=1", "b=1,h=1,l=4,s=150,d=16",
                                "b=1,h=1,l=8,s=33,d=80,softcap=5"}) {
        const uint64_t seed = turn++;
        if (IsLeftOut(seed, 3)) continue;
        const StatisticCase c(fmt::format("attention/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed),
                              type.contract);
        const auto forms = AllAttentionForms(seed);
        for (size_t at = (seed + 1) % 2; at < forms.size(); at += 2) {
          if (forms[at].block > 0 && forms[at].bias != Bias::kNone) continue;
          tally.Add(c, RunAttention(c.problem, c.inputs, c.contract, forms[at]), fmt::format("form {}", at));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 1000 : 1000 / 3);
  Report("attention", tally);
}

// Log-sums of units beside scores of any size: those of scale=100 reach some hundreds.
TEST(NoFalseAlarm, AttentionByUnits) {
  constexpr TypeCase kTypes[] = {{"f32", "acc=f32;math=1"}, {"f32", "acc=f32;math=4"}, {"f16", "acc=f32;math=2"}};
  AlarmTally tally;
  uint64_t turn = 0;
  for (const TypeCase& type : kTypes) {
    ++turn;  // else each type would leave out the same pairs
    for (const char* fill : {"uniform", "normal", "near_one"}) {
      for (const char* shape : {"b=1,h=2,l=9,s=40,d=8", "b=1,h=1,l=24,s=64,d=16,causal=1", "b=1,h=1,l=4,s=150,d=16",
                                "b=1,h=1,l=6,s=90,d=4,scale=100", "b=1,h=1,l=8,s=33,d=80,softcap=5"}) {
        const uint64_t seed = turn++;
        if (IsLeftOut(seed, 3)) continue;
        const StatisticCase c(fmt::format("attention/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed),
                              type.contract);
        const AttentionArgs op(c.problem);
        const auto forms = AllUnitForms(seed, static_cast<int64_t>(std::ceil(op.CountKeys(0) / 16)));
        for (size_t at = seed / 3 % 3; at < forms.size(); at += 3) {
          tally.Add(c, RunAttention(c.problem, c.inputs, c.contract, forms[at]), fmt::format("form {}", at));
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GE(tally.applicable, kIsFull ? 300 : 300 / 3);
  Report("attention by units", tally);
}

}  // namespace
}  // namespace assay::test
