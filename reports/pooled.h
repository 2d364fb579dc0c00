// SPDX-License-Identifier: Apache-2.0
// Text for pooled findings on all results of an implementation (harness/core/model/pooled_test.h).
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/pooled_test.h"

namespace assay {

// "Pooled: cpu:blocked matmul f32: results are ...: fails the run"; one for each finding.
std::vector<std::string> PooledLines(const RecordView& records);

// "1 pooled finding fails the run, 2 with --strict"; "" without one.
std::string PooledCountText(const std::vector<PooledAnswer>& found);

// Whether some finding fails this run.
bool PooledFails(const std::vector<PooledAnswer>& found, bool strict);

}  // namespace assay
