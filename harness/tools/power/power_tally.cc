// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_tally.h"

#include <iterator>

namespace assay {
namespace {

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

template <class T>
void Append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::string_view RuleName(size_t rule) {
  return rule == kAssayRule ? std::string_view("assay") : Peers()[rule - 1].name;
}

void LegalCounts::Add(const Opinions& opinions) {
  ++tensors;
  for (size_t rule = 0; rule < kRules; ++rule) {
    judged[rule] += opinions[rule] != Opinion::kNoRule;
    alarms[rule] += opinions[rule] == Opinion::kRejects;
  }
}

void LegalCounts::Add(const LegalCounts& other) {
  tensors += other.tensors;
  for (size_t rule = 0; rule < kRules; ++rule) {
    judged[rule] += other.judged[rule];
    alarms[rule] += other.alarms[rule];
  }
}

void PowerTally::Add(PowerTally other) {
  Append(pairs, std::move(other.pairs));
  legal.Add(other.legal);
  legal_whole.Add(other.legal_whole);
  held_back.Add(other.held_back);
  Append(false_alarms, std::move(other.false_alarms));
  Append(could_not_run, std::move(other.could_not_run));
  Append(unsupported, std::move(other.unsupported));
}

double RuleSummary::CaughtFraction() const {
  return Share(effective_caught, effective_pairs);
}

double RuleSummary::TensorCaughtFraction() const {
  return Share(tensor_caught, tensor_pairs);
}

double RuleSummary::ClassCaughtFraction() const {
  return Share(class_caught, class_pairs);
}

double RuleSummary::CaughtAllFraction() const {
  return Share(all_caught, all_pairs);
}

RuleSummary SummariseRule(const PowerTally& tally, size_t rule) {
  RuleSummary out;
  for (const FaultPair& pair : tally.pairs) {
    const Opinion opinion = pair.opinions[rule];
    if (opinion == Opinion::kNoRule) {
      ++out.not_applicable_pairs;
      continue;
    }
    const bool caught = opinion == Opinion::kRejects;
    const auto count = [caught](int64_t& all, int64_t& hits) {
      ++all;
      hits += caught;
    };
    count(out.all_pairs, out.all_caught);
    if (pair.effect > kEffective) count(out.effective_pairs, out.effective_caught);
    if (pair.tensor_effect > kEffective) count(out.tensor_pairs, out.tensor_caught);
    if (pair.class_effect > kEffective) count(out.class_pairs, out.class_caught);
  }
  out.legal_tensors = tally.legal.judged[rule];
  out.false_alarms = tally.legal.alarms[rule];
  out.not_applicable_tensors = tally.legal.tensors - tally.legal.judged[rule];
  out.whole_tensors = tally.legal_whole.judged[rule];
  out.held_back_tensors = tally.held_back.judged[rule];
  out.held_back_alarms = tally.held_back.alarms[rule];
  return out;
}

}  // namespace assay
