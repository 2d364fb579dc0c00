// SPDX-License-Identifier: Apache-2.0
// The hard bound of SumBound, term by term. Sources: Higham, Accuracy and Stability of Numerical Algorithms (2nd
// ed.), 3.1 (gamma), 2.1 (model with underflow); Blanchard, Higham, Lopez, Mary, Pranesh, SISC 42 (2020) C124 (rounded
// inputs).
#include "golden/bound/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/data/infinity.h"

namespace assay {
namespace {

constexpr double kRoundUp = 1 + 0x1p-48;  // covers the few roundings of evaluating a bound in double

// Half a spacing above the largest number of tf32.
constexpr double kTF32Overflow = 0x1.FFEp127;

// x / 2, which double cannot hold for f64's smallest subnormal.
double HalfUp(double x) {
  return std::max(x / 2, std::numeric_limits<double>::denorm_min());
}

bool Representable(DType type, int precision, double min_subnormal, double max_finite) {
  const FloatFormat& format = FormatOf(type);
  return format.precision <= precision && format.MinSubnormal() >= min_subnormal && format.max_finite <= max_finite;
}

// Whether the contract's rounding of inputs leaves every number of `type` as it is.
bool KeepsInputs(InputRounding in, DType type) {
  if (type == DType::kI8 || type == DType::kU8) return in != InputRounding::kFP8;  // 8 bits
  if (!IsFloat(type)) return false;
  const FloatFormat& bf16 = FormatOf(DType::kBF16);
  switch (in) {
    case InputRounding::kExact:
      return true;
    case InputRounding::kTF32RN:
    case InputRounding::kTF32RZ:  // 11 bits, bf16's exponents
      return Representable(type, 11, bf16.MinNormal() * 0x1p-10, FormatOf(DType::kF32).max_finite);
    case InputRounding::kBF16:
    case InputRounding::kBF16x3:
      return Representable(type, bf16.precision, bf16.MinSubnormal(), bf16.max_finite);
    case InputRounding::kFP8:
      return type == DType::kE4M3 || type == DType::kE5M2;
  }
  return false;
}

// T_in / S. Operands have to lie in the narrow format's normal range, except as NarrowedSubnormals covers.
struct InputError {
  double relative = 0;   // T_in = relative * S
  double inflation = 1;  // (1 + u_in)^2: sums of rounded operands have that much more magnitude
};

InputError RoundedInputs(const Contract& contract, const SumBoundSpec& spec) {
  const auto u = [&](const std::optional<DType>& type) {
    return type ? InputRoundoff(contract, *type) : contract.InputUnitRoundoff();
  };
  const double a = u(spec.type_a), b = spec.products ? u(spec.type_b) : 0.0;
  if (a == 0 && b == 0) return {};
  // Three bf16 products a1 b1 + a1 b2 + a2 b1 leave out parts of relative size 2^-16 each.
  if (contract.in == InputRounding::kBF16x3) return {3 * 0x1p-16, (1 + 0x1p-16) * (1 + 0x1p-16)};
  return {a + b + a * b, (1 + a) * (1 + b)};
}

// Error of one intermediate rounding to `mid`, relative and absolute, and the largest number before it overflows.
struct MidError {
  double relative = 0, absolute = 0, max_finite = kInfinity;
};

MidError RoundedIntermediates(const Contract& contract) {
  if (contract.mid == Intermediate::kNone) return {};
  const FloatFormat& format = FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16);
  const bool flushes = contract.ftz != Flush::kNone;
  return {format.UnitRoundoff(), flushes ? format.MinNormal() : HalfUp(format.MinSubnormal()), format.max_finite};
}

// A matrix unit that cuts its f32 output after every block of b terms: 2^-23 of the running sum each time.
double TruncatedOutput(const Contract& contract, double terms) {
  if (contract.acc != Accumulator::kTensorCore) return 0;
  return std::ceil(terms / std::max(1, contract.tc_block)) * 0x1p-23;
}

SumDerivation Derive(const Contract& contract, const SumBoundSpec& spec, const InputError& input, double gamma) {
  return {.terms = spec.terms,
          .height = spec.height,
          .u = contract.AccUnitRoundoff(),
          .gamma = gamma,
          .input = input.relative,
          .inflation = input.inflation,
          .cut = TruncatedOutput(contract, spec.terms),
          .mid = spec.mid_roundings * RoundedIntermediates(contract).relative + spec.extra_relative};
}

// The relative error of a sum's accumulation and intermediates, of S, with rounded operands.
double SumCoefficient(const SumDerivation& d) {
  const double rounded = d.gamma + d.cut + (d.mid > 0 ? d.mid * (1 + d.gamma) : 0);  // mid: of up to (1 + gamma) S
  return (d.input + rounded) * d.inflation * kRoundUp;
}

// Integer terms and an integer output.
BoundModel IntegerSumBound(const Golden& golden, const Contract& contract, DType out, const SumBoundSpec& spec) {
  BoundModel bound = OutputBound(contract, out);
  if (contract.acc == Accumulator::kI32 || golden.magnitude.empty()) return bound;
  const InputError input = RoundedInputs(contract, spec);
  const double held = input.relative > 0 ? 0 : ExactIntegers(contract);
  const double gamma = SumError(spec.height, 2 * contract.AccUnitRoundoff());  // 2: the accumulator may truncate
  const double coefficient = SumCoefficient(Derive(contract, spec, input, gamma));
  const double reach = std::min(contract.AccMaxFinite(), RoundedIntermediates(contract).max_finite);
  const double largest = std::ldexp(1.0, 8 * SizeOf(out) - 1) - 1;
  auto beyond = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double s = golden.magnitude[i];
    if (s <= held) continue;
    bound.exact = false;
    beyond->SetUp(i, s);
    // The machine chooses the integer when a number outside the integers, infinity or NaN is converted.
    const bool outside = std::fabs(golden.value[i]) + coefficient * s >= largest;
    if (outside || (1 + gamma) * input.inflation * s >= reach) Admit(bound, golden.size(), i, kAlsoIntegerLimits);
  }
  if (bound.exact) return bound;
  bound.terms.push_back({beyond.get(), coefficient});
  bound.owned.push_back(std::move(beyond));
  return bound;
}

