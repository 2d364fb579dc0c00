// SPDX-License-Identifier: Apache-2.0
// Golden value and bound of matmul. The product comes from golden/gemm/gemm.h and its bound A from SumBound
// (golden/bound/bound.h), to which MatmulBound hands the sum; the epilogue's share of both comes from here.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "golden/bound/bound.h"
#include "golden/sums/scaled_sum.h"
#include "harness/core/base/parallel.h"
#include "ops/binding.h"
#include "ops/epilogue.h"
#include "ops/matmul/matmul.h"

namespace assay {
namespace {

constexpr double kEpilogueError = 0x1p-98;        // a few double-double operations at 3 * 2^-106 of S', with margin
constexpr double kEpilogueUnderflow = 0x1p-1070;  // low parts lost below double's range; nothing beside f32 planes

bool IsSubnormal(double x, const FloatFormat& format) {
  return x != 0 && std::abs(x) < format.MinNormal();
}

// Everything that the epilogue changes about one element.
struct EpilogueInput {
  double c = 0, bias = 0;
  double flushed = 0;  // |beta c| and |bias| as far as c and bias are subnormal
};

EpilogueInput ReadEpilogueInput(const MatmulArgs& op, std::span<const Tensor> inputs, int64_t i) {
  EpilogueInput in;
  if (op.beta != 0) {
    const Tensor& c = inputs[op.c_index()];
    in.c = ValueAt(c, i);
    if (IsSubnormal(in.c, FormatOf(c.dtype()))) in.flushed += std::abs(op.beta * in.c);
  }
  if (op.bias) {
    const Tensor& bias = inputs[op.bias_index()];
    in.bias = ValueAt(bias, op.ColumnOf(i));
    if (IsSubnormal(in.bias, FormatOf(bias.dtype()))) in.flushed += std::abs(in.bias);
  }
  return in;
}

double FiniteOrZero(double x) {
  return std::isfinite(x) ? x : 0;
}

void FinishElement(const MatmulArgs& op, Golden& golden, Plane& subnormal, Plane& rounded, int64_t i,
                   const EpilogueInput& in) {
  const double product = golden.value[i];
  const double product_lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
  DD y = DD{product, product_lo} * op.alpha;
  if (op.beta != 0) y = y + TwoProd(op.beta, in.c);
  if (op.bias) y = y + in.bias;

  const double scaled = std::abs(FiniteOrZero(op.alpha * product));
  const double added = std::abs(FiniteOrZero(op.beta * in.c)) + std::abs(FiniteOrZero(in.bias));
  const double magnitude = std::abs(op.alpha) * golden.magnitude[i] + added;
  double error = std::abs(op.alpha) * golden.error[i] + kEpilogueError * magnitude;
  if (golden.error.wide()) error += kEpilogueUnderflow;
  error += SetElement(golden, i, y, op.alpha * product + op.beta * in.c + in.bias);
  // Each epilogue operation rounds once more: after alpha, after beta c, after bias.
  double variance = std::pow(op.alpha * golden.sigma[i], 2);
  const double step = kRoundingDeviation * kRoundingDeviation;
  if (op.alpha != 1) variance += step * scaled * scaled;
  if (op.beta != 0 && op.bias) variance += step * std::pow(scaled + added, 2);
  golden.magnitude.SetUp(i, magnitude);
  golden.error.SetUp(i, error);
  golden.sigma.Set(i, std::sqrt(variance));
  if (!subnormal.empty()) subnormal.SetUp(i, std::abs(op.alpha) * subnormal[i] + in.flushed);
  if (!rounded.empty()) rounded.SetUp(i, scaled);
}

bool AnyInfinite(const std::vector<double>& x) {
  return std::ranges::any_of(x, [](double v) { return std::isinf(v); });
}

bool AnySubnormal(const std::vector<double>& x, const FloatFormat& format) {
  return std::ranges::any_of(x, [&](double v) { return IsSubnormal(v, format); });
}

// Flags every output element that adds a product of an infinity in a and a subnormal in b, or the other way round.
void FlagLostInfinities(const MatmulArgs& op, const std::vector<double>& a, const std::vector<double>& b,
                        const FloatFormat& format, Plane& flags) {
  const auto [m, n, k, batch, transa, transb] = op.gemm;
  for (int64_t row = 0; row < batch * m; ++row) {
    for (int64_t term = 0; term < k; ++term) {
      if (!std::isinf(a[op.OffsetInA(row / m, row % m, term)])) continue;
      for (int64_t j = 0; j < n; ++j) {
        if (IsSubnormal(b[op.OffsetInB(row / m, term, j)], format)) flags.Set(row * n + j, 1);
      }
    }
  }
  for (int64_t column = 0; column < batch * n; ++column) {
    const int64_t at = column / n, j = column % n;
    for (int64_t term = 0; term < k; ++term) {
      if (!std::isinf(b[op.OffsetInB(at, term, j)])) continue;
      for (int64_t i = 0; i < m; ++i) {
        if (IsSubnormal(a[op.OffsetInA(at, i, term)], format)) flags.Set((at * m + i) * n + j, 1);
      }
    }
  }
}

// epilogue=rounded: ab or alpha ab is rounded to the output's type and may overflow there. To nearest that is an
// infinity, which keeps what c and bias do not make NaN. A directed rounding stops at the largest finite number, as far
// from alpha ab as that may be.
void AdmitOverflowOfProduct(const Golden& golden, const Contract& contract, const Plane& reach, double at,
                            BoundModel& bound) {
  const bool nearest = contract.RoundsToNearest();
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (!(reach[i] >= at)) continue;
    unsigned also = nearest ? kAlsoInfinity : kAnything;
    if (!std::isfinite(golden.value[i])) also |= kAlsoNan;
    Admit(bound, golden.size(), i, also);
  }
}

}  // namespace

