// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/case_groups.h"

#include "harness/engine/cases/host_memory.h"

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

}  // namespace assay
