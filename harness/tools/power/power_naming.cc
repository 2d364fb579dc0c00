// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_naming.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/engine/trial/trial_runner.h"
#include "harness/tools/explain/explained_run.h"
#include "harness/tools/power/power_groups.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kNamings = {"right", "hinted", "wrong", "unexplained"};

// Caught faults by how they were named; pairs of one case are drawn together.
class NamingCounts {
 public:
  void Add(Naming naming, const std::string& case_id) {
    ++counts_[static_cast<size_t>(naming)];
    ++by_case_[case_id][static_cast<size_t>(naming)];
  }
  int64_t Count(Naming naming) const { return counts_[static_cast<size_t>(naming)]; }
  int64_t All() const { return counts_[0] + counts_[1] + counts_[2] + counts_[3]; }
  Interval IntervalOf(Naming naming) const {
    std::vector<DrawnTogether> clusters;
    for (const auto& [id, of_case] : by_case_) {
      clusters.push_back({of_case[static_cast<size_t>(naming)], of_case[0] + of_case[1] + of_case[2] + of_case[3]});
    }
    return ClusteredInterval(clusters);
  }

 private:
  using Counts = std::array<int64_t, kNamings.size()>;
  Counts counts_{};
  std::map<std::string, Counts> by_case_;
};

// A caught fault whose cause is stated.
struct NamedPair {
  const FaultPair& pair;
  const TrueCause& truth;
  std::string op;
  Naming naming;
};

std::string OperatorOf(const FaultPair& pair) {
  return pair.case_id.substr(0, pair.case_id.find('/'));
}

std::vector<NamedPair> JudgeNames(const PowerTally& tally, const TrueCauses& truths) {
  std::vector<NamedPair> judged;
  for (const FaultPair& pair : tally.pairs) {
    if (!IsEffective(pair) || !IsCaught(pair)) continue;
    const std::string op = OperatorOf(pair);
    const TrueCause* const truth = truths.Find(op, pair.fault);
    if (truth != nullptr) judged.push_back({pair, *truth, op, JudgeNaming(*truth, pair.named, pair.reason)});
  }
  return judged;
}

// The three shares that a release is measured by, over the faults that are counted apart or over the others.
struct NamingShare {
  std::string what;
  Naming naming = Naming::kRight;
  NamingCounts counts;
};

std::vector<NamingShare> SharesOf(const std::vector<NamedPair>& pairs, bool apart) {
  NamingShare right{"named right first, cause has a hypothesis", Naming::kRight, {}};
  NamingShare wrong{"named wrong first, of all caught", Naming::kWrong, {}};
  NamingShare honest{"unexplained, cause has no hypothesis", Naming::kUnexplained, {}};
  for (const NamedPair& named : pairs) {
    if (IsCountedApart(named.pair.fault) != apart) continue;
    wrong.counts.Add(named.naming, named.pair.case_id);
    // A hint is no cause.
    const bool has_none = named.truth.names.empty();
    const Naming naming = has_none && named.naming == Naming::kHinted ? Naming::kUnexplained : named.naming;
    (has_none ? honest : right).counts.Add(naming, named.pair.case_id);
  }
  return {right, wrong, honest};
}

std::string ShareText(const NamingCounts& counts, Naming naming) {
  const int64_t all = counts.All();
  if (all == 0) return "-";
  const Interval interval = counts.IntervalOf(naming);
  return fmt::format("{:.1f} % ({}/{}), {:.1f} to {:.1f} %",
                     100 * static_cast<double>(counts.Count(naming)) / static_cast<double>(all), counts.Count(naming),
                     all, 100 * interval.low, 100 * interval.high);
}

using Groups = std::map<std::pair<std::string, std::string>, NamingCounts>;

Groups GroupByKind(const std::vector<NamedPair>& pairs) {
  Groups groups;
  for (const NamedPair& named : pairs) groups[{named.op, named.truth.kind}].Add(named.naming, named.pair.case_id);
  return groups;
}

struct FaultNames {
  std::array<int64_t, kNamings.size()> counts{};
  bool has_names = false;
  std::string wrong;  // the first of them
};

