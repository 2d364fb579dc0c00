// SPDX-License-Identifier: Apache-2.0
// Contents of a run that ended early, so that it can be resumed. Recorded verdicts stay: a case that had not ended on a
// device runs only with the implementations that are missing.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"
#include "harness/engine/results/missing.h"
#include "harness/plan/plan.h"

namespace assay {

struct ResumedRun {
  using Place = std::tuple<std::string, std::string, std::string>;  // case, backend, device as the plan has it

  // Final records of a case that had not ended on a device.
  struct Begun {
    std::vector<std::string> offered;  // by the device; it is asked anew
    std::set<std::string> judged;      // those of them that have their final record

    bool Has(const std::string& implementation) const { return PlaceOf(implementation) < offered.size(); }
    // Where the record of an implementation stands among the case's.
    size_t PlaceOf(const std::string& implementation) const {
      return static_cast<size_t>(std::ranges::find(offered, implementation) - offered.begin());
    }
  };

  RecordList records;         // of what stands, and of what is run again although it passed, in the order of the file
  std::vector<Offer> offers;  // of what is complete
  std::set<Place> complete;
  std::map<Place, Begun> begun;
  std::string torn;  // what the file says of its last line; "" when it is whole

  bool Has(const std::string& case_id, const std::string& backend, const std::string& device) const {
    return complete.contains({case_id, backend, device});
  }
  // Null: nothing of it stands, or all does.
  const Begun* FindBegun(const std::string& case_id, const std::string& backend, const std::string& device) const {
    const auto found = begun.find({case_id, backend, device});
    return found == begun.end() ? nullptr : &found->second;
  }
};

// Conditions under which the resumed run keeps a record.
struct ResumeTerms {
  int rounds = 1;  // of timing: what passed and has fewer is run again
  // Cases that this run times: what passed of them and has no time, as the run was interrupted before, is run again.
  std::unordered_set<std::string> timed;
  // Backend and device, as the plan has it, of those that can be used now: what was unavailable on them before is run
  // again.
  std::set<std::pair<std::string, std::string>> usable;
  // Else each case that had not ended on a device is run again as a whole, so that its implementations are compared in
  // one environment.
  bool same_environment = true;
};

// Reads the folder of a run of this plan. Errors: it is no folder of a run, its plan is another one (other cases,
// another shard, other devices), or a file is damaged before its last line. Each says what to do.
Result<ResumedRun> ReadResumedRun(const std::filesystem::path& dir, const Plan& plan, const ResumeTerms& terms);

}  // namespace assay
