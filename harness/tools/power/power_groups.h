// SPDX-License-Identifier: Apache-2.0
// Detection power by operator, by fault and by channel of the verdict.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/tools/power/power_interval.h"
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

}  // namespace assay