// Coefficient of the mass of terms with a subnormal factor: 1 where inputs are flushed (the term is lost). A rounding
// to fewer bits has no relative bound there, but changes a factor by at most itself: (1 + 1)^2 - 1 = 3.
double SubnormalMassCoefficient(const Contract& contract, const InputError& input) {
  if (input.relative > 0) return 3;
  return contract.FlushesInputs() ? 1 : 0;
}

// A sum's running values between the panel ends that golden.sigma samples. Any partial sum is at most (S + |y|) / 2 in
// magnitude, so h roundings have a deviation of at most 0.425 u sqrt(h) (S + |y|) / 2, in any order: the floor of short
// sums. Inside panels of 64, with the magnitude spread evenly over them, |s| departs from the panel's end by at most
// its share (S + |y|) / 2 * 64 / h, which makes 0.425 u 64 / sqrt(h) (S + |y|) / 2; sqrt(h) 64 / h = 1 at h = 4096,
// from where on panel ends follow the running sum well enough and a single S remains.
double SigmaFloor(double height, double u) {
  const double panel = static_cast<double>(kSigmaPanel);
  const double steps = std::max(1.0, std::min(std::sqrt(height), panel / std::sqrt(height)));
  return 0.5 * kRoundingDeviation * u * steps;
}

