// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_groups.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

namespace assay {
namespace {

// The pairs of one operator, or of all, as they come.
class PairCounts {
 public:
  // A fault is one of an operator.
  void Add(const FaultPair& pair, const std::string& fault) {
    if (pair.tensor_effect > kEffective) {
      ++power_.tensor_pairs;
      power_.tensor_caught += IsCaught(pair) ? 1 : 0;
    }
    if (!IsEffective(pair)) return;
    DrawnTogether& of_case = cases_[pair.case_id];
    ++of_case.trials;
    of_case.events += IsCaught(pair) ? 1 : 0;
    bool& caught = faults_[fault];
    caught = caught || IsCaught(pair);
  }

  OperatorPower Power(const std::string& op) const {
    OperatorPower power = power_;
    power.op = op;
    std::vector<DrawnTogether> clusters;
    for (const auto& [id, cluster] : cases_) {
      clusters.push_back(cluster);
      power.pairs += cluster.trials, power.caught += cluster.events;
    }
    power.interval = ClusteredInterval(clusters);
    for (const auto& [fault, caught] : faults_) {
      ++power.faults;
      power.faults_caught += caught ? 1 : 0;
      if (!caught) power.never_caught.push_back(fault);
    }
    return power;
  }

 private:
  OperatorPower power_;
  std::map<std::string, DrawnTogether> cases_;
  std::map<std::string, bool> faults_;
};

}  // namespace

bool IsEffective(const FaultPair& pair) {
  return pair.effect > kEffective && pair.opinions[kAssayRule] != Opinion::kNoRule;
}

bool IsCaught(const FaultPair& pair) {
  return pair.opinions[kAssayRule] == Opinion::kRejects;
}

std::vector<OperatorPower> PowerByOperator(const PowerTally& tally) {
  std::map<std::string, PairCounts> groups;
  PairCounts sum;
  for (const FaultPair& pair : tally.pairs) {
    if (!(pair.effect > kEffective) && !(pair.tensor_effect > kEffective)) continue;
    const std::string op = pair.case_id.substr(0, pair.case_id.find('/'));
    groups[op].Add(pair, pair.fault);
    sum.Add(pair, op + " " + pair.fault);
  }
  std::vector<OperatorPower> all;
  for (const auto& [op, counts] : groups) all.push_back(counts.Power(op));
  if (all.size() > 1) {
    all.push_back(sum.Power("all"));
    all.back().never_caught.clear();  // they stand with their operators
  }
  return all;
}

uint32_t FindRejectingChannels(const Record& r) {
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

Interval ClusteredInterval(std::span<const DrawnTogether> clusters) {
  int64_t events = 0, trials = 0;
  for (const DrawnTogether& one : clusters) events += one.events, trials += one.trials;
  if (trials > 0 && (events == 0 || events == trials)) {
    const auto drawn = std::ranges::count_if(clusters, [](const DrawnTogether& one) { return one.trials > 0; });
    return ShareInterval(events == 0 ? 0 : drawn, drawn);
  }
  if (clusters.size() < 2) return ShareInterval(events, trials);
  const auto n = static_cast<double>(trials), m = static_cast<double>(clusters.size());
  const double share = static_cast<double>(events) / n;
  double squares = 0;
  for (const DrawnTogether& one : clusters) {
    const double residual = static_cast<double>(one.events) - share * static_cast<double>(one.trials);
    squares += residual * residual;
  }
  const double times = std::max(1.0, squares * m / (m - 1) / (n * share * (1 - share)));
  const auto effective = static_cast<int64_t>(n / times);
  const auto missed = static_cast<int64_t>(std::ceil((n - static_cast<double>(events)) / times));
  return ShareInterval(std::max<int64_t>(0, effective - missed), effective);
}

}  // namespace assay