void AddLostInfinities(const MatmulArgs& op, const Tensor& a, const Tensor& b, Golden& golden) {
  if (AllFinite(golden.value)) return;
  const std::vector<double> left = a.ToDoubles(), right = b.ToDoubles();
  const FloatFormat& format = FormatOf(a.dtype());
  const bool possible =
      (AnyInfinite(left) && AnySubnormal(right, format)) || (AnyInfinite(right) && AnySubnormal(left, format));
  if (!possible) return;
  Plane flags(golden.size(), false);
  FlagLostInfinities(op, left, right, format, flags);
  golden.extra.emplace_back("lost_infinity", std::move(flags));
}

void AddOperandPlanes(const MatmulArgs& op, const Tensor& a, const Tensor& b, Golden& golden) {
  const bool scales = std::abs(op.alpha) != 1;
  const double scale = std::max(1.0, std::abs(op.alpha)), largest = std::max(LargestFinite(a), LargestFinite(b));
  const bool overflows =
      largest >= kNarrowestOverflow || (scale > 1 && largest * scale > FormatOf(DType::kF16).max_finite);
  if (!scales && !overflows) return;
  const std::vector<double> left = a.ToDoubles(), right = b.ToDoubles();
  const auto of_factors = [&](const auto& join) {  // of each element's factors from a, and from b
    const auto add = [&](double& to, double x) { to = std::isfinite(x) ? join(to, std::abs(x)) : to; };
    const auto [m, n, k, batch, transa, transb] = op.gemm;
    std::vector<double> rows(batch * m), columns(batch * n);
    for (int64_t at = 0; at < batch; ++at) {
      for (int64_t term = 0; term < k; ++term) {
        for (int64_t i = 0; i < m; ++i) add(rows[at * m + i], left[op.OffsetInA(at, i, term)]);
        for (int64_t j = 0; j < n; ++j) add(columns[at * n + j], right[op.OffsetInB(at, term, j)]);
      }
    }
    constexpr double kMost = std::numeric_limits<double>::max();
    const bool wide =
        golden.magnitude.wide() || largest * static_cast<double>(2 * k) > FormatOf(DType::kF32).max_finite;
    Plane plane(golden.size(), wide);
    for (int64_t i = 0; i < golden.size(); ++i) {
      plane.SetUp(i, std::min(kMost, join(rows[op.RowsOfA(i)], columns[op.BatchOf(i) * n + op.ColumnOf(i)])));
    }
    return plane;
  };
  if (scales) golden.extra.emplace_back("operand_sum", of_factors(std::plus()));
  const auto largest_of = [](double x, double y) { return std::max(x, y); };
  if (overflows) golden.extra.emplace_back("largest_operand", of_factors(largest_of));
}

