// SPDX-License-Identifier: Apache-2.0
#include "harness/power/power_groups.h"

#include <bit>
#include <map>
#include <optional>
#include <utility>

namespace assay {
namespace {

bool IsEffective(const FaultPair& pair) {
  return pair.effect > kEffective && pair.opinions[kAssayRule] != Opinion::kNoRule;
}

bool IsCaught(const FaultPair& pair) {
  return pair.opinions[kAssayRule] == Opinion::kRejects;
}

void AddFaults(OperatorPower& power, const std::map<std::string, bool>& faults) {
  for (const auto& [fault, caught] : faults) {
    ++power.faults;
    power.faults_caught += caught ? 1 : 0;
    if (!caught) power.never_caught.push_back(fault);
  }
}

}  // namespace

std::vector<OperatorPower> PowerByOperator(const PowerTally& tally) {
  std::map<std::string, std::pair<OperatorPower, std::map<std::string, bool>>> groups;
  for (const FaultPair& pair : tally.pairs) {
    if (!IsEffective(pair)) continue;
    auto& [power, faults] = groups[pair.case_id.substr(0, pair.case_id.find('/'))];
    ++power.pairs;
    power.caught += IsCaught(pair) ? 1 : 0;
    bool& caught = faults[pair.fault];
    caught = caught || IsCaught(pair);
  }
  std::vector<OperatorPower> all;
  OperatorPower sum{.op = "all"};
  for (auto& [op, group] : groups) {
    OperatorPower& power = group.first;
    power.op = op;
    AddFaults(power, group.second);
    sum.pairs += power.pairs, sum.caught += power.caught;
    sum.faults += power.faults, sum.faults_caught += power.faults_caught;
    all.push_back(std::move(power));
  }
  if (all.size() > 1) all.push_back(std::move(sum));
  return all;
}

uint32_t RejectingChannels(const Record& r) {
  const std::optional<double> margins[] = {r.exact_margin, r.exceptional_margin, r.bound_margin, r.stat_margin,
                                           r.metamorphic_margin};
  uint32_t channels = 0;
  for (size_t i = 0; i < std::size(margins); ++i) {
    if (margins[i] && !(*margins[i] <= 1)) channels |= 1U << i;
  }
  return channels != 0 ? channels : 1U << std::size(margins);
}

std::vector<ChannelPower> PowerByChannel(const PowerTally& tally) {
  std::vector<ChannelPower> all;
  for (size_t i = 0; i < std::size(kChannels); ++i) {
    ChannelPower power{.channel = kChannels[i]};
    for (const FaultPair& pair : tally.pairs) {
      if (!IsEffective(pair) || !IsCaught(pair) || (pair.channels >> i & 1U) == 0) continue;
      ++power.caught;
      power.alone += std::has_single_bit(pair.channels) ? 1 : 0;
    }
    all.push_back(power);
  }
  return all;
}

}  // namespace assay
