// SPDX-License-Identifier: Apache-2.0
// VERDICT.md 1: no correct implementation of a contract ever leaves the hard bound. Dot products in random orders and
// groupings, each operation rounded (and flushed) as the contract says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm.h"
#include "harness/data/fill/fill.h"
#include "harness/data/fill/rng.h"

namespace assay {
namespace {

struct Machine {
  std::string contract;
  DType in, acc, out;
  bool fused = false;  // product and sum rounded together
};

bool Flushes(const Contract& c, bool input) {
  return c.ftz == Flush::kAll || c.ftz == (input ? Flush::kIn : Flush::kOut);
}

double FlushTo(const FloatFormat& format, double x) {
  return std::fabs(x) < format.MinNormal() ? std::copysign(0.0, x) : x;
}

// x rounded to `bits` bits of significand with bf16's exponents; toward zero or to nearest.
double RoundInput(const Contract& c, double x) {
  if (c.in == InputRounding::kBF16) return RoundTo(FormatOf(DType::kBF16), x);
  if (c.in != InputRounding::kTF32RN && c.in != InputRounding::kTF32RZ) return x;
  FloatFormat tf32 = FormatOf(DType::kF32);
  tf32.precision = 11;
  if (c.in == InputRounding::kTF32RN) return RoundTo(tf32, x);
  const double spacing = UlpAt(tf32, x);
  return std::trunc(x / spacing) * spacing;
}

class Simulator {
 public:
  Simulator(const Machine& machine, uint64_t seed)
      : machine_(machine), contract_(ParseDeclaration(machine.contract).value()), random_(seed, 99) {}

  double Dot(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<size_t> order(a.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(draw_++, i)]);
    if (contract_.acc == Accumulator::kTensorCore) return Output(TruncatingDot(a, b, order));
    // A few running sums, joined at the end: from sequential to pairwise.
    std::vector<double> lanes(1 + random_.Below(draw_++, a.size()), 0.0);
    for (size_t i = 0; i < order.size(); ++i) {
      double& lane = lanes[i % lanes.size()];
      const double x = Input(a[order[i]]), y = Input(b[order[i]]);
      lane = machine_.fused ? Operation(x * y, lane) : Operation(Round(x * y), lane);
    }
    while (lanes.size() > 1) {
      const double last = lanes.back();
      lanes.pop_back();
      double& other = lanes[random_.Below(draw_++, lanes.size())];
      other = Operation(last, other);
    }
    return Output(lanes[0]);
  }
  const Contract& contract() const { return contract_; }

 private:
  // A matrix unit: every product of a block, and the running sum, cut to F bits below the largest exponent; their sum
  // cut to f32.
  double TruncatingDot(const std::vector<double>& a, const std::vector<double>& b, const std::vector<size_t>& order) {
    double sum = 0;
    const auto block = static_cast<size_t>(contract_.tc_block);
    for (size_t start = 0; start < order.size(); start += block) {
      const size_t end = std::min(order.size(), start + block);
      int exponent = sum == 0 ? -1000 : std::ilogb(sum);
      for (size_t i = start; i < end; ++i) {
        const double x = a[order[i]], y = b[order[i]];
        if (x * y != 0) exponent = std::max(exponent, std::ilogb(x) + std::ilogb(y));
      }
      const double quantum = std::ldexp(1.0, exponent - contract_.tc_bits);
      sum = std::trunc(sum / quantum) * quantum;
      for (size_t i = start; i < end; ++i) sum += std::trunc(a[order[i]] * b[order[i]] / quantum) * quantum;
      const double spacing = UlpAt(FormatOf(DType::kF32), sum);
      sum = std::trunc(sum / spacing) * spacing;
    }
    return sum;
  }
  double Input(double x) const {
    if (Flushes(contract_, true)) x = FlushTo(FormatOf(machine_.in), x);
    return RoundInput(contract_, x);
  }
  // Sums of two doubles: the second rounding, from double to the accumulator, is innocuous enough here (53 bits are
  // more than 2 * 24 + 2, except for a fused f32 sum, whose double error the bound's factor 2 covers).
  double Operation(double p, double s) const { return Round(p + s); }
  double Round(double x) const {
    const FloatFormat& format = FormatOf(machine_.acc);
    x = RoundTo(format, x);
    return contract_.ftz == Flush::kAll || contract_.ftz == Flush::kOut ? FlushTo(format, x) : x;
  }
  double Output(double x) const {
    const FloatFormat& format = FormatOf(machine_.out);
    double y = RoundTo(format, x);
    if (contract_.out == OutputRounding::kTowardZero && std::fabs(y) > std::fabs(x)) {
      y -= std::copysign(UlpAt(format, x), x);
    }
    return Flushes(contract_, false) ? FlushTo(format, y) : y;
  }

