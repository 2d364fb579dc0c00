// SPDX-License-Identifier: Apache-2.0
// Where a thread runs. Builds that are timed in turns, in processes of their own, would each stay on its core, and a
// core with a busy neighbour (another thread of the same core, another guest) runs at two thirds of its speed: that is
// no difference of the builds. What a worker wrote before stays where it lies: on a host with several memory nodes the
// second build may read from another node than the first, in a round; which build that is changes from round to round.
#pragma once

#include <cstdint>

namespace assay {

// The number of the processor that the calling thread runs on, by which MoveToProcessor() takes another thread, perhaps
// of another process, there. It stays free to leave as before. Nothing happens where it may not run there.
int64_t CurrentProcessor();
void MoveToProcessor(int64_t processor);

}  // namespace assay
