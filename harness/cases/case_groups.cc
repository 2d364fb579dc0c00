// SPDX-License-Identifier: Apache-2.0
#include "harness/cases/case_groups.h"

#include "harness/cases/host_memory.h"

namespace assay {

std::vector<CaseGroup> GroupCases(std::span<const PlannedCase> cases, const std::string& tier, double most_bytes) {
  std::vector<CaseGroup> groups;
  double together = 0, needed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const double bytes = cases[i].bound->problem.bytes, needs = BytesNeeded(cases.subspan(i, 1), tier);
    const bool fits = !groups.empty() && groups.back().end - groups.back().begin < kMostCasesInGroup &&
                      together + bytes <= kLargeCaseBytes && needed + needs <= most_bytes;
    if (!fits) {
      groups.push_back({i, i});
      together = needed = 0;
    }
    groups.back().end = i + 1;
    together += bytes, needed += needs;
  }
  return groups;
}

double BytesNeeded(std::span<const PlannedCase> cases, const std::string& tier) {
  double bytes = 0;
  for (const PlannedCase& planned : cases) bytes += BytesNeeded(planned.bound->problem, MemoryUse::kRun, tier);
  return bytes;
}

}  // namespace assay
