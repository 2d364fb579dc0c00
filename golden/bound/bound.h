// SPDX-License-Identifier: Apache-2.0
// The hard bound (golden/README.md#the-hard-bound) as data: A_i = constant + error_i + sum_j coefficient_j *
// plane_j[i]. Every correct implementation of the contract has a number within A_i of the golden value before it rounds
// to the output, in any order of operations (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., ch. 3).
// Results are right if they are roundings of these numbers (harness/judge/own_rounding.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay {

struct BoundTerm {
  const Plane* plane = nullptr;
  double coefficient = 0;
};

// Results that are right for an element beside those that the bound admits. Bits, to be joined.
enum Also : uint8_t {
  kAlsoNan = 1,
  kAlsoInfinity = 2,        // of either sign
  kAlsoSignedInfinity = 4,  // of the golden value's sign; of either where that is zero
  kAlsoSignedFinite = 8,    // zero, and every finite number of the golden value's sign
  kAlsoValue = 16,          // also_value[i]
  kAlsoIndex = 32,          // any integer in [0, also_indices)
  kAlsoIntegerLimits = 64,  // the output's smallest and largest integer, and zero
  kAnything = 128,          // nothing is promised: power.h counts these
};

// Elements whose correct value a policy of the contract decides: where plane[i] >= at, exactly `value` is accepted
// (softmax of a row of -inf under masked=zero).
struct ValueWhere {
  const Plane* plane = nullptr;
  double at = 0;
  double value = 0;
  std::string why;  // the contract's field: "masked=zero"
};

// Rows of `terms` elements, `inner` apart, that share one error: a factor, or where they are additive a summand.
struct SharedRow {
  const Plane* allowance = nullptr;  // how far an element may be off on its own
  int64_t terms = 1, inner = 1;
  bool additive = false;
};

// How errors of a correct implementation are distributed inside the hard bound (golden/sigma.md): independent roundings
// of deviation sigma_i = max(u_acc sigma_scale golden.sigma_i, floor (S_i + |y_i|)), joined in quadrature by
// `deviations`, on top of systematic errors of up to T_i = constant + of_value |y_i| + of_magnitude S_i + of_sigma
// sigma_i + sum of `systematic`: what functions, truncation and underflow may cost always in the same direction.
struct StatisticModel {
  bool applicable = true;  // false: the contract permits errors that are no independent roundings of known size
  bool stagnates = false;  // u_acc times the number of additions is no longer small: sums can stop growing, biased
  bool shared = false;     // errors of the outputs of one row are not independent: m_eff = 1
  // Golden::magnitude bounds every partial sum of a correct kernel, in units of the result (granularity.h).
  bool partial_sums = false;
  // Golden::magnitude bounds the sum of both terms of a result's last addition, or no addition comes last
  // (HasOutputBits).
  bool last_terms = false;
  int64_t sharing = 0;  // length of a contiguous row with shared error; 0 if unknown
  // Errors of different rows are independent, apart from the operator's constants: rows come from different data. A
  // column counts up to 16 of them.
  bool independent_rows = false;
  // Limit of the mean error toward zero or away from it, in deviations. Absent: no limit.
  std::optional<double> lean;
  // Number of different addends, such as a bias, that whole groups of outputs share; 0 if there are none. The rounding
  // error of that addition can be the same in all outputs of a group, since running sums are multiples of their own
  // spacing.
  int64_t shared_addends = 0;
  double sigma_scale = 1;  // how far the contract's class of algorithm exceeds the golden's sigma
  double floor = 0;
  double constant = 0, of_value = 0, of_magnitude = 0, of_sigma = 0;
  std::vector<BoundTerm> deviations, systematic;
  std::optional<SharedRow> shared_row;
};

// Infinities that partial results can overflow to.
enum class PartialSigns : uint8_t {
  kEither,       // and so to NaN, their sum
  kOfTerms,      // sums of some of the terms: those below zero together, (S - y) / 2, reach -Inf, the others +Inf
  kNonNegative,  // none is negative
};

// Numbers from which SumBound makes the coefficient of S (its comment has the formula).
struct SumDerivation {
  double terms = 0, height = 0;  // K and h
  double u = 0;                  // of the accumulator
  double gamma = 0, input = 0, inflation = 1, cut = 0, mid = 0;
};

