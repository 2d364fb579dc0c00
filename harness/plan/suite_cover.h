// SPDX-License-Identifier: Apache-2.0
// The lines of suites that ask for a covering design (harness/plan/cover):
//   cover pairs matmul
//   cover triples matmul max_elements=4096 max_flops=1e6
#pragma once

#include <future>
#include <string>
#include <vector>

#include "harness/plan/cover/cover.h"
#include "harness/plan/suite_line.h"

namespace assay {

// Precondition: the line's first word is `cover`. Errors point at the word that is wrong.
Result<CoverLine> ParseCoverLine(const SuiteLine& line, const OpCatalog& ops);

// The cases of the design, which takes seconds unless they are kept (OpCatalog::designs), on a thread of its own. `ops`
// outlives it.
std::future<std::vector<CaseSpec>> BeginCover(const CoverLine& cover, const OpCatalog& ops);

// These cases, bound.
Result<std::vector<PlannedCase>> ExpandCover(const SuiteLine& line, const CoverLine& cover,
                                             std::vector<CaseSpec> design, const OpCatalog& ops);

}  // namespace assay
