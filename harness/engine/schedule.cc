// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/run_loop.h"

namespace assay {

std::vector<CaseGroup> GroupCases(std::span<const PlannedCase> cases, const std::string& tier, double most_bytes) {
  std::vector<CaseGroup> groups;
  double together = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const SharedCase bound = cases[i].Bound();
    const double bytes = bound->problem.bytes, needs = BytesNeeded(bound->problem, MemoryUse::kRun, tier);
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
    : cases_(std::move(cases)), source_(source), devices_(devices), policy_(policy) {}

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

}  // namespace assay
