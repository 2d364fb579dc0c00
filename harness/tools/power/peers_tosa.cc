// SPDX-License-Identifier: Apache-2.0
// The verifier of Arm's TOSA reference model (verify_dot_product, verify_exact, verify_reduce_product), with the
// constants of its present form. With p the fraction bits of a format, nmin its smallest normal number, bnd the same
// operator on absolute values (the golden's magnitude plane) and KS terms per sum:
//   ksb = ceil(KS / 2^((p_acc - p_out) / 2)) + (bias ? 1 : 0)
//   e = (got - ref) / max(bnd 2^(-1-p_out), nmin);  every |e| <= 2 ksb;  sum e^2 <= 1.6 ksb T over T elements;
//   on the zero-mean data sets 3 to 5:  |sum e| <= sqrt(16 ksb T).
// An element is free where bnd (1 + 2 ksb 2^(-1-p_out)) overflows the output; where bnd is 0 both must be 0.
// Sums: matmul, convolution, reduce_sum. Selections and integers: exact. reduce_product of n factors:
// |got - ref| <= max(|ref|, nmin) ((1 + 2^(-p-1))^n - 1). TOSA has no fused softmax or attention, no mean, l2 or
// logsumexp, and no f64; its fft2d rule needs a bound that the golden does not carry, so fft has no rule here.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "harness/tools/power/peers.h"

namespace assay {
namespace {

int FractionBits(DType dtype) {
  return FormatOf(dtype).precision - 1;
}

// Fraction bits of the accumulator that the implementation declares; TOSA has none wider than f32.
int AccumulatorBits(const Contract& declared) {
  switch (declared.acc) {
    case Accumulator::kF16:
      return FractionBits(DType::kF16);
    case Accumulator::kBF16:
      return FractionBits(DType::kBF16);
    default:
      return FractionBits(DType::kF32);
  }
}

bool IsTosaFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool IsSameValue(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

Opinion Exact(const PeerRules& c, std::span<const double> got) {
  return OpinionOf(std::equal(got.begin(), got.end(), c.expected().begin(), IsSameValue));
}

Opinion ReduceProduct(const PeerRules& c, std::span<const double> got) {
  const FloatFormat& format = FormatOf(c.out());
  const double growth =
      std::pow(1 + std::ldexp(1, -1 - FractionBits(c.out())), static_cast<double>(c.form().terms)) - 1;
  for (size_t i = 0; i < got.size(); ++i) {
    const double ref = c.golden().value[i];
    const double allowed = std::max(std::fabs(ref), format.MinNormal()) * growth;
    const bool overflows = std::fabs(ref) + allowed > format.max_finite;
    if (overflows && std::isinf(got[i]) && std::signbit(got[i]) == std::signbit(ref)) continue;
    if (!IsSameValue(got[i], ref) && !(std::fabs(got[i] - ref) <= allowed)) return Opinion::kRejects;
  }
  return Opinion::kAccepts;
}

struct DotProduct {
  double ksb = 0;
  int fraction_bits = 0;
  FloatFormat format;
  bool zero_mean = false;

  double AbsBound() const { return 2 * ksb; }
  double VarBound() const { return 4 * 0.4 * ksb; }
};

DotProduct DotProductOf(const PeerRules& c, const Contract& declared) {
  DotProduct rule;
  rule.format = FormatOf(c.out());
  rule.fraction_bits = FractionBits(c.out());
  const int guard = std::max(0, AccumulatorBits(declared) - rule.fraction_bits);
  rule.ksb = std::ceil(static_cast<double>(c.form().terms) / std::exp2(guard / 2.0)) + (c.form().bias ? 1 : 0);
  const std::string& fill = c.problem().spec.fill;
  rule.zero_mean = fill == "tosa-3" || fill == "tosa-4" || fill == "tosa-5";
  return rule;
}

// The element's normalised error; none where it is rejected.
std::optional<double> ElementError(const DotProduct& rule, double ref, double bound, double got) {
  if (std::isnan(ref)) return std::isnan(got) ? std::optional(0.0) : std::nullopt;
  if (std::isnan(bound)) return 0.0;
  const double unit = bound * std::ldexp(1, -1 - rule.fraction_bits);
  if (bound + rule.AbsBound() * unit >= rule.format.OverflowThreshold()) return 0.0;
  if (bound == 0) return ref == 0 && got == 0 ? std::optional(0.0) : std::nullopt;
  const double error = (got - ref) / std::max(unit, rule.format.MinNormal());
  return std::fabs(error) <= rule.AbsBound() ? std::optional(error) : std::nullopt;
}

Opinion DotProductOpinion(const PeerRules& c, const Contract& declared, std::span<const double> got) {
  const DotProduct rule = DotProductOf(c, declared);
  const auto count = static_cast<double>(got.size());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = c.golden().magnitude[static_cast<int64_t>(i)];
    const std::optional<double> error = ElementError(rule, c.golden().value[i], bound, got[i]);
    if (!error) return Opinion::kRejects;
    sum += *error;
    squares += *error * *error;
  }
  if (rule.zero_mean && std::fabs(sum) > std::sqrt(10 * rule.VarBound() * count)) return Opinion::kRejects;
  return OpinionOf(squares <= rule.VarBound() * count);
}

// alpha, beta and c are no part of TOSA's operator.
bool IsPlainMatmul(const PeerRules& c) {
  return c.Is(PeerForm::Kind::kProduct) && c.form().plain;
}

}  // namespace

Opinion TosaOpinion(const PeerRules& c, const Contract& declared, std::span<const double> got) {
  const std::string_view kind = c.form().reduction;
  const DType in = c.problem().inputs[0].dtype;
  const bool sums = IsPlainMatmul(c) || c.Is(PeerForm::Kind::kConvolution) || kind == "sum";
  if (sums && IsInt(in) && IsInt(c.out())) return Exact(c, got);
  if (!IsTosaFloat(in)) return Opinion::kNoRule;
  if (kind == "argmax" || (IsTosaFloat(c.out()) && (kind == "max" || kind == "min"))) return Exact(c, got);
  if (!IsTosaFloat(c.out())) return Opinion::kNoRule;
  if (kind == "prod") return ReduceProduct(c, got);
  return sums ? DotProductOpinion(c, declared, got) : Opinion::kNoRule;
}

}  // namespace assay
