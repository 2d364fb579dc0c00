// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by stages of which one has a mistake: twiddles that are conjugated, left out or kept in few bits,
// butterflies that turn the other way. The library's own transform has no stages to change, so these are computed here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace assay {

struct StageMistake {
  enum class What : uint8_t {
    kConjugatedTwiddles,
    kNoTwiddles,
    kRoundedTwiddles,
    kTurnedButterflies,  // those of more than two points
    kUntangling,  // a line of reals is transformed as one of half as many pairs, and the pairs taken apart wrongly
  };
  What what = What::kConjugatedTwiddles;
  int64_t points = 0;         // of the stage that has it; 0: all have
  int bits = 0;               // kRoundedTwiddles: significant ones that are left
  int64_t radix = 2;          // 4: where four divides the length, else its smallest factor
  bool in_frequency = false;  // decimation: twiddles stand behind the butterflies

  bool operator==(const StageMistake&) const = default;
};

// Mistakes that a kernel of this problem may have, those of all stages first; none of another operator than fft.
std::vector<StageMistake> ListStageMistakes(const Problem& problem);

// The numbers of output `batch`, two per complex element, that the operand makes with the mistake.
std::vector<double> TransformBy(const StageMistake& mistake, const Problem& problem, std::span<const double> x,
                                int64_t batch);

// "the transform with conjugated twiddles in its stage of 64 points (radix 2, in time)"
std::string DescribeStageMistake(const StageMistake& mistake);

}  // namespace assay
