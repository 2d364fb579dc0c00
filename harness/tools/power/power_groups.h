// SPDX-License-Identifier: Apache-2.0
// Detection power by operator, by fault and by channel of the verdict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/statistics.h"
#include "harness/core/model/record.h"
#include "harness/tools/power/power_tally.h"

namespace assay {

// Whether somebody who sees the result alone could notice the fault, and whether assay has.
bool IsEffective(const FaultPair& pair);
bool IsCaught(const FaultPair& pair);

struct OperatorPower {
  std::string op;
  int64_t pairs = 0, caught = 0;                // effective ones
  Interval interval;                            // of their share, over cases that are drawn at random
  int64_t tensor_pairs = 0, tensor_caught = 0;  // those that move an element by more than the whole tensor's envelope
  // Faults that are effective on some case, and those of them that are caught on some case where they are.
  int64_t faults = 0, faults_caught = 0;
  std::vector<std::string> never_caught;  // the others
};

// In alphabetical order; with several operators a sum of all, named "all", at the end.
std::vector<OperatorPower> PowerByOperator(const PowerTally& tally);

// The channels of a verdict (harness/judge/README.md); "other" is what is no margin: memory, determinism, later
// executions.
inline constexpr std::string_view kChannels[] = {"exact", "exceptional", "bound", "statistic", "metamorphic", "other"};

// Channels that reject the result of a record: bit i is kChannels[i].
uint32_t FindRejectingChannels(const Record& record);

struct ChannelPower {
  std::string_view channel;
  int64_t caught = 0;  // effective pairs that it rejects
  int64_t alone = 0;   // of them, those that no other does
};
std::vector<ChannelPower> PowerByChannel(const PowerTally& tally);

// How sure a share is that was measured on cases drawn at random.
//
// Counts of one cluster: all pairs of a case that was drawn.
struct DrawnTogether {
  int64_t events = 0, trials = 0;
};

// Confidence interval of a share if whole clusters were drawn at random: pairs of one case share its data and shape,
// and are caught or missed together more often than pairs of different ones. The trials are divided by the design
// effect, the variance between clusters over that of independent trials, if it is above 1 (Korn and Graubard 1998). If
// all are caught, or none, the design effect is unknown and each cluster counts as one trial.
Interval ClusteredInterval(std::span<const DrawnTogether> clusters);

}  // namespace assay