// T_TC of a truncating unit, which errs in one direction: per block of b terms 2^-23 |s| of the cut result and
// (b + 1) 2^-F max(2 |s|, largest product) of the alignment. The products' share is at most (b + 1) 2^-F S; over
// ceil(K / b) of the K running sums, sum |s| <= sqrt(K sum s^2) / b, and sigma = 0.425 u sqrt(sum s^2).
void AddTruncation(const Contract& contract, double terms, StatisticModel& statistic) {
  if (contract.acc != Accumulator::kTensorCore) return;
  const double block = std::max(1, contract.tc_block), step = std::ldexp(1.0, -contract.tc_bits);
  const double per_sum = 0x1p-23 + 2 * (block + 1) * step;
  statistic.of_magnitude += (block + 1) * step;
  statistic.of_sigma += per_sum * std::sqrt(terms) / (kRoundingDeviation * contract.AccUnitRoundoff() * block);
  statistic.shared = true;
}

// Sums of up to this many u keep growing; beyond, an addend can be less than half an ulp of the sum every time.
constexpr double kStagnation = 0.125;

// Beyond this share of sigma AddGridBias counts; less is within what the model of sigma, or of the lean, may be off.
constexpr double kLeastGridBias = 1.0 / 16;

// Every product, every division of a mean and every sum, one more for scaling the result, once; later roundings can
// enlarge what they lost. Transforms and scaled operands have sums that no type describes.
double SumUnderflow(const Contract& contract, const SumBoundSpec& spec) {
  const double once = AccumulatorUnderflow(contract);
  if (contract.alg != Algorithm::kDirect || contract.in == InputRounding::kFP8) return (2 * spec.terms + 1) * once;
  if (contract.ftz != Flush::kNone || contract.acc == Accumulator::kTensorCore) return (2 * spec.terms + 1) * once;
  const double addition = spec.products || !spec.type_a ? 0 : AdditionUnderflow(contract, *spec.type_a);
  return spec.terms * ((spec.products ? once : 0) + (spec.extra_relative > 0 ? once : 0) + addition);
}

StatisticModel SumStatistic(const Contract& contract, const SumBoundSpec& spec, const InputError& input) {
  StatisticModel statistic;
  const double u = contract.AccUnitRoundoff();
  // A rounded operand errs alike in every output that reads it, and how much of S^2 its few largest terms hold is not
  // known; partial results are rounded to `mid` an unknown number of times; alg=any may transform its operands.
  statistic.applicable =
      input.relative == 0 && contract.mid == Intermediate::kNone && contract.alg == Algorithm::kDirect;
  statistic.stagnates = spec.height * u > kStagnation;
  statistic.floor = spec.squares_known ? 0 : SigmaFloor(spec.height, u);
  statistic.of_value = spec.extra_relative;
  // An output that is rounded in any way may be cut off every time.
  const bool to_nearest = contract.acc != Accumulator::kTensorCore && contract.out != OutputRounding::kAny;
  if (to_nearest) statistic.lean = kLeastGridBias;
  statistic.partial_sums = contract.acc != Accumulator::kTensorCore;
  AddTruncation(contract, spec.terms, statistic);
  return statistic;
}

}  // namespace

void AddGridBias(BoundModel& bound, const Golden& golden, const Contract& contract, double terms, double share) {
  const double u = contract.AccUnitRoundoff();
  const bool short_sum = 1.5 * kRoundingDeviation * share * u * terms * std::sqrt(terms) < kLeastGridBias;
  if (short_sum || golden.sigma.empty() || golden.magnitude.size() != golden.sigma.size()) return;
  auto bias = std::make_shared<Plane>(golden.sigma.size(), golden.sigma.wide());
  for (int64_t i = 0; i < golden.sigma.size(); ++i) {
    const double deviation = u * golden.sigma[i];
    if (golden.magnitude[i] > 0) bias->SetUp(i, 1.5 * share * terms * deviation * deviation / golden.magnitude[i]);
  }
  bound.statistic.systematic.push_back({bias.get(), 1});
  bound.owned.push_back(std::move(bias));
}

double AccumulatorUnderflow(const Contract& contract) {
  if (contract.ftz != Flush::kNone) return contract.AccMinNormal();
  return contract.acc == Accumulator::kTensorCore ? contract.AccMinSubnormal() : HalfUp(contract.AccMinSubnormal());
}

