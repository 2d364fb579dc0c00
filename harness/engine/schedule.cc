// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/schedule.h"

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

CaseLimits LimitsOf(const RunPolicy& policy, const PlannedCase& planned) {
  CaseLimits limits = policy.limits;
  if (limits.sample == 0) limits.sample = planned.sample;
  return limits;
}

std::vector<CaseGroup> GroupCases(std::span<const PlannedCase> cases, const std::string& tier, double most_bytes) {
  std::vector<CaseGroup> groups;
  double together = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const SharedCase bound = cases[i].Bound();
    const double bytes = bound->problem.bytes,
                 needs = BytesNeeded(bound->problem, MemoryUse::kRun, tier, cases[i].sample);
    const bool fits = !groups.empty() && groups.back().end - groups.back().begin < kMostCasesInGroup &&
                      together + bytes <= kLargeCaseBytes && groups.back().bytes + needs <= most_bytes;
    if (!fits) {
      groups.push_back({i, i});
      together = 0;
    }
    CaseGroup& group = groups.back();
    group.end = i + 1, group.bytes += needs;
    together += bytes;
  }
  return groups;
}

Schedule::Schedule(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
                   const RunPolicy& policy)
    : cases_(std::move(cases)),
      source_(source),
      cost_(cases_, ListRunningBackends(devices), policy.runner.perf_time_s > 0, policy.rounds),
      devices_(devices),
      policy_(policy) {}

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

void Schedule::AddGroups() {
  const double room = AvailableBytes() / 2;  // for one that is judged, and one that is prepared meanwhile
  for (size_t begin = std::exchange(grouped_, cases_.size()); begin < cases_.size();) {
    size_t end = begin;
    while (end < cases_.size() && !IsDone(end)) ++end;
    const std::span<const PlannedCase> pending = std::span(cases_).subspan(begin, end - begin);
    for (const CaseGroup& group : GroupCases(pending, policy_.tier, room)) {
      groups_.push_back({begin + group.begin, begin + group.end, group.bytes});
    }
    begin = end + 1;
  }
}

std::optional<CaseGroup> Schedule::NextGroup() {
  if (groups_.empty() && source_ != nullptr) std::ranges::move(source_->Next(), std::back_inserter(cases_));
  if (grouped_ < cases_.size()) AddGroups();
  if (groups_.empty()) return std::nullopt;
  const CaseGroup group = groups_.front();
  groups_.pop_front();
  return group;
}

bool Schedule::FitTogether(const CaseGroup& present, const CaseGroup& next) const {
  const double both = present.bytes + next.bytes + (devices_.size() > 1 ? kMostBytesBeside : 0);
  if (both <= kBytesNotAskedFor || both <= AvailableBytes()) return true;
  ReturnFreedMemory();
  return both <= AvailableBytes();
}

void Schedule::End(const CaseGroup& group, ResultStore& results, const PoolHealth& health) {
  if (source_ == nullptr && (policy_.rounds > 1 || policy_.repetition.passes > 1)) return;
  std::vector<std::string> ids;
  for (size_t i = group.begin; i < group.end; ++i) {
    const PlannedCase ended = std::exchange(cases_[i], PlannedCase());
    if (source_ != nullptr) ids.push_back(ended.spec.Id());
  }
  if (source_ != nullptr && !policy_.runner.interrupted()) source_->Judged(ids, results.TakeNewRecords(), health);
}

// Nothing is known of the cases that a source will give: each counts as a second.
void Schedule::TellProgress(size_t done, size_t failed, const std::string& current) const {
  const size_t total = source_ != nullptr ? source_->total() : cases_.size() * static_cast<size_t>(policy_.rounds);
  const double behind_s = source_ != nullptr ? static_cast<double>(done) : cost_.Until(done);
  const double all_s = source_ != nullptr ? static_cast<double>(total) : cost_.Total();
  policy_.observer->Expected(behind_s, std::max(0.0, all_s - behind_s));
  policy_.observer->Progressed(done, total, failed, (source_ != nullptr ? source_->StatusText() + "  " : "") + current);
}

}  // namespace assay