// Each fault that is not as it should be on some case.
std::string FaultLines(const std::vector<NamedPair>& pairs) {
  std::map<std::pair<std::string, std::string>, FaultNames> faults;
  for (const NamedPair& named : pairs) {
    FaultNames& of = faults[{named.op, named.pair.fault}];
    of.has_names = !named.truth.names.empty();
    ++of.counts[static_cast<size_t>(named.naming)];
    if (named.naming == Naming::kWrong && of.wrong.empty())
      of.wrong = fmt::format(", as '{}' on {}", named.pair.named[0], named.pair.case_id);
  }
  std::string text;
  for (const auto& [key, of] : faults) {
    const auto& [right, hinted, wrong, unexplained] = of.counts;
    if (wrong == 0 && (!of.has_names || hinted + unexplained == 0)) continue;
    text += fmt::format("{}{} of {}: {} right, {} hinted, {} unexplained, {} wrong{}\n",
                        IsCountedApart(key.second) ? "[apart] " : "", key.second, key.first, right, hinted, unexplained,
                        wrong, of.wrong);
  }
  return text;
}

// Caught faults of which the file says nothing.
int64_t CountUnstated(const PowerTally& tally, size_t stated) {
  const auto is_counted = [](const FaultPair& pair) { return IsEffective(pair) && IsCaught(pair); };
  return std::ranges::count_if(tally.pairs, is_counted) - static_cast<int64_t>(stated);
}

}  // namespace

std::vector<std::string> ListNames(const Problem& problem, const Attempt& attempt, const std::vector<Cause>& causes) {
  constexpr std::string_view kBehaves = "behaves like ";
  const std::string& reason = attempt.record.reason;
  if (attempt.memory_fault) return {reason};
  if (attempt.verdict == Verdict::kNondeterministic || attempt.record.decided_by == kLaterExecutions ||
      reason.find(kOtherExecutions) != std::string::npos)
    return {"other results in other executions"};
  std::vector<std::string> names;
  if (const size_t at = reason.find(kBehaves); at != std::string::npos && attempt.verdict == Verdict::kBelowContract)
    names.push_back(reason.substr(at, reason.find(';', at) - at));
  for (const Cause& cause : causes) {
    names.push_back(DescribeCause(problem, cause, [](const CaseChange& c) { return c.key + "=" + c.value; }));
  }
  return names;
}

std::string NamingText(const PowerTally& tally, const TrueCauses& truths) {
  const std::vector<NamedPair> pairs = JudgeNames(tally, truths);
  std::string text = fmt::format("\n{:<19} {:<11} {:>7} {:>36} {:>7} {:>6} {:>12}\n", "operator", "kind of cause",
                                 "caught", "named right first, 95% interval", "hinted", "wrong", "unexplained");
  for (const auto& [key, counts] : GroupByKind(pairs)) {
    text += fmt::format("{:<19} {:<13} {:>5} {:>36} {:>7} {:>6} {:>12}\n", key.first, key.second, counts.All(),
                        ShareText(counts, Naming::kRight), counts.Count(Naming::kHinted), counts.Count(Naming::kWrong),
                        counts.Count(Naming::kUnexplained));
  }
  for (const bool apart : {false, true}) {
    text += apart ? "the third of the faults that is counted apart:\n" : "the other faults:\n";
    for (const NamingShare& share : SharesOf(pairs, apart))
      text += fmt::format("  {:<42} {}\n", share.what, ShareText(share.counts, share.naming));
  }
  if (const int64_t unstated = CountUnstated(tally, pairs.size()); unstated > 0)
    text += fmt::format("left out: {} caught results of faults whose cause causes.txt does not state\n", unstated);
  return text + FaultLines(pairs);
}

Json NamingJson(const PowerTally& tally, const TrueCauses& truths) {
  const std::vector<NamedPair> pairs = JudgeNames(tally, truths);
  Json out = {{"unstated", CountUnstated(tally, pairs.size())}};
  for (const auto& [key, counts] : GroupByKind(pairs)) {
    Json group = {{"op", key.first}, {"kind", key.second}};
    for (size_t i = 0; i < kNamings.size(); ++i) group[std::string(kNamings[i])] = counts.Count(static_cast<Naming>(i));
    out["groups"].push_back(std::move(group));
  }
  for (const bool apart : {false, true}) {
    for (const NamingShare& share : SharesOf(pairs, apart)) {
      const Interval interval = share.counts.IntervalOf(share.naming);
      out["shares"].push_back({{"share", share.what},
                               {"counted_apart", apart},
                               {"count", share.counts.Count(share.naming)},
                               {"all", share.counts.All()},
                               {"low_95", interval.low},
                               {"high_95", interval.high}});
    }
  }
  for (const NamedPair& named : pairs) {
    out["results"].push_back({{"fault", named.pair.fault},
                              {"case", named.pair.case_id},
                              {"kind", named.truth.kind},
                              {"naming", kNamings[static_cast<size_t>(named.naming)]},
                              {"named", named.pair.named},
                              {"reason", named.pair.reason}});
  }
  return out;
}

}  // namespace assay
