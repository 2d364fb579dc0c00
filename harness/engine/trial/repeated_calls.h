// SPDX-License-Identifier: Apache-2.0
// Many executions of one plan, on data that change between them: what goes wrong in every tenth call, in batches, or
// with what an earlier call left, shows without a timed loop.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/engine/timing/timing.h"
#include "harness/exec/session.h"

namespace assay {

// The outputs whose bits nobody knows, at most `most_kept` of each content, each as likely; and those of executions
// that wrote where they may not. At least `executions` are made, and every output comes back.
Call<std::vector<TimedOutput>> RunRepeatedly(Session& session, uint64_t plan, const TimedTrial& timed,
                                             size_t executions, size_t most_kept);
}  // namespace assay
