// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/case_queue.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "harness/engine/cases/host_memory.h"

namespace assay {

CaseQueue::CaseQueue(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
                     const LoopSettings& settings)
    : cases_(std::move(cases)), source_(source), devices_(devices), settings_(settings) {}

bool CaseQueue::IsDone(size_t index, const Device& device) const {
  return settings_.resumed && settings_.resumed->Has(cases_[index].spec.Id(), device.backend, device.PlannedName());
}

const ResumedRun::Begun* CaseQueue::FindBegun(size_t index, const Device& device) const {
  if (!settings_.resumed) return nullptr;
  return settings_.resumed->FindBegun(cases_[index].spec.Id(), device.backend, device.PlannedName());
}

bool CaseQueue::IsDone(size_t index) const {
  return settings_.resumed &&
         std::ranges::all_of(devices_, [&](const Device& device) { return IsDone(index, device); });
}

void CaseQueue::AddGroups() {
  const double room = AvailableBytes() / 2;  // for one that is judged, and one that is prepared meanwhile
  for (size_t begin = std::exchange(grouped_, cases_.size()); begin < cases_.size();) {
    size_t end = begin;
    while (end < cases_.size() && !IsDone(end)) ++end;
    const std::span<const PlannedCase> pending = std::span(cases_).subspan(begin, end - begin);
    for (const CaseGroup& group : GroupCases(pending, settings_.tier, room)) {
      groups_.push_back({begin + group.begin, begin + group.end, group.bytes});
    }
    begin = end + 1;
  }
}

std::optional<CaseGroup> CaseQueue::Next() {
  if (groups_.empty() && source_ != nullptr) std::ranges::move(source_->Next(), std::back_inserter(cases_));
  if (grouped_ < cases_.size()) AddGroups();
  if (groups_.empty()) return std::nullopt;
  const CaseGroup group = groups_.front();
  groups_.pop_front();
  return group;
}

bool CaseQueue::FitTogether(const CaseGroup& present, const CaseGroup& next) const {
  const double both = present.bytes + next.bytes + (devices_.size() > 1 ? kMostBytesBeside : 0);
  if (both <= kBytesNotAskedFor || both <= AvailableBytes()) return true;
  ReturnFreedMemory();
  return both <= AvailableBytes();
}

}  // namespace assay
