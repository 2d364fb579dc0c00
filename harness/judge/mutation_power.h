// SPDX-License-Identifier: Apache-2.0
// Whether a case could catch a fault at all (harness/judge/README.md#inconclusive). Faulty outputs are made from the
// golden alone and judged like a real output; those that no channel would reject count against the case.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "golden/bound/bound.h"
#include "ops/formula/opening.h"
#include "ops/operator.h"

namespace assay {

struct MutationPower {
  double power = 0;  // the smaller of the two shares; a kind without mutants does not count
  // Outputs that are wrong everywhere: blank ones, and integer sums that were kept in f32 where they can exceed 2^24.
  int whole_caught = 0, whole_total = 0;
  int64_t omitted_caught = 0, omitted_total = 0;  // single omitted terms, but those that change no infinity and no NaN
  // Where no twin runs with the case: single omitted terms of the mean size or more that move the result by more than a
  // gap of the output's numbers, and how many of them are caught or make an element suspect by the statistic.
  int64_t visible_total = 0, visible_noticed = 0;
  // Output elements that accept any result, in one part at least; they count against the case unless a twin runs with
  // it.
  int64_t unbounded = 0;
  // Where the formula stops promising anything of the first of these, whose index is `open_at`; nullopt: it is not
  // known.
  std::optional<formula::Opening> opening;
  std::string open_at;
  // ", as at [0,0], where the divisor x - 1 of 1 / (x - 1) may be 0"; "": see `opening`.
  std::string DescribeOpening() const;
  // Where no twin runs with the case, of up to kZeroSamples outputs: those that some legal order of the terms may make
  // infinite or NaN; those that are at least the smallest normal number, and of these the ones that could be zero.
  int64_t sampled = 0, overflowing = 0, nonzero = 0, zeros_accepted = 0;
  std::string missed;  // a mutant that would pass, in words; "" when all are caught

  // A tensor that says nothing of the data and would pass, without being the very result: zeros, NaN or what was there
  // before, or the mean of the results everywhere; "": none.
  std::string blank;
  // A tensor of this kind that equals the result, for instance zeros if all products underflow. It passes, as any right
  // result does.
  std::string blank_result;
  // The tensor above, or zeros in place of most results, in words; "" if neither would pass. Single omitted terms are
  // not considered.
  std::string DescribeMissedFaults() const;
};

inline constexpr int64_t kMutationPowerSamples = 256;
inline constexpr int64_t kZeroSamples = 1 << 16;
inline constexpr double kUnwrittenValue = 77;  // stands for a finite prefill; every real dtype holds it exactly

enum class Faults : uint8_t {
  kAll,
  kWholeOutputs
};  // the latter without omitted terms, which take longer than judging

// `twins`: the exact twins that will run with the case; the same operator and shapes. Deterministic.
MutationPower MeasureMutationPower(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, const Golden& golden, const BoundModel& bound,
                                   const Contract& contract, std::span<const Twin> twins, Faults faults = Faults::kAll);

// Up to kMutationPowerSamples of n indices, ascending: the first, the last and one at a pseudo-random place of each
// stretch in between, so that no period of the shape is followed.
std::vector<int64_t> SampleOutputs(int64_t n);

}  // namespace assay
