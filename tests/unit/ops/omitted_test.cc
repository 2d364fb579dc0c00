// SPDX-License-Identifier: Apache-2.0
// Omitted terms: the closed forms agree with computing the result again without the term.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

std::vector<int64_t> Indices(int64_t n) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) all[i] = i;
  return all;
}

TEST(SampledTerms, HasFirstLastAndFourteenMore) {
  EXPECT_EQ(SampledTerms(5, 0), Indices(5));
  for (int64_t output : {0, 1, 77}) {
    const std::vector<int64_t> terms = SampledTerms(1000, output);
    EXPECT_EQ(terms.front(), 0);
    EXPECT_EQ(terms.back(), 999);
    EXPECT_TRUE(std::ranges::is_sorted(terms));
    EXPECT_LE(terms.size(), 16u);
    EXPECT_GE(terms.size(), 12u);
  }
  EXPECT_NE(SampledTerms(1000, 0), SampledTerms(1000, 1));
}

TEST(MatmulOmitted, MatchesTheSumWithoutTheTerm) {
  for (const char* id : {"matmul/f32/m=3,n=2,k=9,transa=1,alpha=2,beta=0.5,bias=1/fill=normal/seed=3",
                         "matmul/bf16/m=3,n=2,k=12,batch=2,transb=1/fill=special/seed=5",
                         "matmul/i8-i8-i32/m=2,n=2,k=7/fill=uniform/seed=1"}) {
    const Problem problem = Bind(id);
    const MatmulArgs op(problem);
    const std::vector<Tensor> inputs = Op("matmul").MakeInputs(problem);
    const std::vector<double> values = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast).value;
    const std::vector<Mutant> mutants =
        Op("matmul").OmittedTerms(problem, 0, inputs, values, Indices(std::ssize(values)));
    ASSERT_FALSE(mutants.empty());
    for (const Mutant& mutant : mutants) {
      bool explained = false;
      for (int64_t omitted = 0; omitted < op.gemm.k && !explained; ++omitted) {
        double sum = 0;
        for (int64_t k = 0; k < op.gemm.k; ++k) {
          if (k == omitted) continue;
          sum += ValueAt(inputs[0], op.OffsetInA(op.BatchOf(mutant.index), op.RowsOfA(mutant.index) % op.gemm.m, k)) *
                 ValueAt(inputs[1], op.OffsetInB(op.BatchOf(mutant.index), k, op.ColumnOf(mutant.index)));
        }
        sum *= op.alpha;
        if (op.beta != 0) sum += op.beta * ValueAt(inputs[op.c_index()], mutant.index);
        if (op.bias) sum += ValueAt(inputs[op.bias_index()], op.ColumnOf(mutant.index));
        explained = sum == mutant.value || std::abs(sum - mutant.value) <= 1e-12 * (1 + std::abs(sum)) ||
                    (std::isnan(sum) && std::isnan(mutant.value));
      }
      EXPECT_TRUE(explained) << id << " element " << mutant.index << " value " << mutant.value;
    }
  }
}

TEST(ReduceOmitted, MatchesTheRowWithoutTheTerm) {
  for (const char* kind : {"sum", "mean", "max", "min", "prod", "l2", "argmax", "argmin", "logsumexp"}) {
    for (const char* fill : {"normal", "special", "coded", "pow2"}) {
      const std::string key = std::string_view(kind) == "sum" ? "" : fmt::format(",kind={}", kind);
      const Problem problem = Bind(fmt::format("reduce/f32/shape=5x11,axes=1{}/fill={}/seed=2", key, fill));
      const Problem shorter = Bind(fmt::format("reduce/f32/shape=1x10,axes=1{}/fill={}/seed=2", key, fill));
      SCOPED_TRACE(problem.spec.Id());
      const ReduceArgs op(problem), rest(shorter);
      const std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
      const std::vector<double> values = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast).value;
      for (const Mutant& mutant : Op("reduce").OmittedTerms(problem, 0, inputs, values, Indices(5))) {
        bool explained = false;
        for (int64_t omitted = 0; omitted < op.terms && !explained; ++omitted) {
          std::vector<double> row = op.Row(inputs[0], mutant.index);
          row.erase(row.begin() + omitted);
          std::vector<Tensor> without;
          without.emplace_back(DType::kF32, Shape{1, 10});
          without[0].SetDoubles(row);
          double expected = Op("reduce").ComputeGolden(shorter, 0, without, Tier::kFast).value[0];
          if (op.kind == ReduceKind::kMean) expected *= 10.0 / 11.0;
          if (IsArg(op.kind) && expected >= static_cast<double>(omitted)) ++expected;
          explained = expected == mutant.value ||
                      std::abs(expected - mutant.value) <= 1e-9 * (1 + std::abs(expected)) ||
                      (std::isnan(expected) && std::isnan(mutant.value));
        }
        EXPECT_TRUE(explained) << mutant.index << " value " << mutant.value;
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
