// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_units.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace assay {
namespace {

double PowerBelow(double x) {
  constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
  if (x >= std::numeric_limits<double>::min() && std::isfinite(x)) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & kExponent);
  }
  return x > 0 && std::isfinite(x) ? std::ldexp(1.0, std::ilogb(x)) : x;
}

// The power of two that an ulp is relative to, for an exponent or logarithm of up to x, in units of 1 or ln 2.
double SizeOf(double x) {
  return std::max(PowerBelow(x), PowerBelow(x * std::numbers::log2e) * std::numbers::ln2);
}

// Rounded, the log-sum of all is no less than the largest log-sum that it is made of, so that no unit weighs more than
// one: `units` of them make o that many times as large at most.
double Growth(double log_units, double rounding, double others) {
  return std::expm1(std::min(log_units, rounding) + others);
}

}  // namespace

double LogSumErrors::OfWeight(double keys) const {
  const double most = std::max(1.0, keys - 1);  // another unit has one at least
  return std::expm1(3 * std::log1p(u_)) * std::log(most) + (1 + 4 * u_) * eps_ * SizeOf(std::log(most));
}

double LogSumErrors::OfAll(double keys, double largest) const {
  const double log_keys = std::log(keys);
  const double others = std::expm1(4 * std::log1p(u_)) * log_keys + (1 + 4 * u_) * eps_ * SizeOf(log_keys);
  return Growth(log_keys, u_ * SizeOf(largest + log_keys), others);
}

UnitDeviation::UnitDeviation(const AttentionArgs& op, const Golden& golden, const OperationErrors& e, double u)
    : op_(op), value_(golden.value), rows_(*golden.Extra("rows")), u_(u), eps_(e.eps) {
  for (int64_t row = 0; row < op.Rows(); ++row) of_rows_.push_back(RowOf(row));
}

UnitDeviation::Row UnitDeviation::RowOf(int64_t row) const {
  const double keys = op_.CountKeys(row), units = std::ceil(keys / kSmallestKeyBlock);
  if (units <= 1) return {};
  const auto fact = [&](RowFact f) { return rows_[row * kRowFacts + f]; };
  // The mean of |t| is not known apart from that of an added mask.
  const double spread = op_.mask == MaskKind::kAdd ? 0 : fact(kAddedMean);
  const double log_total = std::max(0.0, std::log(keys) - spread);
  return {.of_log = eps_ / std::sqrt(3.0) * SizeOf(log_total),
          .of_max = u_ * SizeOf(fact(kStored)),
          .log_keys = std::log(keys / 2),
          .of_all = Growth(std::log(units), u_ * SizeOf(fact(kStored) + log_total), 0) / std::sqrt(3.0),
          .systematic = eps_ * SizeOf(std::log(units))};
}

double UnitDeviation::At(int64_t i, int64_t row, double shift, double move) const {
  const Row& r = of_rows_[static_cast<size_t>(row)];
  if (r.log_keys == 0 || !(shift > 0)) return 0;
  const double of_sum = u_ * SizeOf(move / shift + r.log_keys), of_max = std::min(r.of_max, of_sum);
  return Norm(shift * Norm(of_max, of_max, of_sum, r.of_log), r.of_all * Size(i));
}

}  // namespace assay
