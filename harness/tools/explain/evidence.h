// SPDX-License-Identifier: Apache-2.0
// Evidence for a cause: how near the result is to the golden values of the changed case, and how far from those of
// the case that was meant.
#pragma once

#include <string>

#include "harness/core/base/json.h"
#include "harness/tools/explain/cause.h"

namespace assay {

// `what`: as DescribeCause has it.
std::string EvidenceText(const std::string& what, const Cause& cause, const ResultFit& meant);
Json EvidenceJson(const std::string& what, const Cause& cause, const ResultFit& meant);

}  // namespace assay
