// SPDX-License-Identifier: Apache-2.0
// No correct implementation of a contract is ever judged wrong. Dot products in random orders and
// groupings, each operation rounded (and flushed) as the contract says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm.h"
#include "harness/core/data/fill/fill.h"
#include "harness/judge/judge.h"
#include "tests/support/simulate/schedule.h"

namespace assay {
namespace {

struct Machine {
  std::string contract;
  DType in, out;
  bool fused = false;  // product and sum rounded together
};

// Rows of a and columns of b: m x m dot products of k terms.
struct Products {
  Products(const Machine& machine, const std::string& fill, int64_t rows_in_all, int64_t k) : m(rows_in_all) {
    Tensor rows(machine.in, {m, k}), columns(machine.in, {k, m});
    FillTensor(ParseFill(fill).value(), static_cast<uint64_t>(k), 0, 1, 0, rows);
    FillTensor(ParseFill(fill).value(), static_cast<uint64_t>(k), 1, 0, 1, columns);
    golden = GoldenGemm({.m = m, .n = m, .k = k}, rows, columns, Tier::kFast, false);
    a = rows.ToDoubles(), b = columns.ToDoubles();
  }

  double Simulate(int64_t i, const test::Schedule& schedule, const test::Arithmetic& unit,
                  const Machine& machine) const {
    const int64_t k = std::ssize(b) / m;
    std::vector<double> x(static_cast<size_t>(k)), y(x.size());
    for (int64_t j = 0; j < k; ++j) {
      x[j] = unit.Operand(machine.in, a[i / m * k + j]);
      y[j] = unit.Operand(machine.in, b[j * m + i % m]);
    }
    return unit.Out(machine.out, test::Sum(x, y, schedule, unit));
  }

  int64_t m;
  std::vector<double> a, b;
  Golden golden;
};

void ExpectNeverViolated(const Machine& machine, const std::string& fill, int64_t k) {
  const Products products(machine, fill, 12, k);
  const Golden& golden = products.golden;
  const Contract contract = ParseDeclaration(machine.contract).value();
  const test::Arithmetic unit = test::ArithmeticOf(contract);
  SumBoundSpec spec{.terms = static_cast<double>(k), .height = static_cast<double>(k)};
  spec.type_a = spec.type_b = machine.in;
  const BoundModel bound = SumBound(golden, contract, machine.out, spec);
  const ElementJudge judge(golden, bound, contract, machine.out);
  for (int64_t i = 0; i < golden.size(); ++i) {
    const test::Schedule schedule{test::Order::kLanes, machine.fused, static_cast<uint64_t>(k * 1000 + i)};
    const double got = products.Simulate(i, schedule, unit, machine);
    const Judgement judged = judge.Judge(i, got);
    EXPECT_TRUE(judged.accepted) << machine.contract << " " << fill << " k=" << k << " got " << got << " golden "
                                 << golden.value[i] << " bound " << judged.Tolerance();
    // The perfectly rounded result, which every contract that rounds to nearest has to accept.
    if (contract.out == OutputRounding::kNearest) {
      EXPECT_TRUE(judge.Judge(i, RoundTo(FormatOf(machine.out), golden.value[i])).accepted);
    }
  }
}

class Simulation : public ::testing::TestWithParam<Machine> {};

TEST_P(Simulation, NeverLeavesTheHardBound) {
  for (const std::string fill : {"normal", "uniform", "lognormal", "outlier", "cancel-1e3", "subnormal", "pow2"}) {
    for (const int64_t k : {1, 2, 7, 64, 300}) ExpectNeverViolated(GetParam(), fill, k);
  }
}

constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kBF16 = DType::kBF16, kE4M3 = DType::kE4M3;
INSTANTIATE_TEST_SUITE_P(
    Machines, Simulation,
    ::testing::Values(Machine{"acc=f32", kF32, kF32}, Machine{"acc=f32", kF32, kF32, true},
                      Machine{"acc=f32", kF16, kF16}, Machine{"acc=f32", kF16, kF32, true},
                      Machine{"acc=f32", kBF16, kBF16, true}, Machine{"acc=f32", kE4M3, kF16},
                      Machine{"acc=f32", DType::kE5M2, DType::kE5M2}, Machine{"acc=f16", kF16, kF16},
                      Machine{"acc=f16", kF16, kF16, true}, Machine{"acc=bf16", kBF16, kBF16},
                      Machine{"acc=f32;ftz=all", kF32, kF32}, Machine{"acc=f32;ftz=all", kF32, kF32, true},
                      Machine{"acc=f32;ftz=in", kF32, kF32}, Machine{"acc=f32;ftz=out", kF16, kF16},
                      Machine{"acc=f16;ftz=all", kF16, kF16}, Machine{"acc=f16;ftz=out", kF16, kF16},
                      Machine{"acc=f32;out=rz", kF16, kF16}, Machine{"in=bf16;acc=f32", kF32, kF32},
                      Machine{"in=tf32rn;acc=f32", kF32, kF32}, Machine{"in=tf32rz;acc=f32", kF32, kF32},
                      Machine{"acc=tc<23,4>", kF16, kF32}, Machine{"acc=tc<24,8>", kF16, kF16},
                      Machine{"acc=tc<25,16>", kBF16, kF32}, Machine{"acc=tc<13,32>", kE4M3, kF32},
                      Machine{"in=bf16;acc=f32;ftz=in", kF32, kF32}, Machine{"in=bf16;acc=f32", kF16, kF32}));

}  // namespace
}  // namespace assay
