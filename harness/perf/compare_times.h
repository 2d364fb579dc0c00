// SPDX-License-Identifier: Apache-2.0
// Which results of a run became slower or faster. The unit is a round, one timing in a worker process of its own:
// repetitions inside one process share its memory layout and the machine's mood, and any two processes differ by that.
//   SLOWER  the rank test rejects "not slower", and the estimated ratio is at least 1 + minimum_effect
//   FASTER  likewise, the other way round
//   SAME    the 90 % confidence interval of the ratio lies within the minimum effect on both sides
//   UNSURE  anything else, and whatever has a single round
// Rejections follow Benjamini and Hochberg over all results of the comparison, 1 % for each direction. Where nothing
// has changed, that is the chance that a whole comparison reports any SLOWER, as with Holm's rule; where a change slows
// many results down, it finds more of them with the same number of rounds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/run_comparison.h"

namespace assay {

inline constexpr double kFalseAlarmRate = 0.01;
inline constexpr double kMinimumEffect = 0.05;

// Seconds per round; see Record::round_medians_s.
std::string RoundsText(std::span<const double> seconds);
std::vector<double> ParseRounds(std::string_view text);  // empty when it is not such a text

struct TimedPair {
  std::vector<double> base, now;  // medians of rounds, positive
  std::string not_comparable;     // why the times say nothing; "" when they do
};

std::vector<TimeComparison> CompareTimes(std::span<const TimedPair> pairs, double minimum_effect = kMinimumEffect);

// Rounds of each run without which not even a single result among `results` can be told to be slower.
size_t RoundsNeeded(size_t results);

}  // namespace assay
