// SPDX-License-Identifier: Apache-2.0
// Golden arithmetic, and what reads and writes numbers, hold only when the processor rounds to nearest and keeps
// subnormal numbers. A library that was built with -ffast-math can change both for the whole process, merely by being
// loaded.
#pragma once

#include "harness/core/base/result.h"

namespace assay {

// Ok when this thread rounds to nearest and, where the processor has such modes, flushes no subnormal number and traps
// no exception.
Status CheckFloatEnvironment();

// To nearest, nothing flushed, no traps: where a stranger's code has had the thread.
void RestoreFloatEnvironment();

// Aborts with the message and `where`: golden values computed under other rules would be silently wrong.
void RequireFloatEnvironment(const char* where);

}  // namespace assay
