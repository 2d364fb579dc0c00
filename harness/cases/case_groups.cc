// SPDX-License-Identifier: Apache-2.0
#include "harness/cases/case_groups.h"

#include "harness/cases/host_memory.h"

namespace assay {
std::vector<CaseGroup> GroupCases(std::span<const PlannedCase> cases) {
  std::vector<CaseGroup> groups;
  double together = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const double bytes = cases[i].bound->problem.bytes;
    const bool fits = !groups.empty() && groups.back().end - groups.back().begin < kMostCasesInGroup &&
                      together + bytes <= kLargeCaseBytes;
    if (!fits) {
      groups.push_back({i, i});
      together = 0;
    }
    groups.back().end = i + 1;
    together += bytes;
  }
  return groups;
}

}  // namespace assay
