// SPDX-License-Identifier: Apache-2.0
// Who watches a run. The engine itself prints nothing.
#pragma once

#include <cstddef>
#include <string>

#include "harness/core/model/record.h"

namespace assay {

// Called from any thread of the run, one call at a time.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // Seconds of ExpectedCost that are behind the run and ahead of it. Called before Progressed().
  virtual void Expected(double /*behind_s*/, double /*ahead_s*/) {}

  // `done` of `total` steps (cases, in every round) are behind the run, `failed` results among them; `current` names
  // what comes next.
  virtual void Progressed(size_t done, size_t total, size_t failed, const std::string& current) = 0;

  // A result is final and fails the run.
  virtual void Failed(const Record& record) = 0;

  // Something that the user should know and no record holds.
  virtual void Noted(const std::string& text) = 0;
};

}  // namespace assay
