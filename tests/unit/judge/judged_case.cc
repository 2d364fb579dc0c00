// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/judge/judged_case.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/data/fill/rng.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

DType ComponentType(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

double Round(DType dtype, double x) {
  return IsInt(dtype) ? std::nearbyint(x) : RoundTo(FormatOf(dtype), x);
}

// Goldens and outputs that meet every rule of non-finite values, each about once in a hundred elements.
void MakeSpecial(JudgedCase& c, const RandomStream& random, std::vector<double>& out, double beyond) {
  const double golden[] = {kNaN, kNaN, kInf, -kInf, kInf, beyond, -beyond, 1, 1, 1, kInf};
  const double got[] = {kNaN, 1, kInf, kInf, 1, kInf, 1, kNaN, kInf, -kInf, kNaN};
  for (int64_t i = 0; i < c.values(); ++i) {
    const uint64_t k = random.Below(static_cast<uint64_t>(i), 1100);
    if (k >= std::size(golden)) continue;
    c.golden.value[static_cast<size_t>(i)] = golden[k];
    out[static_cast<size_t>(i)] = got[k];
    if (!c.golden.value_lo.empty()) c.golden.value_lo[static_cast<size_t>(i)] = 0;
    if (random.Below(static_cast<uint64_t>(i) + 1'000'000, 3) == 0) c.golden.magnitude.Set(i, 1e30);
  }
}

}  // namespace

JudgedCase::JudgedCase(const JudgedCaseSpec& spec) : got(spec.dtype, spec.shape) {
  const int64_t n = got.size() * (IsComplex(spec.dtype) ? 2 : 1);
  const RandomStream y(spec.seed, 1), s(spec.seed, 2), e(spec.seed, 3), low(spec.seed, 4);
  const double scale = IsInt(spec.dtype) ? 20 : spec.dtype == DType::kE4M3 ? 30 : 3;
  const double middle = spec.dtype == DType::kU8 ? 128 : 0;
  golden.shape = spec.shape;
  golden.value.resize(static_cast<size_t>(n));
  golden.magnitude = golden.sigma = golden.error = second = Plane(n, spec.wide);
  if (spec.low_parts) golden.value_lo.resize(static_cast<size_t>(n));
  bound.exact = spec.exact || IsInt(spec.dtype);
  const double u = IsInt(spec.dtype) ? 0 : FormatOf(spec.dtype).UnitRoundoff();
  bound.terms = {{&golden.magnitude, 0.25 * u}};
  if (spec.extra_term) bound.terms.push_back({&second, 0.5 * u});
  bound.u_out = u;
  bound.lambda_out = IsInt(spec.dtype) ? 0 : FormatOf(spec.dtype).MinSubnormal() / 2;
  bound.overflow_at = IsInt(spec.dtype) ? kInf : FormatOf(spec.dtype).OverflowThreshold();
  bound.partial_overflow_at = 1e29;
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<uint64_t>(i), at = static_cast<size_t>(i);
    const double value = middle + scale * y.Normal(k);
    golden.value[at] = IsInt(spec.dtype) || spec.exact ? Round(spec.dtype, value) : value;
    if (spec.low_parts) golden.value_lo[at] = golden.value[at] * 0x1p-54 * low.Uniform(k);
    const double magnitude = std::fabs(value) + std::fabs(8 * s.Normal(k));
    golden.magnitude.Set(i, magnitude);
    second.Set(i, magnitude / 3);
    golden.sigma.Set(i, magnitude * 2);
    golden.error.Set(i, 1e-3 * u * magnitude);
    out[at] = golden.value[at] + spec.noise * 0.25 * u * magnitude * e.Normal(k);
    if (IsInt(spec.dtype) && e.Below(k + 99, 50) == 0) out[at] += 1;
    if (low.Below(k + 7, 40) == 0) out[at] = 0;
  }
  const double beyond = IsInt(spec.dtype) || spec.dtype == DType::kF64 || spec.dtype == DType::kC128
                            ? 100
                            : 1.5 * FormatOf(spec.dtype).max_finite;
  if (spec.special) MakeSpecial(*this, RandomStream(spec.seed, 5), out, beyond);
  got.SetDoubles(out);
}

void JudgedCase::SetGot(int64_t i, double value) {
  std::vector<double> all = got.ToDoubles();
  all[static_cast<size_t>(i)] = value;
  got.SetDoubles(all);
}