void SumBeyondDouble(const MatmulArgs& op, std::span<const Tensor> inputs, Golden& golden) {
  if (inputs[0].dtype() != DType::kF64) return;
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (golden.error[i] < std::numeric_limits<double>::infinity()) continue;
    const int64_t batch = op.BatchOf(i), row = op.RowsOfA(i) % op.gemm.m, column = op.ColumnOf(i);
    ScaledSum sum;
    for (int64_t k = 0; k < op.gemm.k; ++k) {
      sum.Add(ValueAt(inputs[0], op.OffsetInA(batch, row, k)), ValueAt(inputs[1], op.OffsetInB(batch, k, column)),
              op.alpha);
    }
    const EpilogueInput in = ReadEpilogueInput(op, inputs, i);
    if (op.beta != 0) sum.Add(op.beta, in.c);
    if (op.bias) sum.Add(in.bias);
    sum.Store(golden, i);
    if (op.rounded) golden.error.Set(i, std::numeric_limits<double>::infinity());
  }
}

Golden ApplyEpilogue(const MatmulArgs& op, Golden golden, std::span<const Tensor> inputs) {
  if (!op.HasEpilogue()) return golden;
  constexpr int64_t kGrain = 4096;
  const bool wide = golden.magnitude.wide();
  Plane subnormal, rounded;
  std::erase_if(golden.extra, [&](auto& extra) {
    if (extra.first != "subnormal_mass") return false;
    subnormal = std::move(extra.second);
    return true;
  });
  if (subnormal.empty()) subnormal = Plane(golden.size(), wide);  // c and bias may be subnormal
  if (op.rounded) rounded = Plane(golden.size(), wide);
  ParallelFor(golden.size(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      FinishElement(op, golden, subnormal, rounded, i, ReadEpilogueInput(op, inputs, i));
    }
  });
  golden.extra.emplace_back("subnormal_mass", std::move(subnormal));
  if (op.rounded) golden.extra.emplace_back("rounded_product", std::move(rounded));
  return golden;
}

// Underflow error of the epilogue: a product with alpha, one with beta, the additions of c and bias. A unit that
// flushes may also lose the operands of each product.
double EpilogueUnderflow(const MatmulArgs& op, const Contract& contract, DType type) {
  const double once = AccumulatorUnderflow(contract) * (contract.ftz != Flush::kNone ? 2 : 1);
  const double addition = AdditionUnderflow(contract, type);
  double lost = 0;
  if (op.alpha != 1) lost += once;
  if (op.beta != 0) lost += once + addition * std::max(1.0, std::abs(op.beta));
  if (op.bias) lost += addition;
  return lost;
}

// One rounding for alpha, for c and for bias, of the sum or of what it begins with. Where the accumulator does not hold
// c or bias, these are converted first.
double EpilogueRoundings(const MatmulArgs& op, const Contract& contract, DType type) {
  const bool added = op.beta != 0 || op.bias;
  return (op.alpha != 1 ? 1 : 0) + (op.beta != 0 ? 1 : 0) + (op.bias ? 1 : 0) +
         (added && !AccumulatorHolds(contract, type) ? 1 : 0);
}

