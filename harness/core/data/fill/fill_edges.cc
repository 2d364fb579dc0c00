// SPDX-License-Identifier: Apache-2.0
// Fills for what kernels do at the ends: of a line, of a format's range, of a comparison.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/core/data/fill/fill_internal.h"
#include "harness/core/data/scale_bits.h"

namespace assay::internal {
namespace {

// Two different places of a line of at least two elements; six turns show each pair.
std::pair<int64_t, int64_t> TwoPlaces(int64_t turn, int64_t length) {
  constexpr std::pair<Place, Place> kPairs[] = {{Place::kFirst, Place::kLast},   {Place::kMiddle, Place::kTail},
                                                {Place::kFirst, Place::kMiddle}, {Place::kTail, Place::kLast},
                                                {Place::kFirst, Place::kTail},   {Place::kMiddle, Place::kLast}};
  const auto& [one, other] = kPairs[turn % std::ssize(kPairs)];
  return {IndexOf(one, length), IndexOf(other, length)};
}

}  // namespace

// The stream decides which lines are nothing but -Inf, so that two operands do not agree.
void GenerateMasked(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t bits[kFillChunk];
  job.Random(Purpose::kSpecials).FillBits(static_cast<uint64_t>(first), std::span(bits, out.size()));
  const auto phase = static_cast<int64_t>(job.Random(Purpose::kChannels).Below(0, 4));
  const bool infinite = !job.is_int && FormatOf(job.dtype).has_infinity;
  const double masked = infinite ? -std::numeric_limits<double>::infinity() : -job.max_value;
  GenerateNormal(job, first, out);
  Cursor cursor(job, first);
  for (size_t i = 0; i < out.size(); ++i, cursor.Next()) {
    const bool empty = cursor.line() % 4 == phase;
    out[i] = empty || bits[i] % 16 < 3 ? masked : std::clamp(out[i], -job.max_value, job.max_value);
  }
}

// The largest value of a line stands at two of the places, and the smallest at two others, as far as there are.
void GenerateTies(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t bits[kFillChunk];
  job.Random(Purpose::kValues).FillBits(static_cast<uint64_t>(first), std::span(bits, out.size()));
  Cursor cursor(job, first);
  for (size_t i = 0; i < out.size(); ++i, cursor.Next()) {
    const auto [top, next_top] = TwoPlaces(cursor.line(), job.length);
    const auto [bottom, next_bottom] = TwoPlaces(cursor.line() + 1, job.length);
    const int64_t k = cursor.k();
    const bool is_top = k == top || k == next_top, is_bottom = k == bottom || k == next_bottom;
    out[i] = is_top ? 4.0 : is_bottom ? -4.0 : static_cast<double>(ScaleBits(bits[i], 7)) - 3.0;
  }
}

void GenerateLarge(const FillJob& job, int64_t first, std::span<double> out) {
  const double low = std::min(512.0, std::floor(job.max_value / 2));
  job.Random(Purpose::kValues).FillUniform(static_cast<uint64_t>(first), out);
  for (double& x : out) x = job.is_int ? std::floor(low * (1 + x)) : low * (1 + x);
}

void GenerateNegative(const FillJob& job, int64_t first, std::span<double> out) {
  GenerateLarge(job, first, out);
  for (double& x : out) x = -x;
}

void GenerateExtremes(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t bits[kFillChunk];
  job.Random(Purpose::kValues).FillBits(static_cast<uint64_t>(first), std::span(bits, out.size()));
  const double highest = job.is_int ? job.max_value : 1.0, lowest = job.is_int ? -highest - 1 : -1.0;
  const double choices[] = {lowest, highest, lowest, highest, 0.0, -0.0, 1.0, -1.0};
  for (size_t i = 0; i < out.size(); ++i) out[i] = choices[bits[i] >> 61];
}

}  // namespace assay::internal
