// SPDX-License-Identifier: Apache-2.0
#include "harness/cases/case_groups.h"

#include "harness/cases/host_memory.h"
#include "ops/operator.h"

namespace assay {
namespace {

// Of its operands; 0 where the operator refuses it.
double BytesOf(const CaseSpec& spec) {
  const auto problem = OperatorRegistry::Global().Find(spec.op)->Bind(spec);
  return problem ? problem->bytes : 0;
}

}  // namespace

std::vector<CaseGroup> GroupCases(const std::vector<PlannedCase>& cases) {
  std::vector<CaseGroup> groups;
  double together = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const double bytes = BytesOf(cases[i].spec);
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
