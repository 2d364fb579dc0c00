// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "harness/engine/cases/host_memory.h"

namespace assay {
namespace {

// Names the devices that run every case: the first one of a pool, and none that is unavailable.
std::vector<std::string> ListRunningBackends(const std::vector<Device>& devices) {
  std::vector<std::string> backends;
  std::set<std::string> pools;
  for (const Device& device : devices) {
    if (!device.problem.empty() || (!device.pool.empty() && !pools.insert(device.pool).second)) continue;
    backends.push_back(device.backend);
  }
  return backends;
}

}  // namespace

PrepareLimits LimitsOf(const RunPolicy& policy, const PlannedCase& planned) {
  PrepareLimits limits = policy.limits;
  if (limits.sample == 0) limits.sample = planned.sample;
  return limits;
}

std::vector<Step> GroupCases(std::span<const PlannedCase> cases, const std::string& tier, double most_bytes) {
  std::vector<Step> steps;
  double together = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const SharedCase bound = cases[i].Bound();
    const double bytes = bound->problem.bytes,
                 needs = BytesNeeded(bound->problem, MemoryUse::kRun, tier, cases[i].sample);
    const bool fits = !steps.empty() && steps.back().end - steps.back().begin < kMostCasesInStep &&
                      together + bytes <= kLargeCaseBytes && steps.back().bytes + needs <= most_bytes;
    if (!fits) {
      steps.push_back({.begin = i, .end = i});
      together = 0;
    }
    Step& step = steps.back();
    step.end = i + 1, step.bytes += needs;
    together += bytes;
  }
  return steps;
}

Schedule::Schedule(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
                   const RunPolicy& policy, std::mt19937_64& random)
    : cases_(std::move(cases)),
      source_(source),
      cost_(cases_, ListRunningBackends(devices), policy.runner.perf_time_s > 0, policy.rounds),
      devices_(devices),
      policy_(policy),
      random_(random) {}

bool Schedule::IsDone(size_t index, const Device& device) const {
  return policy_.resumed && policy_.resumed->Has(cases_[index].spec.Id(), device.backend, device.PlannedName());
}

const ResumedRun::Begun* Schedule::FindBegun(size_t index, const Device& device) const {
  if (!policy_.resumed) return nullptr;
  return policy_.resumed->FindBegun(cases_[index].spec.Id(), device.backend, device.PlannedName());
}

bool Schedule::IsDone(size_t index) const {
  return policy_.resumed && std::ranges::all_of(devices_, [&](const Device& device) { return IsDone(index, device); });
}

void Schedule::AddFirst() {
  const double room = AvailableBytes() / 2;  // for one that is judged, and one that is prepared meanwhile
  for (size_t begin = std::exchange(grouped_, cases_.size()); begin < cases_.size();) {
    size_t end = begin;
    while (end < cases_.size() && !IsDone(end)) ++end;
    const std::span<const PlannedCase> pending = std::span(cases_).subspan(begin, end - begin);
    for (const Step& step : GroupCases(pending, policy_.tier, room)) {
      steps_.push_back(
          {.begin = begin + step.begin, .end = begin + step.end, .bytes = step.bytes, .done = begin + step.begin});
    }
    begin = end + 1;
  }
}

void Schedule::AddLater(const std::vector<RecordPlace>& due) {
  std::map<size_t, std::vector<RecordPlace>> by_case;
  for (const RecordPlace& place : due) by_case[place.case_index].push_back(place);
  for (auto& [index, places] : by_case) {
    const double bytes = BytesNeeded(cases_[index].Bound()->problem, MemoryUse::kRun, policy_.tier,
                                     LimitsOf(policy_, cases_[index]).sample);
    steps_.push_back({index, index + 1, bytes, 0, round_, pass_, std::move(places)});
  }
  std::ranges::shuffle(steps_, random_);
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].done = i;
}

std::optional<Step> Schedule::NextAhead() {
  if (steps_.empty() && source_ != nullptr) std::ranges::move(source_->Next(), std::back_inserter(cases_));
  if (grouped_ < cases_.size()) AddFirst();
  if (steps_.empty()) return std::nullopt;
  Step step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

std::optional<Step> Schedule::Next(const ResultStore& results) {
  if (std::optional<Step> step = NextAhead(); step || source_ != nullptr) return step;
  if (round_ < policy_.rounds && !due_.empty()) {
    ++round_;
    AddLater(std::exchange(due_, {}));
  } else if (pass_ < policy_.repetition.passes) {
    round_ = 1, ++pass_, due_.clear();
    AddLater(results.ListAnswered());
  }
  return NextAhead();
}

void Schedule::TimeAgain(const RecordPlace& place) {
  due_.push_back(place);
}

bool Schedule::FitTogether(const Step& present, const Step& next) const {
  const double both = present.bytes + next.bytes + (devices_.size() > 1 ? kMostBytesBeside : 0);
  if (both <= kBytesNotAskedFor || both <= AvailableBytes()) return true;
  ReturnFreedMemory();
  return both <= AvailableBytes();
}

void Schedule::End(const Step& step, ResultStore& results, const PoolHealth& health) {
  if (source_ == nullptr && (policy_.rounds > 1 || policy_.repetition.passes > 1)) return;
  std::vector<std::string> ids;
  for (size_t i = step.begin; i < step.end; ++i) {
    const PlannedCase ended = std::exchange(cases_[i], PlannedCase());
    if (source_ != nullptr) ids.push_back(ended.spec.Id());
  }
  if (source_ != nullptr && !policy_.runner.interrupted()) source_->Judged(ids, results.TakeNewRecords(), health);
}

// Nothing is known of the cases that a source will give: each counts as a second.
void Schedule::TellProgress(const Step& step, size_t ended, size_t failed, const PlannedCase& current) const {
  const size_t done = static_cast<size_t>(step.round - 1) * cases_.size() + step.done + ended;
  const size_t total = source_ != nullptr ? source_->total() : cases_.size() * static_cast<size_t>(policy_.rounds);
  const double behind_s = source_ != nullptr ? static_cast<double>(done) : cost_.Until(done);
  const double all_s = source_ != nullptr ? static_cast<double>(total) : cost_.Total();
  const std::string when = source_ != nullptr ? source_->StatusText() + "  "
                           : step.pass > 1    ? fmt::format("pass {} ", step.pass)
                           : step.round > 1   ? fmt::format("round {} ", step.round)
                                              : "";
  policy_.observer->Expected(behind_s, std::max(0.0, all_s - behind_s));
  policy_.observer->Progressed(done, total, failed, when + current.spec.Id());
}

}  // namespace assay