// alpha may be multiplied into a or b first, in the accumulator's format, as the reference BLAS does (TEMP = ALPHA B).
// Where that overflows the result is infinite or NaN; what it loses to underflow is multiplied by the other factor.
void AdmitScaledOperands(const MatmulArgs& op, const Golden& golden, const Contract& contract, BoundModel& bound) {
  const double scale = std::abs(op.alpha), range = contract.AccMaxFinite() * (1 - 4 * contract.AccUnitRoundoff());
  if (const Plane* largest = golden.Extra("largest_operand"); largest != nullptr && scale > 1) {
    AdmitWhere(bound, *largest, range / scale, kAlsoNan | kAlsoInfinity);
  }
  if (const Plane* sum = golden.Extra("operand_sum")) {
    bound.terms.push_back({sum, AccumulatorUnderflow(contract) * bound.growth});
    bound.statistic.systematic.push_back(bound.terms.back());
  }
}

BoundModel MatmulBound(const MatmulArgs& op, const Golden& golden, const Contract& contract, DType in, DType out) {
  const auto terms = static_cast<double>(op.gemm.k);
  const double height = PathRoundings(contract, terms, true, in) + EpilogueRoundings(op, contract, out);
  BoundModel bound = SumBound(golden, contract, out, {.terms = terms, .height = height, .type_a = in, .type_b = in});
  if (IsInt(out)) return bound;
  const bool flushes = contract.FlushesInputs();
  if (const Plane* lost = golden.Extra("lost_infinity"); lost != nullptr && flushes) {
    AdmitWhere(bound, *lost, 1, kAlsoNan);
  }
  AdmitOperandOverflow(bound, golden, contract, in);
  if (!op.HasEpilogue()) return bound;
  AdmitScaledOperands(op, golden, contract, bound);

  // A factor that kernels have to round errs alike in every element.
  const FloatFormat& narrow = FormatOf(DType::kBF16);
  const bool rounds = RoundTo(narrow, op.alpha) != op.alpha || RoundTo(narrow, op.beta) != op.beta;
  if (rounds) bound.statistic.lean.reset();
  if (op.bias) bound.statistic.shared_addends = op.gemm.n;

  // SumBound knows nothing of alpha: underflows of the product are scaled by it, sums overflow before it.
  const double scale = std::abs(op.alpha);
  bound.constant = bound.constant * std::max(1.0, scale) + EpilogueUnderflow(op, contract, out) * bound.growth;
  bound.statistic.constant = bound.constant;
  bound.partial_overflow_at *= std::min(1.0, scale);
  if (!op.rounded) return bound;

  // round(ab) = (ab + e)(1 + d), or so of alpha ab: |alpha| (u |ab| + u |e|) + max(1, |alpha|) lambda, and an infinity
  // where one of the two is too large.
  const BoundModel output = OutputBound(contract, out);
  for (BoundTerm& term : bound.terms) term.coefficient *= 1 + output.u_out;
  bound.constant = bound.constant * (1 + output.u_out) + std::max(1.0, scale) * output.lambda_out;
  bound.statistic.constant = bound.constant;
  const Plane* product = golden.Extra("rounded_product");
  // The rounded number may be as large as |alpha ab| + |alpha| A; the bound so far covers the second.
  Plane reach(golden.size(), golden.magnitude.wide());
  for (int64_t i = 0; i < golden.size(); ++i) reach.SetUp(i, (*product)[i] + bound.At(golden, i));
  bound.terms.push_back({product, output.u_out});
  bound.statistic.systematic.push_back({product, output.u_out});
  AdmitOverflowOfProduct(golden, contract, reach, std::min(1.0, scale) * output.overflow_at * (1 - 4 * output.u_out),
                         bound);
  return bound;
}

}  // namespace assay