struct BoundModel {
  // A_i: what all before the output's own rounding may cost. Rounded up; infinite where the contract promises nothing.
  double At(const Golden& golden, int64_t i) const;
  // The largest error of any right result, A_i + max(u_out 2^floor(log2(|y_i| + A_i)), lambda_out), rounded up. Twins
  // and relations have it as their tolerance. A result itself is judged by what its own rounding may add
  // (RoundingReach), which is less: Judgement::Tolerance.
  double LargestToleranceAt(const Golden& golden, int64_t i) const;
  unsigned AlsoAt(int64_t i) const { return also.empty() ? 0U : also[static_cast<size_t>(i)]; }
  // Whether any result is accepted for element i.
  bool IsFree(int64_t i) const { return (AlsoAt(i) & kAnything) != 0; }
  // Whether `got` is right for element i with the golden value y because of its Also bits.
  bool IsAlsoRight(int64_t i, DType out, double y, double got) const;

  bool exact = false;  // compare values bit for bit (signed zeros equal); nothing below applies
  double constant = 0;
  std::vector<BoundTerm> terms;  // without E_gold, which is always added
  // u_out and lambda_out serve LargestToleranceAt, intermediates that are rounded to the output's type, and
  // (lambda_out) the statistic; no result of a float type is judged by them.
  // Unit roundoff of the output, doubled unless it rounds to nearest: rounding t costs at most u_out 2^floor(log2 |t|).
  double u_out = 0;
  // Half the smallest subnormal, or integer, doubled unless to nearest; the smallest normal where results are flushed.
  double lambda_out = 0;           // of integers 0 where what is computed is one already: nothing is rounded then
  double overflow_at = 0;          // signed Inf is accepted iff |y| + A reaches this (f16 to nearest: 65520)
  double partial_overflow_at = 0;  // Inf and NaN are accepted iff growth * S reaches this; infinity: never
  double growth = 1;               // 1 + gamma, times what rounded operands add
  PartialSigns partial_signs = PartialSigns::kEither;
  std::vector<uint8_t> also;  // Also bits of every golden value, of exact models too; empty: none
  const Plane* also_value = nullptr;
  double also_indices = 0;
  std::function<bool(int64_t value, int64_t index)> also_index;  // which of these; empty: all
  StatisticModel statistic;
  std::vector<ValueWhere> value_where;
  // A bound that is no linear function of the golden's planes is evaluated into a plane of its own. Infinite: the
  // contract promises nothing for this element, not even a finite result.
  std::vector<std::shared_ptr<const Plane>> owned;
  // For people who ask; the operator may have changed the terms since.
  std::optional<SumDerivation> derivation;
};

// gamma_h(u) = h u / (1 - h u); infinity when h u >= 1.
double Gamma(double h, double u);

// gamma_h(u) where it exists, else what it is an estimate of: (1 - u)^-h - 1, finite for u < 1. So a sum of too many
// terms for its accumulator has a bound that is of little use, but not none.
double SumError(double h, double u);

// The bound of a sum of K products of two operands of the given types (matmul, convolution; K terms of one operand:
// set `products` to false). `height` is the number of roundings on a term's path, see PathRoundings. The magnitude
// plane is golden.magnitude; golden.Extra("subnormal_mass") is used when the contract flushes inputs. Integer sums
// (golden.exact with an integer output and a magnitude plane) are exact where S is at most ExactIntegers; beyond that a
// float accumulator is held to the same bound, which it meets in integers: sums of integers stay integers in every
// float format, so that the conversion at the end rounds nothing.
struct SumBoundSpec {
  double terms = 1;   // K
  double height = 1;  // h, of the longest path
  bool products = true;
  bool squares_known = false;  // golden.sigma knows the sum of the squared terms: no floor of short sums
  double extra_relative = 0;   // further relative errors of each term, e.g. the division of a mean
  int mid_roundings = 1;       // roundings of partial results to the contract's `mid` format, one after another
  // Types of the operands, where known: an input rounding that is exact on a type (tf32 of f16) costs nothing.
  std::optional<DType> type_a, type_b;
};
// h of K terms in any order: K - 1 additions, and one rounding of the term itself. That is a product's, fused or not
// (the first of fused multiplications and additions adds to zero), or the conversion of a number that the accumulator
// does not hold. Other numbers are added as they are. Epilogues add one for each of their operations.
double PathRoundings(const Contract& contract, double terms, bool products, DType type);

