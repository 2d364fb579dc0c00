// SPDX-License-Identifier: Apache-2.0
// The streaming part of judging: finite values, eight lanes. Element i of a chunk always goes to lane i mod 8,
// whatever the vector width, and every operation that a result comes of is a single IEEE one: all instruction sets
// agree bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "harness/judge/judge.h"

namespace assay {

inline constexpr int kJudgeLanes = 8;

enum JudgeSum { kSumE2, kSumY2, kSumUlp2, kSumSigma2, kSumR2, kSumBias, kZeros, kInexact, kViolations, kJudgeSums };
enum JudgeMax { kMaxAbs, kMaxRel, kMaxUlp, kMaxMargin, kMaxR2, kMaxGot, kMaxNegatedGot, kJudgeMaxima };

struct JudgeLanes {
  std::array<std::array<double, kJudgeLanes>, kJudgeSums> sum{};
  std::array<std::array<double, kJudgeLanes>, kJudgeMaxima> max{};
  JudgeLanes() {
    max[kMaxGot].fill(-std::numeric_limits<double>::infinity());
    max[kMaxNegatedGot].fill(-std::numeric_limits<double>::infinity());
  }
};

// The arrays of one tile; either the `32` ones (f32 output, one narrow term, no value_lo) or the double ones.
struct JudgeTile {
  const double* value = nullptr;
  const float* got32 = nullptr;
  const float* term32 = nullptr;
  const float* sigma32 = nullptr;
  const float* error32 = nullptr;
  const double* got = nullptr;
  const double* lo = nullptr;
  const double* accumulated = nullptr;
  const double* sigma = nullptr;       // the kernel's double path: standard deviations
  const double* systematic = nullptr;  // and what is no random rounding
  const double* error = nullptr;
  const double* rounding_source = nullptr;
  float* r2 = nullptr;  // written: squares of the deviations, for sums over groups
};

// Adds elements [0, n) to the lanes; n is a multiple of kJudgeLanes. False: the tile holds elements that only
// ElementJudge can decide, and `lanes` is unchanged. Where there is a tolerance, kInexact stops to count after the
// first tile that has any.
bool JudgeWhole(const JudgeTile& tile, const JudgeParams& params, int64_t n, JudgeLanes& lanes);

// Adds element i alone whenever got and golden are finite; false, and nothing added, when they are not. Whether it is
// a violation is decided by Judgement::Within() alone, or where the output is exact by comparison with the rounded
// value.
bool JudgeOne(const JudgeTile& tile, const JudgeParams& params, int64_t i, JudgeLanes& lanes);

}  // namespace assay