double AdditionUnderflow(const Contract& contract, DType type) {
  const double once = AccumulatorUnderflow(contract);
  if (contract.ftz != Flush::kNone) return 2 * once;
  return contract.acc != Accumulator::kTensorCore && AccumulatorHolds(contract, type) ? 0 : once;
}

bool AccumulatorHolds(const Contract& contract, DType type) {
  if (!IsFloat(type)) return true;
  return Representable(type, contract.AccExactBits(), contract.AccMinSubnormal(), contract.AccMaxFinite());
}

double PathRoundings(const Contract& contract, double terms, bool products, DType type) {
  return products || !AccumulatorHolds(contract, type) ? terms : terms - 1;
}

double InputRoundoff(const Contract& contract, DType type) {
  return KeepsInputs(contract.in, type) ? 0 : contract.InputUnitRoundoff();
}

double OperandOverflow(const Contract& contract, DType type) {
  if (InputRoundoff(contract, type) == 0) return kInfinity;
  switch (contract.in) {
    case InputRounding::kTF32RN:
      return kTF32Overflow;
    case InputRounding::kBF16:
    case InputRounding::kBF16x3:
      return kNarrowestOverflow;
    default:
      return kInfinity;
  }
}

void AdmitOperandOverflow(BoundModel& bound, const Golden& golden, const Contract& contract, DType type) {
  const double at = OperandOverflow(contract, type);
  const Plane* largest = golden.Extra("largest_operand");
  if (largest != nullptr && std::isfinite(at)) AdmitWhere(bound, *largest, at, kAlsoNan | kAlsoInfinity);
}

double Gamma(double h, double u) {
  const double hu = h * u;
  return hu < 1 ? hu / (1 - hu) : kInfinity;
}

double SumError(double h, double u) {
  const double gamma = Gamma(h, u);
  return std::isfinite(gamma) || u >= 1 ? gamma : std::expm1(-h * std::log1p(-u)) * kRoundUp;
}

double ExactIntegers(const Contract& contract) {
  int bits = contract.AccExactBits();
  if (contract.mid == Intermediate::kF16) bits = std::min(bits, FormatOf(DType::kF16).precision);
  if (contract.mid == Intermediate::kBF16) bits = std::min(bits, FormatOf(DType::kBF16).precision);
  return std::ldexp(1.0, bits);
}

void Admit(BoundModel& bound, int64_t values, int64_t i, unsigned also) {
  if (bound.also.empty()) bound.also.resize(static_cast<size_t>(values));
  bound.also[static_cast<size_t>(i)] |= static_cast<uint8_t>(also);
}

void AdmitWhere(BoundModel& bound, const Plane& plane, double at, unsigned also) {
  for (int64_t i = 0; i < plane.size(); ++i) {
    if (plane[i] >= at) Admit(bound, plane.size(), i, also);
  }
}

bool BoundModel::IsAlsoRight(int64_t i, DType out, double y, double got) const {
  const unsigned bits = AlsoAt(i);
  const auto has = [bits](unsigned asked) { return (bits & asked) != 0; };
  if (bits == 0) return false;
  if (has(kAnything) || (has(kAlsoValue) && got == (*also_value)[i])) return true;
  if (std::isnan(got)) return has(kAlsoNan);
  const bool signed_alike = y == 0 || std::signbit(got) == std::signbit(y);
  if (std::isinf(got)) return has(kAlsoInfinity) || (has(kAlsoSignedInfinity) && signed_alike);
  if (has(kAlsoSignedFinite) && (got == 0 || signed_alike)) return true;
  if (has(kAlsoIndex) && got >= 0 && got < also_indices && got == std::trunc(got)) {
    return !also_index || also_index(i, static_cast<int64_t>(got));
  }
  const double limit = std::ldexp(1.0, 8 * SizeOf(out) - 1);
  return has(kAlsoIntegerLimits) && (got == 0 || got == -limit || got == limit - 1);
}

