// SPDX-License-Identifier: Apache-2.0
// Cases that nobody knew before they ran: all of them follow from a secret, which is told afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/cover/candidates.h"
#include "harness/plan/suite.h"
#include "ops/operator.h"

namespace assay {

// Whether whoever sets the task, the reference, takes such a case.
using IsTaken = std::function<bool(const PlannedCase&)>;

// Copies the cases with data seeds that follow from the secret.
std::vector<PlannedCase> WithSecretSeeds(std::span<const PlannedCase> visible, uint64_t secret);

struct GeneratedSettings {
  std::vector<const Operator*> ops;  // those without declared dimensions give no cases
  uint64_t secret = 0;
  size_t cases = 0;  // at most, of all operators together
  CoverLimits limits;
  std::string requirement;          // of all cases; "": the default of each
  std::vector<std::string> dtypes;  // as in SelectionOptions; empty: all
  IsTaken is_taken;
};

// Cases of shapes, attributes and fills that no suite has, of all operators in turn. Fewer where the reference takes
// few.
std::vector<PlannedCase> GenerateCases(const GeneratedSettings& settings);

// Lets the `most` largest of the cases that may be timed be timed, and no other.
void TimeLargest(std::vector<PlannedCase>& cases, size_t most);

}  // namespace assay
