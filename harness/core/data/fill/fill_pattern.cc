// SPDX-License-Identifier: Apache-2.0
// Fills whose values follow their position along the reduced axis.
#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill_internal.h"
#include "harness/core/data/scale_bits.h"

namespace assay::internal {
namespace {

// Largest primes below 2^24, 2^11, 2^8, 2^4, 2^3: a period that no power-of-two stride divides.
double CodePeriod(double exact_limit) {
  for (double prime : {16777213.0, 2039.0, 251.0, 127.0, 13.0}) {
    if (prime <= exact_limit) return prime;
  }
  return 7.0;
}

// log2 of how far a product may stray from one at every subset of its factors.
double ProductBudget(const FillJob& job) {
  return std::floor(std::log2(job.max_value)) / 2;
}

}  // namespace

// Role 0: integers of 1 to M, the sign by half: the partial sums climb to a peak, then come down to nearly zero.
// Role 1: 1 or 2, so that products keep that form. M = 2^14 / length, at least 8, puts the peak above 2^11 (where a
// narrow accumulator drops units) for 512 terms and more; from 2^20 terms on M shrinks to keep it below 2^24.
// Other operands: +-1 to 8.
void GenerateRamp(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t bits[kFillChunk];
  job.Random(Purpose::kValues).FillBits(static_cast<uint64_t>(first), std::span(bits, out.size()));
  const auto length = static_cast<double>(job.length);
  double largest = std::min(std::max(8.0, std::floor(0x1p14 / length)), std::min(0x1p12, job.exact_limit));
  largest = std::max(1.0, std::min(largest, std::floor(0x1p23 / length)));
  const auto bound = static_cast<uint64_t>(job.role == 0 ? largest : job.role == 1 ? 2.0 : 8.0);
  const int64_t half = (job.length + 1) / 2;
  Cursor cursor(job, first);
  for (size_t i = 0; i < out.size(); ++i, cursor.Next()) {
    const auto magnitude = static_cast<double>(1 + ScaleBits(bits[i] << 1, bound));
    const bool negative = job.role == 0 ? cursor.k() >= half : job.role > 1 && bits[i] >> 63;
    out[i] = negative ? -magnitude : magnitude;
  }
}

// 1 + (position + offset) mod P: neighbours differ, and so does everything within P values.
void GenerateCoded(const FillJob& job, int64_t first, std::span<double> out) {
  const auto period = static_cast<uint64_t>(CodePeriod(job.exact_limit));
  uint64_t code = (static_cast<uint64_t>(first) + job.Random(Purpose::kValues).Below(0, period)) % period;
  for (double& x : out) {
    x = static_cast<double>(1 + code);
    code = code + 1 == period ? 0 : code + 1;
  }
}

// 2^s (1 + d), |d| <= delta <= 2^-4. Along the reduced axis elements 2j and 2j + 1 have opposite s, and at most
// `budget` of them a non-zero one; delta is such that the factors above one, half of all and delta / 2 above on
// average, multiply to 2^budget. So not even the product of only the factors above one (or only those below) leaves
// the range of the format. Integers: 1, and 2 as often as the budget permits.
void GenerateNearOne(const FillJob& job, int64_t first, std::span<double> out) {
  const double budget = ProductBudget(job);
  const auto length = static_cast<double>(job.length);
  const double delta = std::min(0x1p-4, budget / (length * 0.36));
  const auto pairs_between = static_cast<int64_t>(std::max(3.0, std::ceil(length / budget)));
  const auto offset =
      static_cast<int64_t>(job.Random(Purpose::kSpecials).Below(0, static_cast<uint64_t>(pairs_between)));
  job.Random(Purpose::kValues).FillUniform(static_cast<uint64_t>(first), out);
  Cursor cursor(job, first);
  for (double& x : out) {
    const int64_t pair = cursor.k() / 2;
    const int64_t turn = pair + cursor.line() + offset;
    const bool active = turn % pairs_between == 0 && (cursor.k() ^ 1) < job.length;
    const bool up = (cursor.k() + turn / pairs_between) % 2 == 0;
    const double power = !active ? 1.0 : up ? 2.0 : job.is_int ? 1.0 : 0.5;
    // A complex number's size is its real part's, as for a real one.
    const double centre = cursor.component() == 0 ? 1.0 : 0.0;
    x = job.is_int ? power : power * (centre + delta * (2.0 * x - 1.0));
    cursor.Next();
  }
}

}  // namespace assay::internal