BoundModel OutputBound(const Contract& contract, DType out) {
  BoundModel bound;
  bound.partial_overflow_at = bound.overflow_at = kInfinity;
  bound.exact = IsInt(out);
  if (bound.exact) return bound;
  const FloatFormat& format = FormatOf(out);
  const double directed = contract.RoundsToNearest() ? 1 : 2;  // a directed rounding loses a whole ulp
  bound.u_out = directed * format.UnitRoundoff();
  bound.lambda_out = directed * HalfUp(format.MinSubnormal());
  if (contract.ftz == Flush::kOut || contract.ftz == Flush::kAll) bound.lambda_out = format.MinNormal();
  // Rounding away from zero overflows as soon as the largest finite number is exceeded, and ties away from it half a
  // spacing beyond, also where that number is even.
  const double half_beyond = format.max_finite + UlpAt(format, format.max_finite) / 2;
  bound.overflow_at = contract.out == OutputRounding::kAny ? format.max_finite : format.OverflowThreshold();
  if (contract.out == OutputRounding::kNearestAway) bound.overflow_at = std::min(bound.overflow_at, half_beyond);
  return bound;
}

BoundModel SumBound(const Golden& golden, const Contract& contract, DType out, const SumBoundSpec& spec) {
  if (IsInt(out)) return IntegerSumBound(golden, contract, out, spec);
  BoundModel bound = OutputBound(contract, out);
  if (golden.exact) return bound;  // integer terms: nothing but a conversion to a floating-point output can round
  if (contract.acc == Accumulator::kI32) {
    bound.exact = true;
    return bound;
  }
  const InputError input = RoundedInputs(contract, spec);
  const MidError mid = RoundedIntermediates(contract);
  const double gamma = SumError(spec.height, 2 * contract.AccUnitRoundoff());  // 2: the accumulator may truncate
  bound.growth = (1 + gamma) * input.inflation;
  bound.partial_overflow_at = std::min(contract.AccMaxFinite(), mid.max_finite);
  // Transforms and the parts of split operands have signs of their own. Relative errors below 1 keep a term's sign, so
  // that a partial sum is at least growth times the negative terms.
  const bool keeps_terms = contract.alg == Algorithm::kDirect && contract.in != InputRounding::kBF16x3 && gamma < 1;
  if (keeps_terms) bound.partial_signs = PartialSigns::kOfTerms;
  bound.derivation = Derive(contract, spec, input, gamma);
  bound.terms.push_back({&golden.magnitude, SumCoefficient(*bound.derivation)});
  const double mass = SubnormalMassCoefficient(contract, input);
  const Plane* lost = nullptr;
  if (const Plane* plane = golden.Extra("subnormal_mass"); plane != nullptr && mass > 0) {
    bound.terms.push_back({plane, mass});
    lost = plane;
  }
  bound.constant =
      (SumUnderflow(contract, spec) + spec.mid_roundings * spec.terms * mid.absolute) * (1 + gamma) * kRoundUp;
  bound.statistic = SumStatistic(contract, spec, input);
  bound.statistic.constant = bound.constant;
  if (lost != nullptr) bound.statistic.systematic.push_back({lost, mass});
  AddGridBias(bound, golden, contract, spec.terms);
  return bound;
}

// One of the places that evaluate A, see ElementJudge::Accumulated.
double BoundModel::At(const Golden& golden, int64_t i) const {
  double sum = constant + (golden.error.empty() ? 0.0 : golden.error[i]);
  for (const BoundTerm& term : terms) {
    const double value = (*term.plane)[i];
    if (value > 0) sum += term.coefficient * value;  // not 0 times infinity
  }
  return sum * kRoundUp;
}

double BoundModel::LargestToleranceAt(const Golden& golden, int64_t i) const {
  const double a = At(golden, i);
  const double reach = (std::fabs(golden.value[i]) + a) * kRoundUp;
  const double binade = std::isnormal(reach) ? std::ldexp(1.0, std::ilogb(reach)) : reach;
  return (a + std::max(u_out * binade, lambda_out)) * kRoundUp;
}

}  // namespace assay