// Also sets `statistic`. With nothing but roundings of the accumulator, a sum of K products has
//   A = gamma S + K lambda_acc (1 + gamma) + E_gold,  gamma = gamma_h(2 u_acc) (SumError).
// The factor 2 covers accumulators that truncate: they lose up to a whole spacing, where rounding to nearest loses half
// of one. In general the coefficient of S is
//   (in + gamma + cut + mid (1 + gamma)) (1 + u_a) (1 + u_b)
// where in = u_a + u_b + u_a u_b comes of rounded operands (bf16x3 has numbers of its own), cut = ceil(K / b) 2^-23 of
// matrix units that truncate their output every b terms, and mid = mid_roundings u_mid + extra_relative. u_acc, u_in
// and the range that lambda_acc (AccumulatorUnderflow) follows from are in harness/core/model/contract_numbers.cc.
BoundModel SumBound(const Golden& golden, const Contract& contract, DType out, const SumBoundSpec& spec);

// Adds to the statistic's systematic part the error that long sums of terms of one sign make in the same direction;
// SumBound calls it. A running sum lies on a grid of spacing h, so the error of adding x is a sawtooth of x with period
// h. Its integral can be chosen within +-h^2 / 16, hence |mean error| <= V h^2 / 16 for terms whose density has the
// variation V (integration by parts). V = 2 K / S holds for magnitudes with an exponential distribution: a density that
// falls from its peak K / S at zero. The h^2 / 12 of all additions are sigma_acc^2: together 1.5 K sigma_acc^2 / S. It
// grows with u K^1.5 against sigma_acc, but only where the running sum grows as S does: signed terms make it vanish.
// `share` scales planes that are a function of the sum.
void AddGridBias(BoundModel& bound, const Golden& golden, const Contract& contract, double terms, double share = 1);

// lambda_acc: what one product or division loses to underflow, at most half the smallest subnormal. A unit that flushes
// inputs also flushes a running sum that it reads back; a truncating unit loses up to a whole spacing.
double AccumulatorUnderflow(const Contract& contract);
// Underflow error of adding a number of this type. Both terms and their sum are multiples of the smallest subnormal, so
// a sum small enough to underflow is exact. The exceptions are units that flush, which may lose the sum before and the
// one after the addition, and accumulators that do not hold the type.
double AdditionUnderflow(const Contract& contract, DType type);
// Whether every number of the type is one of the accumulator's.
bool AccumulatorHolds(const Contract& contract, DType type);

// The contract's u_in of an operand of this type: 0 where the rounding keeps every number of the type.
double InputRoundoff(const Contract& contract, DType type);

// From here on rounding an operand of this type as the contract does gives an infinity; infinity: nowhere. Units that
// cut tf32 off never do, for operands of f32's range, and what is scaled to fp8 has no limit of its own.
double OperandOverflow(const Contract& contract, DType type);
// The least of them, f32's numbers that are infinite in bf16.
inline constexpr double kNarrowestOverflow = 0x1.FFp127;
// Where the plane "largest_operand", the largest finite operand of each element, reaches OperandOverflow, infinities
// and NaN are as right. Goldens have the plane where some element reaches kNarrowestOverflow.
void AdmitOperandOverflow(BoundModel& bound, const Golden& golden, const Contract& contract, DType type);

// The largest magnitude up to which the contract's accumulator and intermediates hold every integer: 2^p.
double ExactIntegers(const Contract& contract);

// Output rounding and overflow alone: for operators that assemble their own terms. Integer outputs are exact.
BoundModel OutputBound(const Contract& contract, DType out);

// Adds the bits `also` to element i of a golden with `values` values, or to all where plane[i] >= at.
void Admit(BoundModel& bound, int64_t values, int64_t i, unsigned also);
void AdmitWhere(BoundModel& bound, const Plane& plane, double at, unsigned also);

}  // namespace assay
