// SPDX-License-Identifier: Apache-2.0
// Where a run takes its cases from when what comes next depends on what others came to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/engine/device/pool_health.h"
#include "harness/plan/suite.h"

namespace assay {

// All calls come from the thread of the run, and no device is at work in them.
class CaseSource {
 public:
  virtual ~CaseSource() = default;

  // The next cases; none: the run ends. The results of those of the call before are not known yet, as devices
  // run them while these are prepared; all others are.
  virtual std::vector<PlannedCase> Next() = 0;

  // The results of some of them, as they will stand in the file, by case. `ids`: the cases that have come to their end;
  // one without a record is one that no implementation took which the user asked for. `health`: of the run's devices.
  virtual void Judged(std::span<const std::string> ids, std::span<const Record> records, const PoolHealth& health) = 0;

  virtual size_t total() const = 0;            // cases that it will give; 0: not known
  virtual std::string StatusText() const = 0;  // for those who watch
};

}  // namespace assay