namespace {

// The verdict of one value: +1 accepted, 0 a violation of the bound, -1 a wrong non-finite value. `in_sums`: whether
// it has an error worth adding.
struct NaiveJudgement {
  int outcome;
  bool in_sums;
};

NaiveJudgement JudgeNaively(const JudgedCase& c, int64_t i, double got, long double beyond, long double a) {
  const double y = c.golden.value[static_cast<size_t>(i)];
  const DType type = ComponentType(c.got.dtype());
  const bool within = beyond <= a;
  if (std::isnan(y)) return {std::isnan(got) ? 1 : -1, false};
  if (IsInt(type) || c.bound.exact) {
    if (std::isfinite(got) && std::isfinite(y)) return {got == Round(type, y) ? 1 : 0, true};
    return {got == Round(type, y) ? 1 : -1, false};
  }
  const bool partial = c.bound.growth * c.golden.magnitude[i] >= c.bound.partial_overflow_at;
  const bool may_overflow = std::fabs(y) + a >= c.bound.overflow_at;
  if (std::isnan(got)) return {partial || (may_overflow && !FormatOf(type).has_infinity) ? 1 : -1, false};
  if (std::isinf(got)) {
    const bool reaches = got > 0 ? y + a >= c.bound.overflow_at : -y + a >= c.bound.overflow_at;
    return {partial || reaches ? 1 : -1, false};
  }
  if (std::isinf(y)) return {-1, false};
  if (std::fabs(y) - a >= c.bound.overflow_at) return within ? NaiveJudgement{-1, false} : NaiveJudgement{0, true};
  return {within ? 1 : 0, true};
}

// Half of the gap between `got` and its neighbour on the other side of `error`.
long double HalfGap(DType type, double got, long double error) {
  if (IsInt(type) || !std::isfinite(got)) return 0;
  const FloatFormat& format = FormatOf(type);
  const double size = std::fabs(got);
  const bool above_power_of_two = size == std::exp2(std::ilogb(size)) && size > format.MinNormal();
  const bool inward = got != 0 && (error < 0) == std::signbit(got);
  return UlpAt(format, got) / (inward && above_power_of_two ? 4.0L : 2.0L);
}

long double UlpOf(DType type, double x) {
  return IsInt(type) ? 1 : UlpAt(FormatOf(type), x);
}

}  // namespace

NaiveMetrics MeasureNaively(const JudgedCase& c) {
  NaiveMetrics m;
  const std::vector<double> got = c.got.ToDoubles();
  const DType type = ComponentType(c.got.dtype());
  const bool exact = c.bound.exact || IsInt(type);
  long double worst_margin = 0;
  for (int64_t i = 0; i < c.values(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double y = c.golden.value[at];
    const long double lo = c.golden.value_lo.empty() ? 0 : c.golden.value_lo[at];
    const long double error = static_cast<long double>(got[at]) - y - lo;
    long double a = c.bound.constant + static_cast<long double>(c.golden.error[i]);
    for (const BoundTerm& term : c.bound.terms) a += static_cast<long double>(term.coefficient) * (*term.plane)[i];
    if (exact) a = 0;
    const long double half = exact ? 0 : HalfGap(type, got[at], error);
    const long double beyond = std::max(0.0L, std::fabs(error) - half);
    const NaiveJudgement judged = JudgeNaively(c, i, got[at], beyond, a);
    const double rounded = Round(type, y);
    m.bit_exact = m.bit_exact && (got[at] == rounded || (std::isnan(got[at]) && std::isnan(rounded)));
    m.violations += judged.outcome == 0;
    m.nonfinite_mismatch += judged.outcome == -1;
    long double margin = judged.outcome == -1 ? kInf : 0;
    if (judged.in_sums) {
      const long double abs = std::fabs(error);
      if (exact) margin = judged.outcome == 0 ? kInf : 0;
      if (!exact && beyond > 0) margin = beyond / a;
      ++m.finite;
      m.zeros += got[at] == 0;
      m.margin = std::max(m.margin, margin);
      m.max_abs = std::max(m.max_abs, abs);
      if (y != 0) m.max_rel = std::max(m.max_rel, abs / std::fabs(y));
      m.max_ulp = std::max(m.max_ulp, abs / UlpOf(type, y));
      m.sum_e2 += error * error;
      m.sum_y2 += static_cast<long double>(y) * y;
      m.sum_ulp2 += UlpOf(type, y) * UlpOf(type, y);
      const long double sigma = c.golden.sigma[i] * c.contract.AccUnitRoundoff();
      m.sum_sigma2 += sigma * sigma;
      const long double scale =
          std::sqrt(sigma * sigma + static_cast<long double>(c.golden.error[i]) * c.golden.error[i]);
      const long double r = scale > 0 ? beyond / scale : 0;
      m.sum_r2 += r * r;
      m.max_r = std::max(m.max_r, r);
      m.sum_bias += (error < 0) != (y < 0) ? -r : r;
    }
    if (margin > worst_margin) {
      worst_margin = margin;
      m.worst = i;
    }
  }
  return m;
}

}  // namespace assay
