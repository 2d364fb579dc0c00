// SPDX-License-Identifier: Apache-2.0
// The cases of a run, and the groups of them that are still to begin: those of the plan that a run before did not bring
// to their end, or what a source gives as long as the run lasts.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "harness/cases/case_groups.h"
#include "harness/run/case_source.h"
#include "harness/run/device/device.h"
#include "harness/run/run_loop.h"

namespace assay {

class CaseFeed {
 public:
  // `source`: null, or where there are more. All else outlives this.
  CaseFeed(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
           const LoopSettings& settings);

  // All until now, by their places.
  const std::vector<PlannedCase>& cases() const { return cases_; }
  // Leaves of it nothing but its place: there may be a million, or a run that lasts for days.
  void Forget(size_t index) { cases_[index] = PlannedCase(); }

  // Whether a run that is continued has all of its results on the device.
  bool IsDone(size_t index, const Device& device) const;
  // What it has of them, where that is not all; null: nothing.
  const ResumedRun::Begun* FindBegun(size_t index, const Device& device) const;

  // What begins next; nullopt: there is no more now. Nothing may refer to a case meanwhile: there may be new ones.
  std::optional<CaseGroup> Next();

  // Whether the host has room for the next group beside the present one, whose data are there already. Where it has
  // not, the next one waits until they are gone: no case is too large for its neighbours' sake.
  bool FitTogether(const CaseGroup& present, const CaseGroup& next) const;

 private:
  bool IsDone(size_t index) const;  // on each device
  void AddGroups();                 // of the cases that are new

  std::vector<PlannedCase> cases_;  // grows where there is a source
  CaseSource* source_;
  size_t grouped_ = 0;            // so many of the cases
  std::deque<CaseGroup> groups_;  // not yet begun
  const std::vector<Device>& devices_;
  const LoopSettings& settings_;
};

}  // namespace assay
