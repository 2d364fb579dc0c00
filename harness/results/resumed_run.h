// SPDX-License-Identifier: Apache-2.0
// What a run that ended before its time has already, so that it can be continued: the records of each case on each
// device for which none is missing. What is there in part is run again as a whole, on that device.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/record_list.h"
#include "harness/plan/plan.h"
#include "harness/results/missing.h"

namespace assay {

struct ResumedRun {
  using Place = std::tuple<std::string, std::string, std::string>;  // case, backend, device as the plan has it

  RecordList records;         // of what is complete, in the order of the file
  std::vector<Offer> offers;  // of the same
  std::set<Place> complete;
  std::string torn;  // what the file says of its last line; "" when it is whole

  bool Has(const std::string& case_id, const std::string& backend, const std::string& device) const {
    return complete.contains({case_id, backend, device});
  }
};

// What the continued run asks of records beside that they are there.
struct ResumeTerms {
  int rounds = 1;  // of timing: what passed and has fewer is run again
  // Backend and device, as the plan has it, of those that can be used now: what was unavailable on them before is run
  // again.
  std::set<std::pair<std::string, std::string>> usable;
};

// Of the folder of a run of this plan. Errors: it is no folder of a run, its plan is another one (other cases, another
// shard, other devices), a file is damaged before its last line. Each says what to do.
Result<ResumedRun> ReadResumedRun(const std::filesystem::path& dir, const Plan& plan, const ResumeTerms& terms);

}  // namespace assay
