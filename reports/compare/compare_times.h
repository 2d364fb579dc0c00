// SPDX-License-Identifier: Apache-2.0
// Decides which results became slower or faster. The unit is a round, one timing in a worker process of its own:
// repetitions inside one process share its memory layout and the machine's mood, and any two processes differ by that.
//   SLOWER  the test rejects "not slower", and the estimated ratio is at least 1 + minimum_effect
//   FASTER  likewise, the other way round
//   SAME    the 90 % confidence interval of the ratio lies within the minimum effect on both sides
//   UNSURE  anything else, and whatever has a single round
// Builds that were timed in turns are compared round by round (signed ranks of the differences of logarithms): what a
// round did to both cancels. Runs that were timed apart are compared by rank sums (Mann and Whitney).
//
// Where nothing has changed, at most 1 % of comparisons report any SLOWER, and as many any FASTER. Rejections of
// results follow Benjamini and Hochberg, which then bounds that chance like Holm's rule, and finds more where a change
// slows many results down. Of builds in turns, groups of results are decided too, by Holm's rule; each kind then gets
// half of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/run_comparison.h"

namespace assay {

inline constexpr double kFalseAlarmRate = 0.01;
inline constexpr double kMinimumEffect = 0.05;

// Seconds per round; see Record::round_medians_s.
std::string RoundsText(std::span<const double> seconds);
std::vector<double> ParseRounds(std::string_view text);  // empty when it is not such a text

// Slices of a round as text: seconds with four digits, joined by '/'. SliceDifferences compares such texts by round:
// the median of ln(now / base) over consecutive slices. Empty if the texts are invalid or do not fit.
std::string SlicesText(std::span<const double> seconds);
std::vector<double> SliceDifferences(std::string_view base, std::string_view now);

struct TimedPair {
  std::vector<double> base, now;    // medians of rounds, positive
  std::vector<double> differences;  // ln(now / base) of each round as slices tell; empty: as the medians do
  std::string not_comparable;       // why the times say nothing; "" when they do
};

enum class TimedHow : uint8_t {
  kApart,    // one run after the other
  kInTurns,  // round i of base and of now followed each other, in random order
};

std::vector<TimeComparison> CompareTimes(std::span<const TimedPair> pairs, TimedHow how,
                                         double minimum_effect = kMinimumEffect);

// The typical result of each group of pairs (by index) that were timed in turns: of each round the median ratio of its
// results. A group is decided long before most of its results are. Not for runs that were timed apart: what the machine
// did in between moves all results alike. Groups without comparable pairs are UNSURE.
std::vector<TimeComparison> CompareGroups(std::span<const TimedPair> pairs, std::span<const std::vector<size_t>> groups,
                                          double minimum_effect = kMinimumEffect);

// Rounds of each run without which not even a single result among `results` can be told to be slower.
size_t RoundsNeeded(size_t results, TimedHow how);

}  // namespace assay