  const Machine machine_;
  const Contract contract_;
  const RandomStream random_;
  uint64_t draw_ = 0;
};

bool Accepted(const BoundModel& bound, const Golden& golden, int64_t i, double got) {
  if (std::isfinite(got)) return std::fabs(got - golden.value[i]) <= HardBound(bound, golden, i);
  const double reach = std::fabs(golden.value[i]) + AccumulatedBound(bound, golden, i);
  return reach >= bound.overflow_at || golden.magnitude[i] * bound.growth >= bound.partial_overflow_at;
}

void ExpectNeverViolated(const Machine& machine, const std::string& fill, int64_t k) {
  const int64_t m = 12;
  Tensor a(machine.in, {m, k}), b(machine.in, {k, m});
  FillTensor(ParseFill(fill).value(), static_cast<uint64_t>(k), 0, 1, 0, a);
  FillTensor(ParseFill(fill).value(), static_cast<uint64_t>(k), 1, 0, 1, b);
  const Golden golden = GoldenGemm({.m = m, .n = m, .k = k}, a, b, Tier::kFast, false);
  Simulator simulator(machine, static_cast<uint64_t>(k));
  SumBoundSpec spec{.terms = static_cast<double>(k), .height = static_cast<double>(k)};
  spec.type_a = spec.type_b = machine.in;
  const BoundModel bound = SumBound(golden, simulator.contract(), machine.out, spec);
  const std::vector<double> av = a.ToDoubles(), bv = b.ToDoubles();
  for (int64_t i = 0; i < m * m; ++i) {
    std::vector<double> x(av.begin() + i / m * k, av.begin() + (i / m + 1) * k), y(k);
    for (int64_t j = 0; j < k; ++j) y[j] = bv[j * m + i % m];
    const double got = simulator.Dot(x, y);
    EXPECT_TRUE(Accepted(bound, golden, i, got))
        << machine.contract << " " << fill << " k=" << k << " got " << got << " golden " << golden.value[i] << " bound "
        << HardBound(bound, golden, i);
    // The perfectly rounded result, which every contract that rounds to nearest has to accept.
    if (simulator.contract().out == OutputRounding::kNearest) {
      EXPECT_TRUE(Accepted(bound, golden, i, RoundTo(FormatOf(machine.out), golden.value[i])));
    }
  }
}

class Simulation : public ::testing::TestWithParam<Machine> {};

TEST_P(Simulation, NeverLeavesTheHardBound) {
  for (const std::string fill : {"normal", "uniform", "lognormal", "outlier", "cancel-1e3", "subnormal", "pow2"}) {
    for (const int64_t k : {1, 2, 7, 64, 300}) ExpectNeverViolated(GetParam(), fill, k);
  }
}

constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kBF16 = DType::kBF16;
INSTANTIATE_TEST_SUITE_P(
    Machines, Simulation,
    ::testing::Values(Machine{"acc=f32", kF32, kF32, kF32}, Machine{"acc=f32", kF32, kF32, kF32, true},
                      Machine{"acc=f32", kF16, kF32, kF16}, Machine{"acc=f32", kF16, kF32, kF32, true},
                      Machine{"acc=f32", kBF16, kF32, kBF16, true}, Machine{"acc=f32", DType::kE4M3, kF32, kF16},
                      Machine{"acc=f32", DType::kE5M2, kF32, DType::kE5M2}, Machine{"acc=f16", kF16, kF16, kF16},
                      Machine{"acc=f16", kF16, kF16, kF16, true}, Machine{"acc=bf16", kBF16, kBF16, kBF16},
                      Machine{"acc=f32;ftz=all", kF32, kF32, kF32}, Machine{"acc=f32;ftz=all", kF32, kF32, kF32, true},
                      Machine{"acc=f32;ftz=in", kF32, kF32, kF32}, Machine{"acc=f32;ftz=out", kF16, kF32, kF16},
                      Machine{"acc=f16;ftz=all", kF16, kF16, kF16}, Machine{"acc=f16;ftz=out", kF16, kF16, kF16},
                      Machine{"acc=f32;out=rz", kF16, kF32, kF16}, Machine{"in=bf16;acc=f32", kF32, kF32, kF32},
                      Machine{"in=tf32rn;acc=f32", kF32, kF32, kF32}, Machine{"in=tf32rz;acc=f32", kF32, kF32, kF32},
                      Machine{"acc=tc<23,4>", kF16, kF32, kF32}, Machine{"acc=tc<24,8>", kF16, kF32, kF16},
                      Machine{"acc=tc<25,16>", kBF16, kF32, kF32}, Machine{"acc=tc<13,32>", DType::kE4M3, kF32, kF32},
                      Machine{"in=bf16;acc=f32;ftz=in", kF32, kF32, kF32},
                      Machine{"in=bf16;acc=f32", kF16, kF32, kF16}));

}  // namespace
}  // namespace assay
