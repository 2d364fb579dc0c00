// SPDX-License-Identifier: Apache-2.0
// The cases of a run, and the groups of them that are still to begin: those of the plan that a run before did not bring
// to their end, or what a source gives as long as the run lasts.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "harness/engine/case_source.h"
#include "harness/engine/cases/case_groups.h"
#include "harness/engine/device/device.h"
#include "harness/engine/run_loop.h"

namespace assay {

class CaseQueue {
 public:
  // `source`: null, or where there are more. All else outlives this.
  CaseQueue(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
            const LoopSettings& settings);

  // All until now, by their places.
  const std::vector<PlannedCase>& cases() const { return cases_; }
  // Frees a case but keeps its index: there may be a million cases, or a run that lasts for days.
  void Forget(size_t index) { cases_[index] = PlannedCase(); }

  // Whether the resumed run already has all results of this case on this device.
  bool IsDone(size_t index, const Device& device) const;
  // Returns the results that the resumed run has of this case and device, if some are missing; null: it has none.
  const ResumedRun::Begun* FindBegun(size_t index, const Device& device) const;

  // Takes the next group to run; nullopt if there is none now. May append cases: hold no reference to one across the
  // call.
  std::optional<CaseGroup> Next();

  // Whether the host has room for the next group while the present one is still loaded. If not, the next one is loaded
  // after the present one is freed: no case counts as too large because of its neighbours.
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
